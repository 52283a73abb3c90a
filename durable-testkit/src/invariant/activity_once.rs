//! An activity has its effect at least once, and its history has one completion.

use std::collections::{BTreeMap, BTreeSet};

use durable_core::provider::WorkKey;
use durable_core::{Event, HistoryEntry};

use super::{Invariant, InvariantViolation};
use crate::memory::{MemoryProvider, Snapshot};
use crate::sim::{Effects, Observed};

#[derive(Debug)]
pub(super) struct ActivityOnce {
    effects: Effects,
    handed_out: BTreeSet<WorkKey>,
}

impl ActivityOnce {
    pub(super) fn new(effects: Effects) -> Self {
        Self {
            effects,
            handed_out: BTreeSet::new(),
        }
    }

    /// Whether this is a success without an attempt.
    fn has_no_effect(&self, key: &WorkKey) -> bool {
        !self.handed_out.contains(key) || self.effects.of(key) == Some(0)
    }
}

impl Invariant for ActivityOnce {
    fn name(&self) -> &'static str {
        "activities_complete_once"
    }

    fn saw(&mut self, seen: &Observed<'_>, _: &MemoryProvider) -> Result<(), InvariantViolation> {
        if let Observed::Claimed { work } = seen {
            self.handed_out.insert(work.lease.key.clone());
        }
        Ok(())
    }

    fn end(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        for ((instance, execution_id), entries) in &snapshot.histories {
            let mut completions: BTreeMap<WorkKey, u32> = BTreeMap::new();
            for (source_event_id, is_success) in entries.iter().filter_map(completion) {
                let key = WorkKey {
                    instance: instance.clone(),
                    execution_id: *execution_id,
                    event_id: source_event_id,
                };
                if is_success && self.has_no_effect(&key) {
                    let what = format!("activity {source_event_id} completed and never ran");
                    return Err(InvariantViolation::of(instance, what));
                }
                let count = completions.entry(key).or_insert(0);
                *count += 1;
                if *count > 1 {
                    let what = format!("activity {source_event_id} completed {count} times");
                    return Err(InvariantViolation::of(instance, what));
                }
            }
        }
        Ok(())
    }
}

fn completion(entry: &HistoryEntry) -> Option<(durable_core::EventId, bool)> {
    match &entry.event {
        Event::ActivityCompleted {
            source_event_id, ..
        } => Some((*source_event_id, true)),
        Event::ActivityFailed {
            source_event_id, ..
        } => Some((*source_event_id, false)),
        _ => None,
    }
}
