//! A request to stop an instance from outside of its turns.

use std::time::Duration;

use durable_core::{Failure, FailureKind, InstanceId, Name};

use super::fault::NOT_DURABLE;

/// Asks the node to stop an instance whose own turn cannot.
#[derive(Debug)]
pub(crate) struct StopRequest {
    pub(crate) instance: InstanceId,
    pub(crate) cause: StopCause,
}

/// Why an instance is to be stopped.
#[derive(Debug)]
pub(crate) enum StopCause {
    /// Its code was woken by something that is not durable.
    NonDurableWake,
    /// Its code does not return from a poll.
    NeverYields {
        orchestration: Name,
        /// How long it has held its worker thread, at least.
        held: Duration,
    },
}

impl StopCause {
    /// The cause as data for the instance's status.
    pub(crate) fn to_failure(&self) -> Failure {
        let failure = match self {
            Self::NonDurableWake => Failure::new(
                FailureKind::DeterminismViolation,
                format!("the orchestration was woken by {NOT_DURABLE}"),
            ),
            Self::NeverYields {
                orchestration,
                held,
            } => Failure::new(
                FailureKind::Timeout,
                format!(
                    "orchestration `{orchestration}` held its worker thread for {held:?} and did \
                     not yield: what blocks or computes for long belongs into an activity"
                ),
            ),
        };
        failure.not_retryable()
    }
}
