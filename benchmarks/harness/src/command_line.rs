//! The command line of a contender. It opens nothing.

use crate::contender::{Problem, Setup};

/// Reads the command line, without the program's name: options and other words.
pub(crate) fn parse(
    arguments: impl Iterator<Item = String>,
) -> Result<(Setup, Vec<String>), Problem> {
    let mut setup = Setup::default();
    let mut words = Vec::new();
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--dir" => setup.dir = value()?.into(),
            "--settings" => setup.settings = value()?,
            "--server" => setup.server = value()?,
            _ => words.push(argument),
        }
    }
    Ok((setup, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_words_are_told_apart() {
        let line = "--dir here --settings tuned chain 1000 5 --server there";
        let (setup, words) = parse(line.split(' ').map(str::to_owned)).unwrap();
        assert_eq!(setup.dir.to_str(), Some("here"));
        assert_eq!(setup.settings, "tuned");
        assert_eq!(setup.server, "there");
        assert_eq!(words, ["chain", "1000", "5"]);
    }

    #[test]
    fn an_option_without_its_value_is_refused() {
        assert!(parse(["--dir"].map(str::to_owned).into_iter()).is_err());
    }
}
