//! A provider around a provider: change what one method does, leave the others.
//!
//! Faults, delays, counters and other clocks are layers. One list of signatures
//! makes both the trait with its defaults and the provider, so they cannot differ.

use async_trait::async_trait;
use durable_core::provider::{
    CommitOutcome, ExecutionRecord, FiredTimers, HistoryPage, IdReuse, InboxPage, InboxSeq,
    InstanceFilter, InstancePage, InstanceRecord, Message, OutgoingMessage, PoisonedPage, Provider,
    ProviderError, PurgeReport, PurgeRequest, ReadyInstances, Release, SendOutcome, SessionId,
    SessionOptions, SessionReport, StartOutcome, TurnCommit, WakeSeq, WakeTopic, WorkBatch,
    WorkKey, WorkLease, WorkSettlement,
};
use durable_core::{EventId, ExecutionId, Failure, InstanceId, Name, Payload};

macro_rules! layer {
    ($( async fn $method:ident(&self $(, $argument:ident: $type:ty)* $(,)?) -> $answer:ty; )*) => {
        /// Stands between a caller and a provider. Each method passes its call on
        /// unless it is overridden; see [`Layered`].
        #[async_trait]
        pub trait Layer: Send + Sync + 'static {
            /// The provider below.
            type Inner: Provider;

            /// The provider below.
            fn inner(&self) -> &Self::Inner;

            $(
                #[doc = concat!("Passes on [`Provider::", stringify!($method), "`].")]
                async fn $method(&self $(, $argument: $type)*) -> $answer {
                    self.inner().$method($($argument),*).await
                }
            )*
        }

        #[async_trait]
        impl<L: Layer> Provider for Layered<L> {
            $(
                async fn $method(&self $(, $argument: $type)*) -> $answer {
                    self.0.$method($($argument),*).await
                }
            )*
        }
    };
}

/// A [`Layer`] as a provider.
///
/// ```
/// use async_trait::async_trait;
/// use durable_core::provider::{Provider, ProviderError, ReadyInstances, SessionId};
/// use durable_testkit::{Conformance, Layer, Layered, MemoryProvider};
///
/// /// Gives the newest message first.
/// struct LastInFirstOut(MemoryProvider);
///
/// #[async_trait]
/// impl Layer for LastInFirstOut {
///     type Inner = MemoryProvider;
///
///     fn inner(&self) -> &MemoryProvider {
///         &self.0
///     }
///
///     async fn fetch_instances(
///         &self,
///         session: SessionId,
///         max: usize,
///         now_ms: u64,
///     ) -> Result<ReadyInstances, ProviderError> {
///         let mut ready = self.0.fetch_instances(session, max, now_ms).await?;
///         for instance in &mut ready.instances {
///             instance.messages.reverse();
///         }
///         Ok(ready)
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let report = Conformance::new(|| async { Layered(LastInFirstOut(MemoryProvider::new())) })
///     .only(["messages_come_in_order"])
///     .run()
///     .await;
/// assert_eq!(report.failed_names(), ["messages_come_in_order"]);
/// # });
/// ```
#[derive(Debug, Clone, Default)]
pub struct Layered<L>(pub L);

layer! {
    async fn open_session(
        &self,
        options: SessionOptions,
        now_ms: u64,
    ) -> Result<SessionId, ProviderError>;
    async fn heartbeat(
        &self,
        session: SessionId,
        now_ms: u64,
    ) -> Result<SessionReport, ProviderError>;
    async fn close_session(&self, session: SessionId, now_ms: u64) -> Result<(), ProviderError>;
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError>;
    async fn commit(&self, turns: Vec<TurnCommit>) -> Vec<Result<CommitOutcome, ProviderError>>;
    async fn release(&self, releases: Vec<Release>, now_ms: u64) -> Result<(), ProviderError>;
    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
        now_ms: u64,
    ) -> Result<WorkBatch, ProviderError>;
    async fn settle_work(
        &self,
        settlements: Vec<WorkSettlement>,
        now_ms: u64,
    ) -> Result<Vec<bool>, ProviderError>;
    async fn heartbeat_work(
        &self,
        lease: &WorkLease,
        details: Payload,
        now_ms: u64,
    ) -> Result<bool, ProviderError>;
    async fn fire_timers(&self, max: usize, now_ms: u64) -> Result<FiredTimers, ProviderError>;
    async fn start(
        &self,
        instance: &InstanceId,
        message: Message,
        reuse: IdReuse,
        now_ms: u64,
    ) -> Result<StartOutcome, ProviderError>;
    async fn send(
        &self,
        messages: Vec<OutgoingMessage>,
        now_ms: u64,
    ) -> Result<Vec<SendOutcome>, ProviderError>;
    async fn suspend(
        &self,
        instance: &InstanceId,
        reason: Failure,
        now_ms: u64,
    ) -> Result<SendOutcome, ProviderError>;
    async fn resume(
        &self,
        instance: &InstanceId,
        now_ms: u64,
    ) -> Result<SendOutcome, ProviderError>;
    async fn instance(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<InstanceRecord>, ProviderError>;
    async fn instances(
        &self,
        filter: &InstanceFilter,
        after: Option<&InstanceId>,
        max: usize,
    ) -> Result<InstancePage, ProviderError>;
    async fn executions(
        &self,
        instance: &InstanceId,
    ) -> Result<Vec<ExecutionRecord>, ProviderError>;
    async fn history(
        &self,
        instance: &InstanceId,
        execution_id: ExecutionId,
        after: EventId,
        max: usize,
    ) -> Result<HistoryPage, ProviderError>;
    async fn inbox(
        &self,
        instance: &InstanceId,
        after: InboxSeq,
        max: usize,
    ) -> Result<InboxPage, ProviderError>;
    async fn poisoned(
        &self,
        after: Option<&WorkKey>,
        max: usize,
    ) -> Result<PoisonedPage, ProviderError>;
    async fn purge(&self, purge: &PurgeRequest, now_ms: u64) -> Result<PurgeReport, ProviderError>;
    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError>;
}
