//! Whether the writer still works. A panic within it ends it for good: what it had in memory
//! is gone, so every request from then on is refused, and no caller retries for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use durable_core::provider::ProviderError;

use crate::wake::{Board, Topic};

/// Whether the writer of a store has panicked.
#[derive(Debug)]
pub(crate) struct WriterHealth {
    has_panicked: AtomicBool,
    board: Arc<Board>,
}

impl WriterHealth {
    pub(crate) fn new(board: Arc<Board>) -> Self {
        Self {
            has_panicked: AtomicBool::new(false),
            board,
        }
    }

    /// Refuses to go on after a panic.
    pub(crate) fn check(&self) -> Result<(), ProviderError> {
        match self.has_panicked.load(Ordering::Acquire) {
            true => Err(writer_panicked()),
            false => Ok(()),
        }
    }

    /// Watches the writer until the answer is dropped, or told that it has finished.
    pub(crate) fn watch(self: &Arc<Self>) -> PanicWatch {
        PanicWatch {
            health: Arc::clone(self),
            is_finished: false,
        }
    }
}

/// Notices a panic: it is dropped before it was told that the writer has finished.
#[derive(Debug)]
pub(crate) struct PanicWatch {
    health: Arc<WriterHealth>,
    is_finished: bool,
}

impl PanicWatch {
    pub(crate) fn finish(mut self) {
        self.is_finished = true;
    }
}

impl Drop for PanicWatch {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        self.health.has_panicked.store(true, Ordering::Release);
        // Callers that wait for a change look again, and are refused.
        let board = &self.health.board;
        board.publish(vec![(Topic::Elsewhere, u64::MAX)], u64::MAX);
    }
}

/// What every request is told after a panic.
pub(super) fn writer_panicked() -> ProviderError {
    ProviderError::Unusable {
        reason: "the store's writer panicked: restart this process; what was acknowledged is \
                 stored"
            .into(),
    }
}
