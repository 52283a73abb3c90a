//! The gate: where work, timers and events wait until the scheduler lets them
//! through, one at a time.
//!
//! Work that is ready is claimed for the node and kept here; timers stay in the
//! store; events are kept here until they are sent. Nothing is lost in the gate: a
//! node that dies loses its claims, and the work is ready again.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use durable_core::provider::{ClaimedWork, OutgoingMessage, WorkKey};
use durable_core::{InstanceId, Name};
use tokio::sync::Notify;

use crate::TimerSnapshot;

/// What waits at the gate.
#[derive(Debug, Default)]
pub(super) struct Gate {
    state: Mutex<GateState>,
    /// Work was let through.
    pub(super) work: Notify,
    /// A timer was let through.
    pub(super) timers: Notify,
}

#[derive(Debug, Default)]
pub(super) struct GateState {
    waiting_work: Vec<ClaimedWork>,
    passing_work: VecDeque<ClaimedWork>,
    passing_timers: usize,
    waiting_events: Vec<(Name, OutgoingMessage)>,
}

/// Something that can be let through.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Passage {
    /// An activity runs.
    Work(WorkKey, Name),
    /// An activity runs, and the node dies before its result is stored.
    WorkInVain(WorkKey, Name),
    /// A timer fires.
    Timer(TimerSnapshot),
    /// An event is raised: the n-th that waits.
    Event(usize, InstanceId, Name),
    /// The node dies.
    Crash,
}

impl Gate {
    pub(super) fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GateState {
    pub(super) fn keep_work(&mut self, work: Vec<ClaimedWork>) {
        self.waiting_work.extend(work);
    }

    pub(super) fn keep_event(&mut self, name: Name, message: OutgoingMessage) {
        self.waiting_events.push((name, message));
    }

    /// The claims of a node that died are worth nothing.
    pub(super) fn forget_work(&mut self) {
        self.waiting_work.clear();
        self.passing_work.clear();
    }

    /// The work that may run now.
    pub(super) fn passing_work(&mut self, max: usize) -> Vec<ClaimedWork> {
        let count = self.passing_work.len().min(max);
        self.passing_work.drain(..count).collect()
    }

    /// Whether a timer may fire now.
    pub(super) fn passes_timer(&mut self) -> bool {
        let passes = self.passing_timers > 0;
        self.passing_timers = self.passing_timers.saturating_sub(1);
        passes
    }

    pub(super) fn pass_timer(&mut self) {
        self.passing_timers += 1;
    }

    pub(super) fn pass_work(&mut self, key: &WorkKey) {
        let is_meant = |work: &ClaimedWork| work.lease.key == *key;
        if let Some(index) = self.waiting_work.iter().position(is_meant) {
            let work = self.waiting_work.remove(index);
            self.passing_work.push_back(work);
        }
    }

    pub(super) fn pass_event(&mut self, index: usize) -> Option<OutgoingMessage> {
        let is_there = index < self.waiting_events.len();
        is_there.then(|| self.waiting_events.remove(index).1)
    }

    /// What can be let through now, always in the same order; of the timers only
    /// the one that is due first. Crashes come last, and only where something waits.
    pub(super) fn passages(&self, timers: &[TimerSnapshot], may_crash: bool) -> Vec<Passage> {
        let work = self.work(Passage::Work);
        let events = self.waiting_events.iter().enumerate();
        let events = events.map(|(index, (name, message))| {
            Passage::Event(index, message.target.clone(), name.clone())
        });
        let mut passages: Vec<Passage> = work.chain(events).collect();
        passages.sort();
        passages.extend(timers.first().cloned().map(Passage::Timer));
        if may_crash && !passages.is_empty() {
            let mut in_vain: Vec<Passage> = self.work(Passage::WorkInVain).collect();
            in_vain.sort();
            passages.extend(in_vain);
            passages.push(Passage::Crash);
        }
        passages
    }

    fn work(&self, passage: fn(WorkKey, Name) -> Passage) -> impl Iterator<Item = Passage> {
        let waiting = self.waiting_work.iter();
        waiting.map(move |work| passage(work.lease.key.clone(), work.item.name.clone()))
    }
}

impl Passage {
    /// Whether a node dies of it.
    pub(super) fn is_crash(&self) -> bool {
        matches!(self, Self::Crash | Self::WorkInVain(..))
    }
}

impl fmt::Display for Passage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Work(key, name) => write!(
                f,
                "activity `{name}` of `{}` runs (event {})",
                key.instance, key.event_id
            ),
            Self::WorkInVain(key, name) => write!(
                f,
                "activity `{name}` of `{}` runs (event {}), and the node dies before its \
                 result is stored",
                key.instance, key.event_id
            ),
            Self::Crash => f.write_str("the node dies"),
            Self::Timer(timer) => write!(
                f,
                "the timer of `{}` fires (event {})",
                timer.instance, timer.source.event_id
            ),
            Self::Event(_, instance, name) => {
                write!(f, "event `{name}` is raised for `{instance}`")
            }
        }
    }
}
