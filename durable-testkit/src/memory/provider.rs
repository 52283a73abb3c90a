//! The lock around the state, and the contract as a thin layer over it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use durable_core::provider::{
    CancelledWork, Clock, CommitOutcome, EmitOutcome, EmitRequest, ExecutionRecord, FiredTimers,
    HeartbeatOutcome, HistoryPage, IdReuse, InboxPage, InboxSeq, InstanceFilter, InstancePage,
    InstanceRecord, Message, OpenWorkPage, OutgoingMessage, PoisonedPage, Provider, ProviderError,
    PruneReport, PruneRequest, PurgeReport, PurgeRequest, ReadyInstances, Release, SendOutcome,
    ServedCode, SessionId, SessionOptions, SessionRecord, SettleOutcome, SourceEvent, StartOutcome,
    StoreTime, StreamList, StreamPage, SystemClock, TurnCommit, ViewPage, ViewRecord, WakeRegistry,
    WakeSeq, WakeSource, WakeTopic, WorkBatch, WorkKey, WorkLease, WorkSettlement,
};
use durable_core::{EventId, ExecutionId, Failure, InstanceId, Limits, Name, Payload};

use super::snapshot::Snapshot;
use super::state::MemoryState;

/// How a [`MemoryProvider`] is set up.
///
/// ```
/// use durable_core::Limits;
/// use durable_testkit::{MemoryOptions, MemoryProvider};
///
/// let limits = Limits::new().max_payload_bytes(1_000);
/// let options = MemoryOptions::default().limits(limits).messages_per_fetch(1);
/// let store = MemoryProvider::with_options(options);
/// assert!(store.snapshot().instances.is_empty());
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct MemoryOptions {
    /// The largest names and payloads that it accepts.
    pub limits: Limits,
    /// The most messages of one instance that one fetch gives; 1,000 unless said
    /// otherwise.
    pub messages_per_fetch: usize,
    /// The store's clock; the system's unless said otherwise.
    pub clock: Arc<dyn Clock>,
}

impl MemoryOptions {
    /// The largest names and payloads that it accepts.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The most messages of one instance that one fetch gives.
    #[must_use]
    pub fn messages_per_fetch(mut self, messages: usize) -> Self {
        self.messages_per_fetch = messages;
        self
    }

    /// The store's clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }
}

impl Default for MemoryOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            messages_per_fetch: 1_000,
            clock: Arc::new(SystemClock),
        }
    }
}

impl fmt::Debug for MemoryOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryOptions")
            .field("limits", &self.limits)
            .field("messages_per_fetch", &self.messages_per_fetch)
            .finish_non_exhaustive()
    }
}

/// The storage contract in memory.
///
/// A clone is another handle on the same store, as another process would have it. The
/// store's time is the highest that the clock of any handle ever showed.
///
/// ```
/// use durable_core::provider::{
///     IdReuse, Message, MessageBody, Provider, SessionOptions, StartInstance, StartOutcome,
/// };
/// use durable_core::ExecutionId;
/// use durable_testkit::MemoryProvider;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let provider = MemoryProvider::new();
/// let start = StartInstance::new("fulfil".into(), "7".into());
/// let message = Message::new("start-1".into(), MessageBody::Start(start));
/// let outcome = provider.start(&"order-7".into(), message, IdReuse::Refuse).await?;
/// assert!(matches!(outcome, StartOutcome::Started { execution_id: ExecutionId::FIRST, .. }));
///
/// let session = provider.open_session(SessionOptions::default()).await?;
/// let ready = provider.fetch_instances(session, 10).await?;
/// assert_eq!(ready.instances[0].lease.instance, "order-7");
/// assert_eq!(provider.snapshot().instances.len(), 1);
/// # Ok::<(), durable_core::provider::ProviderError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct MemoryProvider {
    state: Arc<Mutex<MemoryState>>,
    clock: Arc<dyn Clock>,
    time: Arc<Mutex<StoreTime>>,
}

impl fmt::Debug for MemoryProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryProvider")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Default for MemoryProvider {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryProvider {
    /// A new and empty store that goes by the system's clock.
    pub fn new() -> Self {
        Self::with_options(MemoryOptions::default())
    }

    /// A new and empty store that goes by this clock.
    pub fn with_clock(clock: impl Clock) -> Self {
        Self::with_options(MemoryOptions::default().clock(clock))
    }

    /// A new and empty store, set up like this.
    pub fn with_options(options: MemoryOptions) -> Self {
        let state = MemoryState::new(options.limits, options.messages_per_fetch.max(1));
        Self {
            state: Arc::new(Mutex::new(state)),
            clock: options.clock,
            time: Arc::default(),
        }
    }

    /// Another handle on the same store that goes by another clock, as a process on
    /// another machine would have it.
    #[must_use]
    pub fn handle_with_clock(&self, clock: impl Clock) -> Self {
        Self {
            state: Arc::clone(&self.state),
            clock: Arc::new(clock),
            time: Arc::default(),
        }
    }

    /// Everything that the store holds at this moment.
    pub fn snapshot(&self) -> Snapshot {
        self.look(MemoryState::snapshot)
    }

    /// The store's time by this handle's clock.
    fn time(&self, seen_ms: u64) -> u64 {
        let mut time = self.time.lock().unwrap_or_else(PoisonError::into_inner);
        time.advance(self.clock.now_ms(), seen_ms)
    }

    /// Reads the state.
    fn look<T>(&self, read: impl FnOnce(&MemoryState) -> T) -> T {
        read(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state in one step at the store's time, then wakes the tasks that wait
    /// for what changed.
    fn step<T>(&self, change: impl FnOnce(&mut MemoryState) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ms = self.time(state.now_ms);
        state.advance_to(now_ms);
        let answer = change(&mut state);
        let woken = state.wake.take_woken();
        drop(state);
        for waker in woken {
            waker.wake();
        }
        answer
    }
}

impl WakeSource for MemoryProvider {
    fn with_registry<T>(&self, job: impl FnOnce(&mut WakeRegistry) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        job(&mut state.wake)
    }

    fn check_session(&self, session: SessionId) -> Result<(), ProviderError> {
        self.look(|state| match state.sessions.contains_key(&session) {
            true => Ok(()),
            false => Err(ProviderError::SessionLost { session }),
        })
    }

    fn code_of(&self, session: SessionId) -> Option<Arc<ServedCode>> {
        self.look(|state| state.code_of(session))
    }
}

#[async_trait]
impl Provider for MemoryProvider {
    fn now_ms(&self) -> u64 {
        self.look(|state| self.time(state.now_ms))
    }

    async fn open_session(&self, options: SessionOptions) -> Result<SessionId, ProviderError> {
        self.step(|state| state.open_session(options))
    }

    async fn heartbeat(&self, session: SessionId) -> Result<(), ProviderError> {
        self.step(|state| state.heartbeat(session))
    }

    async fn close_session(&self, session: SessionId) -> Result<(), ProviderError> {
        self.step(|state| state.close_session(session));
        Ok(())
    }

    async fn sessions(&self) -> Result<Vec<SessionRecord>, ProviderError> {
        Ok(self.look(|state| state.sessions(self.time(state.now_ms))))
    }

    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        self.step(|state| state.fetch_instances(session, max))
    }

    async fn commit(&self, turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        self.step(|state| state.commit(&turn))
    }

    async fn release(&self, releases: Vec<Release>) -> Result<(), ProviderError> {
        self.step(|state| state.release(releases))
    }

    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Result<WorkBatch, ProviderError> {
        self.step(|state| state.fetch_work(session, queues, max))
    }

    async fn cancelled_work(&self, session: SessionId) -> Result<CancelledWork, ProviderError> {
        self.step(|state| state.cancelled_work(session))
    }

    async fn settle_work(
        &self,
        settlement: WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        self.step(|state| state.settle_work(settlement))
    }

    async fn heartbeat_work(
        &self,
        lease: &WorkLease,
        details: Payload,
    ) -> Result<HeartbeatOutcome, ProviderError> {
        self.step(|state| state.heartbeat_work(lease, details))
    }

    async fn emit(&self, emitted: EmitRequest) -> Result<EmitOutcome, ProviderError> {
        self.step(|state| state.emit(&emitted))
    }

    async fn fire_timers(&self, max: usize) -> Result<FiredTimers, ProviderError> {
        Ok(self.step(|state| state.fire_timers(max)))
    }

    async fn start(
        &self,
        instance: &InstanceId,
        message: Message,
        reuse: IdReuse,
    ) -> Result<StartOutcome, ProviderError> {
        self.step(|state| state.start(instance, message, reuse))
    }

    async fn send(&self, message: OutgoingMessage) -> Result<SendOutcome, ProviderError> {
        self.step(|state| state.send(message))
    }

    async fn suspend(
        &self,
        instance: &InstanceId,
        reason: Failure,
    ) -> Result<SendOutcome, ProviderError> {
        self.step(|state| state.suspend(instance, reason))
    }

    async fn resume(&self, instance: &InstanceId) -> Result<SendOutcome, ProviderError> {
        Ok(self.step(|state| state.resume(instance)))
    }

    async fn instance(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<InstanceRecord>, ProviderError> {
        Ok(self.look(|state| state.instance(instance)))
    }

    async fn instances(
        &self,
        filter: &InstanceFilter,
        after: Option<&InstanceId>,
        max: usize,
    ) -> Result<InstancePage, ProviderError> {
        Ok(self.look(|state| state.instances(filter, after, max)))
    }

    async fn executions(
        &self,
        instance: &InstanceId,
    ) -> Result<Vec<ExecutionRecord>, ProviderError> {
        Ok(self.look(|state| state.executions(instance)))
    }

    async fn history(
        &self,
        instance: &InstanceId,
        execution_id: ExecutionId,
        after: EventId,
        max: usize,
    ) -> Result<HistoryPage, ProviderError> {
        Ok(self.look(|state| state.history(instance, execution_id, after, max)))
    }

    async fn inbox(
        &self,
        instance: &InstanceId,
        after: InboxSeq,
        max: usize,
    ) -> Result<InboxPage, ProviderError> {
        Ok(self.look(|state| state.inbox(instance, after, max)))
    }

    async fn open_work(
        &self,
        instance: &InstanceId,
        after: Option<SourceEvent>,
        max: usize,
    ) -> Result<OpenWorkPage, ProviderError> {
        Ok(self.look(|state| state.open_work(instance, after, max)))
    }

    async fn view(
        &self,
        instance: &InstanceId,
        name: &Name,
    ) -> Result<Option<ViewRecord>, ProviderError> {
        Ok(self.look(|state| state.view(instance, name)))
    }

    async fn views(
        &self,
        instance: &InstanceId,
        after: Option<&Name>,
        max: usize,
    ) -> Result<ViewPage, ProviderError> {
        Ok(self.look(|state| state.views(instance, after, max)))
    }

    async fn stream(
        &self,
        instance: &InstanceId,
        stream: &Name,
        from: u64,
        max: usize,
    ) -> Result<StreamPage, ProviderError> {
        Ok(self.look(|state| state.stream(instance, stream, from, max)))
    }

    async fn streams(
        &self,
        instance: &InstanceId,
        after: Option<&Name>,
        max: usize,
    ) -> Result<StreamList, ProviderError> {
        Ok(self.look(|state| state.streams(instance, after, max)))
    }

    async fn poisoned(
        &self,
        after: Option<&WorkKey>,
        max: usize,
    ) -> Result<PoisonedPage, ProviderError> {
        Ok(self.look(|state| state.poisoned(after, max)))
    }

    async fn purge(&self, purge: &PurgeRequest) -> Result<PurgeReport, ProviderError> {
        Ok(self.step(|state| state.purge(purge)))
    }

    async fn prune(&self, prune: &PruneRequest) -> Result<PruneReport, ProviderError> {
        Ok(self.step(|state| state.prune(prune)))
    }

    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        since: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        self.wait_for_change(session, topic, since).await
    }
}
