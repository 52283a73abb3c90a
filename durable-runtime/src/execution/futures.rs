//! The durable futures of one execution: which operation of the cursor each one
//! stands for, and whom to wake.
//!
//! A request is passed on to the cursor when the poll that made it is flushed. The
//! requests of one poll are concurrent, and code such as an unbiased `select!` makes
//! them in another order every time. So that two equal requests, such as two timers of
//! the same length, mean the same branches again in a replay, they are passed on in an
//! order that does not depend on when they were made. It is decided by, first to last:
//!
//! 1. the path of the branch: the combinators of this crate and `ctx.branch` name it;
//! 2. the place in the source of the call;
//! 3. the position of the future in the memory of the orchestration, which the compiler
//!    lays out once for each build;
//! 4. the order of polls: for futures outside of that memory, in boxes.
//!
//! The first two are the same in every build. Memory decides only between requests from
//! one place in one branch: a helper that is called twice under a combinator that names
//! no branches.
//!
//! Invariant: no waker is dropped here; what is replaced or removed is returned,
//! to be dropped when the lock is free.

use std::cmp::Ordering;
use std::ops::Range;
use std::task::Waker;

use durable_core::{Command, Cursor, OpKey};
use slab::Slab;

use super::branch::{self, BranchSegment};
use super::call_site::CallSite;

/// All durable futures that were polled and have not come to their value.
#[derive(Debug, Default)]
pub(crate) struct DurableFutures {
    /// The memory of the root future.
    root: Range<usize>,
    slots: Slab<Slot>,
    /// Requests that were not passed on yet, in the order in which they were made.
    requests: Vec<Option<Asked>>,
    /// The paths of the branches of these requests, one after the other.
    paths: Vec<BranchSegment>,
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
    origin: Origin,
    slot: usize,
    command: Command,
}

/// Where a request comes from.
#[derive(Debug)]
struct Origin {
    /// The path of its branch, as a part of `paths`.
    path: Range<usize>,
    call_site: CallSite,
    memory: MemoryPosition,
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

    /// Takes a request from the future at this address, in the branch that is being
    /// polled.
    pub(crate) fn ask(
        &mut self,
        address: usize,
        call_site: CallSite,
        command: Command,
        waker: Waker,
    ) -> usize {
        let origin = self.origin(address, call_site);
        let slot = self.slots.insert(Slot {
            stage: SlotStage::Asked(self.requests.len()),
            waker: Some(waker),
        });
        if self.requests.capacity() == 0 {
            // Most polls ask for one thing: room for that alone, where there is none.
            self.requests.reserve_exact(1);
        }
        self.requests.push(Some(Asked {
            origin,
            slot,
            command,
        }));
        slot
    }

    fn origin(&mut self, address: usize, call_site: CallSite) -> Origin {
        let begin = self.paths.len();
        branch::append_path(&mut self.paths);
        let memory = match self.root.contains(&address) {
            true => MemoryPosition::InRoot {
                offset: address - self.root.start,
            },
            false => MemoryPosition::Elsewhere,
        };
        Origin {
            path: begin..self.paths.len(),
            call_site,
            memory,
        }
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
        let mut requests = std::mem::take(&mut self.requests);
        if requests.len() > 1 {
            requests.sort_by(|one, other| match (one, other) {
                (Some(one), Some(other)) => one.origin.order(&other.origin, &self.paths),
                (one, other) => one.is_some().cmp(&other.is_some()),
            });
        }
        for Asked { slot, command, .. } in requests.drain(..).flatten() {
            let key = cursor.open(command);
            self.slots[slot].stage = SlotStage::Open(key);
            self.found(key, slot);
        }
        self.requests = requests;
        self.paths.clear();
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
        self.paths.shrink_to_fit();
        self.slot_of.shrink_to_fit();
    }

    fn found(&mut self, key: OpKey, slot: usize) {
        if self.slot_of.len() <= key.slot() {
            self.slot_of.resize(key.slot() + 1, usize::MAX);
        }
        self.slot_of[key.slot()] = slot;
    }
}

impl Origin {
    /// The order of two requests of one poll, but for the order of polls.
    fn order(&self, other: &Self, paths: &[BranchSegment]) -> Ordering {
        paths[self.path.clone()]
            .cmp(&paths[other.path.clone()])
            .then_with(|| self.call_site.order(other.call_site))
            .then_with(|| self.memory.cmp(&other.memory))
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
            carried: None,
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
        let times = appended.iter().map(|appended| match appended.entry.event {
            Event::TimerCreated { fire_at_ms, .. } => fire_at_ms,
            ref other => panic!("{other}"),
        });
        times.collect()
    }

    /// A place in the source: each call of this function is one.
    #[track_caller]
    fn here() -> CallSite {
        CallSite::of_caller()
    }

    fn ask_at(futures: &mut DurableFutures, address: usize, at: CallSite, fire_at_ms: u64) {
        futures.ask(address, at, timer(fire_at_ms), Waker::noop().clone());
    }

    /// Passes the requests on; in which order.
    fn passed_on(futures: &mut DurableFutures) -> Vec<u64> {
        let mut cursor = started();
        futures.pass_on(&mut cursor);
        cursor.flush().unwrap();
        due_times(&mut cursor)
    }

    fn in_root() -> DurableFutures {
        let mut futures = DurableFutures::default();
        futures.set_root(1_000..2_000);
        futures
    }

    #[test]
    fn requests_from_one_place_are_in_the_order_of_memory_and_then_of_polls() {
        let (mut futures, place) = (in_root(), here());
        for (address, number) in [(5_000, 4), (1_500, 2), (10, 5), (1_999, 3), (1_000, 1)] {
            ask_at(&mut futures, address, place, number);
        }
        assert_eq!(passed_on(&mut futures), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn the_place_in_the_source_decides_before_memory_does() {
        let (mut futures, first, second) = (in_root(), here(), here());
        ask_at(&mut futures, 1_000, second, 3);
        ask_at(&mut futures, 1_900, first, 1);
        ask_at(&mut futures, 7, first, 2);
        assert_eq!(passed_on(&mut futures), [1, 2, 3]);
    }

    #[test]
    fn the_branch_decides_before_the_place_in_the_source_does() {
        let (mut futures, first, second) = (in_root(), here(), here());
        let ask_in = |futures: &mut DurableFutures, path: &[usize], at, number| {
            fn nested(path: &[usize], ask: &mut dyn FnMut()) {
                match path {
                    [] => ask(),
                    [index, rest @ ..] => {
                        branch::within(BranchSegment::Index(*index), || nested(rest, ask));
                    }
                }
            }
            nested(path, &mut || {
                ask_at(futures, 1_500 - 10 * number as usize, at, number);
            });
        };
        ask_in(&mut futures, &[1, 0], first, 5);
        ask_in(&mut futures, &[0, 1], second, 3);
        ask_in(&mut futures, &[1], first, 4);
        ask_in(&mut futures, &[0, 0, 7], second, 2);
        ask_in(&mut futures, &[], second, 1);
        assert_eq!(passed_on(&mut futures), [1, 2, 3, 4, 5]);
        assert!(futures.paths.is_empty());
    }

    #[test]
    fn what_is_dropped_before_it_is_passed_on_leaves_no_trace() {
        let mut cursor = started();
        let mut futures = DurableFutures::default();
        let first = futures.ask(1, here(), timer(1), Waker::noop().clone());
        let second = futures.ask(2, here(), timer(2), Waker::noop().clone());
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
