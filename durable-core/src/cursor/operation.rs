//! The open operations of an execution: from a durable future's first poll
//! until its value is taken or the future is dropped.
//!
//! ```text
//! Emitted ──flush──▶ Open ──input──▶ Waiting ──grant──▶ Granted ──poll──▶ (taken)
//!                                      ▲                   │
//!                                      └──── not taken ────┘
//! ```
//!
//! A look for an external event is `Called` until the end of its poll, where it becomes
//! `Emitted` or, in vain, `Waiting`.
//!
//! A run goes from `Called` (in the poll that made it) to `Requested` to `Permitted`;
//! when it is polled then, it is `Running` until it ends, or takes its recorded
//! result. Memory is one slot per operation in this table; an operation that
//! ended leaves nothing behind.

use alloc::boxed::Box;
use core::num::NonZeroU64;

use slab::Slab;

use super::external::ArrivedEvent;
use super::open::OpenTable;
use super::reader::Reader;
use super::ready::Ready;
use crate::event::{EndedOperation, Event, EventKind};
use crate::failure::Failure;
use crate::id::EventId;
use crate::text::{InstanceId, Name, Payload};

/// Names one operation of one cursor. It is never given to another operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OpKey {
    slot: usize,
    serial: Serial,
}

/// Which of all operations of a cursor, from 1: an `Option` of a key is as small as a key.
type Serial = NonZeroU64;

impl OpKey {
    /// A small number that no other open operation has: an index for a table
    /// that the driver keeps beside the cursor, for example of wakers.
    pub const fn slot(self) -> usize {
        self.slot
    }
}

/// What an operation came to. What is large in it is boxed: every operation has room
/// for one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// A value: of an activity, a child, a promise, an event or a run.
    Value(Payload),
    /// A failure of one of these, or its cancellation.
    Failed(Box<Failure>),
    /// A timer fired.
    Fired,
    /// The answer to a patch question.
    Patched(bool),
    /// A look found nothing.
    Nothing,
}

impl From<Result<Payload, Failure>> for Outcome {
    fn from(result: Result<Payload, Failure>) -> Self {
        match result {
            Ok(value) => Self::Value(value),
            Err(failure) => Self::Failed(Box::new(failure)),
        }
    }
}

/// The total timeout of an activity call, as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActivityDeadline {
    /// The activity.
    pub name: Name,
    /// How long all attempts and the waits between them may take, in milliseconds.
    pub total_timeout_ms: u64,
}

/// What an operation is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OperationKind {
    /// An activity; its total timeout, if it has one, is known once its event has a
    /// position.
    Activity(Option<Box<ActivityDeadline>>),
    Timer,
    /// A child with this id, which is known once its event has a position.
    SubOrchestration(Option<Box<InstanceId>>),
    /// A subscription that waits for this name.
    External(Box<Name>),
    /// A subscription with the event that arrived for it. If the future is dropped
    /// before it takes the value, the event goes back.
    ExternalArrived(Box<ArrivedEvent>),
    /// A subscription to all events of a name.
    Reader(Box<Reader>),
    /// A promise with this number.
    Promise(u64),
    /// A recorded side effect of this name.
    Run(Box<Name>),
    /// A patch question.
    Patch,
}

impl OperationKind {
    /// The kind of the event that a completion names; `None` if nothing can
    /// complete it from outside.
    pub(super) fn scheduling_kind(&self) -> Option<EventKind> {
        match self {
            Self::Activity(_) => Some(EventKind::ActivityScheduled),
            Self::Timer => Some(EventKind::TimerCreated),
            Self::SubOrchestration(_) => Some(EventKind::SubOrchestrationScheduled),
            Self::External(_) | Self::ExternalArrived(_) => Some(EventKind::ExternalSubscribed),
            Self::Reader(_) => Some(EventKind::ExternalEventsSubscribed),
            Self::Promise(_) => Some(EventKind::PromiseCreated),
            Self::Run(_) | Self::Patch => None,
        }
    }

    /// The output that says that the code no longer waits for it; `None` if nothing
    /// outside has to know.
    pub(super) fn cancellation(&self, source_event_id: EventId) -> Option<Event> {
        let event_id = EventId::UNASSIGNED;
        match self {
            Self::Activity(_) => Some(Event::ActivityCancelRequested {
                event_id,
                source_event_id,
            }),
            Self::Timer => Some(Event::TimerCancelled {
                event_id,
                source_event_id,
            }),
            Self::SubOrchestration(_) => Some(Event::SubOrchestrationCancelRequested {
                event_id,
                source_event_id,
            }),
            Self::External(_)
            | Self::ExternalArrived(_)
            | Self::Reader(_)
            | Self::Promise(_)
            | Self::Run(_)
            | Self::Patch => None,
        }
    }

    /// What an event that ends it cannot say of it.
    pub(super) fn ended(&self) -> EndedOperation {
        match self {
            Self::Activity(Some(_)) => EndedOperation::WithDeadline,
            Self::SubOrchestration(Some(instance)) => EndedOperation::Child(instance.clone()),
            Self::Activity(None)
            | Self::Timer
            | Self::SubOrchestration(None)
            | Self::External(_)
            | Self::ExternalArrived(_)
            | Self::Reader(_)
            | Self::Promise(_)
            | Self::Run(_)
            | Self::Patch => EndedOperation::Plain,
        }
    }
}

/// How far an operation has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its command is at this index of the block of the current poll.
    Emitted { block_index: usize },
    /// Its scheduling event is recorded.
    Open { event_id: EventId },
    /// Its value has arrived, in this turn of arrival.
    Waiting { turn: u64 },
    /// Its value is there to be taken in this poll.
    Granted { turn: u64 },
    /// A run or a look of the current poll: its turn is not known yet.
    Called,
    /// A run that is to be executed or looked up, in this turn.
    Requested { turn: u64 },
    /// A run that may begin in this poll.
    Permitted { turn: u64 },
    /// A run that is being executed.
    Running,
}

/// Kept small: what a wide join costs is mostly how much memory it goes through.
#[derive(Debug)]
pub(super) struct Operation {
    serial: Serial,
    /// Its scheduling event; unassigned as long as that has no position.
    scheduled_by: EventId,
    /// Whether its future was polled since its last grant lapsed.
    asks: bool,
    pub(super) kind: OperationKind,
    pub(super) phase: Phase,
    /// While it is waiting or granted.
    pub(super) value: Option<Outcome>,
}

impl Operation {
    /// Whether it stands in the table of open operations: a reader from the record of its
    /// subscription to its end, any other until its value arrived.
    fn is_listed(&self) -> bool {
        match self.phase {
            Phase::Open { .. } => true,
            Phase::Waiting { .. } | Phase::Granted { .. } => {
                matches!(self.kind, OperationKind::Reader(_))
            }
            Phase::Emitted { .. }
            | Phase::Called
            | Phase::Requested { .. }
            | Phase::Permitted { .. }
            | Phase::Running => false,
        }
    }

    /// Whether it stands among those that could go on and ask to.
    fn is_ready(&self) -> bool {
        self.asks && matches!(self.phase, Phase::Waiting { .. } | Phase::Requested { .. })
    }
}

/// All operations of one execution.
#[derive(Debug, Default)]
pub(super) struct Operations {
    slots: Slab<Operation>,
    /// Operations whose completion has not arrived.
    open: OpenTable,
    /// Operations that could go on and ask to, and places of some that are gone.
    ready: Ready,
    /// How many are ready and not gone.
    ready_len: usize,
    /// How many there have been.
    inserted: u64,
    next_turn: u64,
}

impl Operations {
    /// Adds an operation. It asks if its future was just polled: always, but for
    /// a promise, which the call itself created.
    pub(super) fn insert(&mut self, kind: OperationKind, phase: Phase) -> OpKey {
        let serial = Serial::MIN.saturating_add(self.inserted);
        self.inserted += 1;
        let slot = self.slots.insert(Operation {
            serial,
            scheduled_by: EventId::UNASSIGNED,
            asks: !matches!(kind, OperationKind::Promise(_)),
            kind,
            phase,
            value: None,
        });
        OpKey { slot, serial }
    }

    /// Gives a run its turn, if it is still there: it is ready from now on.
    pub(super) fn requested(&mut self, key: OpKey) {
        let turn = self.take_turn();
        if let Some(operation) = self.get_mut(key) {
            debug_assert_eq!(operation.phase, Phase::Called);
            operation.phase = Phase::Requested { turn };
            self.queue(turn, key);
        }
    }

    pub(super) fn get(&self, key: OpKey) -> Option<&Operation> {
        self.slots
            .get(key.slot)
            .filter(|operation| operation.serial == key.serial)
    }

    /// The event that scheduled an operation.
    pub(super) fn scheduled_by(&self, key: OpKey) -> Option<EventId> {
        let event_id = self.get(key)?.scheduled_by;
        (event_id != EventId::UNASSIGNED).then_some(event_id)
    }

    pub(super) fn kind(&self, key: OpKey) -> Option<&OperationKind> {
        self.get(key).map(|operation| &operation.kind)
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
        self.ready_len -= usize::from(operation.is_ready());
        if operation.is_listed() {
            self.open.remove(operation.scheduled_by);
        }
        self.give_memory_back();
        Some(operation)
    }

    /// Its command is at this index of the block.
    pub(super) fn emitted(&mut self, key: OpKey, block_index: usize) {
        if let Some(operation) = self.get_mut(key) {
            debug_assert_eq!(operation.phase, Phase::Called);
            operation.phase = Phase::Emitted { block_index };
        }
    }

    /// Its command got its position.
    pub(super) fn opened(&mut self, key: OpKey, event_id: EventId) {
        if let Some(operation) = self.get_mut(key) {
            debug_assert!(matches!(operation.phase, Phase::Emitted { .. }));
            operation.scheduled_by = event_id;
            operation.phase = Phase::Open { event_id };
            self.open.insert(event_id, key.slot);
        }
    }

    /// The child that an operation started got its id.
    pub(super) fn named_child(&mut self, key: OpKey, instance: &InstanceId) {
        if let Some(operation) = self.get_mut(key) {
            operation.kind = OperationKind::SubOrchestration(Some(Box::new(instance.clone())));
        }
    }

    /// The activity that an operation called has a total timeout.
    pub(super) fn has_deadline(&mut self, key: OpKey, deadline: ActivityDeadline) {
        if let Some(operation) = self.get_mut(key) {
            operation.kind = OperationKind::Activity(Some(Box::new(deadline)));
        }
    }

    /// The open operation that this event scheduled.
    pub(super) fn open_at(&self, event_id: EventId) -> Option<OpKey> {
        self.open_in(self.open.slot_of(event_id)?, event_id)
    }

    /// All open operations by scheduling event.
    pub(super) fn open(&self) -> impl Iterator<Item = (EventId, OpKey)> {
        self.open
            .iter()
            .filter_map(|(event_id, slot)| Some((event_id, self.open_in(slot, event_id)?)))
    }

    /// The operation in this slot, if it is open and this event scheduled it.
    fn open_in(&self, slot: usize, event_id: EventId) -> Option<OpKey> {
        let operation = self.slots.get(slot)?;
        let serial = operation.serial;
        (operation.phase == Phase::Open { event_id }).then_some(OpKey { slot, serial })
    }

    /// How many operations wait for an input.
    pub(super) fn open_count(&self) -> usize {
        self.open.len()
    }

    /// Its value arrived: it is no longer open, and ready if its future asks.
    pub(super) fn arrived(&mut self, key: OpKey, value: Outcome) {
        let turn = self.take_turn();
        let Some(operation) = self.get_mut(key) else {
            return;
        };
        let before = core::mem::replace(&mut operation.phase, Phase::Waiting { turn });
        operation.value = Some(value);
        let stays_listed = operation.is_listed();
        if operation.asks {
            self.queue(turn, key);
        }
        if let Phase::Open { event_id } = before
            && !stays_listed
        {
            self.open.remove(event_id);
        }
    }

    /// An external event arrived at an open subscription, which holds it until its
    /// future takes it.
    pub(super) fn arrived_event(&mut self, key: OpKey, event: ArrivedEvent) {
        let value = Outcome::Value(event.event.data.clone());
        let Some(operation) = self.get_mut(key) else {
            return;
        };
        match &mut operation.kind {
            OperationKind::Reader(reader) => reader.hold(event),
            _ => operation.kind = OperationKind::ExternalArrived(Box::new(event)),
        }
        self.arrived(key, value);
    }

    /// Its future was polled and found no value. Whether it is a reader that asks for its
    /// next event from now on.
    pub(super) fn asked(&mut self, key: OpKey) -> bool {
        let Some(operation) = self.get_mut(key) else {
            return false;
        };
        if core::mem::replace(&mut operation.asks, true) {
            return false;
        }
        let is_reader = matches!(operation.kind, OperationKind::Reader(_));
        match operation.phase {
            Phase::Waiting { turn } | Phase::Requested { turn } => {
                self.queue(turn, key);
                false
            }
            Phase::Open { .. } => is_reader,
            Phase::Emitted { .. }
            | Phase::Granted { .. }
            | Phase::Called
            | Phase::Permitted { .. }
            | Phase::Running => false,
        }
    }

    /// A reader gave an event: it is open again, and asks for nothing.
    pub(super) fn goes_on(&mut self, key: OpKey) {
        if let Some(operation) = self.get_mut(key) {
            operation.value = None;
            operation.asks = false;
            operation.phase = Phase::Open {
                event_id: operation.scheduled_by,
            };
        }
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Operation> {
        self.slots.iter_mut().map(|(_, operation)| operation)
    }

    /// Whether any operation could go on and asks to.
    pub(super) fn has_ready(&self) -> bool {
        self.ready_len > 0
    }

    /// Lets the operation whose turn is next go on: its value can be taken in the
    /// next poll, or the run can begin in it.
    pub(super) fn grant_next(&mut self) -> Option<OpKey> {
        loop {
            let key = self.ready.pop()?;
            let Some(operation) = self.get_mut(key) else {
                continue;
            };
            operation.phase = match operation.phase {
                Phase::Waiting { turn } => Phase::Granted { turn },
                Phase::Requested { turn } => Phase::Permitted { turn },
                other => {
                    debug_assert!(false, "{other:?} cannot be granted");
                    other
                }
            };
            self.ready_len -= 1;
            return Some(key);
        }
    }

    /// A grant was not taken in its poll: it lapses until the future asks again.
    pub(super) fn lapse(&mut self, key: OpKey) {
        if let Some(operation) = self.get_mut(key) {
            operation.asks = false;
            operation.phase = match operation.phase {
                Phase::Granted { turn } => Phase::Waiting { turn },
                Phase::Permitted { turn } => Phase::Requested { turn },
                other => other,
            };
        }
    }

    /// External events that arrived at an operation and were not taken.
    pub(super) fn held_events(&self) -> impl Iterator<Item = &ArrivedEvent> {
        self.slots
            .iter()
            .filter_map(|(_, operation)| match &operation.kind {
                OperationKind::ExternalArrived(event) => Some(&**event),
                OperationKind::Reader(reader) => reader.held(),
                _ => None,
            })
    }

    /// Forgets every operation. Keys stay unique.
    pub(super) fn clear(&mut self) {
        *self = Self {
            inserted: self.inserted,
            next_turn: self.next_turn,
            ..Self::default()
        };
    }

    fn queue(&mut self, turn: u64, key: OpKey) {
        self.ready.push(turn, key);
        self.ready_len += 1;
    }

    /// A place in the order in which operations may go on.
    fn take_turn(&mut self) -> u64 {
        let turn = self.next_turn;
        self.next_turn += 1;
        turn
    }

    /// Gives back the memory of operations that are gone.
    pub(super) fn shrink_to_fit(&mut self) {
        self.slots.shrink_to_fit();
        self.open.shrink_to_fit();
        self.ready.shrink_to_fit();
    }

    /// What a wide join took is not kept for the narrow code after it.
    fn give_memory_back(&mut self) {
        const SMALL: usize = 32;
        if self.slots.is_empty() && self.slots.capacity() > SMALL {
            self.slots = Slab::new();
        }
    }
}
