//! What happens within a poll: futures and the context tell the cursor what the code does.
//!
//! Nothing here is recorded or compared: the commands are collected in the block, and
//! `flush` ends the poll.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Cursor;
use super::block::Output;
use super::operation::{OpKey, OperationKind, Outcome, Phase};
use super::reader::Reader;
use crate::command::{Command, Ending, OneWayCommand};
use crate::event::{Event, EventKind};
use crate::id::{EventId, PromiseToken};
use crate::text::{Name, Payload};

/// What polling an operation gave.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum OpPoll {
    /// Nothing yet. The operation asks for its value from now on.
    Pending,
    /// Its value. The operation is gone.
    Ready(Outcome),
    /// The next of its values. The operation stays, and asks for the next one when it is
    /// polled again.
    Item(Payload),
    /// A run may be executed: execute it now, or poll it on, and report its
    /// result with [`Cursor::complete_run`].
    Execute,
}

impl Cursor {
    /// A durable future was polled for the first time.
    pub fn open(&mut self, mut command: Command) -> OpKey {
        let kind = match &mut command {
            Command::Activity { options, .. } => {
                if let Some(trace_parent) = &self.trace_parent {
                    options.trace_parent = Some(trace_parent.clone());
                }
                OperationKind::Activity(None)
            }
            Command::Timer { .. } => OperationKind::Timer,
            Command::SubOrchestration { .. } => OperationKind::SubOrchestration(None),
            Command::External { name } => OperationKind::External(Box::new(name.clone())),
            Command::ExternalEvents { name } => {
                OperationKind::Reader(Box::new(Reader::new(name.clone())))
            }
            Command::Patch { .. } => OperationKind::Patch,
            Command::Run { name } => return self.call_run(name.clone()),
            Command::TryExternal { name } => return self.look_for(name.clone()),
        };
        self.open_with(kind, command.into_event(self.execution_id))
    }

    /// The code created a promise: its operation, and the token with which others
    /// resolve it.
    pub fn create_promise(&mut self, name: Name) -> (OpKey, PromiseToken) {
        let number = self.promises_created;
        self.promises_created += 1;
        let event = Event::PromiseCreated {
            event_id: EventId::UNASSIGNED,
            name,
            number,
        };
        let key = self.open_with(OperationKind::Promise(number), Some(event));
        let token = PromiseToken {
            instance: self.instance.clone(),
            execution_id: self.execution_id,
            number,
        };
        (key, token)
    }

    fn call_run(&mut self, name: Name) -> OpKey {
        let key = self
            .operations
            .insert(OperationKind::Run(Box::new(name.clone())), Phase::Called);
        self.block.call_run(name, key);
        key
    }

    fn open_with(&mut self, kind: OperationKind, event: Option<Event>) -> OpKey {
        let block_index = self.block.next_index();
        let key = self.operations.insert(kind, Phase::Emitted { block_index });
        if let Some(event) = event {
            self.push(event, Some(key));
        }
        key
    }

    /// Adds a command to the block of this poll, by itself or by the recorded
    /// event that it is; says whether it was found. A patch question is not answered before
    /// the flush.
    pub(super) fn push(&mut self, event: Event, operation: Option<OpKey>) -> bool {
        let recorded = self
            .block
            .next_to_find()
            .and_then(|distance| self.tape.output(distance));
        let is_found = event.kind() != EventKind::PatchMarked
            && recorded.is_some_and(|recorded| event.is_exact(self.owner(), recorded));
        match is_found {
            true => self.block.push_found(operation),
            false => self.block.push(event, operation),
        }
        is_found
    }

    /// The code did something that has no answer.
    pub fn emit(&mut self, command: OneWayCommand) {
        let sets_value = command.sets_value();
        let event = command.into_event();
        if sets_value {
            self.set_value(&event);
        }
        let is_found = self.push(event, None);
        if sets_value && !is_found && !self.tape.is_at_end() {
            self.set_recorded_value();
        }
    }

    /// A durable future was polled again: its value if it was granted, else the
    /// operation asks for it.
    pub fn poll(&mut self, key: OpKey) -> OpPoll {
        let Some(operation) = self.operations.get_mut(key) else {
            return OpPoll::Pending;
        };
        match operation.phase {
            Phase::Running => OpPoll::Execute,
            Phase::Permitted { .. } => self.begin_run(key),
            Phase::Granted { .. } => match operation.kind {
                OperationKind::Reader(_) => self.take_item(key),
                _ => self.take(key),
            },
            _ => {
                if self.operations.asked(key) {
                    self.block.ask(key);
                }
                OpPoll::Pending
            }
        }
    }

    pub(super) fn take(&mut self, key: OpKey) -> OpPoll {
        self.granted = None;
        self.operations
            .remove(key)
            .and_then(|operation| operation.value)
            .map_or(OpPoll::Pending, OpPoll::Ready)
    }

    /// A durable future was dropped before it gave its value.
    pub fn close(&mut self, key: OpKey) {
        if self.granted == Some(key) {
            self.granted = None;
        }
        if self.running == Some(key) {
            self.running = None;
        }
        let Some(operation) = self.operations.remove(key) else {
            return;
        };
        match operation.phase {
            // The call itself created the promise, whether or not it is awaited.
            Phase::Emitted { .. } if matches!(operation.kind, OperationKind::Promise(_)) => {}
            Phase::Emitted { block_index } => self.withdraw(block_index),
            Phase::Open { event_id } => self.close_open(&operation.kind, event_id),
            _ => {}
        }
        match operation.kind {
            OperationKind::ExternalArrived(event) => self.block.give_back(*event),
            OperationKind::Reader(reader) => {
                if let Some(event) = reader.into_held() {
                    self.block.give_back(event);
                }
            }
            OperationKind::Activity(_)
            | OperationKind::Timer
            | OperationKind::SubOrchestration(_)
            | OperationKind::External(_)
            | OperationKind::Promise(_)
            | OperationKind::Run(_)
            | OperationKind::Patch => {}
        }
    }

    /// Takes a command back. Those after it move up, so that the recorded events
    /// no longer stand for them.
    fn withdraw(&mut self, block_index: usize) {
        let found = self.block.take_found();
        let spelled: Vec<Output> = self.spelled_out(&found).collect();
        self.block.spell_out(spelled);
        self.block.withdraw(block_index);
    }

    /// The root returned.
    pub fn finish(&mut self, ending: Ending) {
        self.block.finish(ending.into_event());
    }

    /// An operation that was open is closed without its completion.
    pub(super) fn close_open(&mut self, operation: &OperationKind, event_id: EventId) {
        match operation {
            OperationKind::External(name) => self.externals.unsubscribe(name, event_id),
            OperationKind::Reader(reader) => self.externals.unsubscribe(reader.name(), event_id),
            OperationKind::Promise(number) => {
                self.promises.remove(number);
            }
            OperationKind::Activity(_)
            | OperationKind::Timer
            | OperationKind::SubOrchestration(_)
            | OperationKind::ExternalArrived(_)
            | OperationKind::Run(_)
            | OperationKind::Patch => {}
        }
        if let Some(cancellation) = operation.cancellation(event_id) {
            self.block.cancel(cancellation, operation.ended());
        }
        if let Some(kind) = operation.scheduling_kind() {
            self.abandon(event_id, kind);
        }
    }

    /// A completion that was recorded after this is consumed and dropped. Live
    /// there is none: such a message is not even appended.
    pub(super) fn abandon(&mut self, scheduling_event: EventId, kind: EventKind) {
        if self.is_replaying() {
            self.abandoned.insert(scheduling_event, kind);
        }
    }
}
