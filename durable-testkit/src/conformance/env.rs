//! A check's surroundings: a fresh store, its time, and a client's view of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use durable_core::filter::{Filter, InstanceQuery, Order, PageToken};
use durable_core::provider::{
    Clock, FiredTimers, IdReuse, InboxMessage, InboxSeq, InstanceRecord, Message, OpenActivity,
    OpenTimer, OutgoingMessage, PoisonedWork, Provider, ProviderError, PurgeReport, PurgeRequest,
    SendOutcome, SessionId, SessionOptions, SourceEvent, StartOutcome, WorkKey,
};
use durable_core::{EventId, ExecutionId, Failure, FailureKind, HistoryEntry, InstanceId, Limits};

use super::failure::{CheckFailure, CheckResult, ensure, ensure_eq};
use super::node::TestNode;
use super::store::{ConformanceStore, StoreFactory};
use super::time::{StoreClock, TestTime};
use crate::message::{comparable, event_message, start_message};

/// More pages than any list of a check has.
const MOST_PAGES: usize = 10_000;
/// Longer than any check takes.
const LONG_MS: u64 = 24 * 3_600_000;

/// A store that is fresh when the check begins.
pub(super) struct Env {
    stores: StoreFactory,
    store: ConformanceStore,
    provider: Arc<dyn Provider>,
    pub(super) time: TestTime,
    pub(super) limits: Limits,
    pub(super) wait_timeout: Duration,
    last_number: AtomicU64,
}

impl Env {
    pub(super) async fn open(
        stores: StoreFactory,
        clock: StoreClock,
        limits: Limits,
        wait_timeout: Duration,
    ) -> Self {
        let (store, time) = (stores(), TestTime::new(clock));
        Self {
            stores,
            provider: store.open(time.given()).await,
            store,
            time,
            limits,
            wait_timeout,
            last_number: AtomicU64::new(0),
        }
    }

    /// The same surroundings with another fresh store.
    pub(super) async fn fresh(&self) -> Self {
        let stores = Arc::clone(&self.stores);
        Self::open(stores, self.time.clock, self.limits, self.wait_timeout).await
    }

    /// Opens another handle, and a session on it, in the runtime that awaits this.
    pub(super) fn session_on_another_handle(
        &self,
    ) -> impl Future<Output = (Arc<dyn Provider>, Result<SessionId, ProviderError>)> + use<> {
        let (store, clock) = (self.store.clone(), self.time.given());
        async move {
            let provider = store.open(clock).await;
            let session = provider.open_session(SessionOptions::default()).await;
            (provider, session)
        }
    }

    /// The process dies: the provider is dropped as it is, and the store opened
    /// again. Sessions of before may live until their heartbeat is late.
    pub(super) async fn crash(self) -> Self {
        let Self {
            stores,
            store,
            provider,
            time,
            limits,
            wait_timeout,
            last_number,
        } = self;
        drop(provider);
        Self {
            stores,
            provider: store.open(time.given()).await,
            store,
            time,
            limits,
            wait_timeout,
            last_number,
        }
    }

    /// Another handle on the same store, as another process would have it.
    pub(super) async fn second_handle(&self) -> Arc<dyn Provider> {
        self.second_handle_with(self.time.given()).await
    }

    /// Another handle that goes by another clock, as a process on another machine would
    /// have it.
    pub(super) async fn second_handle_with(&self, clock: Arc<dyn Clock>) -> Arc<dyn Provider> {
        self.store.open(clock).await
    }

    pub(super) fn provider(&self) -> &Arc<dyn Provider> {
        &self.provider
    }

    /// The store's time, as its handle knows it.
    pub(super) fn now_ms(&self) -> u64 {
        self.provider.now_ms()
    }

    /// A time that the store's clock has reached for sure.
    pub(super) fn past_ms(&self) -> u64 {
        self.now_ms() - self.time.skew_ms()
    }

    /// A time by the store's clock that soon comes.
    pub(super) fn soon_ms(&self) -> u64 {
        self.now_ms() + self.time.short_ms()
    }

    /// A time by the store's clock that does not come while the check runs.
    pub(super) fn far_ms(&self) -> u64 {
        self.now_ms() + LONG_MS / 2
    }

    /// Whether the store's clock has not reached a time for sure.
    pub(super) fn is_before(&self, time_ms: u64) -> bool {
        self.now_ms() + self.time.skew_ms() < time_ms
    }

    /// A node whose session lives as long as the check.
    pub(super) async fn node(&self) -> CheckResult<TestNode<'_>> {
        self.node_on(Arc::clone(&self.provider)).await
    }

    /// A node that dies when [`TestTime::pass_short`] passes without its heartbeat.
    pub(super) async fn mortal_node(&self) -> CheckResult<TestNode<'_>> {
        self.mortal_node_on(Arc::clone(&self.provider)).await
    }

    /// The same on another handle.
    pub(super) async fn mortal_node_on(
        &self,
        provider: Arc<dyn Provider>,
    ) -> CheckResult<TestNode<'_>> {
        self.open_node(
            provider,
            SessionOptions::new("conformance"),
            self.time.short_ms(),
        )
        .await
    }

    /// A node that says this of itself, whose session lives as long as the check.
    pub(super) async fn node_of(&self, options: SessionOptions) -> CheckResult<TestNode<'_>> {
        self.open_node(Arc::clone(&self.provider), options, LONG_MS)
            .await
    }

    /// A node on another handle, whose session lives as long as the check.
    pub(super) async fn node_on(&self, provider: Arc<dyn Provider>) -> CheckResult<TestNode<'_>> {
        self.open_node(provider, SessionOptions::new("conformance"), LONG_MS)
            .await
    }

    async fn open_node(
        &self,
        provider: Arc<dyn Provider>,
        options: SessionOptions,
        session_timeout_ms: u64,
    ) -> CheckResult<TestNode<'_>> {
        let options = options.session_timeout_ms(session_timeout_ms);
        let session = provider.open_session(options.clone()).await?;
        Ok(TestNode {
            env: self,
            provider,
            session,
            options,
        })
    }

    /// A number that this check has not used yet.
    pub(super) fn fresh_number(&self) -> u64 {
        self.last_number.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Starts an instance that must not exist.
    pub(super) async fn start(&self, id: impl Into<InstanceId>) -> CheckResult<ExecutionId> {
        let id = id.into();
        let message = start_message(format!("start-{}", self.fresh_number()));
        let outcome = self
            .start_with(id.clone(), message, IdReuse::Refuse)
            .await?;
        match outcome {
            StartOutcome::Started { execution_id, .. } => Ok(execution_id),
            other => Err(CheckFailure::new(
                format!("start of the unused id {id:?}"),
                "it is started",
                format!("{other:?}"),
            )),
        }
    }

    /// Starts an instance; how far was seen is left out of the answer.
    pub(super) async fn start_with(
        &self,
        id: impl Into<InstanceId>,
        message: Message,
        reuse: IdReuse,
    ) -> Result<StartOutcome, ProviderError> {
        let outcome = self.provider.start(&id.into(), message, reuse).await?;
        Ok(comparable(outcome))
    }

    /// Sends an external event with this message id, which must be accepted.
    pub(super) async fn raise(
        &self,
        target: impl Into<InstanceId>,
        message_id: &str,
    ) -> CheckResult {
        let outcome = self.try_raise(target, message_id).await?;
        ensure_eq(
            "a message to a running instance",
            outcome,
            SendOutcome::Accepted,
        )
    }

    /// Sends an external event with this message id.
    pub(super) async fn try_raise(
        &self,
        target: impl Into<InstanceId>,
        message_id: &str,
    ) -> CheckResult<SendOutcome> {
        Ok(self.send(target, event_message(message_id)).await?)
    }

    /// Suspends an instance that must not have ended.
    pub(super) async fn suspend(&self, id: &str) -> CheckResult {
        let outcome = self.provider.suspend(&id.into(), suspension()).await?;
        ensure_eq(format!("suspending {id:?}"), outcome, SendOutcome::Accepted)
    }

    /// Resumes an instance that must not have ended.
    pub(super) async fn resume(&self, id: &str) -> CheckResult {
        let outcome = self.provider.resume(&id.into()).await?;
        ensure_eq(format!("resuming {id:?}"), outcome, SendOutcome::Accepted)
    }

    /// Sends a message.
    pub(super) async fn send(
        &self,
        target: impl Into<InstanceId>,
        message: Message,
    ) -> Result<SendOutcome, ProviderError> {
        let outgoing = OutgoingMessage::new(target.into(), message);
        self.provider.send(outgoing).await
    }

    /// Moves timers that are due.
    pub(super) async fn fire_timers(&self, max: usize) -> CheckResult<FiredTimers> {
        Ok(self.provider.fire_timers(max).await?)
    }

    /// Removes at most so many of all ended instances.
    pub(super) async fn purge(&self, max: usize) -> CheckResult<PurgeReport> {
        let all = PurgeRequest::new(Filter::all(), max);
        Ok(self.provider.purge(&all).await?)
    }

    /// The record of an instance that must exist.
    pub(super) async fn record(&self, id: &str) -> CheckResult<InstanceRecord> {
        let record = self.provider.instance(&id.into()).await?;
        record.ok_or_else(|| CheckFailure::new(format!("instance {id:?}"), "its record", "none"))
    }

    /// The whole history of an execution.
    pub(super) async fn history(
        &self,
        id: &str,
        execution_id: ExecutionId,
    ) -> CheckResult<Vec<HistoryEntry>> {
        self.history_in_pages(id, execution_id, 1_000).await
    }

    /// Lists the work that was set aside page by page.
    pub(super) async fn poisoned_in_pages(
        &self,
        page_size: usize,
    ) -> CheckResult<Vec<PoisonedWork>> {
        let mut listed: Vec<PoisonedWork> = Vec::new();
        let mut after: Option<WorkKey> = None;
        loop {
            let page = self.provider.poisoned(after.as_ref(), page_size).await?;
            let goes_on = page.next.is_none() || page.next > after;
            ensure(
                page.work.len() <= page_size && goes_on,
                format!("a page of poisoned work after {after:?}"),
                format!("at most {page_size} items after it"),
                &page,
            )?;
            listed.extend(page.work);
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(listed),
            }
        }
    }

    /// Reads the open activity calls and timers of an instance page by page.
    pub(super) async fn open_in_pages(
        &self,
        id: &str,
        page_size: usize,
    ) -> CheckResult<(Vec<OpenActivity>, Vec<OpenTimer>)> {
        let id = InstanceId::from(id);
        let (mut activities, mut timers) = (Vec::new(), Vec::new());
        let mut after: Option<SourceEvent> = None;
        loop {
            let page = self.provider.open_work(&id, after, page_size).await?;
            let goes_on = page.next.is_none() || page.next > after;
            let largest = page.activities.len().max(page.timers.len());
            ensure(
                largest <= page_size && goes_on,
                format!("a page of open work after {after:?}"),
                format!("at most {page_size} events after it"),
                &page,
            )?;
            activities.extend(page.activities);
            timers.extend(page.timers);
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok((activities, timers)),
            }
        }
    }

    /// Reads an inbox page by page.
    pub(super) async fn inbox_in_pages(
        &self,
        id: &str,
        page_size: usize,
    ) -> CheckResult<Vec<InboxMessage>> {
        let id = InstanceId::from(id);
        let mut messages: Vec<InboxMessage> = Vec::new();
        loop {
            let after = messages.last().map_or(InboxSeq::default(), |last| last.seq);
            let page = self.provider.inbox(&id, after, page_size).await?;
            let goes_on = match page.messages.first() {
                Some(first) => first.seq > after,
                None => !page.has_more,
            };
            ensure(
                page.messages.len() <= page_size && goes_on,
                format!("a page of an inbox after place {}", after.0),
                format!("at most {page_size} messages after it, and some if there are more"),
                &page,
            )?;
            messages.extend(page.messages);
            if !page.has_more {
                return Ok(messages);
            }
        }
    }

    /// Reads a history page by page.
    pub(super) async fn history_in_pages(
        &self,
        id: &str,
        execution_id: ExecutionId,
        page_size: usize,
    ) -> CheckResult<Vec<HistoryEntry>> {
        let id = InstanceId::from(id);
        let mut entries: Vec<HistoryEntry> = Vec::new();
        loop {
            let after = entries
                .last()
                .map_or(EventId::UNASSIGNED, HistoryEntry::event_id);
            let page = self
                .provider
                .history(&id, execution_id, after, page_size)
                .await?;
            let goes_on = match page.entries.first() {
                Some(first) => first.event_id() > after,
                None => !page.has_more,
            };
            ensure(
                page.entries.len() <= page_size && goes_on,
                format!("a page of a history after event {after}"),
                format!("at most {page_size} entries after it, and some if there are more"),
                &page,
            )?;
            entries.extend(page.entries);
            if !page.has_more {
                return Ok(entries);
            }
        }
    }

    /// The ids of all instances that a filter means, in their order, read in pages.
    pub(super) async fn listed(
        &self,
        filter: &Filter,
        page_size: usize,
    ) -> CheckResult<Vec<InstanceId>> {
        let by_id = InstanceQuery::new(filter.clone()).ordered(Order::BY_ID);
        let records = self.found(&by_id, page_size).await?;
        Ok(records.into_iter().map(|record| record.instance).collect())
    }

    /// All instances that a query means, read in pages.
    pub(super) async fn found(
        &self,
        query: &InstanceQuery,
        page_size: usize,
    ) -> CheckResult<Vec<InstanceRecord>> {
        let mut records = Vec::new();
        let mut next: Option<PageToken> = None;
        for _ in 0..MOST_PAGES {
            let page = self.provider.instances(query, next.as_ref(), page_size);
            let page = page.await?;
            ensure(
                page.instances.len() <= page_size,
                format!("a page of `{query}`"),
                format!("at most {page_size} instances"),
                &page,
            )?;
            records.extend(page.instances);
            next = page.next;
            if next.is_none() {
                return Ok(records);
            }
        }
        let what = format!("the pages of `{query}`");
        Err(CheckFailure::new(what, "an end", "ever more pages"))
    }

    /// Waits for something that must come; the time is only the bound.
    pub(super) async fn within_timeout<T>(
        &self,
        what: &str,
        future: impl Future<Output = T>,
    ) -> CheckResult<T> {
        let answer = tokio::time::timeout(self.wait_timeout, future).await;
        answer.map_err(|_| {
            let bound = self.wait_timeout;
            CheckFailure::new(what, "it comes", format!("nothing within {bound:?}"))
        })
    }
}

/// Why checks suspend.
pub(super) fn suspension() -> Failure {
    let kind = FailureKind::DeterminismViolation;
    Failure::new(kind, "the code has changed").with_details("{}")
}
