//! Why an execution cannot go on. None of these is the orchestration's own
//! failure: the instance is suspended or terminated, by policy.

use durable_core::provider::ProviderError;
use durable_core::{CursorError, EventId, Failure, FailureKind, Name, Version};

use crate::context::Misuse;

/// Why an execution cannot go on.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// The code no longer does what its history says, or the history is corrupt.
    Cursor(CursorError),
    /// The code panicked.
    Panicked { message: String, after: EventId },
    /// The code awaits something that is not durable.
    ForeignWait { after: EventId },
    /// A durable future was used where it cannot work.
    Misuse { misuse: Misuse, after: EventId },
    /// This node does not have the code.
    NotRegistered { name: Name, version: Version },
    /// What was committed does not replay to the same end.
    Diverged { live: EventId, replayed: EventId },
    /// The history could not be read.
    Provider(ProviderError),
}

impl From<CursorError> for Fault {
    fn from(error: CursorError) -> Self {
        Self::Cursor(error)
    }
}

impl From<ProviderError> for Fault {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error)
    }
}

impl Fault {
    /// The fault as data for the instance's status.
    pub(crate) fn to_failure(&self) -> Failure {
        let kind = match self {
            Self::Cursor(CursorError::Violation(_))
            | Self::ForeignWait { .. }
            | Self::Misuse { .. }
            | Self::Diverged { .. } => FailureKind::DeterminismViolation,
            Self::Cursor(_) | Self::Provider(_) => FailureKind::CorruptHistory,
            Self::Panicked { .. } => FailureKind::Panicked,
            Self::NotRegistered { .. } => FailureKind::NotRegistered,
        };
        Failure::new(kind, self.sentence()).not_retryable()
    }

    fn sentence(&self) -> String {
        match self {
            Self::Cursor(error) => error.to_string(),
            Self::Provider(error) => error.to_string(),
            Self::Panicked { message, after } => {
                format!("the orchestration panicked after event {after}: {message}")
            }
            Self::ForeignWait { after } => format!(
                "after event {after} the orchestration awaits something that is not durable, \
                 such as `tokio::time::sleep`, a socket or a channel to the outside: use the \
                 context's futures, or `run` for a short side effect"
            ),
            Self::Misuse {
                misuse: Misuse::PolledElsewhere,
                after,
            } => format!(
                "after event {after} a durable future was polled outside of its orchestration, \
                 such as in `tokio::spawn`: await it in the orchestration itself"
            ),
            Self::Misuse {
                misuse: Misuse::PolledInRun,
                after,
            } => format!(
                "after event {after} a durable future was awaited inside a recorded side effect: \
                 await it outside of `run`"
            ),
            Self::Diverged { live, replayed } => format!(
                "the orchestration came to event {live} when it ran and to event {replayed} when \
                 it was replayed: it depends on something that is not recorded"
            ),
            Self::NotRegistered { name, version } => format!(
                "orchestration `{name}` {version} is not registered on this node: \
                 deploy a node that has it"
            ),
        }
    }
}
