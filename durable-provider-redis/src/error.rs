//! From errors of the client and the server to those of the contract: by what the caller
//! may assume.

use std::error::Error;
use std::sync::Arc;

use durable_core::provider::ProviderError;
use redis::{ErrorKind, RedisError, ServerErrorKind};

/// Whether a call can have changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    Reads,
    Writes,
}

/// What the caller is told of a call that failed.
pub(crate) fn of_call(error: &RedisError, effect: Effect) -> ProviderError {
    if happened_not(error) {
        return ProviderError::Unavailable {
            reason: sentence(error),
        };
    }
    match error.kind() {
        ErrorKind::AuthenticationFailed
        | ErrorKind::InvalidClientConfig
        | ErrorKind::RESP3NotSupported => unusable(error),
        ErrorKind::Server(ServerErrorKind::NoPerm | ServerErrorKind::CrossSlot) => unusable(error),
        _ if matches!(error.code(), Some("NOAUTH" | "WRONGPASS")) => unusable(error),
        _ if effect == Effect::Reads => ProviderError::Unavailable {
            reason: sentence(error),
        },
        _ => ProviderError::Unknown {
            reason: sentence(error),
        },
    }
}

/// What the caller is told when a store cannot be reached as it is opened. A server or a
/// client whose certificate is refused is so a moment later, too.
pub(crate) fn of_opening(error: &RedisError) -> ProviderError {
    match tls_error(error) {
        Some(refusal) => ProviderError::Unusable {
            reason: format!("TLS: {refusal}"),
        },
        None => of_call(error, Effect::Reads),
    }
}

/// The error of a TLS handshake, if it is one.
fn tls_error(error: &RedisError) -> Option<&rustls::Error> {
    let shared: &Arc<dyn Error + Send + Sync> = error.source()?.downcast_ref()?;
    let io: &std::io::Error = shared.downcast_ref()?;
    io.get_ref()?.downcast_ref()
}

/// Whether the server refused before it did anything, or was never reached.
pub(crate) fn happened_not(error: &RedisError) -> bool {
    if error.is_connection_refusal() {
        return true;
    }
    match error.kind() {
        ErrorKind::ClusterConnectionNotFound => true,
        ErrorKind::Server(kind) => matches!(
            kind,
            ServerErrorKind::BusyLoading
                | ServerErrorKind::NoScript
                | ServerErrorKind::Moved
                | ServerErrorKind::Ask
                | ServerErrorKind::TryAgain
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ReadOnly
        ),
        _ => matches!(
            error.code(),
            Some("OOM" | "MISCONF" | "NOREPLICAS" | "BUSY" | "UNKILLABLE")
        ),
    }
}

/// Whether the same call may reach its server a moment later.
pub(crate) fn is_moving(error: &RedisError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Server(
            ServerErrorKind::Moved
                | ServerErrorKind::Ask
                | ServerErrorKind::TryAgain
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ReadOnly
        ) | ErrorKind::ClusterConnectionNotFound
    )
}

/// The server answered a script with something that no version of it says.
pub(crate) fn unexpected(what: impl std::fmt::Display) -> ProviderError {
    ProviderError::Unusable {
        reason: format!(
            "the server's answer is not understood: {what}; are all nodes of this release?"
        ),
    }
}

fn unusable(error: &RedisError) -> ProviderError {
    ProviderError::Unusable {
        reason: sentence(error),
    }
}

fn sentence(error: &RedisError) -> String {
    match error.code() {
        Some("OOM") => {
            format!("{error}: raise `maxmemory` or purge ended instances; nothing was lost")
        }
        Some("MISCONF") => format!("{error}: the server cannot write to its disk"),
        _ => error.to_string(),
    }
}
