//! The turn commit: the one place where an instance changes.

use alloc::vec::Vec;
use core::fmt;

use super::lease::Lease;
use super::message::{InboxSeq, OutgoingMessage};
use super::query::InstanceStatus;
use super::work::{ClaimedWork, Timer, WorkItem, WorkKey};
use crate::failure::Failure;
use crate::history::HistoryEntry;
use crate::id::{EventId, ExecutionId};
use crate::text::{Name, Payload};

/// Names one commit, so that the same commit sent twice is applied once. The
/// caller draws it at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(pub u128);

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Everything that one turn changes, applied together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnCommit {
    /// Names this commit.
    pub commit_id: CommitId,
    /// The right to commit.
    pub lease: Lease,
    /// The execution that the turn ran.
    pub execution_id: ExecutionId,
    /// The tail that the turn began from: a second fence beside the lease.
    pub expected_last_event_id: EventId,
    /// New entries, contiguous from `expected_last_event_id + 1`. May be empty.
    pub events: Vec<HistoryEntry>,
    /// The first entries of the next execution, if this one continued as new.
    pub next_execution: Option<NextExecution>,
    /// Messages taken from the inbox. One that is gone already is ignored.
    pub consumed: Vec<InboxSeq>,
    /// Work items whose result travelled in memory and stands in `events`. One
    /// that is gone already is ignored.
    pub finished_work: Vec<WorkKey>,
    /// Activities to run.
    pub new_work: Vec<WorkItem>,
    /// Activities that nobody waits for any more: unclaimed ones go, claimed
    /// ones are reported to their holder.
    pub cancelled_work: Vec<WorkKey>,
    /// Timers to set.
    pub new_timers: Vec<Timer>,
    /// Timers to remove, by execution and `TimerCreated`. One that is gone already
    /// is ignored.
    pub cancelled_timers: Vec<(ExecutionId, EventId)>,
    /// Messages to other instances, or to itself.
    pub new_messages: Vec<OutgoingMessage>,
    /// How the instance's record changes.
    pub update: InstanceUpdate,
    /// Whether the session goes on holding the instance.
    pub keep_lease: bool,
    /// Work to hand to the session together with the answer.
    pub claim: Claim,
}

/// The beginning of the next execution of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextExecution {
    /// Its id: one above the execution that continued as new.
    pub execution_id: ExecutionId,
    /// Its first entries, from `OrchestrationStarted`.
    pub events: Vec<HistoryEntry>,
}

/// How an instance's record changes. `None` leaves a field as it is, unless it says
/// otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InstanceUpdate {
    /// The name and version that the current execution runs.
    pub running: Option<(Name, crate::text::Version)>,
    /// The status. An ended instance drops its timers and its unclaimed work.
    pub status: Option<InstanceStatus>,
    /// The custom status.
    pub custom_status: Option<Payload>,
    /// Hand the instance out again only from this time on.
    pub not_before_ms: Option<u64>,
    /// What keeps the instance from going on just now, such as a version that no
    /// node has. A commit without it says that nothing does. A holder that must not
    /// commit says it with its [`Release`](super::Release).
    pub blocked: Option<Failure>,
}

/// How much work a commit hands to its session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claim {
    /// At most this many items: the oldest that are ready, not only new ones.
    pub max: usize,
    /// From these queues; `None` in the list is the default queue.
    pub queues: Vec<Option<Name>>,
}

/// What became of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum CommitOutcome {
    /// It was applied.
    Done(Committed),
    /// It had been applied before; the answer is the one that was given then.
    AlreadyDone(Committed),
    /// The lease is no longer held: nothing was changed by this call. Drop the
    /// state and read again. An earlier attempt with the same commit id may have
    /// been applied.
    Fenced,
    /// The tail is another: nothing was changed. Drop the state and read again.
    Conflict {
        /// The execution that the store has.
        execution_id: ExecutionId,
        /// The tail that the store has.
        last_event_id: EventId,
    },
}

/// The answer to a commit that was applied.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Committed {
    /// The store's time.
    pub now_ms: u64,
    /// Whether the inbox has messages that this session has not been given. Only
    /// told for a kept lease; a released instance is handed out again by itself.
    pub has_messages: bool,
    /// The work that was handed to the session.
    pub claimed: Vec<ClaimedWork>,
}
