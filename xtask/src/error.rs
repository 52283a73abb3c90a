//! Why a command failed: data, with the text in `Display` only.
//!
//! Nothing is printed here; `main` prints the error that reaches it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::help::USAGE;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Error {
    /// There is no such command.
    UnknownCommand { name: String },
    /// The command does not take this argument.
    UnexpectedArgument {
        command: &'static str,
        argument: String,
    },
    /// The option needs a value and has none.
    MissingValue { option: &'static str },
    /// The name is none of those that are known.
    UnknownName {
        what: &'static str,
        name: String,
        known: Vec<&'static str>,
    },
    /// The command was started outside the workspace.
    NoWorkspace,
    /// A program could not be run at all.
    NotRun { command: String, source: io::Error },
    /// A program ran and reported failure; its output was shown as it came.
    Failed { command: String },
    /// A file could not be read or written.
    File { path: PathBuf, source: io::Error },
    /// A step of `ci` failed; its output has been shown.
    Step {
        step: String,
        rerun: String,
        mend: &'static str,
    },
    /// `ci` left the repository other than it found it.
    Changed { lines: Vec<String> },
    /// `tidy` found something; the findings have been shown.
    Untidy { findings: usize },
    /// Parts of the hot path take more instructions than the baseline allows.
    MoreInstructions { parts: Vec<String> },
    /// `fix` could not mend everything; what is left has been shown.
    Unmended { steps: Vec<String> },
}

impl Error {
    /// 2 when the command line is wrong, 1 when the work failed.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(if self.is_usage() { 2 } else { 1 })
    }

    fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::UnknownCommand { .. }
                | Self::UnexpectedArgument { .. }
                | Self::MissingValue { .. }
                | Self::UnknownName { .. }
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownCommand { name } => {
                write!(f, "there is no command `{name}`\n\n{USAGE}")
            }
            Self::UnexpectedArgument { command, argument } => {
                write!(f, "`{command}` does not take `{argument}`\n\n{USAGE}")
            }
            Self::MissingValue { option } => write!(f, "`{option}` needs a value\n\n{USAGE}"),
            Self::UnknownName { what, name, known } => {
                write!(
                    f,
                    "there is no {what} `{name}`; known: {}",
                    known.join(", ")
                )
            }
            Self::NoWorkspace => write!(f, "this is not inside the workspace"),
            Self::NotRun { command, source } => write!(f, "cannot run `{command}`: {source}"),
            Self::Failed { command } => write!(f, "`{command}` failed"),
            Self::File { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Step { step, rerun, mend } => {
                write!(f, "stopped at {step}\n  rerun: {rerun}\n  mend:  {mend}")
            }
            Self::Changed { lines } => write!(
                f,
                "the repository changed while ci ran (git status, before `-` and after `+`):\n{}",
                lines.join("\n")
            ),
            Self::Untidy { findings: 1 } => write!(f, "1 finding"),
            Self::Untidy { findings } => write!(f, "{findings} findings"),
            Self::MoreInstructions { parts } => write!(
                f,
                "more instructions than the baseline allows, or no baseline: {}; \
                 to accept them: cargo xtask bench instructions --accept",
                parts.join(", ")
            ),
            Self::Unmended { steps } => write!(f, "left to mend by hand: {}", steps.join(", ")),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotRun { source, .. } | Self::File { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_command_line_shows_the_usage() {
        let error = Error::UnknownCommand {
            name: "cy".to_owned(),
        };
        assert!(error.is_usage());
        assert!(error.to_string().contains(USAGE));
    }

    #[test]
    fn a_failed_step_says_how_to_rerun_and_mend_it() {
        let error = Error::Step {
            step: "fmt".to_owned(),
            rerun: "cargo fmt --check".to_owned(),
            mend: "cargo xtask fix",
        };
        assert!(!error.is_usage());
        assert_eq!(
            error.to_string(),
            "stopped at fmt\n  rerun: cargo fmt --check\n  mend:  cargo xtask fix"
        );
    }
}
