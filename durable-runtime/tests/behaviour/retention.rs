//! What nodes remove in the background.

use std::time::Duration;

use durable_core::provider::Provider;
use durable_runtime::{
    Failure, Orchestration, OrchestrationContext, Registry, Retention, RuntimeOptions,
};

use crate::world::{World, stop};

const POLLER: Orchestration<u32, u32> = Orchestration::new("poller");
const QUICK: Orchestration<u32, u32> = Orchestration::new("quick");
const HOUR: Duration = Duration::from_secs(3600);

fn registry() -> Registry {
    Registry::builder()
        .orchestration(POLLER, |ctx: OrchestrationContext, round: u32| async move {
            ctx.sleep(HOUR).await?;
            ctx.continue_as_new(&(round + 1)).await
        })
        .orchestration(QUICK, |_: OrchestrationContext, input| async move {
            Ok::<_, Failure>(input)
        })
        .build()
        .unwrap()
}

async fn executions(world: &World, instance: &str) -> Vec<u64> {
    let executions = world.store.executions(&instance.into()).await.unwrap();
    executions
        .iter()
        .map(|execution| execution.execution_id.get())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn an_eternal_orchestration_keeps_its_last_executions() {
    let world = World::new();
    let registry = registry();
    let retention = Retention::default().executions(3);
    let options = RuntimeOptions::default().retention(retention);
    // Two nodes do the same, and hinder neither each other nor the orchestration.
    let nodes = [
        world.node_with(&registry, options.clone()).await,
        world.node_with(&registry, options).await,
    ];
    let poller = world.client().start(POLLER, "poller-1", &0).await.unwrap();
    tokio::time::sleep(24 * HOUR + retention.interval).await;
    assert_eq!(executions(&world, "poller-1").await, [23, 24, 25]);
    poller.terminate("enough").await.unwrap();
    poller.wait().await.unwrap_err();
    for node in nodes {
        stop(node).await;
    }
    world.assert_done();
    assert_eq!(executions(&world, "poller-1").await, [23, 24, 25]);
}

#[tokio::test(start_paused = true)]
async fn past_executions_stay_as_long_as_they_are_to() {
    let world = World::new();
    let retention = Retention::default().executions_for(5 * HOUR);
    let options = RuntimeOptions::default().retention(retention);
    let node = world.node_with(&registry(), options).await;
    let client = node.client();
    let _poller = client.start(POLLER, "poller-1", &0).await.unwrap();
    tokio::time::sleep(24 * HOUR + retention.interval).await;
    let left = executions(&world, "poller-1").await;
    assert_eq!(left, [20, 21, 22, 23, 24, 25]);
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn ended_instances_are_removed_when_their_time_has_passed() {
    let world = World::new();
    let retention = Retention::default().ended_for(2 * HOUR);
    let options = RuntimeOptions::default().retention(retention);
    let node = world.node_with(&registry(), options).await;
    let client = node.client();
    let _poller = client.start(POLLER, "poller-1", &0).await.unwrap();
    for number in 0..600 {
        let quick = client.start(QUICK, format!("early-{number}"), &number);
        quick.await.unwrap().wait().await.unwrap();
    }
    tokio::time::sleep(HOUR).await;
    let late = client.start(QUICK, "late-1", &1).await.unwrap();
    late.wait().await.unwrap();
    assert_eq!(world.store.snapshot().instances.len(), 602);
    tokio::time::sleep(HOUR + retention.interval).await;
    let left: Vec<_> = world.store.snapshot().instances.into_keys().collect();
    assert_eq!(left, ["late-1", "poller-1"]);
    // Without a limit for executions they stay.
    assert_eq!(executions(&world, "poller-1").await, [1, 2, 3]);
    stop(node).await;
}
