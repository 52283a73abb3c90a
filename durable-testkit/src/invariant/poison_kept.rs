//! Work that took its workers down is kept for inspection, its instance knows, and
//! no worker gets it again.

use std::collections::BTreeSet;

use durable_core::provider::WorkKey;
use durable_core::{Event, FailureKind, HistoryEntry};

use super::{Invariant, InvariantViolation};
use crate::memory::{MemoryProvider, Snapshot};
use crate::sim::Observed;

#[derive(Debug, Default)]
pub(super) struct PoisonKept {
    set_aside: BTreeSet<WorkKey>,
}

impl Invariant for PoisonKept {
    fn name(&self) -> &'static str {
        "poison_is_kept"
    }

    fn saw(&mut self, seen: &Observed<'_>, _: &MemoryProvider) -> Result<(), InvariantViolation> {
        let Observed::Claimed { work } = seen else {
            return Ok(());
        };
        let key = &work.lease.key;
        match self.set_aside.contains(key) {
            true => Err(InvariantViolation::of(
                &key.instance,
                format!("work {} was set aside and handed out again", key.event_id),
            )),
            false => Ok(()),
        }
    }

    fn look(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        self.set_aside.extend(snapshot.poisoned.keys().cloned());
        Ok(())
    }

    fn end(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        let mut known = BTreeSet::new();
        for ((instance, execution_id), entries) in &snapshot.histories {
            for event_id in entries.iter().filter_map(poisoned) {
                let key = WorkKey {
                    instance: instance.clone(),
                    execution_id: *execution_id,
                    event_id,
                };
                if !snapshot.poisoned.contains_key(&key) {
                    let what = format!("its poisoned work {event_id} is not kept");
                    return Err(InvariantViolation::of(instance, what));
                }
                known.insert(key);
            }
        }
        match snapshot.poisoned.keys().find(|key| !known.contains(key)) {
            Some(key) => Err(InvariantViolation::of(
                &key.instance,
                format!("work {} was set aside and it was not told", key.event_id),
            )),
            None => Ok(()),
        }
    }
}

fn poisoned(entry: &HistoryEntry) -> Option<durable_core::EventId> {
    match &entry.event {
        Event::ActivityFailed {
            source_event_id,
            failure,
            ..
        } if failure.kind == FailureKind::Poisoned => Some(*source_event_id),
        _ => None,
    }
}
