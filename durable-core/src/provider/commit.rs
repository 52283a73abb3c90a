//! The turn commit: the one place where an instance changes.

use alloc::vec::Vec;
use core::fmt;

use super::lease::Lease;
use super::message::{InboxSeq, OutgoingMessage};
use super::query::InstanceStatus;
use super::stream::StreamPush;
use super::view::{ViewChange, ViewUpdate};
use super::work::{ClaimedWork, NewWork, SourceEvent, WorkItem};
use crate::attribute::Attributes;
use crate::event::Event;
use crate::failure::Failure;
use crate::history::HistoryEntry;
use crate::id::{EventId, ExecutionId};
use crate::text::{Name, Version};

/// Names one commit, so that the same commit sent twice is applied once. The node
/// never gives it to another commit of the same store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(pub u128);

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Everything that one turn changes, applied together or not at all.
///
/// It begins empty with [`TurnCommit::new`]; the caller fills in what the turn changes.
/// What it must satisfy is checked by [`TurnCommit::validate`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Activity calls whose result travelled in memory and stands in `events`. One
    /// that is gone already is ignored.
    pub finished_work: Vec<SourceEvent>,
    /// Activity calls to put into their queues.
    pub new_work: Vec<NewWork>,
    /// Activity calls that the instance no longer waits for: unclaimed ones go, claimed
    /// ones are reported to the session that holds them, which is woken.
    pub cancelled_work: Vec<SourceEvent>,
    /// Timers to set: events of this turn, each a `TimerCreated`, or an
    /// `ActivityScheduled` with a total timeout, whose deadline is a timer of its name.
    pub new_timers: Vec<SourceEvent>,
    /// Timers to remove. One that is gone already is ignored.
    pub cancelled_timers: Vec<SourceEvent>,
    /// Messages to other instances, or to itself.
    pub new_messages: Vec<OutgoingMessage>,
    /// Items to add to streams, in order.
    pub pushes: Vec<StreamPush>,
    /// How the instance's record changes.
    pub update: InstanceUpdate,
    /// Whether the session goes on holding the instance.
    pub keep_lease: bool,
    /// Work to claim for the session together with the answer.
    pub claim: Claim,
}

impl TurnCommit {
    /// A turn that changes nothing and gives its lease back.
    pub fn new(
        commit_id: CommitId,
        lease: Lease,
        execution_id: ExecutionId,
        expected_last_event_id: EventId,
    ) -> Self {
        Self {
            commit_id,
            lease,
            execution_id,
            expected_last_event_id,
            events: Vec::new(),
            next_execution: None,
            consumed: Vec::new(),
            finished_work: Vec::new(),
            new_work: Vec::new(),
            cancelled_work: Vec::new(),
            new_timers: Vec::new(),
            cancelled_timers: Vec::new(),
            new_messages: Vec::new(),
            pushes: Vec::new(),
            update: InstanceUpdate::default(),
            keep_lease: false,
            claim: Claim::default(),
        }
    }

    /// An entry that this turn appends, if it does.
    pub fn entry(&self, source: SourceEvent) -> Option<&HistoryEntry> {
        let (entries, before) = if source.execution_id == self.execution_id {
            (&self.events, self.expected_last_event_id)
        } else {
            let next = self.next_execution.as_ref()?;
            if next.execution_id != source.execution_id {
                return None;
            }
            (&next.events, EventId::UNASSIGNED)
        };
        let distance = source.event_id.get().checked_sub(before.get())?;
        let index = usize::try_from(distance.checked_sub(1)?).ok()?;
        entries.get(index)
    }

    /// The work item that this turn adds; `None` if the event is not an
    /// `ActivityScheduled` of this turn, which [`validate`](Self::validate) refuses.
    pub fn work_item(&self, work: NewWork) -> Option<WorkItem> {
        let entry = self.entry(work.source)?;
        let instance = self.lease.instance.clone();
        WorkItem::scheduled_by(instance, work.source.execution_id, entry, work.number)
    }

    /// When a timer that this turn sets is due: when its `TimerCreated` says, or when the
    /// total timeout of its `ActivityScheduled` has passed since that was recorded. `None`
    /// if the event is no such event of this turn, which [`validate`](Self::validate)
    /// refuses.
    pub fn timer_due_ms(&self, timer: SourceEvent) -> Option<u64> {
        let entry = self.entry(timer)?;
        match &entry.event {
            Event::TimerCreated { fire_at_ms, .. } => Some(*fire_at_ms),
            Event::ActivityScheduled { options, .. } => options.deadline_ms(entry.recorded_at_ms),
            _ => None,
        }
    }

    /// What becomes of a view: what the event says that the update names. `None` if it is no
    /// event of this turn, or says nothing of the view, which [`validate`](Self::validate)
    /// refuses.
    pub fn view_change(&self, update: &ViewUpdate) -> Option<ViewChange<'_>> {
        let entry = self.entry(update.source)?;
        let value = match &entry.event {
            Event::ViewPublished { name, value, .. } if *name == update.name => Some(value),
            Event::ViewCleared { name, .. } if *name == update.name => None,
            Event::OrchestrationStarted { carried, .. } => {
                let mut views = carried.as_ref()?.views.iter();
                let (_, value) = views.find(|(name, _)| *name == update.name)?;
                Some(value)
            }
            _ => return None,
        };
        Some(ViewChange {
            value,
            changed_at_ms: entry.recorded_at_ms,
        })
    }

    /// The recorded time of the latest entry that this turn appends: what a record says
    /// about when it changed is never older.
    pub fn last_recorded_ms(&self) -> Option<u64> {
        let next = self.next_execution.as_ref();
        let last = next.and_then(|next| next.events.last());
        last.or(self.events.last())
            .map(|entry| entry.recorded_at_ms)
    }
}

/// The beginning of the next execution of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NextExecution {
    /// Its id: one above the execution that continued as new.
    pub execution_id: ExecutionId,
    /// Its first entries, from `OrchestrationStarted`.
    pub events: Vec<HistoryEntry>,
}

impl NextExecution {
    /// The next execution, beginning with these entries.
    pub const fn new(execution_id: ExecutionId, events: Vec<HistoryEntry>) -> Self {
        Self {
            execution_id,
            events,
        }
    }
}

/// How an instance's record changes. A field that is `None` or unchanged leaves the record as
/// it is; `blocked` is the exception.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct InstanceUpdate {
    /// The name and version that the current execution runs.
    pub running: Option<(Name, Version)>,
    /// The status. An ended instance drops its timers and its unclaimed work.
    pub status: Option<InstanceStatus>,
    /// The views that change, each once.
    pub views: Vec<ViewUpdate>,
    /// All attributes that the instance has from now on.
    pub attributes: Option<Attributes>,
    /// No session may claim the instance before this time.
    pub not_before_ms: Option<u64>,
    /// What keeps the instance from going on just now, such as a version that no
    /// node has. A commit without it says that nothing does. A session that must not
    /// commit says it with its [`Release`](super::Release).
    pub blocked: Option<Failure>,
}

/// How much work a commit claims for its session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Claim {
    /// At most this many items: the oldest that are ready, not only new ones.
    pub max: usize,
    /// From these queues; `None` in the list is the default queue.
    pub queues: Vec<Option<Name>>,
}

impl Claim {
    /// At most `max` items of these queues; `None` is the default queue.
    pub const fn new(max: usize, queues: Vec<Option<Name>>) -> Self {
        Self { max, queues }
    }
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
#[non_exhaustive]
pub struct Committed {
    /// Whether the inbox has messages that this session has not been given. Only
    /// told for a kept lease; a released instance becomes ready again by itself.
    pub has_messages: bool,
    /// The work that the session has claimed.
    pub claimed: Vec<ClaimedWork>,
}

impl Committed {
    /// The answer to a commit.
    pub const fn new(has_messages: bool, claimed: Vec<ClaimedWork>) -> Self {
        Self {
            has_messages,
            claimed,
        }
    }
}
