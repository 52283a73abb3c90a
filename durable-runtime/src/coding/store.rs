//! A store with everything encoded that goes into it.
//!
//! What comes out is passed on as it is stored: one value that cannot be read must not
//! keep a node from a whole batch of others.

use std::sync::Arc;

use async_trait::async_trait;
use durable_core::provider::{
    CommitOutcome, ExecutionRecord, FiredTimers, HistoryPage, IdReuse, InboxPage, InboxSeq,
    InstanceFilter, InstancePage, InstanceRecord, Message, OutgoingMessage, PoisonedPage, Provider,
    ProviderError, PurgeReport, PurgeRequest, ReadyInstances, Release, SendOutcome, SessionId,
    SessionOptions, SessionReport, StartOutcome, TurnCommit, WakeSeq, WakeTopic, WorkBatch,
    WorkKey, WorkLease, WorkSettlement,
};
use durable_core::{EventId, ExecutionId, Failure, InstanceId, Name, Payload};

use super::texts::Texts;
use super::{Coding, PayloadCodecError};

pub(super) struct EncodingStore {
    store: Arc<dyn Provider>,
    coding: Coding,
}

impl EncodingStore {
    pub(super) fn new(store: Arc<dyn Provider>, coding: Coding) -> Self {
        Self { store, coding }
    }

    fn encoded<T: Texts>(&self, mut value: T) -> Result<T, ProviderError> {
        match self.coding.encode(&mut value) {
            Ok(()) => Ok(value),
            Err(error) => Err(not_encoded(&error)),
        }
    }
}

/// Nothing has happened, and it may go well another time.
fn not_encoded(error: &PayloadCodecError) -> ProviderError {
    ProviderError::Unavailable {
        reason: format!("a payload could not be encoded: {error}"),
    }
}

#[async_trait]
impl Provider for EncodingStore {
    async fn commit(&self, turns: Vec<TurnCommit>) -> Vec<Result<CommitOutcome, ProviderError>> {
        let mut sound = Vec::with_capacity(turns.len());
        let encoded: Vec<Result<(), ProviderError>> = turns
            .into_iter()
            .map(|turn| self.encoded(turn).map(|turn| sound.push(turn)))
            .collect();
        if sound.is_empty() {
            return encoded
                .into_iter()
                .filter_map(Result::err)
                .map(Err)
                .collect();
        }
        let mut answers = self.store.commit(sound).await.into_iter();
        let mut next_answer = || {
            answers.next().unwrap_or_else(|| {
                let reason = "the store gave no answer".into();
                Err(ProviderError::Unknown { reason })
            })
        };
        encoded
            .into_iter()
            .map(|encoded| encoded.and_then(|()| next_answer()))
            .collect()
    }

    async fn settle_work(
        &self,
        settlements: Vec<WorkSettlement>,
        now_ms: u64,
    ) -> Result<Vec<bool>, ProviderError> {
        let settlements = self.encoded(settlements)?;
        self.store.settle_work(settlements, now_ms).await
    }

    async fn heartbeat_work(
        &self,
        lease: &WorkLease,
        details: Payload,
        now_ms: u64,
    ) -> Result<bool, ProviderError> {
        let details = self.encoded(details)?;
        self.store.heartbeat_work(lease, details, now_ms).await
    }

    async fn start(
        &self,
        instance: &InstanceId,
        message: Message,
        reuse: IdReuse,
        now_ms: u64,
    ) -> Result<StartOutcome, ProviderError> {
        let message = self.encoded(message)?;
        self.store.start(instance, message, reuse, now_ms).await
    }

    async fn send(
        &self,
        messages: Vec<OutgoingMessage>,
        now_ms: u64,
    ) -> Result<Vec<SendOutcome>, ProviderError> {
        let messages = self.encoded(messages)?;
        self.store.send(messages, now_ms).await
    }

    async fn suspend(
        &self,
        instance: &InstanceId,
        reason: Failure,
        now_ms: u64,
    ) -> Result<SendOutcome, ProviderError> {
        let reason = self.encoded(reason)?;
        self.store.suspend(instance, reason, now_ms).await
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

    async fn release(&self, releases: Vec<Release>, now_ms: u64) -> Result<(), ProviderError> {
        self.store.release(releases, now_ms).await
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

    async fn fire_timers(&self, max: usize, now_ms: u64) -> Result<FiredTimers, ProviderError> {
        self.store.fire_timers(max, now_ms).await
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

    async fn inbox(
        &self,
        instance: &InstanceId,
        after: InboxSeq,
        max: usize,
    ) -> Result<InboxPage, ProviderError> {
        self.store.inbox(instance, after, max).await
    }

    async fn poisoned(
        &self,
        after: Option<&WorkKey>,
        max: usize,
    ) -> Result<PoisonedPage, ProviderError> {
        self.store.poisoned(after, max).await
    }

    async fn purge(&self, purge: &PurgeRequest, now_ms: u64) -> Result<PurgeReport, ProviderError> {
        self.store.purge(purge, now_ms).await
    }

    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        self.store.wait(session, topic, seen).await
    }
}
