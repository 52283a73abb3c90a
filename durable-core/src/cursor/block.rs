//! The outputs of one poll, until its flush.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::external::ArrivedEvent;
use super::operation::OpKey;
use crate::event::{EndedOperation, Event};
use crate::text::Name;

/// One output of a poll, without its position.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) event: Event,
    /// The operation that it opens.
    pub(super) operation: Option<OpKey>,
    /// The operation that it cancels.
    pub(super) ended: EndedOperation,
}

impl Output {
    /// Whether it is a question that the flush answers.
    pub(super) fn asks_for_a_patch(&self) -> bool {
        matches!(self.event, Event::PatchMarked { .. })
    }

    /// An output that opens this operation, or none.
    pub(super) fn new(event: Event, operation: Option<OpKey>) -> Self {
        Self {
            event,
            operation,
            ended: EndedOperation::Plain,
        }
    }
}

/// The outputs of the current poll: commands in creation order, then
/// cancellations, then a terminal; and what else takes effect at its end.
///
/// In replay the commands are mostly what the history has next, in that order.
/// Of such commands only the operations are kept: the recorded events stand for
/// them.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// The first commands: those that are the next recorded outputs, one for one.
    found: Vec<Option<OpKey>>,
    /// The other commands.
    commands: Vec<Output>,
    /// None in most polls, and while the execution waits.
    seldom: Option<Box<Seldom>>,
}

/// What most polls have nothing of.
#[derive(Debug, Default)]
struct Seldom {
    /// Indices of commands that were taken back.
    withdrawn: BTreeSet<usize>,
    cancellations: Vec<Output>,
    terminal: Option<Event>,
    /// Runs that were called.
    runs: Vec<(Name, OpKey)>,
    /// Readers that asked for their next event.
    asking: Vec<OpKey>,
    /// Looks for external events.
    looks: Vec<(Name, OpKey)>,
    /// External events whose subscription was dropped before it took them.
    returned: Vec<ArrivedEvent>,
}

impl Seldom {
    /// Whether a flush has nothing to do with it.
    fn is_empty(&self) -> bool {
        self.cancellations.is_empty()
            && self.terminal.is_none()
            && self.runs.is_empty()
            && self.asking.is_empty()
            && self.looks.is_empty()
            && self.returned.is_empty()
    }
}

impl Block {
    /// Adds a command.
    pub(super) fn push(&mut self, event: Event, operation: Option<OpKey>) {
        if self.commands.capacity() == 0 {
            // Most polls emit one: room for that alone, where there is none.
            self.commands.reserve_exact(1);
        }
        self.commands.push(Output::new(event, operation));
    }

    /// Adds a command that is the recorded output at the distance
    /// [`next_to_find`](Self::next_to_find).
    pub(super) fn push_found(&mut self, operation: Option<OpKey>) {
        debug_assert!(self.commands.is_empty());
        self.found.push(operation);
    }

    /// The distance of the recorded output that the next command may be; none
    /// once a command was another.
    pub(super) fn next_to_find(&self) -> Option<usize> {
        self.commands.is_empty().then_some(self.found.len())
    }

    /// For how many commands recorded events stand, and the commands after those.
    pub(super) fn not_found(&self) -> (usize, &[Output]) {
        (self.found.len(), &self.commands)
    }

    /// The commands that were not found and not taken back.
    pub(super) fn commands(&self) -> impl Iterator<Item = &Event> {
        let withdrawn = self.seldom.as_ref().map(|seldom| &seldom.withdrawn);
        let commands = self.commands.iter().enumerate().filter(move |(index, _)| {
            !withdrawn.is_some_and(|withdrawn| withdrawn.contains(index))
        });
        commands.map(|(_, output)| &output.event)
    }

    /// The index that the next command will have.
    pub(super) fn next_index(&self) -> usize {
        self.found.len() + self.commands.len()
    }

    /// Puts the commands that were found back as what they are.
    pub(super) fn spell_out(&mut self, found: Vec<Output>) {
        debug_assert!(self.found.is_empty());
        if !found.is_empty() {
            self.commands.splice(..0, found);
        }
    }

    /// Takes a command back: its future was dropped in the poll that made it. The
    /// commands that were found must be spelled out before.
    pub(super) fn withdraw(&mut self, index: usize) {
        debug_assert!(self.found.is_empty());
        if index < self.commands.len() {
            self.seldom().withdrawn.insert(index);
        }
    }

    /// Adds the cancellation of an open operation.
    pub(super) fn cancel(&mut self, event: Event, ended: EndedOperation) {
        self.seldom().cancellations.push(Output {
            event,
            operation: None,
            ended,
        });
    }

    /// Adds the end of the execution; the first one counts.
    pub(super) fn finish(&mut self, event: Event) {
        self.seldom().terminal.get_or_insert(event);
    }

    /// Adds a run; it is no output before it ran.
    pub(super) fn call_run(&mut self, name: Name, key: OpKey) {
        self.seldom().runs.push((name, key));
    }

    /// Adds a reader that asked for its next event.
    pub(super) fn ask(&mut self, key: OpKey) {
        self.seldom().asking.push(key);
    }

    /// Adds a look for an external event of this name; it is no output before it is
    /// answered.
    pub(super) fn look(&mut self, name: Name, key: OpKey) {
        self.seldom().looks.push((name, key));
    }

    /// Adds an external event that is to be given to another subscription.
    pub(super) fn give_back(&mut self, event: ArrivedEvent) {
        self.seldom().returned.push(event);
    }

    /// Whether a flush has nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
            && self.commands.is_empty()
            && self.seldom.as_ref().is_none_or(|seldom| seldom.is_empty())
    }

    /// Whether a poll may have done something else than to emit commands.
    pub(super) const fn has_more_than_commands(&self) -> bool {
        self.seldom.is_some()
    }

    /// How many commands there are so far.
    pub(super) fn len(&self) -> usize {
        let withdrawn = self.seldom.as_ref().map(|seldom| seldom.withdrawn.len());
        self.next_index() - withdrawn.unwrap_or(0)
    }

    /// Takes the runs, in creation order.
    pub(super) fn take_runs(&mut self) -> Vec<(Name, OpKey)> {
        let seldom = self.seldom.as_mut();
        seldom.map_or_else(Vec::new, |seldom| core::mem::take(&mut seldom.runs))
    }

    /// Takes the readers that asked for their next event.
    pub(super) fn take_asking(&mut self) -> Vec<OpKey> {
        let seldom = self.seldom.as_mut();
        seldom.map_or_else(Vec::new, |seldom| core::mem::take(&mut seldom.asking))
    }

    /// Takes the looks, in creation order.
    pub(super) fn take_looks(&mut self) -> Vec<(Name, OpKey)> {
        let seldom = self.seldom.as_mut();
        seldom.map_or_else(Vec::new, |seldom| core::mem::take(&mut seldom.looks))
    }

    /// Takes the cancellations.
    pub(super) fn take_cancellations(&mut self) -> Vec<Output> {
        let seldom = self.seldom.as_mut();
        seldom.map_or_else(Vec::new, |seldom| {
            core::mem::take(&mut seldom.cancellations)
        })
    }

    /// Takes the external events that were given back.
    pub(super) fn take_returned(&mut self) -> Vec<ArrivedEvent> {
        let seldom = self.seldom.as_mut();
        seldom.map_or_else(Vec::new, |seldom| core::mem::take(&mut seldom.returned))
    }

    /// Takes the operations of the commands for which recorded events stand.
    pub(super) fn take_found(&mut self) -> Vec<Option<OpKey>> {
        core::mem::take(&mut self.found)
    }

    /// Takes the outputs, in creation order, but for those that were found.
    pub(super) fn take_outputs(&mut self) -> Vec<Output> {
        let mut outputs = core::mem::take(&mut self.commands);
        let Some(seldom) = &mut self.seldom else {
            return outputs;
        };
        if !seldom.withdrawn.is_empty() {
            let mut indices = 0..;
            outputs.retain(|_| {
                indices
                    .next()
                    .is_none_or(|index| !seldom.withdrawn.contains(&index))
            });
            seldom.withdrawn.clear();
        }
        outputs.append(&mut seldom.cancellations);
        let terminal = seldom.terminal.take();
        outputs.extend(terminal.map(|event| Output::new(event, None)));
        outputs
    }

    /// Takes back the memory of what was dealt with: most polls emit one or two.
    pub(super) fn reuse(&mut self, mut found: Vec<Option<OpKey>>, mut outputs: Vec<Output>) {
        const SMALL: usize = 8;
        if found.capacity() <= SMALL {
            found.clear();
            self.found = found;
        }
        if (1..=SMALL).contains(&outputs.capacity()) {
            outputs.clear();
            self.commands = outputs;
        }
    }

    /// Gives back the memory that was kept for the next poll.
    pub(super) fn shrink_to_fit(&mut self) {
        self.found.shrink_to_fit();
        self.commands.shrink_to_fit();
        if self.is_empty() {
            self.seldom = None;
        }
    }

    /// Drops everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn seldom(&mut self) -> &mut Seldom {
        self.seldom.get_or_insert_default()
    }
}
