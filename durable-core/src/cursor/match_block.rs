//! Matching the outputs of one poll with the recorded history.
//!
//! Within one poll everything is concurrent, so a block is a multiset: its
//! commands may stand in any order in the history. Blocks themselves are strictly
//! ordered.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

use super::block::Output;
use super::tape::Tape;
use crate::event::{Event, EventKey, Owner};
use crate::violation::Difference;

/// Which recorded outputs the outputs of a block are.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BlockMatch {
    /// For each recorded output, the index of the output of the block.
    pub(super) recorded: Vec<usize>,
    /// Outputs of the block that the history does not have: it ends within the block,
    /// and they are appended, or the execution was ended from outside before they were
    /// recorded. Ascending.
    pub(super) new: Vec<usize>,
}

/// Why a block is not what the history has next.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    /// The output of the block that matches nothing.
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
            .is_some_and(|recorded| output.event.is_exact(owner, recorded))
    })
}

/// Finds the outputs of a block among the next events of the history.
pub(super) fn match_block(
    owner: Owner<'_>,
    outputs: &[Output],
    tape: &Tape,
) -> Result<BlockMatch, Mismatch> {
    let recorded: Vec<&Event> = tape.outputs().take(outputs.len()).collect();
    let output_of = Matching::of(owner, outputs, &recorded).output_of;
    if output_of.iter().any(Option::is_none) {
        return Err(explain(owner, outputs, &recorded, &output_of));
    }
    let matched: Vec<usize> = output_of.into_iter().flatten().collect();
    let new = remaining(outputs.len(), &matched);
    let is_complete = new.is_empty();
    let block_match = BlockMatch {
        recorded: matched,
        new,
    };
    if is_complete {
        return Ok(block_match);
    }
    let (distance, difference) = match tape.get(recorded.len()) {
        Some(next) if next.event.is_forced() => return Ok(block_match),
        Some(_) => (recorded.len(), Difference::CommandWhereInput),
        None if recorded.last().is_some_and(|last| last.is_terminal()) => {
            (recorded.len() - 1, Difference::Kind)
        }
        None => return Ok(block_match),
    };
    Err(Mismatch {
        output: block_match.new[0],
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
    output_of: Vec<Option<usize>>,
    /// Outputs that match nothing so far, in creation order.
    unmatched: Vec<usize>,
}

impl<'a> Matching<'a> {
    /// Exact matches first, then any that replay accepts, ties in creation order.
    fn of(owner: Owner<'a>, outputs: &'a [Output], recorded: &'a [&'a Event]) -> Self {
        let mut matching = Self {
            owner,
            outputs,
            recorded,
            output_of: vec![None; recorded.len()],
            unmatched: (0..outputs.len()).collect(),
        };
        matching.by_key(EventKey::exact);
        matching.by_key(EventKey::compared);
        matching.in_order();
        matching
    }

    fn by_key(&mut self, key: fn(Owner<'_>, &'a Event) -> EventKey<'a>) {
        if self.unmatched.is_empty() {
            return;
        }
        let mut free: BTreeMap<EventKey<'a>, VecDeque<usize>> = BTreeMap::new();
        for (distance, event) in self.recorded.iter().enumerate() {
            if self.output_of[distance].is_none() {
                let key = key(self.owner, event);
                free.entry(key).or_default().push_back(distance);
            }
        }
        for index in core::mem::take(&mut self.unmatched) {
            let distance = free
                .get_mut(&key(self.owner, &self.outputs[index].event))
                .and_then(VecDeque::pop_front);
            self.try_match(index, distance);
        }
    }

    /// For the rare pair that is the same command without having the same key,
    /// such as an id that was derived then and is spelled out now.
    fn in_order(&mut self) {
        let free: Vec<usize> = (0..self.recorded.len())
            .filter(|&distance| self.output_of[distance].is_none())
            .collect();
        let mut distances = free.into_iter();
        for index in core::mem::take(&mut self.unmatched) {
            self.try_match(index, distances.next());
        }
    }

    fn try_match(&mut self, index: usize, distance: Option<usize>) {
        let code = &self.outputs[index].event;
        match distance {
            Some(at) if code.compare(self.owner, self.recorded[at]).is_ok() => {
                self.output_of[at] = Some(index);
            }
            _ => self.unmatched.push(index),
        }
    }
}

/// Picks the pair that explains best why the block does not match: the first
/// position that differs when the order is otherwise kept, else the first
/// recorded event that no output is.
fn explain(
    owner: Owner<'_>,
    outputs: &[Output],
    recorded: &[&Event],
    output_of: &[Option<usize>],
) -> Mismatch {
    let difference_at = |index: usize, distance: usize| {
        outputs[index]
            .event
            .compare(owner, recorded[distance])
            .err()
    };
    let out_of_order: Vec<usize> = (0..recorded.len())
        .filter(|&i| difference_at(i, i).is_some())
        .collect();
    let unmatched: Vec<usize> = (0..recorded.len())
        .filter(|&distance| output_of[distance].is_none())
        .collect();
    if let Some(&first) = out_of_order.first()
        && out_of_order.len() == unmatched.len()
        && let Some(difference) = difference_at(first, first)
    {
        return Mismatch {
            output: first,
            distance: first,
            difference,
        };
    }
    let distance = unmatched.first().copied().unwrap_or(0);
    let matched: Vec<usize> = output_of.iter().copied().flatten().collect();
    let free = remaining(outputs.len(), &matched);
    let same_kind = free
        .iter()
        .copied()
        .find(|&index| outputs[index].event.kind() == recorded[distance].kind());
    let output = same_kind.or(free.first().copied()).unwrap_or(0);
    Mismatch {
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
