//! A store that remembers where each commit ended: the prefixes of a history that
//! a crash can leave behind.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use durable_core::provider::{CommitOutcome, Layer, Layered, Provider, ProviderError, TurnCommit};
use durable_core::{EventId, ExecutionId, HistoryEntry, InstanceId};
use durable_testkit::{MemoryProvider, TokioClock};

type Key = (InstanceId, ExecutionId);

/// The in-memory provider, and where its commits ended.
pub(crate) type Recorder = Layered<Recording>;

/// What stands around the in-memory provider.
pub(crate) struct Recording {
    store: MemoryProvider,
    boundaries: Mutex<BTreeMap<Key, Vec<EventId>>>,
}

impl Recording {
    pub(crate) fn new(clock: TokioClock) -> Self {
        Self {
            store: MemoryProvider::with_clock(clock),
            boundaries: Mutex::default(),
        }
    }

    /// The last event of each commit of an execution, in order.
    pub(crate) fn boundaries(&self, instance: &InstanceId, execution: ExecutionId) -> Vec<EventId> {
        let boundaries = self
            .boundaries
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let key = (instance.clone(), execution);
        boundaries.get(&key).cloned().unwrap_or_default()
    }

    fn note(&self, instance: &InstanceId, execution: ExecutionId, entries: &[HistoryEntry]) {
        if let Some(last) = entries.last() {
            self.boundaries
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .entry((instance.clone(), execution))
                .or_default()
                .push(last.event_id());
        }
    }
}

#[async_trait]
impl Layer for Recording {
    type Inner = MemoryProvider;

    fn inner(&self) -> &MemoryProvider {
        &self.store
    }

    async fn commit(&self, turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        let outcome = self.store.commit(Arc::clone(&turn)).await?;
        if matches!(outcome, CommitOutcome::Done(_)) {
            let instance = &turn.lease.instance;
            self.note(instance, turn.execution_id, &turn.events);
            if let Some(next) = &turn.next_execution {
                self.note(instance, next.execution_id, &next.events);
            }
        }
        Ok(outcome)
    }
}
