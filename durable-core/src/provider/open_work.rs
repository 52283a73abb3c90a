//! Reading what an instance waits for: its open activity calls and timers.

use alloc::vec::Vec;

use super::lease::SessionId;
use super::work::{SourceEvent, WorkItem};
use crate::failure::Failure;
use crate::id::EventId;
use crate::text::Payload;

/// Where an open activity call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkState {
    /// It is in its queue.
    Queued {
        /// A session may claim it from this time on: a retry that is delayed has a later time
        /// than now.
        ready_at_ms: u64,
    },
    /// A session holds it: it runs there, or is about to.
    Held {
        /// The session.
        session: SessionId,
    },
}

/// An activity call that is not settled.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenActivity {
    /// What is to be done.
    pub item: WorkItem,
    /// Where it is.
    pub state: WorkState,
    /// Which attempt runs or is to come, from 1: failures that were reported, plus one.
    pub attempt: u32,
    /// How many sessions died holding it.
    pub crashes: u32,
    /// What its last heartbeat said, of this attempt or an earlier one.
    pub heartbeat: Option<Payload>,
    /// Why the attempt before this one failed, as its node summarised it.
    pub last_failure: Option<Failure>,
    /// Whether its instance no longer waits for it; the session that holds it is told.
    pub is_cancelled: bool,
}

impl OpenActivity {
    /// The first attempt at an item.
    pub const fn new(item: WorkItem, state: WorkState) -> Self {
        Self {
            item,
            state,
            attempt: 1,
            crashes: 0,
            heartbeat: None,
            last_failure: None,
            is_cancelled: false,
        }
    }

    /// Its scheduling event.
    pub const fn source(&self) -> SourceEvent {
        self.item.key.source()
    }

    /// Which delivery runs or is to come, from 1: every attempt that failed and every session
    /// that died was one before.
    pub const fn delivery(&self) -> u32 {
        self.attempt.saturating_add(self.crashes)
    }

    /// When the next attempt may begin, if it is later than this time.
    pub fn delayed_until_ms(&self, now_ms: u64) -> Option<u64> {
        match self.state {
            WorkState::Queued { ready_at_ms } => Some(ready_at_ms).filter(|at_ms| *at_ms > now_ms),
            WorkState::Held { .. } => None,
        }
    }
}

/// A timer that has not fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct OpenTimer {
    /// The event that set it: a `TimerCreated`, the `ActivityScheduled` whose total timeout it
    /// is, or the first event of an execution: then it is the deadline of the instance.
    pub source: SourceEvent,
    /// When it is due.
    pub fire_at_ms: u64,
}

impl OpenTimer {
    /// The timer that this event set.
    pub const fn new(source: SourceEvent, fire_at_ms: u64) -> Self {
        Self { source, fire_at_ms }
    }

    /// Whether it is the deadline of the instance.
    pub fn is_deadline(&self) -> bool {
        self.source.event_id == EventId::FIRST
    }
}

/// A part of what an instance waits for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct OpenWorkPage {
    /// Its activity calls, by event.
    pub activities: Vec<OpenActivity>,
    /// Its timers, by event.
    pub timers: Vec<OpenTimer>,
    /// The event to go on after, if there is more.
    pub next: Option<SourceEvent>,
}

impl OpenWorkPage {
    /// The first `max` events of what comes after `after`: of either sort all that there is, or
    /// more than `max`, by event.
    pub fn first(
        activities: Vec<OpenActivity>,
        timers: Vec<OpenTimer>,
        after: Option<SourceEvent>,
        max: usize,
    ) -> Self {
        let of_activities = activities.iter().map(OpenActivity::source);
        let of_timers = timers.iter().map(|timer| timer.source);
        let mut sources: Vec<SourceEvent> = of_activities.chain(of_timers).collect();
        sources.sort_unstable();
        sources.dedup();
        let has_more = sources.len() > max;
        sources.truncate(max);
        let last = sources.last().copied();
        let mut page = Self {
            activities,
            timers,
            next: last.or(after).filter(|_| has_more),
        };
        page.activities
            .retain(|activity| Some(activity.source()) <= last);
        page.timers.retain(|timer| Some(timer.source) <= last);
        page
    }
}
