//! Work items (activities to be run), dead letters and timers.
//!
//! Work and timers are named by the event that scheduled them. The event is the one
//! record of a call: a store keeps at most a copy of that entry, never another form of
//! it.

use alloc::format;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::lease::SessionId;
use super::message::{Message, MessageBody};
use super::wake::WakeSeq;
use crate::event::{EarlierAttempts, Event};
use crate::failure::Failure;
use crate::history::HistoryEntry;
use crate::id::{CommandId, CommandKind, EventId, ExecutionId};
use crate::options::ActivityOptions;
use crate::text::{InstanceId, MessageId, Name, Payload};

/// Names an event of an instance: the one that scheduled an activity or a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceEvent {
    /// The execution that recorded it.
    pub execution_id: ExecutionId,
    /// Its position.
    pub event_id: EventId,
}

impl SourceEvent {
    /// Names the event at this position of this execution.
    pub const fn new(execution_id: ExecutionId, event_id: EventId) -> Self {
        Self {
            execution_id,
            event_id,
        }
    }
}

impl fmt::Display for SourceEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "event {} of execution {}",
            self.event_id, self.execution_id
        )
    }
}

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

impl WorkKey {
    /// Names the activity call that this event of an instance scheduled.
    pub const fn new(instance: InstanceId, source: SourceEvent) -> Self {
        Self {
            instance,
            execution_id: source.execution_id,
            event_id: source.event_id,
        }
    }

    /// The scheduling event.
    pub const fn source(&self) -> SourceEvent {
        SourceEvent::new(self.execution_id, self.event_id)
    }

    /// What its instance is told when it has ended. The id follows from the key, so that the
    /// message can be in an inbox only once.
    pub fn finished(
        &self,
        result: Result<Payload, Failure>,
        earlier_attempts: EarlierAttempts,
    ) -> Message {
        let (execution_id, source_event_id) = (self.execution_id, self.event_id);
        let body = MessageBody::ActivityFinished {
            execution_id,
            source_event_id,
            result,
            earlier_attempts,
        };
        let id = format!("activity/{execution_id}/{source_event_id}");
        Message::new(MessageId::from(id), body)
    }
}

/// An activity call that a turn adds to its queue. What is called, with which input and
/// options, stands in the `ActivityScheduled` that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct NewWork {
    /// Its `ActivityScheduled`, an event of the same turn.
    pub source: SourceEvent,
    /// Which activity call of its execution it is, from 0, for people.
    pub number: u64,
}

impl NewWork {
    /// The activity call that this event scheduled, the `number`-th of its execution.
    pub const fn new(source: SourceEvent, number: u64) -> Self {
        Self { source, number }
    }
}

/// An activity that is to be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WorkItem {
    /// Which call it is.
    pub key: WorkKey,
    /// Which activity call of its execution it is, from 0, for people.
    pub number: u64,
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
    /// The work that an entry of this instance's history scheduled; `None` if the entry
    /// is no `ActivityScheduled`.
    ///
    /// ```
    /// use durable_core::provider::WorkItem;
    /// use durable_core::{ActivityOptions, Event, EventId, ExecutionId, HistoryEntry};
    ///
    /// let scheduled = Event::ActivityScheduled {
    ///     event_id: EventId::new(5),
    ///     execution_id: ExecutionId::FIRST,
    ///     name: "charge".into(),
    ///     input: "12".into(),
    ///     options: ActivityOptions::default(),
    /// };
    /// let entry = HistoryEntry::new(1_000, scheduled);
    /// let item = WorkItem::scheduled_by("order-7".into(), ExecutionId::FIRST, &entry, 1).unwrap();
    /// assert_eq!(item.command().to_string(), "Activity(1)");
    /// assert_eq!(item.scheduled_at_ms, 1_000);
    /// ```
    pub fn scheduled_by(
        instance: InstanceId,
        execution_id: ExecutionId,
        entry: &HistoryEntry,
        number: u64,
    ) -> Option<Self> {
        let Event::ActivityScheduled {
            event_id,
            name,
            input,
            options,
            ..
        } = &entry.event
        else {
            return None;
        };
        Some(Self {
            key: WorkKey::new(instance, SourceEvent::new(execution_id, *event_id)),
            number,
            name: name.clone(),
            input: input.clone(),
            options: options.clone(),
            scheduled_at_ms: entry.recorded_at_ms,
        })
    }

    /// The command that asked for it, as violations, logs and views name it.
    pub const fn command(&self) -> CommandId {
        CommandId {
            kind: CommandKind::Activity,
            number: self.number,
        }
    }
}

/// The right to settle one work item.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WorkLease {
    /// The work item.
    pub key: WorkKey,
    /// The session that holds it.
    pub session: SessionId,
    /// The fencing token: it rises with every claim of the work item.
    pub token: u64,
}

/// A work item that a session has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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

impl ClaimedWork {
    /// The first attempt at an item, claimed by this session under this token.
    pub fn new(item: WorkItem, session: SessionId, token: u64) -> Self {
        Self {
            lease: WorkLease {
                key: item.key.clone(),
                session,
                token,
            },
            item,
            attempt: 1,
            crashes: 0,
            heartbeat: None,
        }
    }

    /// Which delivery this is, from 1: every attempt that failed and every session that died
    /// was one before.
    pub const fn delivery(&self) -> u32 {
        self.attempt.saturating_add(self.crashes)
    }

    /// The attempts before this one.
    pub const fn earlier_attempts(&self) -> EarlierAttempts {
        EarlierAttempts::new(self.attempt.saturating_sub(1), self.crashes)
    }
}

/// Work that a session has claimed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WorkBatch {
    /// What to pass to [`Provider::wait`](super::Provider::wait) so that nothing
    /// that came after this fetch is missed.
    pub seen: WakeSeq,
    /// The work, oldest first.
    pub work: Vec<ClaimedWork>,
    /// When time alone may make more of it ready: a delayed retry of these queues,
    /// or a session that ends without a heartbeat.
    pub next_due_ms: Option<u64>,
}

/// Work that a session holds and that was cancelled since it was claimed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CancelledWork {
    /// What to pass to [`Provider::wait`](super::Provider::wait) so that nothing
    /// that was cancelled after this call is missed.
    pub seen: WakeSeq,
    /// The calls, each until it is settled.
    pub keys: Vec<WorkKey>,
}

/// How a session gives a work item back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkSettlement {
    /// The right to do so.
    pub lease: WorkLease,
    /// What became of it.
    pub result: WorkResult,
    /// The attempts before this one, which the instance is told with the result.
    pub earlier_attempts: EarlierAttempts,
}

impl WorkSettlement {
    /// Gives the item of this lease back with this result of its first attempt.
    pub const fn new(lease: WorkLease, result: WorkResult) -> Self {
        Self {
            lease,
            result,
            earlier_attempts: EarlierAttempts::NONE,
        }
    }

    /// There were these attempts before.
    #[must_use]
    pub const fn after(mut self, earlier_attempts: EarlierAttempts) -> Self {
        self.earlier_attempts = earlier_attempts;
        self
    }
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
        /// Why it failed, for those who look at it meanwhile.
        failure: Failure,
    },
    /// It was not run, or only begun: it is ready again, and the attempt does not
    /// count.
    HandedBack {
        /// Not before this time; `None` is at once.
        not_before_ms: Option<u64>,
    },
    /// It took its worker down too often: it becomes a dead letter, and its instance
    /// gets the failure.
    Poisoned(Failure),
}

/// What a provider did with a settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum SettleOutcome {
    /// The lease was held: the settlement was applied.
    Settled,
    /// The lease was no longer held: the settlement changed nothing.
    LeaseLost,
}

/// What a provider did with the heartbeat of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum HeartbeatOutcome {
    /// The lease is held: the details are kept for the next attempt.
    Kept,
    /// The lease is no longer held: the heartbeat changed nothing.
    LeaseLost,
}

/// A dead letter: a work item that took its worker down too often, and the failure that
/// its instance was told.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoisonedWork {
    /// What was to be done.
    pub item: WorkItem,
    /// What its instance was told.
    pub failure: Failure,
}

impl PoisonedWork {
    /// A dead letter.
    pub const fn new(item: WorkItem, failure: Failure) -> Self {
        Self { item, failure }
    }
}

/// A part of the list of dead letters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PoisonedPage {
    /// The dead letters, by key.
    pub work: Vec<PoisonedWork>,
    /// The key to go on after, if there is more.
    pub next: Option<WorkKey>,
}

/// What [`Provider::fire_timers`](super::Provider::fire_timers) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FiredTimers {
    /// What to pass to [`Provider::wait`](super::Provider::wait) so that a timer
    /// that was set after this call is not missed.
    pub seen: WakeSeq,
    /// How many fired.
    pub fired: usize,
    /// When the next one is due.
    pub next_due_ms: Option<u64>,
}
