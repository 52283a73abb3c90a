//! A store that remembers where each commit ended: the prefixes of a history that
//! a crash can leave behind.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use durable_core::provider::{
    CommitOutcome, ExecutionRecord, FiredTimers, HistoryPage, IdReuse, InstanceFilter,
    InstancePage, InstanceRecord, Interest, Lease, Message, OutgoingMessage, Provider,
    ProviderError, Purge, PurgeReport, ReadyInstances, SendOutcome, SessionId, SessionOptions,
    SessionReport, StartOutcome, TurnCommit, WakeSeq, WorkBatch, WorkLease, WorkSettlement,
};
use durable_core::{EventId, ExecutionId, Failure, HistoryEntry, InstanceId, Name, Payload};
use durable_testkit::MemoryProvider;

type Key = (InstanceId, ExecutionId);

/// The in-memory provider, and where its commits ended.
pub(crate) struct Recorder {
    store: MemoryProvider,
    boundaries: Mutex<BTreeMap<Key, Vec<EventId>>>,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            store: MemoryProvider::new(),
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
impl Provider for Recorder {
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

    async fn open_session(
        &self,
        options: SessionOptions,
        now_ms: u64,
    ) -> Result<SessionId, ProviderError> {
        self.store.open_session(options, now_ms).await
    }

    async fn heartbeat(
        &self,
        session: SessionId,
        now_ms: u64,
    ) -> Result<SessionReport, ProviderError> {
        self.store.heartbeat(session, now_ms).await
    }

    async fn close_session(&self, session: SessionId, now_ms: u64) -> Result<(), ProviderError> {
        self.store.close_session(session, now_ms).await
    }

    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError> {
        self.store.fetch_instances(session, max, now_ms).await
    }

    async fn release(
        &self,
        leases: Vec<Lease>,
        not_before_ms: Option<u64>,
        now_ms: u64,
    ) -> Result<(), ProviderError> {
        self.store.release(leases, not_before_ms, now_ms).await
    }

    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
        now_ms: u64,
    ) -> Result<WorkBatch, ProviderError> {
        self.store.fetch_work(session, queues, max, now_ms).await
    }

    async fn settle_work(
        &self,
        settlements: Vec<WorkSettlement>,
        now_ms: u64,
    ) -> Result<Vec<bool>, ProviderError> {
        self.store.settle_work(settlements, now_ms).await
    }

    async fn heartbeat_work(
        &self,
        lease: &WorkLease,
        details: Payload,
        now_ms: u64,
    ) -> Result<bool, ProviderError> {
        self.store.heartbeat_work(lease, details, now_ms).await
    }

    async fn fire_timers(&self, max: usize, now_ms: u64) -> Result<FiredTimers, ProviderError> {
        self.store.fire_timers(max, now_ms).await
    }

    async fn start(
        &self,
        instance: &InstanceId,
        message: Message,
        reuse: IdReuse,
        now_ms: u64,
    ) -> Result<StartOutcome, ProviderError> {
        self.store.start(instance, message, reuse, now_ms).await
    }

    async fn send(
        &self,
        messages: Vec<OutgoingMessage>,
        now_ms: u64,
    ) -> Result<Vec<SendOutcome>, ProviderError> {
        self.store.send(messages, now_ms).await
    }

    async fn suspend(
        &self,
        instance: &InstanceId,
        reason: Failure,
        now_ms: u64,
    ) -> Result<SendOutcome, ProviderError> {
        self.store.suspend(instance, reason, now_ms).await
    }

    async fn resume(
        &self,
        instance: &InstanceId,
        now_ms: u64,
    ) -> Result<SendOutcome, ProviderError> {
        self.store.resume(instance, now_ms).await
    }

    async fn instance(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<InstanceRecord>, ProviderError> {
        self.store.instance(instance).await
    }

    async fn instances(
        &self,
        filter: &InstanceFilter,
        after: Option<&InstanceId>,
        max: usize,
    ) -> Result<InstancePage, ProviderError> {
        self.store.instances(filter, after, max).await
    }

    async fn executions(
        &self,
        instance: &InstanceId,
    ) -> Result<Vec<ExecutionRecord>, ProviderError> {
        self.store.executions(instance).await
    }

    async fn history(
        &self,
        instance: &InstanceId,
        execution_id: ExecutionId,
        after: EventId,
        max: usize,
    ) -> Result<HistoryPage, ProviderError> {
        self.store.history(instance, execution_id, after, max).await
    }

    async fn purge(&self, purge: &Purge, now_ms: u64) -> Result<PurgeReport, ProviderError> {
        self.store.purge(purge, now_ms).await
    }

    async fn wait(
        &self,
        session: Option<SessionId>,
        interest: &Interest,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        self.store.wait(session, interest, seen).await
    }
}
