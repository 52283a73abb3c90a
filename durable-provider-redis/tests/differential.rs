//! The same orchestrations in memory, on SQLite and on Redis leave the same histories.
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::Provider;
use durable_core::{Event, InstanceId};
use durable_provider_sqlite::SqliteProvider;
use durable_runtime::Runtime;
use durable_testkit::MemoryProvider;

use support::code::{COUNT, GATED, GO, history, records, registry};
use support::server::{Server, store_options};

const RUNS: u64 = 10;

/// What is left when everything has ended: every history, without times.
type Left = BTreeMap<InstanceId, Vec<Event>>;

async fn run(provider: Arc<dyn Provider>) -> Left {
    let builder = Runtime::builder(Arc::clone(&provider), registry());
    let runtime = builder.start().await.unwrap();
    let client = runtime.client();
    for number in 0..RUNS {
        let counted = client.start(COUNT, format!("count-{number}"), &number);
        let counted = counted.await.unwrap();
        let gated = client
            .start(GATED, format!("gated-{number}"), &number)
            .await
            .unwrap();
        // Started, scheduled, completed, subscribed: the event comes when it is waited for.
        while gated.record().await.unwrap().last_event_id.get() < 4 {
            tokio::task::yield_now().await;
        }
        gated.raise_with_id("go", GO, &number).await.unwrap();
        assert_eq!(counted.wait().await.unwrap(), number + 3);
        assert_eq!(gated.wait().await.unwrap(), 2 * number + 4);
    }
    runtime.shutdown(Duration::from_secs(5)).await;
    let mut left = Left::new();
    for record in records(provider.as_ref()).await {
        let entries = history(provider.as_ref(), &record.instance, record.execution_id).await;
        let events = entries.into_iter().map(|entry| entry.event).collect();
        left.insert(record.instance, events);
    }
    left
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_sqlite_and_redis_tell_the_same_story() {
    let expected = run(Arc::new(MemoryProvider::new())).await;
    assert_eq!(
        expected.len() as u64,
        3 * RUNS,
        "each gated one has a child"
    );

    let sqlite = SqliteProvider::open_in_memory().unwrap();
    assert_eq!(run(Arc::new(sqlite)).await, expected);

    let server = Server::start();
    for partitions in [1, 4] {
        let options = store_options().partitions(Some(partitions));
        let redis = server.open(options).await;
        assert_eq!(
            run(Arc::new(redis)).await,
            expected,
            "{partitions} partitions"
        );
    }
}
