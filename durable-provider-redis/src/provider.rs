//! The contract as a thin layer over the store.

use std::sync::Arc;

use async_trait::async_trait;
use durable_core::provider::{
    CancelledWork, Clock, CommitOutcome, EmitOutcome, EmitRequest, ExecutionRecord, FiredTimers,
    HeartbeatOutcome, HistoryPage, IdReuse, InboxPage, InboxSeq, InstanceFilter, InstancePage,
    InstanceRecord, Message, OpenWorkPage, OutgoingMessage, PoisonedPage, Provider, ProviderError,
    PruneReport, PruneRequest, PurgeReport, PurgeRequest, ReadyInstances, Release, SendOutcome,
    SessionId, SessionOptions, SessionRecord, SettleOutcome, SourceEvent, StartOutcome, StreamList,
    StreamPage, TurnCommit, ViewPage, ViewRecord, WakeSeq, WakeSource, WakeTopic, WorkBatch,
    WorkKey, WorkLease, WorkSettlement,
};
use durable_core::{EventId, ExecutionId, Failure, InstanceId, Name, Payload};

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
/// let session = provider.open_session(SessionOptions::default()).await?;
/// let ready = provider.fetch_instances(session, 10).await?;
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
    ///
    /// # Errors
    ///
    /// - [`Unusable`](ProviderError::Unusable) if the address or the options make no sense,
    ///   the server refuses this user or this release cannot use the server or its store, or,
    ///   with [`Durability::Strict`](crate::Durability::Strict), the server may lose what it
    ///   acknowledges.
    /// - [`Unavailable`](ProviderError::Unavailable) if the server cannot be reached now.
    /// - [`Unknown`](ProviderError::Unknown) if it may or may not have created the store;
    ///   opening it again is safe.
    pub async fn open(url: &str) -> Result<Self, ProviderError> {
        Self::open_with(&[url], RedisOptions::default()).await
    }

    /// As [`open`](Self::open), with these options. Of a cluster give several nodes: one
    /// that answers is enough.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub async fn open_with(urls: &[&str], options: RedisOptions) -> Result<Self, ProviderError> {
        Self::open_backend(urls, options, Missing::IsCreated, None).await
    }

    /// As [`open_with`](Self::open_with), where this clock decides what is due instead of the
    /// server's: for tests in virtual time. All handles on the store must be opened with the
    /// same clock.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub async fn open_with_clock(
        urls: &[&str],
        options: RedisOptions,
        clock: impl Clock,
    ) -> Result<Self, ProviderError> {
        let clock: Arc<dyn Clock> = Arc::new(clock);
        Self::open_backend(urls, options, Missing::IsCreated, Some(clock)).await
    }

    /// As [`open_with`](Self::open_with), where a store that is not there is not created: for
    /// looking into a store, where a wrong address or prefix should not show as an empty one.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open), and [`Unusable`](ProviderError::Unusable) if there is no
    /// such store.
    pub async fn open_existing(
        urls: &[&str],
        options: RedisOptions,
    ) -> Result<Self, ProviderError> {
        Self::open_backend(urls, options, Missing::IsAnError, None).await
    }

    async fn open_backend(
        urls: &[&str],
        options: RedisOptions,
        missing: Missing,
        clock: Option<Arc<dyn Clock>>,
    ) -> Result<Self, ProviderError> {
        let backend = Backend::open(urls, options, missing, clock).await?;
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
}

#[async_trait]
impl Provider for RedisProvider {
    /// The server's time, estimated from its answers, or that of the clock that the store was
    /// opened with.
    fn now_ms(&self) -> u64 {
        self.store().time.now_ms()
    }

    async fn open_session(&self, options: SessionOptions) -> Result<SessionId, ProviderError> {
        self.store().open_session(&options).await
    }

    async fn heartbeat(&self, session: SessionId) -> Result<(), ProviderError> {
        self.store().heartbeat(session).await
    }

    async fn close_session(&self, session: SessionId) -> Result<(), ProviderError> {
        self.store().close_session(session).await
    }

    async fn sessions(&self) -> Result<Vec<SessionRecord>, ProviderError> {
        self.store().sessions().await
    }

    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        self.store().fetch_instances(session, max).await
    }

    /// A turn shares its call, and the server's sync, with others that are on their way.
    async fn commit(&self, turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        self.backend.store.commit(&turn).await
    }

    async fn release(&self, releases: Vec<Release>) -> Result<(), ProviderError> {
        self.store().release(releases).await
    }

    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Result<WorkBatch, ProviderError> {
        self.store().fetch_work(session, queues, max).await
    }

    async fn cancelled_work(&self, session: SessionId) -> Result<CancelledWork, ProviderError> {
        self.store().cancelled_work(session).await
    }

    async fn settle_work(
        &self,
        settlement: WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        self.store().settle_work(&settlement).await
    }

    async fn heartbeat_work(
        &self,
        lease: &WorkLease,
        details: Payload,
    ) -> Result<HeartbeatOutcome, ProviderError> {
        self.store().heartbeat_work(lease, &details).await
    }

    async fn emit(&self, emitted: EmitRequest) -> Result<EmitOutcome, ProviderError> {
        self.store().emit(&emitted).await
    }

    async fn fire_timers(&self, max: usize) -> Result<FiredTimers, ProviderError> {
        self.store().fire_timers(max).await
    }

    async fn start(
        &self,
        instance: &InstanceId,
        message: Message,
        reuse: IdReuse,
    ) -> Result<StartOutcome, ProviderError> {
        self.store().start(instance, &message, reuse).await
    }

    async fn send(&self, message: OutgoingMessage) -> Result<SendOutcome, ProviderError> {
        self.store().send(&message).await
    }

    async fn suspend(
        &self,
        instance: &InstanceId,
        reason: Failure,
    ) -> Result<SendOutcome, ProviderError> {
        self.store().suspend(instance, reason).await
    }

    async fn resume(&self, instance: &InstanceId) -> Result<SendOutcome, ProviderError> {
        self.store().resume(instance).await
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

    async fn open_work(
        &self,
        instance: &InstanceId,
        after: Option<SourceEvent>,
        max: usize,
    ) -> Result<OpenWorkPage, ProviderError> {
        self.store().open_work(instance, after, max).await
    }

    async fn view(
        &self,
        instance: &InstanceId,
        name: &Name,
    ) -> Result<Option<ViewRecord>, ProviderError> {
        self.store().view(instance, name).await
    }

    async fn views(
        &self,
        instance: &InstanceId,
        after: Option<&Name>,
        max: usize,
    ) -> Result<ViewPage, ProviderError> {
        self.store().views(instance, after, max).await
    }

    async fn stream(
        &self,
        instance: &InstanceId,
        stream: &Name,
        from: u64,
        max: usize,
    ) -> Result<StreamPage, ProviderError> {
        self.store().stream(instance, stream, from, max).await
    }

    async fn streams(
        &self,
        instance: &InstanceId,
        after: Option<&Name>,
        max: usize,
    ) -> Result<StreamList, ProviderError> {
        self.store().streams(instance, after, max).await
    }

    async fn poisoned(
        &self,
        after: Option<&WorkKey>,
        max: usize,
    ) -> Result<PoisonedPage, ProviderError> {
        self.store().poisoned(after, max).await
    }

    async fn purge(&self, purge: &PurgeRequest) -> Result<PurgeReport, ProviderError> {
        self.store().purge(purge).await
    }

    /// What was published is heard at once; what was not is found within
    /// [`RedisOptions::poll_interval`].
    async fn prune(&self, prune: &PruneRequest) -> Result<PruneReport, ProviderError> {
        self.store().prune(prune).await
    }

    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        since: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        let store = self.store();
        let wait = store.wakeups.wait_for_change(session, topic, since);
        let waited = tokio::time::timeout(store.options.poll_interval, wait).await;
        // After the poll interval the caller looks again, whether it was told or not.
        waited.unwrap_or_else(|_| Ok(store.wakeups.seen()))
    }
}
