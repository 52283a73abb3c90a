//! A history is append-only and without gaps, and it is what was committed.
//!
//! A shadow copy is kept of everything that the store said it appended; the store
//! must have exactly that, and every history must make sense by itself.

use std::collections::{BTreeMap, BTreeSet};

use durable_core::provider::{CommitOutcome, TurnCommit};
use durable_core::{ExecutionId, History, HistoryEntry, InstanceId};

use super::{Invariant, InvariantViolation, is_purged};
use crate::memory::{MemoryProvider, Snapshot};
use crate::sim::Observed;

type ExecutionKey = (InstanceId, ExecutionId);

#[derive(Debug, Default)]
pub(super) struct AppendOnly {
    shadow: BTreeMap<ExecutionKey, Vec<HistoryEntry>>,
    /// Executions that were removed: none of them ever comes again.
    purged: BTreeSet<ExecutionKey>,
}

impl Invariant for AppendOnly {
    fn name(&self) -> &'static str {
        "history_is_append_only"
    }

    fn saw(
        &mut self,
        seen: &Observed<'_>,
        store: &MemoryProvider,
    ) -> Result<(), InvariantViolation> {
        match seen {
            Observed::Committed {
                turn,
                outcome: CommitOutcome::Done(_),
            } => self.append(turn),
            Observed::Purged { purge } => {
                let store = store.snapshot();
                let keys = self.shadow.keys();
                let gone = keys.filter(|(id, _)| is_purged(purge, id, &store));
                self.purged.extend(gone.cloned());
                self.shadow.retain(|key, _| !self.purged.contains(key));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn look(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        for (key, stored) in &snapshot.histories {
            let shadow = self.shadow.get(key).map_or(&[][..], Vec::as_slice);
            if stored != shadow {
                let same = stored
                    .iter()
                    .zip(shadow)
                    .take_while(|(stored, shadow)| stored == shadow)
                    .count();
                return Err(InvariantViolation::of(
                    &key.0,
                    format!(
                        "execution {} has {} events and {} were committed; they differ from event {} on",
                        key.1,
                        stored.len(),
                        shadow.len(),
                        same + 1
                    ),
                ));
            }
        }
        let is_gone = |key: &&ExecutionKey| !snapshot.histories.contains_key(*key);
        match self.shadow.keys().find(is_gone) {
            Some((instance, execution_id)) => Err(InvariantViolation::of(
                instance,
                format!("execution {execution_id} is gone"),
            )),
            None => Ok(()),
        }
    }

    fn end(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        for ((instance, execution_id), entries) in &snapshot.histories {
            let history = History::new(instance.clone(), *execution_id, entries.clone());
            history
                .validate()
                .map_err(|corruption| InvariantViolation::of(instance, corruption.to_string()))?;
        }
        Ok(())
    }
}

impl AppendOnly {
    fn append(&mut self, turn: &TurnCommit) -> Result<(), InvariantViolation> {
        let instance = &turn.lease.instance;
        let mut parts = vec![(turn.execution_id, &turn.events)];
        if let Some(next) = &turn.next_execution {
            parts.push((next.execution_id, &next.events));
        }
        for (execution_id, events) in parts {
            if self.purged.contains(&(instance.clone(), execution_id)) {
                let what = format!("execution {execution_id} was purged and comes again");
                return Err(InvariantViolation::of(instance, what));
            }
            let shadow = self
                .shadow
                .entry((instance.clone(), execution_id))
                .or_default();
            for entry in events {
                let expected = u64::try_from(shadow.len()).unwrap_or(u64::MAX) + 1;
                if entry.event_id().get() != expected {
                    return Err(InvariantViolation::of(
                        instance,
                        format!(
                            "event {} of execution {execution_id} was stored where {expected} must stand",
                            entry.event_id()
                        ),
                    ));
                }
                shadow.push(entry.clone());
            }
        }
        Ok(())
    }
}
