//! The contract as a thin layer over the store.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use durable_core::provider::{
    CancelledWork, CommitOutcome, ExecutionRecord, FiredTimers, HeartbeatOutcome, HistoryPage,
    IdReuse, InboxPage, InboxSeq, InstanceFilter, InstancePage, InstanceRecord, InstanceStatus,
    Message, OpenWorkPage, OutgoingMessage, PoisonedPage, Provider, ProviderError, PruneReport,
    PruneRequest, PurgeReport, PurgeRequest, ReadyInstances, Release, SendOutcome, SessionId,
    SessionOptions, SessionRecord, SettleOutcome, SourceEvent, StartOutcome, TurnCommit, WakeSeq,
    WakeTopic, WorkBatch, WorkKey, WorkLease, WorkSettlement,
};
use durable_core::{EventId, ExecutionId, Failure, InstanceId, Limits, Name, Payload};

use rusqlite::Connection;

use crate::backend::Backend;
use crate::integrity::{self, IntegrityReport};
use crate::open_work;
use crate::options::SqliteOptions;
use crate::query;
use crate::statistics::Statistics;
use crate::turn::{PreparedMessage, PreparedSettlement, PreparedStart, PreparedTurn, Returned};

/// How many instances, or executions, one transaction removes.
const PURGED_PER_TRANSACTION: usize = 32;
/// How many free pages a purge gives back to the file system at most.
const VACUUMED_PAGES_PER_PURGE: u32 = 1_024;

/// The storage contract on SQLite.
///
/// A clone is another handle on the same store; the last one that is dropped closes
/// it, without waiting for anything but the transaction at hand. Sessions that were
/// not closed by then count as crashed.
///
/// ```
/// use durable_core::provider::{Provider, SessionOptions};
/// use durable_provider_sqlite::SqliteProvider;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let provider = SqliteProvider::open_in_memory()?;
/// let session = provider.open_session(SessionOptions::default()).await?;
/// let ready = provider.fetch_instances(session, 10).await?;
/// assert_eq!(ready.instances, []);
/// # Ok::<(), durable_core::provider::ProviderError>(())
/// # }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct SqliteProvider {
    backend: Arc<Backend>,
    limits: Limits,
}

impl SqliteProvider {
    /// Opens the store in this file, which is created, for its owner only, if there
    /// is none.
    ///
    /// What dead processes held is ready again.
    ///
    /// # Errors
    ///
    /// - [`Unusable`](ProviderError::Unusable) if the file cannot be created or written, is
    ///   damaged, belongs to another application, or has a newer schema. It was not changed.
    /// - [`Unavailable`](ProviderError::Unavailable) if another process keeps it busy for
    ///   longer than [`SqliteOptions::busy_timeout`], or the system fails to read or write
    ///   it: nothing happened, and the caller may try again.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ProviderError> {
        Self::open_with(path, SqliteOptions::default())
    }

    /// As [`open`](Self::open), with these options.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_with(
        path: impl AsRef<Path>,
        options: SqliteOptions,
    ) -> Result<Self, ProviderError> {
        let (limits, options) = (options.limits, Arc::new(options));
        let backend = Arc::new(Backend::open(path.as_ref(), &options)?);
        Ok(Self { backend, limits })
    }

    /// A store that lives in memory and ends with its last handle, for tests. Every
    /// call is done when it returns, so it also works in virtual time.
    ///
    /// # Errors
    ///
    /// [`Unusable`](ProviderError::Unusable) if SQLite refuses a setting, or the library is
    /// too old.
    pub fn open_in_memory() -> Result<Self, ProviderError> {
        Self::open_in_memory_with(SqliteOptions::default())
    }

    /// As [`open_in_memory`](Self::open_in_memory), with these options.
    ///
    /// # Errors
    ///
    /// Those of [`open_in_memory`](Self::open_in_memory).
    pub fn open_in_memory_with(options: SqliteOptions) -> Result<Self, ProviderError> {
        let (limits, options) = (options.limits, Arc::new(options));
        let backend = Arc::new(Backend::open_in_memory(&options)?);
        Ok(Self { backend, limits })
    }

    /// How many handles on this store there are in this process.
    pub fn handles(&self) -> usize {
        Arc::strong_count(&self.backend)
    }

    /// What was written since the store was opened.
    pub fn statistics(&self) -> Statistics {
        self.backend.statistics()
    }

    /// Checks the whole file and decodes every record in it. It reads everything, on
    /// a connection of its own, and blocks no writer.
    ///
    /// # Errors
    ///
    /// Damage is reported, not an error. [`Unavailable`](ProviderError::Unavailable) and
    /// [`Unusable`](ProviderError::Unusable) say that the file could not be read.
    pub async fn integrity_check(&self) -> Result<IntegrityReport, ProviderError> {
        self.backend.read(integrity::check).await
    }

    /// Gives up to this many free pages back to the file system.
    ///
    /// # Errors
    ///
    /// As for every write: [`Unavailable`](ProviderError::Unavailable) if nothing happened,
    /// [`Unknown`](ProviderError::Unknown) if it may have happened, and
    /// [`Unusable`](ProviderError::Unusable) if it cannot succeed.
    pub async fn vacuum(&self, max_pages: u32) -> Result<(), ProviderError> {
        let vacuum = self.backend.write(move |store| {
            let text = format!("PRAGMA incremental_vacuum({max_pages})");
            Ok(store.statements.connection.execute_batch(&text)?)
        });
        vacuum.await
    }
}

#[async_trait]
impl Provider for SqliteProvider {
    fn now_ms(&self) -> u64 {
        self.backend.now_ms()
    }

    async fn open_session(&self, options: SessionOptions) -> Result<SessionId, ProviderError> {
        self.limits.check_session(&options)?;
        let step = self
            .backend
            .write(move |store| store.open_session(options.clone()));
        step.await
    }

    async fn heartbeat(&self, session: SessionId) -> Result<(), ProviderError> {
        let step = self
            .backend
            .write_leases(move |store| store.heartbeat(session));
        step.await
    }

    async fn close_session(&self, session: SessionId) -> Result<(), ProviderError> {
        let step = self
            .backend
            .write(move |store| store.close_session(session));
        step.await
    }

    async fn sessions(&self) -> Result<Vec<SessionRecord>, ProviderError> {
        let now_ms = self.backend.now_ms();
        let live = move |connection: &Connection| query::sessions(connection, now_ms);
        self.backend.read(live).await
    }

    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        let step = self
            .backend
            .write_leases(move |store| store.fetch_instances(session, max));
        step.await
    }

    async fn commit(&self, turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        let prepared = PreparedTurn::new(turn, &self.limits)?;
        let step = self.backend.write(move |store| store.commit(&prepared));
        step.await
    }

    async fn release(&self, releases: Vec<Release>) -> Result<(), ProviderError> {
        let releases = Returned::prepare(releases, &self.limits)?;
        let step = self.backend.write(move |store| store.release(&releases));
        step.await
    }

    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Result<WorkBatch, ProviderError> {
        let queues = queues.to_vec();
        let step = self
            .backend
            .write_leases(move |store| store.fetch_work(session, &queues, max));
        step.await
    }

    async fn cancelled_work(&self, session: SessionId) -> Result<CancelledWork, ProviderError> {
        let step = self
            .backend
            .write_leases(move |store| store.cancelled_work(session));
        step.await
    }

    async fn settle_work(
        &self,
        settlement: WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        let settlement = PreparedSettlement::new(settlement, &self.limits)?;
        let step = self
            .backend
            .write(move |store| store.settle_work(&settlement));
        step.await
    }

    async fn heartbeat_work(
        &self,
        lease: &WorkLease,
        details: Payload,
    ) -> Result<HeartbeatOutcome, ProviderError> {
        self.limits.check_payload("heartbeat", &details)?;
        let lease = lease.clone();
        let step = self
            .backend
            .write(move |store| store.heartbeat_work(&lease, &details));
        step.await
    }

    async fn fire_timers(&self, max: usize) -> Result<FiredTimers, ProviderError> {
        let step = self.backend.write(move |store| store.fire_timers(max));
        step.await
    }

    async fn start(
        &self,
        instance: &InstanceId,
        message: Message,
        reuse: IdReuse,
    ) -> Result<StartOutcome, ProviderError> {
        let start = PreparedStart::new(instance, message, &self.limits)?;
        let id = instance.clone();
        let step = self
            .backend
            .write(move |store| store.start(&id, &start, reuse));
        step.await
    }

    async fn send(&self, message: OutgoingMessage) -> Result<SendOutcome, ProviderError> {
        let message = PreparedMessage::new(message, &self.limits)?;
        let step = self.backend.write(move |store| store.send(&message));
        step.await
    }

    async fn suspend(
        &self,
        instance: &InstanceId,
        reason: Failure,
    ) -> Result<SendOutcome, ProviderError> {
        self.limits.check_failure(&reason)?;
        let id = instance.clone();
        let status = InstanceStatus::Suspended { failure: reason };
        let step = self.backend.write(move |store| store.suspend(&id, &status));
        step.await
    }

    async fn resume(&self, instance: &InstanceId) -> Result<SendOutcome, ProviderError> {
        let id = instance.clone();
        let step = self.backend.write(move |store| store.resume(&id));
        step.await
    }

    async fn instance(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<InstanceRecord>, ProviderError> {
        let id = instance.clone();
        let read = self
            .backend
            .read(move |connection| query::instance(connection, &id));
        read.await
    }

    async fn instances(
        &self,
        filter: &InstanceFilter,
        after: Option<&InstanceId>,
        max: usize,
    ) -> Result<InstancePage, ProviderError> {
        let (filter, after) = (filter.clone(), after.cloned());
        let read = self
            .backend
            .read(move |connection| query::instances(connection, &filter, after.as_ref(), max));
        read.await
    }

    async fn executions(
        &self,
        instance: &InstanceId,
    ) -> Result<Vec<ExecutionRecord>, ProviderError> {
        let id = instance.clone();
        let read = self
            .backend
            .read(move |connection| query::executions(connection, &id));
        read.await
    }

    async fn history(
        &self,
        instance: &InstanceId,
        execution_id: ExecutionId,
        after: EventId,
        max: usize,
    ) -> Result<HistoryPage, ProviderError> {
        let id = instance.clone();
        let read = self
            .backend
            .read(move |connection| query::history(connection, &id, execution_id, after, max));
        read.await
    }

    async fn inbox(
        &self,
        instance: &InstanceId,
        after: InboxSeq,
        max: usize,
    ) -> Result<InboxPage, ProviderError> {
        let id = instance.clone();
        let read = self
            .backend
            .read(move |connection| query::inbox(connection, &id, after, max));
        read.await
    }

    async fn open_work(
        &self,
        instance: &InstanceId,
        after: Option<SourceEvent>,
        max: usize,
    ) -> Result<OpenWorkPage, ProviderError> {
        let id = instance.clone();
        let read = self
            .backend
            .read(move |connection| open_work::open_work(connection, &id, after, max));
        read.await
    }

    async fn poisoned(
        &self,
        after: Option<&WorkKey>,
        max: usize,
    ) -> Result<PoisonedPage, ProviderError> {
        let after = after.cloned();
        let read = self
            .backend
            .read(move |connection| query::poisoned(connection, after.as_ref(), max));
        read.await
    }

    /// Looks for what to remove on a reader, and removes it in small transactions, so
    /// that others get their turn in between.
    async fn purge(&self, purge: &PurgeRequest) -> Result<PurgeReport, ProviderError> {
        let PurgeRequest { filter, max, .. } = purge.clone();
        // It ends late sessions also when there is nothing to remove.
        self.backend.write(|_| Ok(())).await?;
        let (ids, has_more) = self
            .backend
            .read(move |connection| query::ended(connection, &filter, max))
            .await?;
        let mut report = PurgeReport::default();
        report.has_more = has_more;
        for together in ids.chunks(PURGED_PER_TRANSACTION) {
            let together = together.to_vec();
            let step = self.backend.write(move |store| store.purge(&together));
            report.instances += step.await?;
        }
        if report.instances > 0 {
            self.vacuum(VACUUMED_PAGES_PER_PURGE).await?;
        }
        Ok(report)
    }

    /// Looks for what to remove on a reader, and removes it in small transactions, as
    /// [`purge`](Provider::purge) does.
    async fn prune(&self, prune: &PruneRequest) -> Result<PruneReport, ProviderError> {
        // It ends late sessions also when there is nothing to remove.
        self.backend.write(|_| Ok(())).await?;
        let prune = prune.clone();
        let (old, has_more) = self
            .backend
            .read(move |connection| query::old_executions(connection, &prune))
            .await?;
        let mut report = PruneReport::default();
        report.has_more = has_more;
        for together in old.chunks(PURGED_PER_TRANSACTION) {
            let together = together.to_vec();
            let step = self.backend.write(move |store| store.prune(&together));
            report.executions += step.await?;
        }
        if report.executions > 0 {
            self.vacuum(VACUUMED_PAGES_PER_PURGE).await?;
        }
        Ok(report)
    }

    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        since: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        self.backend.wait(session, topic, since).await
    }
}
