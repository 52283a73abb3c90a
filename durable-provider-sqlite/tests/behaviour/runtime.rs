//! Orchestrations on a real file, from one process life to the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use durable_core::provider::{InstanceRecord, Layer, Layered, Provider, ProviderError, StatusKind};
use durable_core::{EventId, ExecutionId, InstanceId};
use durable_provider_sqlite::{SqliteOptions, SqliteProvider};
use durable_runtime::{
    Activity, ActivityContext, Client, Failure, Orchestration, OrchestrationContext, Registry,
    Runtime,
};
use durable_testkit::TokioClock;

use crate::support::{COUNT, Place, audit, node, records};

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_orchestrations_survive_a_restart_in_the_middle() {
    const INSTANCES: u64 = 200;
    let place = Place::new();
    let provider = place.open();
    let runtime = node(&provider).await;
    let client = runtime.client();
    let mut handles = Vec::new();
    for number in 0..INSTANCES {
        let start = client.start(COUNT, format!("count-{number}"), &number);
        handles.push(start.await.unwrap());
    }
    handles[INSTANCES as usize / 4].wait().await.unwrap();
    // As a crash would: nothing is handed back.
    drop((runtime, client, handles));
    while provider_count(&provider) > 1 {
        tokio::task::yield_now().await;
    }
    drop(provider);

    let provider = place.open();
    audit(&provider).await;
    let began = Instant::now();
    let runtime = node(&provider).await;
    for number in 0..INSTANCES {
        let instance = runtime.client().instance(COUNT, format!("count-{number}"));
        assert_eq!(instance.wait().await.unwrap(), number + 3);
    }
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "it did not wait for the heartbeat bound of an hour"
    );
    runtime.shutdown(Duration::from_secs(5)).await;
    audit(&provider).await;
    let all = records(&provider).await;
    assert_eq!(all.len(), INSTANCES as usize);
    assert!(
        all.iter()
            .all(|record| record.status.kind() == StatusKind::Completed)
    );
    assert!(all.iter().all(|record| record.last_event_id.get() == 8));
}

/// Tasks of a node that was dropped end soon, not at once.
fn provider_count(provider: &SqliteProvider) -> usize {
    provider.handles()
}

/// A store in memory that goes by tokio's time.
fn in_virtual_time(clock: TokioClock) -> SqliteProvider {
    let options = SqliteOptions::default().clock(clock);
    SqliteProvider::open_in_memory_with(options).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_store_in_memory_works_in_virtual_time() {
    let provider = in_virtual_time(TokioClock::default());
    let runtime = node(&provider).await;
    let instance = runtime.client().start(COUNT, "a", &4).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 7);
    runtime.shutdown(Duration::from_secs(5)).await;
}

/// A store that counts how often an instance is read.
struct Counted {
    store: SqliteProvider,
    reads: Arc<AtomicU64>,
}

#[async_trait]
impl Layer for Counted {
    type Inner = SqliteProvider;

    fn inner(&self) -> &SqliteProvider {
        &self.store
    }

    async fn instance(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<InstanceRecord>, ProviderError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.store.instance(instance).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_for_what_was_just_started_reads_it_once() {
    const INSTANCES: u64 = 50;
    let place = Place::new();
    let store = place.open();
    let runtime = node(&store).await;
    let reads = Arc::<AtomicU64>::default();
    let client = Client::new(Layered(Counted {
        store: store.clone(),
        reads: Arc::clone(&reads),
    }));
    for number in 1..=INSTANCES {
        let instance = client.start(COUNT, format!("count-{number}"), &number);
        assert_eq!(instance.await.unwrap().wait().await.unwrap(), number + 3);
        assert_eq!(reads.load(Ordering::Relaxed), number);
    }
    runtime.shutdown(Duration::from_secs(5)).await;
    audit(&store).await;
}

/// While results travel in memory, commits are all that the store hears of a node.
#[tokio::test(start_paused = true)]
async fn time_goes_on_while_only_turns_are_committed() {
    const NAPS: Orchestration<u64, u64> = Orchestration::new("naps");
    const NAP: Activity<(), ()> = Activity::new("nap");
    let registry = Registry::builder()
        .orchestration(NAPS, |ctx: OrchestrationContext, naps: u64| async move {
            for _ in 0..naps {
                ctx.activity(NAP, &()).await?;
            }
            ctx.sleep(Duration::from_secs(10)).await?;
            let since = ctx.now().duration_since(SystemTime::UNIX_EPOCH);
            Ok::<_, Failure>(since.unwrap_or_default().as_millis() as u64)
        })
        .activity(NAP, |_: ActivityContext, ()| async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok::<_, Failure>(())
        })
        .build()
        .unwrap();
    let provider = in_virtual_time(TokioClock::starting_at(0));
    let runtime = Runtime::builder(provider, registry).start().await.unwrap();
    let began = tokio::time::Instant::now();
    let instance = runtime.client().start(NAPS, "a", &30).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 13_000);
    assert_eq!(began.elapsed(), Duration::from_secs(13));
    let history = instance
        .history(ExecutionId::FIRST, EventId::UNASSIGNED, 100)
        .await
        .unwrap();
    let times: Vec<u64> = history
        .entries
        .iter()
        .map(|entry| entry.recorded_at_ms)
        .collect();
    let steps = (1..=30).flat_map(|step| [step * 100; 2]);
    let expected: Vec<u64> = [0, 0].into_iter().chain(steps).chain([13_000; 2]).collect();
    assert_eq!(times, expected);
    runtime.shutdown(Duration::from_secs(5)).await;
}
