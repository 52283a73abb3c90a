//! Code to run, nodes that run it, and an audit of what is stored.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use durable_core::filter::{InstanceQuery, Order};
use durable_core::provider::{InstanceRecord, Provider};
use durable_core::{EventId, ExecutionId, History, HistoryEntry, InstanceId};
use durable_provider_redis::RedisProvider;
use durable_runtime::{
    Activity, ActivityContext, EventName, Failure, Orchestration, OrchestrationContext, Registry,
    Runtime, RuntimeOptions, StartError,
};

/// Adds one.
pub(crate) const ADD: Activity<u64, u64> = Activity::new("add");
/// Adds one, three times.
pub(crate) const COUNT: Orchestration<u64, u64> = Orchestration::new("count");
/// Adds one, waits to be told, counts in a child (of another partition, perhaps).
pub(crate) const GATED: Orchestration<u64, u64> = Orchestration::new("gated");
/// Waits a moment and counts in a child.
pub(crate) const PARENT: Orchestration<u64, u64> = Orchestration::new("parent");
/// What a gated one waits for.
pub(crate) const GO: EventName<u64> = EventName::new("go");

/// How often this process has added.
pub(crate) static ADDED: AtomicU64 = AtomicU64::new(0);

async fn add(_: ActivityContext, number: u64) -> Result<u64, Failure> {
    ADDED.fetch_add(1, Ordering::Relaxed);
    Ok(number + 1)
}

async fn count(ctx: OrchestrationContext, start: u64) -> Result<u64, Failure> {
    let one = ctx.activity(ADD, &start).await?;
    let two = ctx.activity(ADD, &one).await?;
    ctx.activity(ADD, &two).await
}

async fn gated(ctx: OrchestrationContext, start: u64) -> Result<u64, Failure> {
    let one = ctx.activity(ADD, &start).await?;
    let told: u64 = ctx.external_event(GO).await?;
    ctx.sub_orchestration(COUNT, &(one + told)).await
}

async fn parent(ctx: OrchestrationContext, start: u64) -> Result<u64, Failure> {
    ctx.sleep(Duration::from_millis(1)).await?;
    ctx.sub_orchestration(COUNT, &start).await
}

/// The code of all tests.
pub(crate) fn registry() -> Registry {
    Registry::builder()
        .activity(ADD, add)
        .orchestration(COUNT, count)
        .orchestration(GATED, gated)
        .orchestration(PARENT, parent)
        .build()
        .unwrap()
}

/// A node that gives up nothing for the crashes of its predecessors.
pub(crate) async fn node(provider: &RedisProvider, session_timeout: Duration) -> Runtime {
    try_node(provider, session_timeout).await.unwrap()
}

/// As [`node`], where the server may be away.
pub(crate) async fn try_node(
    provider: &RedisProvider,
    session_timeout: Duration,
) -> Result<Runtime, StartError> {
    let options = RuntimeOptions::default()
        .session_timeout(session_timeout)
        .max_crashes(1_000_000);
    Runtime::builder(provider.clone(), registry())
        .options(options)
        .start()
        .await
}

/// All instances.
pub(crate) async fn records(provider: &dyn Provider) -> Vec<InstanceRecord> {
    let query = InstanceQuery::all().ordered(Order::BY_ID);
    let mut all: Vec<InstanceRecord> = Vec::new();
    let mut after = None;
    loop {
        let page = provider.instances(&query, after.as_ref(), 100);
        let page = page.await.unwrap();
        all.extend(page.instances);
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

/// The whole history of an execution.
pub(crate) async fn history(
    provider: &dyn Provider,
    id: &InstanceId,
    execution_id: ExecutionId,
) -> Vec<HistoryEntry> {
    let page = provider.history(id, execution_id, EventId::UNASSIGNED, usize::MAX - 1);
    page.await.unwrap().entries
}

/// Every history is one that a run can have written, without gaps and up to the tail that
/// its record names.
pub(crate) async fn audit(provider: &dyn Provider) {
    for record in records(provider).await {
        for execution in provider.executions(&record.instance).await.unwrap() {
            let entries = history(provider, &record.instance, execution.execution_id).await;
            let last = entries
                .last()
                .map_or(EventId::UNASSIGNED, HistoryEntry::event_id);
            // A node may be at work meanwhile.
            assert!(last >= execution.last_event_id, "{}", record.instance);
            assert_eq!(last.get(), entries.len() as u64, "{}", record.instance);
            let history = History::new(record.instance.clone(), execution.execution_id, entries);
            history.validate().unwrap();
        }
    }
}
