//! Many threads at once, in real time: nothing is lost or repeated when everything
//! happens together. No test here waits for time to pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use durable_core::provider::{Provider, StatusKind};
use durable_core::{EventId, ExecutionId};
use durable_runtime::{
    Activity, ActivityContext, Client, EventName, Failure, Orchestration, OrchestrationContext,
    Registry, Runtime, RuntimeOptions,
};
use durable_testkit::MemoryProvider;

use crate::world::Random;

const STEP: Activity<u32, u32> = Activity::new("step");
const FLOW: Orchestration<u32, u32> = Orchestration::new("flow");
const LEAF: Orchestration<u32, u32> = Orchestration::new("leaf");
const GO: EventName<u32> = EventName::new("go");

const INSTANCES: u32 = 40;
const STEPS: u32 = 10;

/// Steps, a child, and an event for each step.
async fn flow(ctx: OrchestrationContext, steps: u32) -> Result<u32, Failure> {
    let mut sum = 0;
    for step in 0..steps {
        let (done, event) =
            futures::future::join(ctx.activity(STEP, &step), ctx.external_event(GO)).await;
        sum += done? + event?;
    }
    Ok(sum + ctx.sub_orchestration(LEAF, &1).await?)
}

fn registry(ran: &Arc<AtomicU32>) -> Registry {
    let ran = ran.clone();
    Registry::builder()
        .orchestration(FLOW, flow)
        .orchestration(LEAF, |ctx: OrchestrationContext, n| async move {
            ctx.activity(STEP, &n).await
        })
        .activity(STEP, move |_: ActivityContext, _| {
            ran.fetch_add(1, Ordering::Relaxed);
            async move {
                tokio::task::yield_now().await;
                Ok::<_, Failure>(1)
            }
        })
        .build()
        .unwrap()
}

async fn node(store: &Arc<MemoryProvider>, registry: &Registry) -> Runtime {
    let options = RuntimeOptions::default()
        .max_activities(8)
        .max_turns(8)
        .verify_replay(false);
    let provider: Arc<dyn Provider> = store.clone();
    Runtime::builder(provider, registry.clone())
        .options(options)
        .start()
        .await
        .unwrap()
}

/// Raises all events of all instances, in a random order of instances.
async fn raise_everything(client: Client, seed: u64) {
    let mut random = Random::new(seed);
    let mut left: Vec<(u32, u32)> = (0..INSTANCES).map(|number| (number, STEPS)).collect();
    while !left.is_empty() {
        let index = random.below(left.len() as u64) as usize;
        let (number, events) = &mut left[index];
        let instance = client.instance(FLOW, format!("f-{number}"));
        instance.raise(GO, &1).await.unwrap();
        *events -= 1;
        if *events == 0 {
            left.swap_remove(index);
        }
        tokio::task::yield_now().await;
    }
}

async fn check(store: &MemoryProvider, client: &Client) {
    for number in 0..INSTANCES {
        let instance = client.instance(FLOW, format!("f-{number}"));
        let waiting = tokio::time::timeout(Duration::from_secs(60), instance.wait());
        let Ok(output) = waiting.await else {
            panic!("it does not end: {:#?}", store.snapshot());
        };
        assert_eq!(output.unwrap(), STEPS * 2 + 1);
        let page = instance.history(ExecutionId::FIRST, EventId::UNASSIGNED, 1_000);
        let events = page.await.unwrap().entries.len() as u32;
        assert_eq!(events, 1 + STEPS * 4 + 2 + 1);
    }
    let snapshot = store.snapshot();
    assert!(
        snapshot
            .instances
            .values()
            .all(|one| one.record.status.kind() == StatusKind::Completed)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_nodes_on_four_threads() {
    for seed in 0..5 {
        let store = Arc::new(MemoryProvider::new());
        let ran = Arc::new(AtomicU32::new(0));
        let registry = registry(&ran);
        let nodes = [node(&store, &registry).await, node(&store, &registry).await];
        let client = nodes[0].client();
        for number in 0..INSTANCES {
            client
                .start(FLOW, format!("f-{number}"), &STEPS)
                .await
                .unwrap();
        }
        raise_everything(client.clone(), seed).await;
        check(&store, &client).await;
        assert_eq!(
            ran.load(Ordering::Relaxed),
            INSTANCES * (STEPS + 1),
            "each ran once"
        );
        for node in nodes {
            node.shutdown(Duration::from_secs(10)).await;
        }
        let snapshot = store.snapshot();
        assert!(snapshot.work.is_empty() && snapshot.sessions.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn suspending_and_resuming_while_everything_runs() {
    for seed in 0..5 {
        let store = Arc::new(MemoryProvider::new());
        let ran = Arc::new(AtomicU32::new(0));
        let registry = registry(&ran);
        let nodes = [node(&store, &registry).await, node(&store, &registry).await];
        let client = nodes[0].client();
        for number in 0..INSTANCES {
            client
                .start(FLOW, format!("f-{number}"), &STEPS)
                .await
                .unwrap();
        }
        let disturbing = tokio::spawn({
            let client = client.clone();
            async move {
                let mut random = Random::new(seed);
                for _ in 0..1_000 {
                    let number = random.below(u64::from(INSTANCES));
                    let instance = client.instance(FLOW, format!("f-{number}"));
                    let _ = instance.suspend("now").await;
                    tokio::task::yield_now().await;
                    let _ = instance.resume().await;
                }
            }
        });
        raise_everything(client.clone(), seed).await;
        disturbing.await.unwrap();
        check(&store, &client).await;
        assert_eq!(
            ran.load(Ordering::Relaxed),
            INSTANCES * (STEPS + 1),
            "each ran once"
        );
        for node in nodes {
            node.shutdown(Duration::from_secs(10)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_come_and_go_in_good_order_while_everything_runs() {
    for seed in 0..5 {
        let store = Arc::new(MemoryProvider::new());
        let ran = Arc::new(AtomicU32::new(0));
        let registry = registry(&ran);
        let client = Client::new(store.clone());
        for number in 0..INSTANCES {
            client
                .start(FLOW, format!("f-{number}"), &STEPS)
                .await
                .unwrap();
        }
        let raising = tokio::spawn(raise_everything(client.clone(), seed));
        for _ in 0..10 {
            let node = node(&store, &registry).await;
            tokio::task::yield_now().await;
            node.shutdown(Duration::from_secs(10)).await;
        }
        raising.await.unwrap();
        let last = node(&store, &registry).await;
        check(&store, &client).await;
        assert_eq!(
            ran.load(Ordering::Relaxed),
            INSTANCES * (STEPS + 1),
            "each ran once"
        );
        last.shutdown(Duration::from_secs(10)).await;
        assert!(store.snapshot().sessions.is_empty());
    }
}
