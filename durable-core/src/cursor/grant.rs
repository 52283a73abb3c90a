//! Which operation may go on: at most one in any poll.

use super::operation::{OpKey, Phase};
use super::{Cursor, CursorError, CursorStage};

/// One operation that may go on in the next poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct Grant {
    /// The operation: wake its future and poll the root.
    pub key: OpKey,
    /// Whether it is a run that will be executed: store what was appended so far
    /// before the root is polled, so that the run acts on nothing that a crash
    /// would make different.
    pub executes: bool,
}

impl Cursor {
    /// Grants the oldest value whose future asks for it. `None` ends the step,
    /// unless a run is still being executed.
    ///
    /// # Errors
    ///
    /// [`CursorError::OutOfTurn`] before the poll was flushed, and the error of a cursor
    /// that has failed.
    pub fn grant(&mut self) -> Result<Option<Grant>, CursorError> {
        self.check_not_failed()?;
        if self.granted.is_some() || !self.block.is_empty() {
            return Err(self.out_of_turn("grant", "before the poll was flushed"));
        }
        let is_over = !self.operations.has_ready() || self.running.is_some();
        if is_over || !matches!(self.stage, CursorStage::Started) || self.is_cut_off() {
            return Ok(None);
        }
        let Some(key) = self.operations.grant_next() else {
            return Ok(None);
        };
        self.granted = Some(key);
        let is_run = self
            .operations
            .get(key)
            .is_some_and(|operation| matches!(operation.phase, Phase::Permitted { .. }));
        let executes = is_run && self.tape.is_at_end();
        Ok(Some(Grant { key, executes }))
    }

    /// Whether nothing can go on before the next input.
    pub(super) fn step_is_over(&self) -> bool {
        self.granted.is_none()
            && self.running.is_none()
            && self.block.is_empty()
            && (!self.operations.has_ready() || self.is_cut_off())
    }

    /// Whether the execution was ended from outside at this very point.
    pub(super) fn is_cut_off(&self) -> bool {
        self.tape.front().is_some_and(|next| next.event.is_forced())
    }
}
