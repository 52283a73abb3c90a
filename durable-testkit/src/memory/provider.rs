//! The lock around the state, and the contract as a thin layer over it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use durable_core::provider::{
    CommitOutcome, ExecutionRecord, FiredTimers, HistoryPage, IdReuse, InboxPage, InboxSeq,
    InstanceFilter, InstancePage, InstanceRecord, Message, OutgoingMessage, PoisonedPage, Provider,
    ProviderError, PurgeReport, PurgeRequest, ReadyInstances, Release, SendOutcome, SessionId,
    SessionOptions, SessionReport, StartOutcome, TurnCommit, WakeSeq, WakeTopic, WorkBatch,
    WorkKey, WorkLease, WorkSettlement,
};
use durable_core::{EventId, ExecutionId, Failure, InstanceId, Limits, Name, Payload};
use tokio::sync::Notify;

use super::snapshot::Snapshot;
use super::state::MemoryState;

/// How a [`MemoryProvider`] is set up.
///
/// ```
/// use durable_core::Limits;
/// use durable_testkit::{MemoryOptions, MemoryProvider};
///
/// let store = MemoryProvider::with_options(MemoryOptions {
///     limits: Limits { max_payload_bytes: 1_000, ..Limits::default() },
///     messages_per_fetch: 1,
///     ..MemoryOptions::default()
/// });
/// assert!(store.snapshot().instances.is_empty());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryOptions {
    /// The largest names and payloads that it accepts.
    pub limits: Limits,
    /// The most messages of one instance that one fetch gives.
    pub messages_per_fetch: usize,
    /// Whose time the store goes by.
    pub clock: StoreClock,
}

/// Whose time a store goes by.
///
/// See the example of `Clock` (feature `conformance`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StoreClock {
    /// The caller's `now_ms`, as long as it does not run backwards.
    #[default]
    Caller,
    /// The machine's, as a server would have it; `now_ms` is ignored.
    Own,
}

impl StoreClock {
    fn now_ms(self, callers_ms: u64) -> u64 {
        match self {
            Self::Caller => callers_ms,
            Self::Own => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH);
                u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
            }
        }
    }
}

impl Default for MemoryOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            messages_per_fetch: 1_000,
            clock: StoreClock::default(),
        }
    }
}

/// The storage contract in memory.
///
/// A clone is another handle on the same store, as another process would have it.
/// The store's time is the highest `now_ms` that it was ever called with, unless
/// its [`StoreClock`] is another.
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
/// let start = Message {
///     message_id: "start-1".into(),
///     body: MessageBody::Start(StartInstance {
///         name: "fulfil".into(),
///         version: None,
///         input: "7".into(),
///         parent: None,
///     }),
/// };
/// let outcome = provider.start(&"order-7".into(), start, IdReuse::Refuse, 1_000).await?;
/// assert!(matches!(outcome, StartOutcome::Started { execution_id: ExecutionId::FIRST, .. }));
///
/// let session = provider.open_session(SessionOptions::default(), 1_000).await?;
/// let ready = provider.fetch_instances(session, 10, 1_000).await?;
/// assert_eq!(ready.instances[0].lease.instance, "order-7");
/// assert_eq!(provider.snapshot().instances.len(), 1);
/// # Ok::<(), durable_core::provider::ProviderError>(())
/// # }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct MemoryProvider {
    state: Arc<Mutex<MemoryState>>,
    clock: StoreClock,
}

impl Default for MemoryProvider {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryProvider {
    /// A new and empty store.
    pub fn new() -> Self {
        Self::with_options(MemoryOptions::default())
    }

    /// A new and empty store, set up like this.
    pub fn with_options(options: MemoryOptions) -> Self {
        let state = MemoryState::new(options.limits, options.messages_per_fetch.max(1));
        Self {
            state: Arc::new(Mutex::new(state)),
            clock: options.clock,
        }
    }

    /// Everything that the store holds at this moment.
    pub fn snapshot(&self) -> Snapshot {
        self.look(MemoryState::snapshot)
    }

    /// Reads the state.
    fn look<T>(&self, read: impl FnOnce(&MemoryState) -> T) -> T {
        read(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state in one step, then rings those who wait for what changed.
    fn step<T>(&self, change: impl FnOnce(&mut MemoryState) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = change(&mut state);
        let waiters = state.wake.take_changed_waiters();
        drop(state);
        for notifier in waiters {
            notifier.notify_one();
        }
        answer
    }

    /// A step at this time.
    fn step_at<T>(&self, now_ms: u64, change: impl FnOnce(&mut MemoryState) -> T) -> T {
        self.step(|state| {
            state.advance_to(self.clock.now_ms(now_ms));
            change(state)
        })
    }
}

#[async_trait]
impl Provider for MemoryProvider {
    async fn open_session(
        &self,
        options: SessionOptions,
        now_ms: u64,
    ) -> Result<SessionId, ProviderError> {
        Ok(self.step_at(now_ms, |state| state.open_session(options)))
    }

    async fn heartbeat(
        &self,
        session: SessionId,
        now_ms: u64,
    ) -> Result<SessionReport, ProviderError> {
        self.step_at(now_ms, |state| state.heartbeat(session))
    }

    async fn close_session(&self, session: SessionId, now_ms: u64) -> Result<(), ProviderError> {
        self.step_at(now_ms, |state| state.close_session(session));
        Ok(())
    }

    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError> {
        self.step_at(now_ms, |state| state.fetch_instances(session, max))
    }

    /// A commit brings no time of the caller's: it happens at the store's.
    async fn commit(&self, turns: Vec<TurnCommit>) -> Vec<Result<CommitOutcome, ProviderError>> {
        turns
            .into_iter()
            .map(|turn| self.step_at(0, |state| state.commit(turn)))
            .collect()
    }

    async fn release(&self, releases: Vec<Release>, now_ms: u64) -> Result<(), ProviderError> {
        self.step_at(now_ms, |state| state.release(releases))
    }

    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
        now_ms: u64,
    ) -> Result<WorkBatch, ProviderError> {
        self.step_at(now_ms, |state| state.fetch_work(session, queues, max))
    }

    async fn settle_work(
        &self,
        settlements: Vec<WorkSettlement>,
        now_ms: u64,
    ) -> Result<Vec<bool>, ProviderError> {
        self.step_at(now_ms, |state| state.settle_work(settlements))
    }

    async fn heartbeat_work(
        &self,
        lease: &WorkLease,
        details: Payload,
        now_ms: u64,
    ) -> Result<bool, ProviderError> {
        self.step_at(now_ms, |state| state.heartbeat_work(lease, details))
    }

    async fn fire_timers(&self, max: usize, now_ms: u64) -> Result<FiredTimers, ProviderError> {
        Ok(self.step_at(now_ms, |state| state.fire_timers(max)))
    }

    async fn start(
        &self,
        instance: &InstanceId,
        message: Message,
        reuse: IdReuse,
        now_ms: u64,
    ) -> Result<StartOutcome, ProviderError> {
        self.step_at(now_ms, |state| state.start(instance, message, reuse))
    }

    async fn send(
        &self,
        messages: Vec<OutgoingMessage>,
        now_ms: u64,
    ) -> Result<Vec<SendOutcome>, ProviderError> {
        self.step_at(now_ms, |state| state.send(messages))
    }

    async fn suspend(
        &self,
        instance: &InstanceId,
        reason: Failure,
        now_ms: u64,
    ) -> Result<SendOutcome, ProviderError> {
        self.step_at(now_ms, |state| state.suspend(instance, reason))
    }

    async fn resume(
        &self,
        instance: &InstanceId,
        now_ms: u64,
    ) -> Result<SendOutcome, ProviderError> {
        Ok(self.step_at(now_ms, |state| state.resume(instance)))
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

    async fn poisoned(
        &self,
        after: Option<&WorkKey>,
        max: usize,
    ) -> Result<PoisonedPage, ProviderError> {
        Ok(self.look(|state| state.poisoned(after, max)))
    }

    async fn purge(&self, purge: &PurgeRequest, now_ms: u64) -> Result<PurgeReport, ProviderError> {
        Ok(self.step_at(now_ms, |state| state.purge(purge)))
    }

    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        let notifier = Arc::new(Notify::new());
        loop {
            let look =
                |state: &mut MemoryState| state.look_or_register(session, topic, seen, &notifier);
            if let Some(seen) = self.step(look)? {
                return Ok(seen);
            }
            notifier.notified().await;
        }
    }
}
