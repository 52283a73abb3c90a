//! An execution in memory, and its open activities and timers.

use std::collections::BTreeSet;

use durable_core::{CommandId, CommandNumbering, Event, EventId};

use super::Execution;

/// An execution that is up to date with the store, or about to be.
#[derive(Debug)]
pub(crate) struct LiveExecution {
    pub(crate) execution: Execution,
    /// What is to be cleaned up when the execution ends.
    pub(crate) open: OpenOperations,
    /// How many turns it has had in memory.
    pub(crate) turns: u64,
}

impl LiveExecution {
    pub(crate) fn new(execution: Execution) -> Self {
        Self {
            execution,
            open: OpenOperations::default(),
            turns: 0,
        }
    }

    /// Gives back the memory that only a step in progress needs: it will wait.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.execution.shrink_to_fit();
        self.open.shrink_to_fit();
    }
}

/// The activities and timers of an execution that have not come to an end.
///
/// When an instance ends the store drops them; when it continues as new only the
/// turn knows which ones are no longer waited for.
#[derive(Debug, Default)]
pub(crate) struct OpenOperations {
    activities: BTreeSet<EventId>,
    timers: BTreeSet<EventId>,
    numbering: CommandNumbering,
}

impl OpenOperations {
    /// Keeps track; answers with the number of the command that the event records.
    pub(crate) fn note(&mut self, event: &Event) -> Option<CommandId> {
        match event {
            Event::ActivityScheduled { event_id, .. } => {
                self.activities.insert(*event_id);
            }
            Event::ActivityCompleted {
                source_event_id, ..
            }
            | Event::ActivityFailed {
                source_event_id, ..
            }
            | Event::ActivityCancelRequested {
                source_event_id, ..
            } => {
                self.activities.remove(source_event_id);
            }
            Event::TimerCreated { event_id, .. } => {
                self.timers.insert(*event_id);
            }
            Event::TimerFired {
                source_event_id, ..
            }
            | Event::TimerCancelled {
                source_event_id, ..
            } => {
                self.timers.remove(source_event_id);
            }
            _ => {}
        }
        self.numbering.number(event)
    }

    /// Gives back the memory of operations that came to an end: an empty tree keeps
    /// its last node.
    fn shrink_to_fit(&mut self) {
        for open in [&mut self.activities, &mut self.timers] {
            if open.is_empty() {
                *open = BTreeSet::new();
            }
        }
    }

    /// The activities whose results are no longer waited for.
    pub(crate) fn take_activities(&mut self) -> BTreeSet<EventId> {
        std::mem::take(&mut self.activities)
    }

    /// The timers that are no longer waited for.
    pub(crate) fn take_timers(&mut self) -> BTreeSet<EventId> {
        std::mem::take(&mut self.timers)
    }
}
