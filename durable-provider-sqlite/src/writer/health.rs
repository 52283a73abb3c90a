//! Whether the writer still works. A panic within it ends it for good: what it had in memory
//! is gone, so every request from then on is refused, and no caller retries for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use durable_core::provider::{Change, ProviderError};

use crate::wake::Wakeups;

/// Whether the writer of a store has panicked.
#[derive(Debug)]
pub(crate) struct WriterHealth {
    has_panicked: AtomicBool,
    wakeups: Arc<Wakeups>,
}

impl WriterHealth {
    pub(crate) fn new(wakeups: Arc<Wakeups>) -> Self {
        Self {
            has_panicked: AtomicBool::new(false),
            wakeups,
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
        let everything = (Change::Everything, u64::MAX);
        self.health.wakeups.publish(vec![everything], u64::MAX);
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
