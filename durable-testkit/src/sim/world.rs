//! What all parts of a simulation share: chance, the timeline, the store, and the
//! invariants that watch it.
//!
//! Invariants: one thread; nothing here waits while the lock is held; everything
//! that is drawn is drawn from a stream that follows from the seed.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use durable_core::MessageId;
use durable_core::provider::Provider;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::chance::Stream;
use super::clock::SimClock;
use super::observed::Observed;
use super::plan::{FaultPlan, SimFault};
use super::scope::{FaultPlace, SimScope};
use super::timeline::{SimTimeline, SimTimelineEntry};
use crate::invariant::{Invariant, InvariantViolation};
use crate::memory::{MemoryProvider, Snapshot};

/// Where a simulation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SimPhase {
    /// Things go wrong.
    Faults,
    /// Nothing goes wrong any more.
    Healed,
    /// No call is answered any more.
    Over,
}

/// What stands between the handles of the lives and the store.
pub(crate) type AroundStore = Box<dyn Fn(MemoryProvider) -> Arc<dyn Provider> + Send + Sync>;

/// Shared by everything in a simulation.
pub(crate) struct World {
    pub(crate) began: Instant,
    seed: u64,
    pub(crate) plan: FaultPlan,
    pub(crate) scope: SimScope,
    /// The store. This handle never moves its time: the lives do.
    memory: MemoryProvider,
    around_store: AroundStore,
    phase: Mutex<SimPhase>,
    /// Wakes in the order in which tasks began to wait, as `watch` does not: a seed is one
    /// run to the byte.
    phase_changed: Notify,
    limits: WorldLimits,
    state: Mutex<WorldState>,
}

/// Bounds that are no part of the plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorldLimits {
    /// After how many calls the whole store is looked at.
    pub(crate) look_every: u64,
    /// More calls than this mean that something turns in circles.
    pub(crate) max_calls: u64,
}

struct WorldState {
    timeline: SimTimeline,
    struck: BTreeSet<FaultPlace>,
    parts: BTreeSet<u64>,
    faults: BTreeMap<SimFault, u64>,
    calls: u64,
    invariants: Vec<Box<dyn Invariant>>,
    failure: Option<(&'static str, InvariantViolation)>,
    message_ids: BTreeMap<MessageId, MessageId>,
}

/// What a simulation leaves behind.
pub(crate) struct Remains {
    pub(crate) timeline: SimTimeline,
    pub(crate) struck: BTreeSet<FaultPlace>,
    pub(crate) parts: BTreeSet<u64>,
    pub(crate) faults: BTreeMap<SimFault, u64>,
    pub(crate) calls: u64,
    pub(crate) failure: Option<(&'static str, InvariantViolation)>,
    pub(crate) elapsed: Duration,
    pub(crate) snapshot: Snapshot,
}

impl World {
    pub(crate) fn new(
        seed: u64,
        plan: FaultPlan,
        scope: SimScope,
        memory: MemoryProvider,
        around_store: AroundStore,
        invariants: Vec<Box<dyn Invariant>>,
        limits: WorldLimits,
    ) -> Self {
        Self {
            began: Instant::now(),
            seed,
            plan,
            scope,
            memory,
            around_store,
            phase: Mutex::new(SimPhase::Faults),
            phase_changed: Notify::new(),
            limits,
            state: Mutex::new(WorldState {
                timeline: SimTimeline::default(),
                struck: BTreeSet::new(),
                parts: BTreeSet::new(),
                faults: BTreeMap::new(),
                calls: 0,
                invariants,
                failure: None,
                message_ids: BTreeMap::new(),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, WorldState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn phase(&self) -> SimPhase {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the simulation has come this far.
    pub(crate) async fn reached(&self, phase: SimPhase) {
        loop {
            let mut changed = pin!(self.phase_changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            if self.phase() >= phase {
                return;
            }
            changed.await;
        }
    }

    pub(crate) fn enter(&self, phase: SimPhase) {
        let mut now = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        let is_later = phase > *now;
        *now = phase.max(*now);
        drop(now);
        if is_later {
            self.phase_changed.notify_waiters();
        }
    }

    /// Opens the store for a process with this clock.
    pub(crate) fn open_store(&self, clock: SimClock) -> Arc<dyn Provider> {
        (self.around_store)(self.memory.handle_with_clock(clock))
    }

    /// The chance of one part of the simulation.
    pub(crate) fn stream(&self, name: &str) -> Stream {
        Stream::new(self.seed, name)
    }

    /// Whether the fault that was drawn for this place strikes.
    pub(crate) fn strikes(&self, place: &FaultPlace) -> bool {
        let is_meant = self.phase() == SimPhase::Faults && self.scope.allows(place);
        if is_meant {
            self.state().struck.insert(place.clone());
        }
        is_meant
    }

    /// Whether a part of the workload runs.
    pub(crate) fn has_part(&self, number: u64) -> bool {
        let is_meant = self.scope.has_part(number);
        if is_meant {
            self.state().parts.insert(number);
        }
        is_meant
    }

    /// Notes that something went wrong, for the count.
    pub(crate) fn count(&self, fault: SimFault) {
        *self.state().faults.entry(fault).or_insert(0) += 1;
    }

    /// Adds a line to the timeline.
    pub(crate) fn note(
        &self,
        who: &Arc<str>,
        what: &str,
        fault: Option<SimFault>,
        outcome: String,
    ) {
        let entry = SimTimelineEntry {
            at: self.began.elapsed(),
            who: Arc::clone(who),
            what: what.to_owned(),
            fault,
            outcome,
        };
        self.state().timeline.add(entry);
    }

    /// Counts a call, and looks at the whole store now and then.
    pub(crate) fn called(&self) {
        let mut state = self.state();
        state.calls += 1;
        let calls = state.calls;
        drop(state);
        if calls > self.limits.max_calls {
            let violation =
                InvariantViolation::new(format!("{calls} calls: something turns in circles"));
            self.fail("comes_to_rest", violation);
        }
        if calls.is_multiple_of(self.limits.look_every) {
            let snapshot = self.memory.snapshot();
            self.judge(|invariant| invariant.look(&snapshot));
        }
    }

    /// Shows an answer of the store to the invariants.
    pub(crate) fn saw(&self, seen: &Observed<'_>) {
        self.judge(|invariant| invariant.saw(seen, &self.memory));
    }

    /// Whether nothing is left to do.
    pub(crate) fn is_at_rest(&self) -> bool {
        let snapshot = self.memory.snapshot();
        snapshot.timers.is_empty()
            && snapshot.work.is_empty()
            && snapshot.instances.values().all(|instance| {
                instance.record.status.kind().is_ended()
                    && instance.inbox.is_empty()
                    && instance.holder.is_none()
            })
    }

    /// Lets the invariants judge the end.
    pub(crate) fn judge_end(&self) {
        let snapshot = self.memory.snapshot();
        self.judge(|invariant| invariant.look(&snapshot));
        self.judge(|invariant| invariant.end(&snapshot));
    }

    fn judge(&self, mut judge: impl FnMut(&mut dyn Invariant) -> Result<(), InvariantViolation>) {
        let mut state = self.state();
        if state.failure.is_some() {
            return;
        }
        let mut invariants = std::mem::take(&mut state.invariants);
        for invariant in &mut invariants {
            if let Err(violation) = judge(invariant.as_mut()) {
                state.fail(invariant.name(), violation);
                break;
            }
        }
        state.invariants = invariants;
        let is_broken = state.failure.is_some();
        drop(state);
        if is_broken {
            self.enter(SimPhase::Over);
        }
    }

    /// Something that is no invariant's business went wrong.
    pub(crate) fn fail(&self, name: &'static str, violation: InvariantViolation) {
        self.state().fail(name, violation);
        self.enter(SimPhase::Over);
    }

    /// The id under which a client's message is sent: ids that the client drew
    /// itself are numbered instead, so that they follow from the seed.
    pub(crate) fn message_id(&self, drawn: &MessageId) -> MessageId {
        let is_drawn = drawn.len() == 36 && drawn.bytes().filter(|byte| *byte == b'-').count() == 4;
        if !is_drawn {
            return drawn.clone();
        }
        let mut state = self.state();
        let next = state.message_ids.len() + 1;
        let numbered = || MessageId::from(format!("client-message-{next}"));
        state
            .message_ids
            .entry(drawn.clone())
            .or_insert_with(numbered)
            .clone()
    }

    pub(crate) fn remains(&self) -> Remains {
        let state = self.state();
        Remains {
            timeline: state.timeline.clone(),
            struck: state.struck.clone(),
            parts: state.parts.clone(),
            faults: state.faults.clone(),
            calls: state.calls,
            failure: state.failure.clone(),
            elapsed: self.began.elapsed(),
            snapshot: self.memory.snapshot(),
        }
    }
}

impl WorldState {
    fn fail(&mut self, name: &'static str, violation: InvariantViolation) {
        self.failure.get_or_insert((name, violation));
    }
}
