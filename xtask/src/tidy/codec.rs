//! Rule: `bincode` is used in the codec of `durable-core` and nowhere else, so that
//! the bytes on disk are decided in one place. Comments may speak of it.

use super::Finding;
use super::source::{self, Kind};

/// Matches both a file and a folder of that name.
const CODEC: &str = "durable-core/src/codec";

pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    if path.starts_with(CODEC) {
        return Vec::new();
    }
    let problem =
        format!("names `bincode`, which belongs in `{CODEC}` alone: go through the codec");
    source::lines(text, Kind::Code)
        .filter(|(_, line)| source::has_word(line, "bincode"))
        .map(|(number, _)| Finding::new(path, number, problem.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const USE: &str = "//! A file.\nuse bincode::config;\n";

    #[test]
    fn the_codec_may_name_it_and_so_may_comments() {
        assert_eq!(check("durable-core/src/codec.rs", USE), []);
        assert_eq!(check("durable-core/src/codec/payload.rs", USE), []);
        assert_eq!(
            check("durable-core/src/event.rs", "//! Not `bincode::Encode`.\n"),
            []
        );
    }

    #[test]
    fn other_files_may_not() {
        assert_eq!(check("durable-core/src/event.rs", USE)[0].line, 2);
        assert_eq!(check("durable-core/tests/golden.rs", USE)[0].line, 2);
    }
}
