//! From SQLite's errors to those of the contract: by what the caller may assume.

use std::path::Path;

use durable_core::provider::ProviderError;
use durable_core::{DecodeError, EncodeError, LimitError};
use rusqlite::ErrorCode;

/// Why a step was not done. Nothing of it stays.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The contract says so.
    Refused(ProviderError),
    /// SQLite says so.
    Sql(rusqlite::Error),
}

/// The result of a step within a transaction.
pub(crate) type Step<T> = Result<T, Fault>;

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<ProviderError> for Fault {
    fn from(error: ProviderError) -> Self {
        Self::Refused(error)
    }
}

impl Fault {
    /// What the caller is told of a step that was rolled back.
    pub(crate) fn into_provider_error(self) -> ProviderError {
        match self {
            Self::Refused(error) => error,
            Self::Sql(error) => of_statement(&error),
        }
    }

    /// Whether the connection that gave it is not to be trusted any more.
    pub(crate) fn spoils_connection(&self) -> bool {
        matches!(self, Self::Sql(error) if spoils_connection(error))
    }
}

/// Whether a connection that gave this error is to be opened anew.
pub(crate) fn spoils_connection(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::FileLockingProtocolFailed
        )
    )
}

/// An error of a statement: its transaction was, or will be, rolled back.
pub(crate) fn of_statement(error: &rusqlite::Error) -> ProviderError {
    let reason = error.to_string();
    let Some(code) = error.sqlite_error_code() else {
        return match error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..) => ProviderError::Damaged { reason },
            _ => ProviderError::Unusable { reason },
        };
    };
    match code {
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::SystemIoFailure
        | ErrorCode::FileLockingProtocolFailed
        | ErrorCode::OutOfMemory
        | ErrorCode::OperationInterrupted => ProviderError::Unavailable { reason },
        ErrorCode::DiskFull => ProviderError::Unavailable {
            reason: format!("{reason}: make room on the disk; nothing was lost"),
        },
        ErrorCode::ReadOnly => ProviderError::Unusable {
            reason: format!("{reason}: make the file and its directory writable for this user"),
        },
        ErrorCode::NotADatabase => ProviderError::Unusable {
            reason: format!("{reason}: name the file of a store; if it was one, restore a backup"),
        },
        ErrorCode::DatabaseCorrupt => ProviderError::Unusable {
            reason: format!(
                "{reason}: the file is damaged; stop all processes that use it and restore a backup"
            ),
        },
        ErrorCode::ConstraintViolation => ProviderError::Damaged { reason },
        _ => ProviderError::Unusable { reason },
    }
}

/// An error while a file is opened.
pub(crate) fn of_opening(path: &Path, error: &rusqlite::Error) -> ProviderError {
    let told = of_statement(error);
    let name = |reason| format!("`{}`: {reason}", path.display());
    match told {
        ProviderError::Unavailable { reason } => ProviderError::Unavailable {
            reason: name(reason),
        },
        ProviderError::Unusable { reason } => ProviderError::Unusable {
            reason: name(reason),
        },
        other => other,
    }
}

/// Stored bytes do not decode.
pub(crate) fn damaged(what: impl std::fmt::Display, error: &DecodeError) -> ProviderError {
    ProviderError::Damaged {
        reason: format!("{what}: {error}"),
    }
}

/// What was to be stored does not encode.
pub(crate) fn not_encoded(error: &EncodeError) -> ProviderError {
    match error {
        EncodeError::EntryTooLarge {
            bytes, max_bytes, ..
        }
        | EncodeError::RecordTooLarge {
            bytes, max_bytes, ..
        } => ProviderError::Refused(LimitError::PayloadTooLarge {
            what: "record",
            bytes: *bytes,
            max_bytes: *max_bytes,
        }),
        other => ProviderError::Invalid {
            reason: other.to_string(),
        },
    }
}
