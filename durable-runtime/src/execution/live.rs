//! An execution in memory that takes turns.

use super::Execution;

/// An execution that is up to date with the store, or about to be.
#[derive(Debug)]
pub(crate) struct LiveExecution {
    pub(crate) execution: Execution,
    /// How many turns it has had in memory.
    pub(crate) turns: u64,
}

impl LiveExecution {
    pub(crate) fn new(execution: Execution) -> Self {
        Self {
            execution,
            turns: 0,
        }
    }

    /// Gives back the memory that only a step in progress needs: it will wait.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.execution.shrink_to_fit();
    }
}
