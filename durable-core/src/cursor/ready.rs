//! Who could go on and asks to, in order of turns.
//!
//! An operation that goes away leaves its place behind; it is passed over when
//! a later one is taken out.

use alloc::collections::BinaryHeap;
use core::cmp::Ordering;

use super::operation::OpKey;

/// A queue by turn.
#[derive(Debug, Default)]
pub(super) struct Ready {
    places: BinaryHeap<Place>,
}

impl Ready {
    /// Queues up to this length keep their memory.
    const SMALL: usize = 32;

    /// Adds an operation at its turn, which no other has.
    pub(super) fn push(&mut self, turn: u64, key: OpKey) {
        self.places.push(Place { turn, key });
    }

    /// Gives back the memory of those who went on.
    pub(super) fn shrink_to_fit(&mut self) {
        self.places.shrink_to_fit();
    }

    /// Takes out the one whose turn is next.
    pub(super) fn pop(&mut self) -> Option<OpKey> {
        let place = self.places.pop();
        if self.places.is_empty() {
            self.places.shrink_to(Self::SMALL);
        }
        place.map(|place| place.key)
    }
}

#[derive(Debug)]
struct Place {
    turn: u64,
    key: OpKey,
}

/// The earliest turn is the greatest.
impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        other.turn.cmp(&self.turn)
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.turn == other.turn
    }
}

impl Eq for Place {}
