//! The code does again exactly what every history of an ended execution says.

use durable_core::History;
use durable_runtime::{Registry, ReplayRest, Replayer};

use super::{Invariant, InvariantViolation};
use crate::memory::Snapshot;

#[derive(Debug)]
pub(super) struct ReplayExact {
    replayer: Replayer,
}

impl ReplayExact {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            replayer: Replayer::new(registry.clone()),
        }
    }
}

impl Invariant for ReplayExact {
    fn name(&self) -> &'static str {
        "replay_is_exact"
    }

    fn end(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        for ((instance, execution_id), entries) in &snapshot.histories {
            if !entries
                .last()
                .is_some_and(|entry| entry.event.is_terminal())
            {
                continue;
            }
            let history = History::new(instance.clone(), *execution_id, entries.clone());
            let replayed = self
                .replayer
                .replay(&history)
                .map_err(|failure| InvariantViolation::of(instance, failure.to_string()))?;
            if !replayed.is_exact() || replayed.rest != ReplayRest::Ended {
                return Err(InvariantViolation::of(
                    instance,
                    format!("execution {execution_id} replays as {replayed:?}"),
                ));
            }
        }
        Ok(())
    }
}
