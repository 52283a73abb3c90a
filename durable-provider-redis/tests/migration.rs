//! Slots move from primary to primary while orchestrations run in them: whatever the cluster
//! answers meanwhile (`TRYAGAIN`, `ASK`, `MOVED`), everything happens once.
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use durable_core::provider::ProviderError;
use durable_runtime::{Client, ClientError};
use futures::future::join_all;
use support::cluster::Cluster;
use support::code::{ADDED, GATED, GO, audit, node, records};
use support::migration::Mover;
use support::server::store_options;

const PARTITIONS: usize = 6;
/// Started, and told to go on, between one handful of keys and the next.
const TOGETHER: u64 = 4;

#[tokio::test(flavor = "multi_thread")]
async fn slots_move_while_their_instances_run() {
    let cluster = Cluster::start(3);
    let options = store_options().partitions(Some(PARTITIONS));
    let workers = [
        cluster.open(options.clone()).await,
        cluster.open(options.clone()).await,
    ];
    let nodes = join_all(workers.iter().map(|it| node(it, Duration::from_secs(600)))).await;
    let client = Client::new(Arc::new(cluster.open(options.clone()).await));

    let (ask, mut asked) = tokio::sync::mpsc::channel(1);
    let mut mover = Mover::new(&cluster);
    let moving = tokio::task::spawn_blocking(move || {
        for partition in 0..PARTITIONS {
            let slot = mover.slot_of(&format!("{{{}:{partition}}}", options.prefix));
            let moved = mover.move_slot(slot, || ask.blocking_send(()).unwrap());
            assert!(moved > 0, "nothing lives in partition {partition}");
        }
        mover
    });
    let mut running = Vec::new();
    while asked.recv().await.is_some() {
        for _ in 0..TOGETHER {
            let (client, number) = (client.clone(), running.len() as u64);
            running.push(tokio::spawn(async move { run(&client, number).await }));
        }
    }
    let mut mover = moving.await.unwrap();
    let count = running.len() as u64;

    for (instance, number) in running.into_iter().zip(0..) {
        assert_eq!(instance.await.unwrap(), number + 4);
    }
    for node in nodes {
        node.shutdown(Duration::from_secs(5)).await;
    }
    for error in ["MOVED", "TRYAGAIN", "ASK"] {
        assert!(mover.errors(error) > 0, "no {error} in {count} instances");
    }
    assert_eq!(records(&workers[0]).await.len() as u64, 2 * count);
    assert_eq!(ADDED.load(Ordering::Relaxed), 4 * count);
    audit(&workers[0]).await;
}

/// Starts an instance, tells it to go on, and waits for it. Whatever may not have happened
/// is done again, under the same id.
async fn run(client: &Client, number: u64) -> u64 {
    let instance = loop {
        let start = client.start(GATED, format!("i-{number}"), &number);
        match start.message_id(format!("start-{number}")).await {
            Ok(instance) => break instance,
            Err(error) => assert!(is_passing(&error), "{error}"),
        }
    };
    while let Err(error) = instance.raise_with_id(format!("go-{number}"), GO, &0).await {
        assert!(is_passing(&error), "{error}");
    }
    loop {
        match instance.wait().await {
            Ok(output) => return output,
            Err(error) => assert!(is_passing(&error), "{error}"),
        }
    }
}

/// Nothing that a moving slot refuses has happened, and the caller is told so.
fn is_passing(error: &ClientError) -> bool {
    matches!(
        error,
        ClientError::Provider(ProviderError::Unavailable { .. })
    )
}
