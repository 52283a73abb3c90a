//! Why a cursor cannot go on.

use alloc::boxed::Box;
use core::fmt;

use crate::corruption::Corruption;
use crate::violation::Violation;

/// A cursor that answered with this stays where it is and answers the same to
/// every later call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CursorError {
    /// The code no longer does what the history says.
    Violation(Box<Violation>),
    /// The history cannot be what any run has written.
    Corrupt(Box<Corruption>),
    /// The driver called something out of turn. This is a bug in the driver.
    OutOfTurn {
        /// What it called.
        call: &'static str,
        /// Where the cursor stood.
        stage: &'static str,
    },
}

impl fmt::Display for CursorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Violation(violation) => violation.fmt(f),
            Self::Corrupt(corruption) => corruption.fmt(f),
            Self::OutOfTurn { call, stage } => {
                write!(f, "`Cursor::{call}` was called {stage}")
            }
        }
    }
}

impl core::error::Error for CursorError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Violation(violation) => Some(violation),
            Self::Corrupt(corruption) => Some(corruption),
            Self::OutOfTurn { .. } => None,
        }
    }
}
