//! Why the benchmarks could not be run, or do not count.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why the benchmarks could not be run, or do not count.
#[derive(Debug)]
pub(crate) enum Error {
    /// The command line is wrong.
    Usage(String),
    /// A file could not be read or written.
    File { path: PathBuf, source: io::Error },
    /// A program could not be run, or failed.
    Program { command: String, why: String },
    /// A server is not there and could not be installed.
    Missing { what: &'static str, hint: String },
    /// The results could not be written as JSON.
    Json(serde_json::Error),
    /// This project's own runs failed.
    Failed { runs: usize },
}

impl Error {
    pub(crate) fn file(path: impl AsRef<Path>, source: io::Error) -> Self {
        let path = path.as_ref().to_owned();
        Self::File { path, source }
    }

    pub(crate) fn program(command: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self::Program {
            command: command.to_string(),
            why: why.to_string(),
        }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(what) => write!(f, "{what}\n\n{}", crate::options::USAGE),
            Self::File { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Program { command, why } => write!(f, "`{command}`: {why}"),
            Self::Missing { what, hint } => write!(f, "{what} is not at hand; {hint}"),
            Self::Json(error) => write!(f, "the results are no JSON: {error}"),
            Self::Failed { runs } => write!(f, "{runs} runs of this project failed"),
        }
    }
}

impl std::error::Error for Error {}
