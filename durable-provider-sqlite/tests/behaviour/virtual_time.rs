//! A node on a file in virtual time: tokio's clock is paused, and moves only when neither a task
//! nor the store has something to do.

use std::path::Path;
use std::time::Duration;

use durable_core::provider::Provider;
use durable_provider_sqlite::{SqliteOptions, SqliteProvider};
use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry, Runtime,
    RuntimeOptions,
};
use durable_testkit::TokioClock;

const STEP: Activity<u32, u32> = Activity::new("step");
const CHAIN: Orchestration<u32, u32> = Orchestration::new("chain");
const DAYS: Orchestration<u32, u32> = Orchestration::new("days");
const DAY: Duration = Duration::from_secs(86_400);
const YEAR: Duration = Duration::from_secs(365 * 86_400);

fn registry() -> Registry {
    Registry::builder()
        .orchestration(DAYS, |ctx: OrchestrationContext, days| async move {
            for _ in 0..days {
                ctx.sleep(DAY).await?;
            }
            Ok::<_, Failure>(days)
        })
        .orchestration(CHAIN, |ctx: OrchestrationContext, steps| async move {
            for step in 0..steps {
                ctx.activity(STEP, &step).await?;
            }
            Ok::<_, Failure>(steps)
        })
        .activity(STEP, |_: ActivityContext, step| async move {
            Ok::<u32, Failure>(step)
        })
        .build()
        .unwrap()
}

fn open(directory: &Path) -> SqliteProvider {
    let options = SqliteOptions::default().clock(TokioClock::default());
    SqliteProvider::open_with(directory.join("store.db"), options).unwrap()
}

async fn node(store: &SqliteProvider, options: RuntimeOptions) -> Runtime {
    let builder = Runtime::builder(store.clone(), registry()).options(options);
    builder.start().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn thirty_timers_of_a_day_end_in_virtual_time() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    // A virtual month has as many heartbeats as a real one, and each is a commit.
    let seldom = RuntimeOptions::default()
        .session_timeout(YEAR)
        .max_poll_interval(YEAR);
    let node = node(&store, seldom).await;
    let began_ms = store.now_ms();
    let days = node.client().start(DAYS, "days", &30).await.unwrap();
    assert_eq!(days.wait().await.unwrap(), 30);
    let took = Duration::from_millis(store.now_ms() - began_ms);
    assert!(
        (30 * DAY..30 * DAY + Duration::from_secs(1)).contains(&took),
        "{took:?}"
    );
    node.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test(start_paused = true)]
async fn no_time_passes_while_the_store_works() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let node = node(&store, RuntimeOptions::default()).await;
    let began_ms = store.now_ms();
    let chain = node.client().start(CHAIN, "chain", &50).await.unwrap();
    assert_eq!(chain.wait().await.unwrap(), 50);
    assert_eq!(store.now_ms(), began_ms);
    node.shutdown(Duration::from_secs(5)).await;
}
