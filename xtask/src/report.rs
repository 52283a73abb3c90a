//! Everything that is printed, so that no other module prints.
//!
//! Results go to standard output, the final error to standard error. A reader
//! that went away (`cargo xtask ci --list | head -1`) is no failure: what cannot
//! be written is dropped, where `println!` would panic.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use crate::error::Error;

const NAME_WIDTH: usize = 36;

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Ok,
    Skip,
    Fail,
}

impl Mark {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Skip => "skip",
            Self::Fail => "FAIL",
        }
    }
}

/// Prints one line, or several if the text has them.
pub(crate) fn line(text: impl Display) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// Names the step that begins. On a terminal only: the step's closing line overwrites it.
pub(crate) fn begin(name: &str) {
    let mut out = io::stdout().lock();
    if out.is_terminal() {
        let _ = write!(out, "...   {name}\r").and_then(|()| out.flush());
    }
}

/// Prints the closing line of a step.
pub(crate) fn end(mark: Mark, name: &str, elapsed: Duration) {
    line(closing_line(mark, name, elapsed));
}

/// Prints the error that ends the command.
pub(crate) fn error(error: &Error) {
    let _ = writeln!(io::stderr().lock(), "error: {error}");
}

fn closing_line(mark: Mark, name: &str, elapsed: Duration) -> String {
    let (word, seconds) = (mark.word(), elapsed.as_secs_f64());
    format!("{word:<5} {name:<NAME_WIDTH$} {seconds:>6.1} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_stand_in_columns() {
        let first = closing_line(Mark::Ok, "fmt", Duration::from_millis(1_240));
        let second = closing_line(
            Mark::Skip,
            "clippy (all features)",
            Duration::from_secs(100),
        );
        assert_eq!(first.len(), second.len());
        assert!(first.starts_with("ok    fmt ") && first.ends_with(" 1.2 s"));
    }
}
