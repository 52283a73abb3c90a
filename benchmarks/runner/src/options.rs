//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::Error;

pub(crate) const USAGE: &str = "\
Usage: cargo xtask bench peers [<options>]

  --rounds <n>        how often everything is run, in turns (3)
  --only <a,b,…>      only contenders and workloads whose names contain one of these
  --quick             small sizes and one round: to see that everything works
  --limit <seconds>   how long one run may take (120; 30 with --quick)
  --publish           write benchmarks/results.md and results.svg
  --list              list the contenders and the workloads";

/// What the command line asks for.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) rounds: usize,
    pub(crate) only: Vec<String>,
    pub(crate) quick: bool,
    pub(crate) limit: Duration,
    pub(crate) publish: bool,
    pub(crate) list: bool,
    /// Where results and temporary files go.
    pub(crate) out: PathBuf,
    /// Where cargo builds the contenders.
    pub(crate) target: PathBuf,
}

impl Options {
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, Error> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
        let (mut rounds, mut limit) = (None, None);
        let mut options = Self {
            rounds: 3,
            only: Vec::new(),
            quick: false,
            limit: Duration::from_secs(120),
            publish: false,
            list: false,
            out: target.join("bench"),
            target: target.join("benchmarks"),
        };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let missing = || Error::Usage(format!("`{argument}` needs a value"));
                arguments.next().ok_or_else(missing)
            };
            match argument.as_str() {
                "--rounds" => rounds = Some(number(&value()?)?),
                "--limit" => limit = Some(number(&value()?)?),
                "--only" => options.only = value()?.split(',').map(str::to_owned).collect(),
                "--quick" => options.quick = true,
                "--publish" => options.publish = true,
                "--list" => options.list = true,
                other => return Err(Error::Usage(format!("there is no option `{other}`"))),
            }
        }
        options.rounds = rounds.unwrap_or(if options.quick { 1 } else { 3 }) as usize;
        let seconds = limit.unwrap_or(if options.quick { 30 } else { 120 });
        options.limit = Duration::from_secs(seconds);
        Ok(options)
    }
}

fn number(text: &str) -> Result<u64, Error> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(Error::Usage(format!("`{text}` is no number above 0"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Error> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_quick_run_is_one_round_unless_asked_otherwise() {
        assert_eq!(parse("").unwrap().rounds, 3);
        assert_eq!(parse("--quick").unwrap().rounds, 1);
        assert_eq!(parse("--rounds 5 --quick").unwrap().rounds, 5);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for line in ["--round 3", "--rounds", "--rounds 0", "--rounds x", "peers"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
