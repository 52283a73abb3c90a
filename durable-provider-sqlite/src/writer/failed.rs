//! Why a group was not committed, or may not have been.

use durable_core::provider::ProviderError;

use crate::error::{Fault, of_statement, spoils_connection};

/// Why a group was not committed, or may not have been.
pub(super) struct Failed {
    pub(super) error: ProviderError,
    /// Whether the connection is to be closed.
    pub(super) spoils: bool,
}

impl Failed {
    pub(super) fn at_commit(error: &rusqlite::Error) -> Self {
        let spoils = spoils_connection(error);
        let error = match of_statement(error) {
            ProviderError::Unavailable { reason } if spoils => ProviderError::Unknown { reason },
            other => other,
        };
        Self { error, spoils }
    }
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Self {
        Self {
            error: of_statement(&error),
            spoils: spoils_connection(&error),
        }
    }
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        let spoils = fault.spoils_connection();
        Self {
            error: fault.into_provider_error(),
            spoils,
        }
    }
}
