//! Every promise of the storage contract on a cluster of three primaries, and what only a
//! split store has to show.
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use durable_core::provider::{Provider, ProviderError};
use durable_testkit::Conformance;
use support::cluster::Cluster;
use support::code::{GATED, GO, audit, node, records};
use support::server::store_options;

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_keeps_every_promise() {
    let cluster = Arc::new(Cluster::start(3));
    let options = || store_options().partitions(Some(12));
    let suite = Conformance::at_places(options, move |options, clock| {
        let cluster = Arc::clone(&cluster);
        async move { cluster.open_at((*options).clone(), clock).await }
    });
    suite.partitioned().run().await.assert_ok();
}

/// With the default settings a cluster that lacks a primary answers no call.
#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_is_away_for_a_while_costs_nothing_but_time() {
    const INSTANCES: u64 = 20;
    let mut cluster = Cluster::start(3);
    let options = store_options().response_timeout(Duration::from_secs(2));
    let provider = cluster.open(options).await;
    // A node whose fetch gets no answer leaves its session, which ends in its time.
    let runtime = node(&provider, Duration::from_secs(10)).await;
    let client = runtime.client();
    let mut instances = Vec::new();
    for number in 0..INSTANCES {
        let start = client.start(GATED, format!("i-{number}"), &number);
        instances.push(start.await.unwrap());
    }
    cluster.primaries[2].kill();
    let began = Instant::now();
    loop {
        match provider.fire_timers(1).await {
            Err(ProviderError::Unavailable { .. } | ProviderError::Unknown { .. }) => break,
            Err(error) => panic!("{error}"),
            // It takes the others a moment to notice.
            Ok(_) => assert!(began.elapsed() < Duration::from_secs(60)),
        }
    }
    cluster.primaries[2].restart();
    cluster.wait_until_formed();
    for (instance, number) in instances.iter().zip(0..) {
        let began = Instant::now();
        while let Err(error) = instance.raise_with_id(format!("go-{number}"), GO, &0).await {
            assert!(began.elapsed() < Duration::from_secs(60), "{error}");
        }
        assert_eq!(instance.wait().await.unwrap(), number + 4);
    }
    runtime.shutdown(Duration::from_secs(5)).await;
    assert_eq!(records(&provider).await.len() as u64, 2 * INSTANCES);
    audit(&provider).await;
}
