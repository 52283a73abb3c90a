//! The contract as a thin layer over the store.

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
use tokio::sync::Notify;

use crate::opening::{Backend, Missing};
use crate::options::RedisOptions;
use crate::store::Store;

/// The storage contract on Redis.
///
/// A clone is another handle on the same store; the last one that is dropped closes its
/// connections. Sessions that were not closed by then end when their heartbeat is late.
///
/// ```no_run
/// use durable_core::provider::{Provider, SessionOptions};
/// use durable_provider_redis::RedisProvider;
///
/// # async fn example() -> Result<(), durable_core::provider::ProviderError> {
/// let provider = RedisProvider::open("redis://127.0.0.1:6379").await?;
/// let session = provider.open_session(SessionOptions::default(), 0).await?;
/// let ready = provider.fetch_instances(session, 10, 0).await?;
/// assert_eq!(ready.instances, []);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RedisProvider {
    backend: Arc<Backend>,
}

impl RedisProvider {
    /// Opens the store on this server, or on the cluster that it belongs to; creates it if
    /// there is none.
    ///
    /// The address is `redis://`, `rediss://` (TLS) or `unix://`, with user and password if
    /// the server wants them: `rediss://orders:secret@redis.example.com:6380`.
    pub async fn open(url: &str) -> Result<Self, ProviderError> {
        Self::open_with(&[url], RedisOptions::default()).await
    }

    /// As [`open`](Self::open), with these options. Of a cluster give several nodes: one
    /// that answers is enough.
    pub async fn open_with(urls: &[&str], options: RedisOptions) -> Result<Self, ProviderError> {
        let backend = Backend::open(urls, options, Missing::IsCreated).await?;
        let backend = Arc::new(backend);
        Ok(Self { backend })
    }

    /// As [`open_with`](Self::open_with), where a store that is not there is
    /// [`Unusable`](ProviderError::Unusable) and is not created: for looking into a store,
    /// where a wrong address or prefix should not show as an empty one.
    pub async fn open_existing(
        urls: &[&str],
        options: RedisOptions,
    ) -> Result<Self, ProviderError> {
        let backend = Backend::open(urls, options, Missing::IsAnError).await?;
        let backend = Arc::new(backend);
        Ok(Self { backend })
    }

    /// Into how many partitions the store is split.
    pub fn partitions(&self) -> usize {
        self.backend.store.partitions.len()
    }

    fn store(&self) -> &Store {
        &self.backend.store
    }

    fn at(&self, now_ms: u64) -> &Store {
        self.backend.store.saw(now_ms);
        &self.backend.store
    }
}

#[async_trait]
impl Provider for RedisProvider {
    async fn open_session(
        &self,
        options: SessionOptions,
        now_ms: u64,
    ) -> Result<SessionId, ProviderError> {
        self.at(now_ms).open_session(&options).await
    }

    async fn heartbeat(
        &self,
        session: SessionId,
        now_ms: u64,
    ) -> Result<SessionReport, ProviderError> {
        self.at(now_ms).heartbeat(session).await
    }

    async fn close_session(&self, session: SessionId, now_ms: u64) -> Result<(), ProviderError> {
        self.at(now_ms).close_session(session).await
    }

    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError> {
        self.at(now_ms).fetch_instances(session, max).await
    }

    /// Turns share calls, and the server's sync, with others that are on their way; those of
    /// one instance follow each other.
    async fn commit(&self, turns: Vec<TurnCommit>) -> Vec<Result<CommitOutcome, ProviderError>> {
        self.backend.store.commit_all(&turns).await
    }

    async fn release(&self, releases: Vec<Release>, now_ms: u64) -> Result<(), ProviderError> {
        self.at(now_ms).release(releases).await
    }

    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
        now_ms: u64,
    ) -> Result<WorkBatch, ProviderError> {
        self.at(now_ms).fetch_work(session, queues, max).await
    }

    async fn settle_work(
        &self,
        settlements: Vec<WorkSettlement>,
        now_ms: u64,
    ) -> Result<Vec<bool>, ProviderError> {
        self.at(now_ms).settle_work(settlements).await
    }

    async fn heartbeat_work(
        &self,
        lease: &WorkLease,
        details: Payload,
        now_ms: u64,
    ) -> Result<bool, ProviderError> {
        self.at(now_ms).heartbeat_work(lease, &details).await
    }

    async fn fire_timers(&self, max: usize, now_ms: u64) -> Result<FiredTimers, ProviderError> {
        self.at(now_ms).fire_timers(max).await
    }

    async fn start(
        &self,
        instance: &InstanceId,
        message: Message,
        reuse: IdReuse,
        now_ms: u64,
    ) -> Result<StartOutcome, ProviderError> {
        self.at(now_ms).start(instance, &message, reuse).await
    }

    async fn send(
        &self,
        messages: Vec<OutgoingMessage>,
        now_ms: u64,
    ) -> Result<Vec<SendOutcome>, ProviderError> {
        self.at(now_ms).send(messages).await
    }

    async fn suspend(
        &self,
        instance: &InstanceId,
        reason: Failure,
        now_ms: u64,
    ) -> Result<SendOutcome, ProviderError> {
        self.at(now_ms).suspend(instance, reason).await
    }

    async fn resume(
        &self,
        instance: &InstanceId,
        now_ms: u64,
    ) -> Result<SendOutcome, ProviderError> {
        self.at(now_ms).resume(instance).await
    }

    async fn instance(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<InstanceRecord>, ProviderError> {
        self.store().instance(instance).await
    }

    async fn instances(
        &self,
        filter: &InstanceFilter,
        after: Option<&InstanceId>,
        max: usize,
    ) -> Result<InstancePage, ProviderError> {
        self.store().instances(filter, after, max).await
    }

    async fn executions(
        &self,
        instance: &InstanceId,
    ) -> Result<Vec<ExecutionRecord>, ProviderError> {
        self.store().executions(instance).await
    }

    async fn history(
        &self,
        instance: &InstanceId,
        execution_id: ExecutionId,
        after: EventId,
        max: usize,
    ) -> Result<HistoryPage, ProviderError> {
        self.store()
            .history(instance, execution_id, after, max)
            .await
    }

    async fn inbox(
        &self,
        instance: &InstanceId,
        after: InboxSeq,
        max: usize,
    ) -> Result<InboxPage, ProviderError> {
        self.store().inbox(instance, after, max).await
    }

    async fn poisoned(
        &self,
        after: Option<&WorkKey>,
        max: usize,
    ) -> Result<PoisonedPage, ProviderError> {
        self.store().poisoned(after, max).await
    }

    async fn purge(&self, purge: &PurgeRequest, now_ms: u64) -> Result<PurgeReport, ProviderError> {
        self.at(now_ms).purge(purge).await
    }

    /// What was published is heard at once; what was not is found within
    /// [`RedisOptions::poll_interval`].
    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        let store = self.store();
        let bell = Arc::new(Notify::new());
        let look = store.board.look_or_leave_bell(session, topic, seen, &bell);
        if let Some(seen) = look? {
            return Ok(seen);
        }
        // By the bell or by the clock: the caller looks again either way.
        let _ = tokio::time::timeout(store.options.poll_interval, bell.notified()).await;
        Ok(store.board.seen())
    }
}
