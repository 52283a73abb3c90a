//! The outputs of one poll, until its flush.

use alloc::vec::Vec;

use super::external::Arrival;
use super::operation::OpKey;
use crate::event::Event;
use crate::text::Name;

/// One output of a poll, without its position.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) event: Event,
    /// The operation that it opens.
    pub(super) operation: Option<OpKey>,
}

impl Output {
    fn alone(event: Event) -> Self {
        Self {
            event,
            operation: None,
        }
    }
}

/// The outputs of the current poll: commands in creation order, then
/// cancellations, then a terminal; and what else takes effect at its end.
#[derive(Debug, Default)]
pub(super) struct Block {
    commands: Vec<Option<Output>>,
    cancellations: Vec<Event>,
    terminal: Option<Event>,
    /// Runs that were called.
    runs: Vec<(Name, OpKey)>,
    /// External events whose subscription was dropped before it took them.
    returned: Vec<Arrival>,
}

impl Block {
    /// Adds a command.
    pub(super) fn push(&mut self, event: Event, operation: Option<OpKey>) {
        self.commands.push(Some(Output { event, operation }));
    }

    /// The index that the next command will have.
    pub(super) fn next_index(&self) -> usize {
        self.commands.len()
    }

    /// Takes a command back: its future was dropped in the poll that made it.
    pub(super) fn withdraw(&mut self, index: usize) {
        if let Some(command) = self.commands.get_mut(index) {
            *command = None;
        }
    }

    /// Adds the cancellation of an open operation.
    pub(super) fn cancel(&mut self, event: Event) {
        self.cancellations.push(event);
    }

    /// Adds the end of the execution; the first one counts.
    pub(super) fn finish(&mut self, event: Event) {
        self.terminal.get_or_insert(event);
    }

    /// Adds a run; it is no output before it ran.
    pub(super) fn call_run(&mut self, name: Name, key: OpKey) {
        self.runs.push((name, key));
    }

    /// Adds an external event that is to be given to somebody else.
    pub(super) fn give_back(&mut self, arrival: Arrival) {
        self.returned.push(arrival);
    }

    /// Whether a flush has nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
            && self.cancellations.is_empty()
            && self.terminal.is_none()
            && self.runs.is_empty()
            && self.returned.is_empty()
    }

    /// How many commands there are so far.
    pub(super) fn len(&self) -> usize {
        self.commands.iter().flatten().count()
    }

    /// Takes the runs, in creation order.
    pub(super) fn take_runs(&mut self) -> Vec<(Name, OpKey)> {
        core::mem::take(&mut self.runs)
    }

    /// Takes the external events that were given back.
    pub(super) fn take_returned(&mut self) -> Vec<Arrival> {
        core::mem::take(&mut self.returned)
    }

    /// Takes the outputs, in creation order.
    pub(super) fn take_outputs(&mut self) -> Vec<Output> {
        self.commands
            .drain(..)
            .flatten()
            .chain(self.cancellations.drain(..).map(Output::alone))
            .chain(self.terminal.take().map(Output::alone))
            .collect()
    }

    /// Drops everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
