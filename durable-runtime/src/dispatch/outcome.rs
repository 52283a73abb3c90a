//! How turns end.

use std::time::Duration;

use durable_core::Failure;

use crate::options::FaultPolicy;

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnEnd {
    /// Committed, and the lease is kept.
    Held,
    /// Committed, and the lease is given back.
    Released,
    /// The instance is stopped or in other hands: the execution is dropped.
    Lost,
}

/// How an instance that cannot go on is left.
#[derive(Debug)]
pub(super) enum Stop {
    /// The store could not be read: try again soon.
    Retry,
    /// This node lacks the code: another one may have it, or this one later.
    Blocked { failure: Failure, delay: Duration },
    /// Until somebody resumes it.
    Suspended(Failure),
    /// For good.
    Terminated(Failure),
}

impl Stop {
    pub(super) fn by_policy(failure: Failure, policy: FaultPolicy) -> Self {
        match policy {
            FaultPolicy::Suspend => Self::Suspended(failure),
            FaultPolicy::Terminate => Self::Terminated(failure),
        }
    }
}
