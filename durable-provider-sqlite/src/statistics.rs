//! What the writer has done, counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a provider has written since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Transactions that changed something: each is one sync of the disk.
    pub transactions: u64,
    /// Requests that shared them, and those that changed nothing.
    pub requests: u64,
    /// Turns that were applied.
    pub turns: u64,
}

/// The counters behind [`Statistics`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    transactions: AtomicU64,
    requests: AtomicU64,
    turns: AtomicU64,
}

impl Counters {
    pub(crate) fn add_transaction(&self) {
        self.transactions.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_requests(&self, count: usize) {
        self.requests.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn add_turns(&self, count: u64) {
        self.turns.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> Statistics {
        Statistics {
            transactions: self.transactions.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
            turns: self.turns.load(Ordering::Relaxed),
        }
    }
}
