//! Every start that was acknowledged, by a client or by a committed turn, comes to
//! an end.

use std::collections::BTreeSet;

use durable_core::InstanceId;
use durable_core::provider::{CommitOutcome, InstanceStatus, MessageBody, StartOutcome};

use super::{Invariant, InvariantViolation, is_purged};
use crate::memory::{MemoryProvider, Snapshot};
use crate::sim::Observed;

#[derive(Debug, Default)]
pub(super) struct StartsFinish {
    started: BTreeSet<InstanceId>,
}

impl Invariant for StartsFinish {
    fn name(&self) -> &'static str {
        "starts_finish"
    }

    fn saw(
        &mut self,
        seen: &Observed<'_>,
        store: &MemoryProvider,
    ) -> Result<(), InvariantViolation> {
        match seen {
            Observed::Started {
                instance,
                outcome: StartOutcome::Started { .. } | StartOutcome::AlreadyRunning { .. },
                ..
            } => {
                self.started.insert((*instance).clone());
            }
            Observed::Committed {
                turn,
                outcome: CommitOutcome::Done(_),
            } => {
                let starts = turn
                    .new_messages
                    .iter()
                    .filter(|sent| matches!(sent.message.body, MessageBody::Start(_)));
                self.started.extend(starts.map(|sent| sent.target.clone()));
            }
            Observed::Purged { purge } => {
                let store = store.snapshot();
                self.started.retain(|id| !is_purged(purge, id, &store));
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        for id in &self.started {
            let Some(instance) = snapshot.instances.get(id) else {
                return Err(InvariantViolation::of(
                    id,
                    "it was started and is not there",
                ));
            };
            let status = &instance.record.status;
            if !status.kind().is_ended() {
                let why = match status {
                    InstanceStatus::Suspended { failure } => format!(": {failure}"),
                    _ => String::new(),
                };
                return Err(InvariantViolation::of(
                    id,
                    format!("it was started and is {}{why}", status.kind()),
                ));
            }
        }
        Ok(())
    }
}
