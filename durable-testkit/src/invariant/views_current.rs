//! The views of an instance are what its current execution has made of them.

use std::collections::BTreeMap;

use durable_core::{Event, HistoryEntry, Name, Payload};

use super::{Invariant, InvariantViolation};
use crate::memory::{InstanceSnapshot, Snapshot};

#[derive(Debug)]
pub(super) struct ViewsCurrent;

impl Invariant for ViewsCurrent {
    fn name(&self) -> &'static str {
        "views_are_as_the_history_says"
    }

    fn look(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        for (id, instance) in &snapshot.instances {
            let current = (id.clone(), instance.record.execution_id);
            let history = snapshot.histories.get(&current);
            let expected = published(history.map_or(&[], Vec::as_slice));
            let found = stored(instance);
            if found != expected {
                let what = format!("its views are {found:?}, and were made {expected:?}");
                return Err(InvariantViolation::of(id, what));
            }
        }
        Ok(())
    }
}

fn stored(instance: &InstanceSnapshot) -> BTreeMap<&Name, &Payload> {
    let views = instance.views.iter();
    views.map(|view| (&view.name, &view.value)).collect()
}

/// The views that an execution was given and those that it changed.
fn published(history: &[HistoryEntry]) -> BTreeMap<&Name, &Payload> {
    let mut views = BTreeMap::new();
    for entry in history {
        match &entry.event {
            Event::OrchestrationStarted { carried, .. } => {
                let carried = carried.iter().flat_map(|carried| &carried.views);
                views = carried.map(|(name, value)| (name, value)).collect();
            }
            Event::ViewPublished { name, value, .. } => {
                views.insert(name, value);
            }
            Event::ViewCleared { name, .. } => {
                views.remove(name);
            }
            _ => {}
        }
    }
    views
}
