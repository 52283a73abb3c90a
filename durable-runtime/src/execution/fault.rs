//! Why an execution cannot go on. None of these is the orchestration's own
//! failure: the instance is suspended or terminated, by policy.

use std::fmt;

use durable_core::provider::ProviderError;
use durable_core::{CursorError, EventId, Failure, FailureKind, Name, Version};

use super::Misuse;
use crate::payload_codec::PayloadCodecError;

/// What code awaits or is woken by that is not durable, and what to use instead.
pub(super) const NOT_DURABLE: &str = "something that is not durable, such as a task of \
     `tokio::spawn`, `tokio::time::sleep`, a socket or a channel to the outside: use the context's \
     futures (`join_all` and `select!` run them side by side without a task), or `run` for a short \
     side effect";

/// Why an execution cannot go on.
#[derive(Debug, Clone)]
pub(crate) enum ExecutionFault {
    /// The code no longer does what its history says, or the history is corrupt.
    Cursor(CursorError),
    /// The code panicked.
    Panicked { message: String, after: EventId },
    /// The code awaits something that is not durable.
    NonDurableWait { after: EventId },
    /// The code wakes itself without end.
    Restless { after: EventId },
    /// The context or a durable future was used where it cannot work.
    Misuse { misuse: Misuse, after: EventId },
    /// This node does not have the code.
    NotRegistered { name: Name, version: Version },
    /// What was committed does not replay to the same end.
    Diverged { live: EventId, replayed: EventId },
    /// The history could not be read.
    Provider(ProviderError),
    /// This node cannot decode something that the store gave it.
    Unreadable(PayloadCodecError),
}

impl From<CursorError> for ExecutionFault {
    fn from(error: CursorError) -> Self {
        Self::Cursor(error)
    }
}

impl From<ProviderError> for ExecutionFault {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error)
    }
}

impl From<PayloadCodecError> for ExecutionFault {
    fn from(error: PayloadCodecError) -> Self {
        Self::Unreadable(error)
    }
}

impl ExecutionFault {
    /// The fault as data for the instance's status.
    pub(crate) fn to_failure(&self) -> Failure {
        let kind = match self {
            Self::Cursor(CursorError::Violation(_))
            | Self::NonDurableWait { .. }
            | Self::Restless { .. }
            | Self::Misuse { .. }
            | Self::Diverged { .. } => FailureKind::DeterminismViolation,
            Self::Cursor(_) | Self::Provider(_) => FailureKind::CorruptHistory,
            Self::Panicked { .. } => FailureKind::Panicked,
            Self::NotRegistered { .. } => FailureKind::NotRegistered,
            Self::Unreadable(_) => FailureKind::PayloadCodec,
        };
        let message = match self {
            Self::Cursor(CursorError::Violation(violation)) => violation.without_kind().to_string(),
            _ => self.to_string(),
        };
        Failure::new(kind, message).not_retryable()
    }
}

impl fmt::Display for ExecutionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cursor(error) => error.fmt(f),
            Self::Provider(error) => error.fmt(f),
            Self::Unreadable(error) => write!(
                f,
                "what is stored cannot be read on this node: {error}: give it the payload codec \
                 that wrote it"
            ),
            Self::Panicked { message, after } => {
                write!(
                    f,
                    "the orchestration panicked after event {after}: {message}"
                )
            }
            Self::NonDurableWait { after } => write!(
                f,
                "after event {after} the orchestration awaits {NOT_DURABLE}"
            ),
            Self::Restless { after } => write!(
                f,
                "after event {after} the orchestration wakes itself again and again, or looks for \
                 events that are not there, and does nothing else: await what it waits for"
            ),
            Self::Misuse { misuse, after } => {
                write!(f, "after event {after} {}", misuse.explanation())
            }
            Self::Diverged { live, replayed } => write!(
                f,
                "the orchestration came to event {live} when it ran and to event {replayed} when \
                 it was replayed: it depends on something that is not recorded"
            ),
            Self::NotRegistered { name, version } => write!(
                f,
                "orchestration `{name}` {version} is not registered on this node: \
                 deploy a node that has it"
            ),
        }
    }
}
