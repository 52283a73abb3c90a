//! A store that remembers where each commit ended: the prefixes of a history that
//! a crash can leave behind.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use durable_core::provider::{CommitOutcome, Provider, ProviderError, TurnCommit};
use durable_core::{EventId, ExecutionId, HistoryEntry, InstanceId};
use durable_testkit::{Layer, Layered, MemoryProvider};

type Key = (InstanceId, ExecutionId);

/// The in-memory provider, and where its commits ended.
pub(crate) type Recorder = Layered<Recording>;

/// What stands around the in-memory provider.
#[derive(Default)]
pub(crate) struct Recording {
    store: MemoryProvider,
    boundaries: Mutex<BTreeMap<Key, Vec<EventId>>>,
}

impl Recording {
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

    async fn commit(&self, turns: Vec<TurnCommit>) -> Vec<Result<CommitOutcome, ProviderError>> {
        let answers = self.store.commit(turns.clone()).await;
        for (turn, answer) in turns.iter().zip(&answers) {
            if !matches!(answer, Ok(CommitOutcome::Done(_))) {
                continue;
            }
            let instance = &turn.lease.instance;
            self.note(instance, turn.execution_id, &turn.events);
            if let Some(next) = &turn.next_execution {
                self.note(instance, next.execution_id, &next.events);
            }
        }
        answers
    }
}
