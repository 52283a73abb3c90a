//! The open operations of an execution: from a durable future's first poll
//! until its value is taken or the future is dropped.
//!
//! ```text
//! Emitted ──flush──▶ Open ──input──▶ Waiting ──grant──▶ Granted ──poll──▶ (taken)
//!                                      ▲                   │
//!                                      └──── not taken ────┘
//! ```
//!
//! A run goes from `Called` (in the poll that made it) to `Requested` to `Permitted`;
//! when it is polled then, it is `Running` until it ends, or takes its recorded
//! result. Memory is one slot per operation in this table; an operation that
//! ended leaves nothing behind.

use alloc::collections::BTreeMap;

use slab::Slab;

use super::external::Arrival;
use crate::event::{Event, EventKind};
use crate::failure::Failure;
use crate::id::EventId;
use crate::text::{Name, Payload};

/// Names one operation of one cursor. It is never given to another operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OpKey {
    slot: usize,
    serial: u64,
}

impl OpKey {
    /// A small number that no other open operation has: an index for a table
    /// that the driver keeps beside the cursor, for example of wakers.
    pub const fn slot(self) -> usize {
        self.slot
    }
}

/// What an operation came to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// A value: of an activity, a child, a promise, an event or a run.
    Value(Payload),
    /// A failure of one of these, or its cancellation.
    Failed(Failure),
    /// A timer fired.
    Fired,
    /// The answer to a patch question.
    Patched(bool),
}

impl From<Result<Payload, Failure>> for Outcome {
    fn from(result: Result<Payload, Failure>) -> Self {
        match result {
            Ok(value) => Self::Value(value),
            Err(failure) => Self::Failed(failure),
        }
    }
}

/// What an operation is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    Activity,
    Timer,
    SubOrchestration,
    /// A subscription to this name.
    External(Name),
    /// A promise with this number.
    Promise(u64),
    /// A recorded side effect of this name.
    Run(Name),
    /// A patch question.
    Patch,
}

impl Subject {
    /// The kind of the event that a completion names; `None` if nothing can
    /// complete it from outside.
    pub(super) fn scheduling_kind(&self) -> Option<EventKind> {
        match self {
            Self::Activity => Some(EventKind::ActivityScheduled),
            Self::Timer => Some(EventKind::TimerCreated),
            Self::SubOrchestration => Some(EventKind::SubOrchestrationScheduled),
            Self::External(_) => Some(EventKind::ExternalSubscribed),
            Self::Promise(_) => Some(EventKind::PromiseCreated),
            Self::Run(_) | Self::Patch => None,
        }
    }

    /// The output that tells the world that nobody waits for it any more.
    pub(super) fn cancellation(&self, source_event_id: EventId) -> Option<Event> {
        let event_id = EventId::UNASSIGNED;
        match self {
            Self::Activity => Some(Event::ActivityCancelRequested {
                event_id,
                source_event_id,
            }),
            Self::Timer => Some(Event::TimerCancelled {
                event_id,
                source_event_id,
            }),
            Self::SubOrchestration => Some(Event::SubOrchestrationCancelRequested {
                event_id,
                source_event_id,
            }),
            Self::External(_) | Self::Promise(_) | Self::Run(_) | Self::Patch => None,
        }
    }
}

/// How far an operation has come.
#[derive(Debug)]
pub(super) enum Phase {
    /// Its command is at this index of the block of the current poll.
    Emitted { block_index: usize },
    /// Its scheduling event is recorded.
    Open { event_id: EventId },
    /// Its value has arrived, in this turn of arrival.
    Waiting { turn: u64, value: Arrived },
    /// Its value is there to be taken in this poll.
    Granted { turn: u64, value: Arrived },
    /// A run of the current poll: its turn is not known yet.
    Called,
    /// A run that is to be executed or looked up, in this turn.
    Requested { turn: u64 },
    /// A run that may begin in this poll.
    Permitted { turn: u64 },
    /// A run that is being executed.
    Running,
}

/// A value with what is to be done about it when it is taken or not.
#[derive(Debug)]
pub(super) enum Arrived {
    /// Nothing.
    Outcome(Outcome),
    /// If nobody takes it, it is given back.
    External(Arrival),
}

#[derive(Debug)]
pub(super) struct Operation {
    serial: u64,
    /// Its scheduling event, once it has a position.
    pub(super) scheduled_by: Option<EventId>,
    /// Whether its future was polled since its last grant lapsed.
    pub(super) asks: bool,
    pub(super) subject: Subject,
    pub(super) phase: Phase,
}

/// All operations of one execution.
#[derive(Debug, Default)]
pub(super) struct Operations {
    slots: Slab<Operation>,
    /// Operations whose completion has not arrived, by scheduling event.
    open: BTreeMap<EventId, OpKey>,
    /// Operations that could go on and ask to, in order of arrival.
    ready: BTreeMap<u64, OpKey>,
    next_serial: u64,
    next_turn: u64,
}

impl Operations {
    /// Adds an operation. It asks if its future was just polled: always, but for
    /// a promise, which the call itself created.
    pub(super) fn insert(&mut self, subject: Subject, phase: Phase) -> OpKey {
        let serial = self.next_serial;
        self.next_serial += 1;
        let slot = self.slots.insert(Operation {
            serial,
            scheduled_by: None,
            asks: !matches!(subject, Subject::Promise(_)),
            subject,
            phase,
        });
        OpKey { slot, serial }
    }

    /// Gives a run its turn, if it is still there: it is ready from now on.
    pub(super) fn requested(&mut self, key: OpKey) {
        let turn = self.take_turn();
        if let Some(operation) = self.get_mut(key) {
            debug_assert!(matches!(operation.phase, Phase::Called));
            operation.phase = Phase::Requested { turn };
            self.ready.insert(turn, key);
        }
    }

    pub(super) fn get(&self, key: OpKey) -> Option<&Operation> {
        self.slots
            .get(key.slot)
            .filter(|operation| operation.serial == key.serial)
    }

    pub(super) fn subject(&self, key: OpKey) -> Option<&Subject> {
        self.get(key).map(|operation| &operation.subject)
    }

    pub(super) fn get_mut(&mut self, key: OpKey) -> Option<&mut Operation> {
        self.slots
            .get_mut(key.slot)
            .filter(|operation| operation.serial == key.serial)
    }

    /// Removes an operation from every table.
    pub(super) fn remove(&mut self, key: OpKey) -> Option<Operation> {
        self.get(key)?;
        let operation = self.slots.remove(key.slot);
        match operation.phase {
            Phase::Open { event_id } => {
                self.open.remove(&event_id);
            }
            Phase::Waiting { turn, .. } | Phase::Requested { turn } => {
                self.ready.remove(&turn);
            }
            Phase::Emitted { .. }
            | Phase::Called
            | Phase::Granted { .. }
            | Phase::Permitted { .. }
            | Phase::Running => {}
        }
        Some(operation)
    }

    /// Its command got its position.
    pub(super) fn opened(&mut self, key: OpKey, event_id: EventId) {
        if let Some(operation) = self.get_mut(key) {
            debug_assert!(matches!(operation.phase, Phase::Emitted { .. }));
            operation.phase = Phase::Open { event_id };
            operation.scheduled_by = Some(event_id);
            self.open.insert(event_id, key);
        }
    }

    /// The open operation that this event scheduled.
    pub(super) fn open_at(&self, event_id: EventId) -> Option<OpKey> {
        self.open.get(&event_id).copied()
    }

    /// All open operations by scheduling event.
    pub(super) fn open(&self) -> impl Iterator<Item = (EventId, OpKey)> {
        self.open.iter().map(|(event_id, key)| (*event_id, *key))
    }

    /// How many operations wait for an input.
    pub(super) fn open_count(&self) -> usize {
        self.open.len()
    }

    /// Its value arrived: it is no longer open, and ready if its future asks.
    pub(super) fn arrived(&mut self, key: OpKey, value: Arrived) {
        let turn = self.take_turn();
        let Some(operation) = self.get_mut(key) else {
            return;
        };
        let before = core::mem::replace(&mut operation.phase, Phase::Waiting { turn, value });
        if operation.asks {
            self.ready.insert(turn, key);
        }
        if let Phase::Open { event_id } = before {
            self.open.remove(&event_id);
        }
    }

    /// Its future was polled and found no value.
    pub(super) fn asked(&mut self, key: OpKey) {
        let Some(operation) = self.get_mut(key) else {
            return;
        };
        operation.asks = true;
        if let Phase::Waiting { turn, .. } | Phase::Requested { turn } = operation.phase {
            self.ready.insert(turn, key);
        }
    }

    /// The operation that could go on next.
    pub(super) fn first_ready(&self) -> Option<OpKey> {
        self.ready.first_key_value().map(|(_, key)| *key)
    }

    /// Makes a value ready to be taken in the next poll, or lets a run begin in it.
    pub(super) fn grant(&mut self, key: OpKey) {
        let mut granted = None;
        self.advance(key, |operation, phase| match phase {
            Phase::Waiting { turn, value } => {
                granted = Some(turn);
                Phase::Granted { turn, value }
            }
            Phase::Requested { turn } => {
                granted = Some(turn);
                Phase::Permitted { turn }
            }
            other => {
                debug_assert!(false, "{:?} cannot be granted", operation.subject);
                other
            }
        });
        if let Some(turn) = granted {
            self.ready.remove(&turn);
        }
    }

    /// A grant was not taken in its poll: it lapses until the future asks again.
    pub(super) fn lapse(&mut self, key: OpKey) {
        self.advance(key, |operation, phase| {
            operation.asks = false;
            match phase {
                Phase::Permitted { turn } => Phase::Requested { turn },
                Phase::Granted { turn, value } => Phase::Waiting { turn, value },
                other => other,
            }
        });
    }

    /// Moves an operation to another phase, if it is still there.
    fn advance(&mut self, key: OpKey, next: impl FnOnce(&mut Operation, Phase) -> Phase) {
        if let Some(operation) = self.get_mut(key) {
            let phase = core::mem::replace(&mut operation.phase, Phase::Running);
            operation.phase = next(operation, phase);
        }
    }

    /// External events that arrived at an operation and were not taken.
    pub(super) fn held_events(&self) -> impl Iterator<Item = &Arrival> {
        self.slots
            .iter()
            .filter_map(|(_, operation)| match &operation.phase {
                Phase::Waiting {
                    value: Arrived::External(arrival),
                    ..
                }
                | Phase::Granted {
                    value: Arrived::External(arrival),
                    ..
                } => Some(arrival),
                _ => None,
            })
    }

    /// Forgets every operation. Keys stay unique.
    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.open.clear();
        self.ready.clear();
    }

    /// A place in the order in which operations may go on.
    fn take_turn(&mut self) -> u64 {
        let turn = self.next_turn;
        self.next_turn += 1;
        turn
    }
}
