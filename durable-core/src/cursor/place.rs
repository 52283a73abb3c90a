//! How the outputs of one poll are found again in a recorded history.
//!
//! Within one poll everything is concurrent, so a block is a multiset: its
//! commands may stand in any order in the history. Blocks themselves are strictly
//! ordered.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

use super::block::Output;
use super::compare::{Owner, is_exact, same_command};
use super::key::Key;
use super::tape::Tape;
use crate::event::Event;
use crate::violation::Difference;

/// Where the outputs of a block stand in the history.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Placement {
    /// For each recorded output, the index of the output of the block.
    pub(super) recorded: Vec<usize>,
    /// Outputs of the block that the history does not have yet: it ends within
    /// the block, and they are appended. Ascending; none if the execution was ended from
    /// outside before they were recorded.
    pub(super) new: Vec<usize>,
}

/// Why a block is not what the history has next.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Misplaced {
    /// The output of the block that has no place.
    pub(super) output: usize,
    /// The distance of the recorded event that it should have been.
    pub(super) distance: usize,
    pub(super) difference: Difference,
}

/// Whether the events from this distance on are these outputs in this very order:
/// the usual case. All before them are outputs.
pub(super) fn is_next(owner: Owner<'_>, outputs: &[Output], tape: &Tape, distance: usize) -> bool {
    (distance..).zip(outputs).all(|(distance, output)| {
        tape.output(distance)
            .is_some_and(|recorded| is_exact(owner, &output.event, recorded))
    })
}

/// Finds the outputs of a block among the next events of the history.
pub(super) fn place(
    owner: Owner<'_>,
    outputs: &[Output],
    tape: &Tape,
) -> Result<Placement, Misplaced> {
    let recorded: Vec<&Event> = tape.outputs().take(outputs.len()).collect();
    let place_of = Matching::of(owner, outputs, &recorded).place_of;
    if place_of.iter().any(Option::is_none) {
        return Err(misplaced(owner, outputs, &recorded, &place_of));
    }
    let placed: Vec<usize> = place_of.into_iter().flatten().collect();
    let new = remaining(outputs.len(), &placed);
    let is_complete = new.is_empty();
    let placement = Placement {
        recorded: placed,
        new,
    };
    if is_complete {
        return Ok(placement);
    }
    let (distance, difference) = match tape.get(recorded.len()) {
        Some(next) if next.event.is_forced() => {
            return Ok(Placement {
                new: Vec::new(),
                ..placement
            });
        }
        Some(_) => (recorded.len(), Difference::CommandWhereInput),
        None if recorded.last().is_some_and(|last| last.is_terminal()) => {
            (recorded.len() - 1, Difference::Kind)
        }
        None => return Ok(placement),
    };
    Err(Misplaced {
        output: placement.new[0],
        distance,
        difference,
    })
}

/// Which recorded event is which output.
struct Matching<'a> {
    owner: Owner<'a>,
    outputs: &'a [Output],
    recorded: &'a [&'a Event],
    /// For each recorded event the output that it is.
    place_of: Vec<Option<usize>>,
    /// Outputs without a place, in creation order.
    unmatched: Vec<usize>,
}

impl<'a> Matching<'a> {
    /// Exact matches first, then any that replay accepts, ties in creation order.
    fn of(owner: Owner<'a>, outputs: &'a [Output], recorded: &'a [&'a Event]) -> Self {
        let mut matching = Self {
            owner,
            outputs,
            recorded,
            place_of: vec![None; recorded.len()],
            unmatched: (0..outputs.len()).collect(),
        };
        matching.by_key(Key::exact);
        matching.by_key(Key::compared);
        matching.in_order();
        matching
    }

    fn by_key(&mut self, key: fn(Owner<'_>, &'a Event) -> Key<'a>) {
        if self.unmatched.is_empty() {
            return;
        }
        let mut free: BTreeMap<Key<'a>, VecDeque<usize>> = BTreeMap::new();
        for (distance, event) in self.recorded.iter().enumerate() {
            if self.place_of[distance].is_none() {
                let key = key(self.owner, event);
                free.entry(key).or_default().push_back(distance);
            }
        }
        for index in core::mem::take(&mut self.unmatched) {
            let place = free
                .get_mut(&key(self.owner, &self.outputs[index].event))
                .and_then(VecDeque::pop_front);
            self.try_place(index, place);
        }
    }

    /// For the rare pair that is the same command without having the same key,
    /// such as an id that was derived then and is spelled out now.
    fn in_order(&mut self) {
        let free: Vec<usize> = (0..self.recorded.len())
            .filter(|&distance| self.place_of[distance].is_none())
            .collect();
        let mut places = free.into_iter();
        for index in core::mem::take(&mut self.unmatched) {
            self.try_place(index, places.next());
        }
    }

    fn try_place(&mut self, index: usize, place: Option<usize>) {
        let code = &self.outputs[index].event;
        match place {
            Some(at) if same_command(self.owner, code, self.recorded[at]).is_ok() => {
                self.place_of[at] = Some(index);
            }
            _ => self.unmatched.push(index),
        }
    }
}

/// Picks the pair that explains best why the block has no place: the first
/// position that differs when the order is otherwise kept, else the first
/// recorded event that no output is.
fn misplaced(
    owner: Owner<'_>,
    outputs: &[Output],
    recorded: &[&Event],
    place_of: &[Option<usize>],
) -> Misplaced {
    let difference_at = |index: usize, distance: usize| {
        same_command(owner, &outputs[index].event, recorded[distance]).err()
    };
    let out_of_order: Vec<usize> = (0..recorded.len())
        .filter(|&i| difference_at(i, i).is_some())
        .collect();
    let unplaced: Vec<usize> = (0..recorded.len())
        .filter(|&distance| place_of[distance].is_none())
        .collect();
    if let Some(&first) = out_of_order.first()
        && out_of_order.len() == unplaced.len()
        && let Some(difference) = difference_at(first, first)
    {
        return Misplaced {
            output: first,
            distance: first,
            difference,
        };
    }
    let distance = unplaced.first().copied().unwrap_or(0);
    let placed: Vec<usize> = place_of.iter().copied().flatten().collect();
    let free = remaining(outputs.len(), &placed);
    let same_kind = free
        .iter()
        .copied()
        .find(|&index| outputs[index].event.kind() == recorded[distance].kind());
    let output = same_kind.or(free.first().copied()).unwrap_or(0);
    Misplaced {
        output,
        distance,
        difference: difference_at(output, distance).unwrap_or(Difference::Kind),
    }
}

/// The indices below `len` that are not in `taken`.
fn remaining(len: usize, taken: &[usize]) -> Vec<usize> {
    let mut is_free = vec![true; len];
    for &index in taken {
        is_free[index] = false;
    }
    (0..len).filter(|&index| is_free[index]).collect()
}
