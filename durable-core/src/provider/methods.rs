//! The list of the contract's methods, from which forwarding code is made.

/// Calls a macro with the signatures of all asynchronous methods of
/// [`Provider`](crate::provider::Provider).
///
/// Code that treats every method alike (layers, fault injection, recording) is made from
/// this list, so that a new method is found by the compiler and forgotten nowhere.
///
/// ```
/// macro_rules! names {
///     ($( async fn $method:ident(&self $(, $argument:ident: $type:ty)* $(,)?) -> $answer:ty; )*) => {
///         const NAMES: &[&str] = &[$( stringify!($method) ),*];
///     };
/// }
/// durable_core::provider_methods!(names);
/// assert!(NAMES.contains(&"commit"));
/// ```
#[macro_export]
macro_rules! provider_methods {
    ($callback:ident) => {
        $callback! {
            async fn open_session(
                &self,
                options: $crate::provider::SessionOptions,
            ) -> $crate::provider::Answer<$crate::provider::SessionId>;
            async fn heartbeat(
                &self,
                session: $crate::provider::SessionId,
            ) -> $crate::provider::Answer<()>;
            async fn close_session(
                &self,
                session: $crate::provider::SessionId,
            ) -> $crate::provider::Answer<()>;
            async fn sessions(
                &self,
            ) -> $crate::provider::Answer<$crate::__alloc::vec::Vec<$crate::provider::SessionRecord>>;
            async fn fetch_instances(
                &self,
                session: $crate::provider::SessionId,
                max: usize,
            ) -> $crate::provider::Answer<$crate::provider::ReadyInstances>;
            async fn commit(
                &self,
                turn: $crate::__alloc::sync::Arc<$crate::provider::TurnCommit>,
            ) -> $crate::provider::Answer<$crate::provider::CommitOutcome>;
            async fn release(
                &self,
                releases: $crate::__alloc::vec::Vec<$crate::provider::Release>,
            ) -> $crate::provider::Answer<()>;
            async fn fetch_work(
                &self,
                session: $crate::provider::SessionId,
                queues: &[Option<$crate::Name>],
                max: usize,
            ) -> $crate::provider::Answer<$crate::provider::WorkBatch>;
            async fn cancelled_work(
                &self,
                session: $crate::provider::SessionId,
            ) -> $crate::provider::Answer<$crate::provider::CancelledWork>;
            async fn settle_work(
                &self,
                settlement: $crate::provider::WorkSettlement,
            ) -> $crate::provider::Answer<$crate::provider::SettleOutcome>;
            async fn heartbeat_work(
                &self,
                lease: &$crate::provider::WorkLease,
                details: $crate::Payload,
            ) -> $crate::provider::Answer<$crate::provider::HeartbeatOutcome>;
            async fn emit(
                &self,
                emitted: $crate::provider::EmitRequest,
            ) -> $crate::provider::Answer<$crate::provider::EmitOutcome>;
            async fn fire_timers(
                &self,
                max: usize,
            ) -> $crate::provider::Answer<$crate::provider::FiredTimers>;
            async fn start(
                &self,
                instance: &$crate::InstanceId,
                message: $crate::provider::Message,
                reuse: $crate::provider::IdReuse,
            ) -> $crate::provider::Answer<$crate::provider::StartOutcome>;
            async fn send(
                &self,
                message: $crate::provider::OutgoingMessage,
            ) -> $crate::provider::Answer<$crate::provider::SendOutcome>;
            async fn suspend(
                &self,
                instance: &$crate::InstanceId,
                reason: $crate::Failure,
            ) -> $crate::provider::Answer<$crate::provider::SendOutcome>;
            async fn resume(
                &self,
                instance: &$crate::InstanceId,
            ) -> $crate::provider::Answer<$crate::provider::SendOutcome>;
            async fn instance(
                &self,
                instance: &$crate::InstanceId,
            ) -> $crate::provider::Answer<Option<$crate::provider::InstanceRecord>>;
            async fn instances(
                &self,
                filter: &$crate::provider::InstanceFilter,
                after: Option<&$crate::InstanceId>,
                max: usize,
            ) -> $crate::provider::Answer<$crate::provider::InstancePage>;
            async fn executions(
                &self,
                instance: &$crate::InstanceId,
            ) -> $crate::provider::Answer<$crate::__alloc::vec::Vec<$crate::provider::ExecutionRecord>>;
            async fn history(
                &self,
                instance: &$crate::InstanceId,
                execution_id: $crate::ExecutionId,
                after: $crate::EventId,
                max: usize,
            ) -> $crate::provider::Answer<$crate::provider::HistoryPage>;
            async fn inbox(
                &self,
                instance: &$crate::InstanceId,
                after: $crate::provider::InboxSeq,
                max: usize,
            ) -> $crate::provider::Answer<$crate::provider::InboxPage>;
            async fn open_work(
                &self,
                instance: &$crate::InstanceId,
                after: Option<$crate::provider::SourceEvent>,
                max: usize,
            ) -> $crate::provider::Answer<$crate::provider::OpenWorkPage>;
            async fn view(
                &self,
                instance: &$crate::InstanceId,
                name: &$crate::Name,
            ) -> $crate::provider::Answer<Option<$crate::provider::ViewRecord>>;
            async fn views(
                &self,
                instance: &$crate::InstanceId,
                after: Option<&$crate::Name>,
                max: usize,
            ) -> $crate::provider::Answer<$crate::provider::ViewPage>;
            async fn stream(
                &self,
                instance: &$crate::InstanceId,
                stream: &$crate::Name,
                from: u64,
                max: usize,
            ) -> $crate::provider::Answer<$crate::provider::StreamPage>;
            async fn streams(
                &self,
                instance: &$crate::InstanceId,
                after: Option<&$crate::Name>,
                max: usize,
            ) -> $crate::provider::Answer<$crate::provider::StreamList>;
            async fn poisoned(
                &self,
                after: Option<&$crate::provider::WorkKey>,
                max: usize,
            ) -> $crate::provider::Answer<$crate::provider::PoisonedPage>;
            async fn purge(
                &self,
                purge: &$crate::provider::PurgeRequest,
            ) -> $crate::provider::Answer<$crate::provider::PurgeReport>;
            async fn prune(
                &self,
                prune: &$crate::provider::PruneRequest,
            ) -> $crate::provider::Answer<$crate::provider::PruneReport>;
            async fn wait(
                &self,
                session: Option<$crate::provider::SessionId>,
                topic: &$crate::provider::WakeTopic,
                since: $crate::provider::WakeSeq,
            ) -> $crate::provider::Answer<$crate::provider::WakeSeq>;
        }
    };
}
