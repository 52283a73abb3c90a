//! The durable futures of one execution: which operation of the cursor each one
//! stands for, and whom to wake.
//!
//! A request is passed on to the cursor when the poll that made it is flushed. The
//! requests of one poll are concurrent, and code such as an unbiased `select!` makes
//! them in another order every time; so they are passed on in the order in which
//! their futures lie in the memory of the orchestration, which the compiler has
//! laid out once. Thereby two equal requests, such as two timers of the same
//! length in two branches, mean the same branches again in a replay.
//!
//! Invariant: no waker is dropped here; what is replaced or removed is returned,
//! to be dropped when the lock is free.

use std::ops::Range;
use std::task::Waker;

use durable_core::{Command, Cursor, OpKey};
use slab::Slab;

/// All durable futures that were polled and have not come to their value.
#[derive(Debug, Default)]
pub(crate) struct DurableFutures {
    /// The memory of the root future.
    root: Range<usize>,
    slots: Slab<Slot>,
    /// Requests that were not passed on yet, in the order in which they were made.
    requests: Vec<Option<Asked>>,
    /// The slot of each operation, by its own slot.
    slot_of: Vec<usize>,
}

/// One durable future.
#[derive(Debug)]
struct Slot {
    stage: SlotStage,
    waker: Option<Waker>,
}

#[derive(Debug, Clone, Copy)]
enum SlotStage {
    /// Its request is at this index.
    Asked(usize),
    /// The cursor knows it.
    Open(OpKey),
}

#[derive(Debug)]
struct Asked {
    place: MemoryPosition,
    slot: usize,
    request: Command,
}

/// Where a future lies. The futures outside of the root's own memory, in boxes, are
/// kept in the order in which they were polled: their owners poll them in an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MemoryPosition {
    InRoot { offset: usize },
    Elsewhere,
}

impl DurableFutures {
    /// Where the root future lies from now on.
    pub(crate) fn set_root(&mut self, memory: Range<usize>) {
        self.root = memory;
    }

    /// Takes a request from the future at this address.
    pub(crate) fn ask(&mut self, address: usize, request: Command, waker: Waker) -> usize {
        let place = if self.root.contains(&address) {
            MemoryPosition::InRoot {
                offset: address - self.root.start,
            }
        } else {
            MemoryPosition::Elsewhere
        };
        let slot = self.slots.insert(Slot {
            stage: SlotStage::Asked(self.requests.len()),
            waker: Some(waker),
        });
        if self.requests.capacity() == 0 {
            // Most polls ask for one thing: room for that alone, where there is none.
            self.requests.reserve_exact(1);
        }
        self.requests.push(Some(Asked {
            place,
            slot,
            request,
        }));
        slot
    }

    /// Adds a future that the cursor knows already.
    pub(crate) fn add(&mut self, key: OpKey) -> usize {
        let slot = self.slots.insert(Slot {
            stage: SlotStage::Open(key),
            waker: None,
        });
        self.found(key, slot);
        slot
    }

    /// Passes all requests on to the cursor.
    pub(crate) fn pass_on(&mut self, cursor: &mut Cursor) {
        if self.requests.len() > 1 {
            self.requests
                .sort_by_key(|asked| asked.as_ref().map(|asked| asked.place));
        }
        let mut requests = std::mem::take(&mut self.requests);
        for Asked { slot, request, .. } in requests.drain(..).flatten() {
            let key = cursor.open(request);
            self.slots[slot].stage = SlotStage::Open(key);
            self.found(key, slot);
        }
        self.requests = requests;
    }

    /// The operation that a future stands for, once the cursor knows it.
    pub(crate) fn key(&self, slot: usize) -> Option<OpKey> {
        match self.slots[slot].stage {
            SlotStage::Open(key) => Some(key),
            SlotStage::Asked(_) => None,
        }
    }

    /// Keeps the waker of a future; gives back the one it replaces.
    #[must_use]
    pub(crate) fn keep_waker(&mut self, slot: usize, waker: &Waker) -> Option<Waker> {
        let kept = &mut self.slots[slot].waker;
        match kept {
            Some(current) if current.will_wake(waker) => None,
            _ => kept.replace(waker.clone()),
        }
    }

    /// The waker of the future that stands for this operation.
    #[must_use]
    pub(crate) fn take_waker(&mut self, key: OpKey) -> Option<Waker> {
        let slot = *self.slot_of.get(key.slot())?;
        self.slots.get_mut(slot)?.waker.take()
    }

    /// Forgets a future, and its request if that was not passed on yet.
    #[must_use]
    pub(crate) fn remove(&mut self, slot: usize) -> Option<Waker> {
        let Slot { stage, waker } = self.slots.remove(slot);
        if let SlotStage::Asked(index) = stage {
            self.requests[index] = None;
        }
        waker
    }

    /// Gives back the memory of futures that are gone.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.slots.shrink_to_fit();
        self.requests.shrink_to_fit();
        self.slot_of.shrink_to_fit();
    }

    fn found(&mut self, key: OpKey, slot: usize) {
        if self.slot_of.len() <= key.slot() {
            self.slot_of.resize(key.slot() + 1, usize::MAX);
        }
        self.slot_of[key.slot()] = slot;
    }
}

#[cfg(test)]
mod tests {
    use durable_core::{Advance, Event, EventId, ExecutionId};

    use super::*;

    fn started() -> Cursor {
        let mut cursor = Cursor::new("i".into(), ExecutionId::FIRST);
        cursor.end_of_history();
        assert_eq!(cursor.advance(), Ok(Advance::Live));
        let started = Event::OrchestrationStarted {
            event_id: EventId::UNASSIGNED,
            name: "code".into(),
            version: "1.0.0".into(),
            input: "null".into(),
            parent: None,
            carried: durable_core::Carried::default(),
        };
        let _ = cursor.deliver(started, 0).unwrap();
        let _ = cursor.take_appended();
        cursor
    }

    fn timer(fire_at_ms: u64) -> Command {
        Command::Timer { fire_at_ms }
    }

    /// The due times of the timers that were appended, in order.
    fn due_times(cursor: &mut Cursor) -> Vec<u64> {
        let appended = cursor.take_appended();
        let times = appended.iter().map(|entry| match entry.event {
            Event::TimerCreated { fire_at_ms, .. } => fire_at_ms,
            ref other => panic!("{other}"),
        });
        times.collect()
    }

    #[test]
    fn requests_are_passed_on_in_the_order_of_memory_and_then_of_polls() {
        let mut cursor = started();
        let mut futures = DurableFutures::default();
        futures.set_root(1_000..2_000);
        for (address, fire_at_ms) in [(5_000, 4), (1_500, 2), (10, 5), (1_999, 3), (1_000, 1)] {
            futures.ask(address, timer(fire_at_ms), Waker::noop().clone());
        }
        futures.pass_on(&mut cursor);
        cursor.flush().unwrap();
        assert_eq!(due_times(&mut cursor), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn what_is_dropped_before_it_is_passed_on_leaves_no_trace() {
        let mut cursor = started();
        let mut futures = DurableFutures::default();
        let first = futures.ask(1, timer(1), Waker::noop().clone());
        let second = futures.ask(2, timer(2), Waker::noop().clone());
        assert!(futures.remove(first).is_some());
        assert_eq!(futures.key(second), None);
        futures.pass_on(&mut cursor);
        cursor.flush().unwrap();
        assert_eq!(due_times(&mut cursor), [2]);
        let key = futures.key(second).unwrap();
        assert!(futures.take_waker(key).is_some());
        assert!(futures.take_waker(key).is_none());
    }
}
