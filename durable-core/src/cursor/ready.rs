//! The operations that could go on and ask to, in order of turns.
//!
//! An operation that goes away leaves its entry in the queue, which is passed over
//! when a later one is taken out.

use alloc::collections::BinaryHeap;
use core::cmp::Ordering;

use super::operation::OpKey;

/// A queue by turn.
#[derive(Debug, Default)]
pub(super) struct Ready {
    queue: BinaryHeap<QueuedOperation>,
}

impl Ready {
    /// Queues up to this length keep their memory.
    const SMALL: usize = 32;

    /// Adds an operation at its turn, which no other has.
    pub(super) fn push(&mut self, turn: u64, key: OpKey) {
        self.queue.push(QueuedOperation { turn, key });
    }

    /// Gives back the memory of those that went on.
    pub(super) fn shrink_to_fit(&mut self) {
        self.queue.shrink_to_fit();
    }

    /// Takes out the one whose turn is next.
    pub(super) fn pop(&mut self) -> Option<OpKey> {
        let next = self.queue.pop();
        if self.queue.is_empty() {
            self.queue.shrink_to(Self::SMALL);
        }
        next.map(|next| next.key)
    }
}

#[derive(Debug)]
struct QueuedOperation {
    turn: u64,
    key: OpKey,
}

/// The earliest turn is the greatest.
impl Ord for QueuedOperation {
    fn cmp(&self, other: &Self) -> Ordering {
        other.turn.cmp(&self.turn)
    }
}

impl PartialOrd for QueuedOperation {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for QueuedOperation {
    fn eq(&self, other: &Self) -> bool {
        self.turn == other.turn
    }
}

impl Eq for QueuedOperation {}
