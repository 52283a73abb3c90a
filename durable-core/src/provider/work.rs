//! Work items (activities to be run) and timers.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::lease::SessionId;
use super::wake::WakeSeq;
use crate::failure::Failure;
use crate::id::{CommandId, CommandKind, EventId, ExecutionId};
use crate::options::ActivityOptions;
use crate::text::{InstanceId, Name, Payload};

/// Names one activity call: its scheduling event. It is also the call's
/// idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkKey {
    /// The instance that called it.
    pub instance: InstanceId,
    /// Its execution.
    pub execution_id: ExecutionId,
    /// Its `ActivityScheduled`.
    pub event_id: EventId,
}

/// An activity that is to be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkItem {
    /// Which call it is.
    pub key: WorkKey,
    /// Which activity call of its execution it is, from 0, for people; items that
    /// were written by early releases do not say.
    pub number: Option<u64>,
    /// The activity.
    pub name: Name,
    /// What to call it with.
    pub input: Payload,
    /// How to run it.
    pub options: ActivityOptions,
    /// When it was scheduled: total timeouts count from here.
    pub scheduled_at_ms: u64,
}

impl WorkItem {
    /// The command that asked for it, as violations, logs and views name it.
    ///
    /// ```
    /// use durable_core::provider::{WorkItem, WorkKey};
    /// use durable_core::{ActivityOptions, EventId, ExecutionId};
    ///
    /// let item = WorkItem {
    ///     key: WorkKey {
    ///         instance: "order-7".into(),
    ///         execution_id: ExecutionId::FIRST,
    ///         event_id: EventId::new(5),
    ///     },
    ///     number: Some(1),
    ///     name: "charge".into(),
    ///     input: "12".into(),
    ///     options: ActivityOptions::default(),
    ///     scheduled_at_ms: 0,
    /// };
    /// assert_eq!(item.command().unwrap().to_string(), "Activity(1)");
    /// ```
    pub fn command(&self) -> Option<CommandId> {
        self.number.map(|number| CommandId {
            kind: CommandKind::Activity,
            number,
        })
    }
}

/// The right to settle one work item.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WorkLease {
    /// The work item.
    pub key: WorkKey,
    /// The session that holds it.
    pub session: SessionId,
    /// Rises with every hand-out of the work item.
    pub token: u64,
}

/// A work item in a session's hands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedWork {
    /// The right to settle it.
    pub lease: WorkLease,
    /// What is to be done.
    pub item: WorkItem,
    /// Which attempt this is, from 1: failures that were reported, plus one.
    pub attempt: u32,
    /// How many sessions died holding it.
    pub crashes: u32,
    /// What the last heartbeat of an earlier attempt left behind.
    pub heartbeat: Option<Payload>,
}

/// Work that is handed to a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkBatch {
    /// The store's time.
    pub now_ms: u64,
    /// What to pass to [`Provider::wait`](super::Provider::wait) so that nothing
    /// that came after this fetch is missed.
    pub seen: WakeSeq,
    /// The work, oldest first.
    pub work: Vec<ClaimedWork>,
    /// When time alone may make more of it ready: a delayed retry of these queues,
    /// or a session that ends without a heartbeat.
    pub next_due_ms: Option<u64>,
}

/// How a session gives a work item back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkSettlement {
    /// The right to do so.
    pub lease: WorkLease,
    /// What became of it.
    pub result: WorkResult,
}

/// What became of a work item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkResult {
    /// It ended: the item goes, and its instance gets the result.
    Finished(Result<Payload, Failure>),
    /// It failed and is to be tried again.
    Retry {
        /// Not before this time.
        not_before_ms: u64,
    },
    /// It was not run, or only begun: it is ready again, and the attempt does not
    /// count.
    HandedBack {
        /// Not before this time; `None` is at once.
        not_before_ms: Option<u64>,
    },
    /// It took its worker down too often: it is kept for inspection, and its
    /// instance gets the failure.
    Poisoned(Failure),
}

/// A work item that was set aside, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoisonedWork {
    /// What was to be done.
    pub item: WorkItem,
    /// What its instance was told.
    pub failure: Failure,
}

/// A part of a list of work that was set aside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PoisonedPage {
    /// The work, by key.
    pub work: Vec<PoisonedWork>,
    /// The key to go on after, if there is more.
    pub next: Option<WorkKey>,
}

/// A timer that is to fire.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timer {
    /// The instance that set it.
    pub instance: InstanceId,
    /// Its execution.
    pub execution_id: ExecutionId,
    /// Its `TimerCreated`.
    pub event_id: EventId,
    /// When it is due.
    pub fire_at_ms: u64,
}

/// What [`Provider::fire_timers`](super::Provider::fire_timers) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FiredTimers {
    /// The store's time.
    pub now_ms: u64,
    /// What to pass to [`Provider::wait`](super::Provider::wait) so that a timer
    /// that was set after this call is not missed.
    pub seen: WakeSeq,
    /// How many fired.
    pub fired: usize,
    /// When the next one is due.
    pub next_due_ms: Option<u64>,
}
