//! Odd settings and odd code: a node takes them, or says what is wrong.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use durable_core::provider::Provider;
use durable_runtime::{
    Activity, ActivityContext, EventName, Failure, Orchestration, OrchestrationContext, Registry,
    Runtime, RuntimeOptions, join_all,
};

use crate::journey::{self, JOURNEY};
use crate::world::{World, pass, settle, stop};

const FLOW: Orchestration<u32, u32> = Orchestration::new("flow");
const WORK: Activity<u32, u32> = Activity::new("work");
const GO: EventName<u32> = EventName::new("go");

#[tokio::test(start_paused = true)]
async fn a_node_may_have_no_bounds_at_all() {
    let world = World::new();
    let options = RuntimeOptions::default()
        .max_turns(usize::MAX)
        .max_activities(usize::MAX)
        .cached_executions(usize::MAX)
        .max_poll_interval(Duration::MAX)
        .session_timeout(Duration::MAX)
        .max_crashes(u32::MAX)
        .continue_as_new_after(u64::MAX);
    let node = world.node_with(&journey::registry(), options).await;
    let client = node.client();
    journey::start(&client, "j").await;
    let journey = client.instance(JOURNEY, "j");
    assert_eq!(journey.wait().await.unwrap(), journey::RESULT);
    node.shutdown(Duration::MAX).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_node_may_be_as_small_as_can_be() {
    let world = World::new();
    let options = RuntimeOptions::default()
        .max_turns(1)
        .max_activities(1)
        .cached_executions(1)
        .max_poll_interval(Duration::from_millis(1))
        .continue_as_new_after(0);
    let node = world.node_with(&journey::registry(), options).await;
    let client = node.client();
    for id in ["a", "b", "c"] {
        journey::start(&client, id).await;
    }
    for id in ["a", "b", "c"] {
        let journey = client.instance(JOURNEY, id);
        assert_eq!(journey.wait().await.unwrap(), journey::RESULT);
    }
    node.shutdown(Duration::ZERO).await;
    world.assert_done();
}

/// An orchestration that calls `work` once.
fn calls(
    work: impl Fn(ActivityContext) -> futures::future::BoxFuture<'static, Result<u32, Failure>>
    + Send
    + Sync
    + 'static,
) -> Registry {
    Registry::builder()
        .orchestration(FLOW, |ctx: OrchestrationContext, n| async move {
            ctx.activity(WORK, &n).await
        })
        .activity(WORK, move |ctx, _: u32| work(ctx))
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_activity_may_drop_its_own_node() {
    let world = World::new();
    let own: Arc<Mutex<Option<Runtime>>> = Arc::default();
    let node = Arc::clone(&own);
    let registry = calls(move |_| {
        let node = node.lock().unwrap().take();
        Box::pin(async move {
            drop(node);
            tokio::task::yield_now().await;
            Ok(7)
        })
    });
    *own.lock().unwrap() = Some(world.node(&registry).await);
    let flow = world.client().start(FLOW, "f", &1).await.unwrap();
    settle().await;
    assert!(own.lock().unwrap().is_none());
    world.pass_heartbeat_bound().await;
    let node = world.node(&registry).await;
    assert_eq!(flow.wait().await.unwrap(), 7);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_activity_may_stop_its_own_node() {
    let world = World::new();
    let own: Arc<Mutex<Option<Runtime>>> = Arc::default();
    let node = Arc::clone(&own);
    let registry = calls(move |_| {
        let node = node.lock().unwrap().take();
        Box::pin(async move {
            if let Some(node) = node {
                // It waits for itself, and is let go after the bound.
                node.shutdown(Duration::from_secs(1)).await;
            }
            Ok(7)
        })
    });
    *own.lock().unwrap() = Some(world.node(&registry).await);
    let flow = world.client().start(FLOW, "f", &1).await.unwrap();
    pass(Duration::from_secs(2)).await;
    world.pass_heartbeat_bound().await;
    let node = world.node(&registry).await;
    assert_eq!(flow.wait().await.unwrap(), 7);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_node_may_run_inside_an_activity_of_another() {
    let world = World::new();
    let store = world.store.clone();
    let registry = calls(move |_| {
        let store: Arc<dyn Provider> = store.clone();
        Box::pin(async move {
            let inner = Runtime::builder(store, journey::registry())
                .start()
                .await
                .unwrap();
            let client = inner.client();
            journey::start(&client, "j").await;
            let result = client.instance(JOURNEY, "j").wait().await.unwrap();
            stop(inner).await;
            Ok(result)
        })
    });
    let node = world.node(&registry).await;
    let flow = node.client().start(FLOW, "f", &1).await.unwrap();
    assert_eq!(flow.wait().await.unwrap(), journey::RESULT);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_waits_for_the_side_effect_that_executes() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(FLOW, |ctx: OrchestrationContext, n| async move {
            let effect = async {
                tokio::time::sleep(Duration::from_secs(10)).await;
                Ok::<u32, Failure>(n)
            };
            let recorded = ctx.run("effect", effect).await?;
            assert!(!ctx.is_cancelled());
            let cancelled = ctx.sleep(Duration::from_secs(100)).await.unwrap_err();
            assert!(cancelled.is_cancelled());
            Ok::<_, Failure>(recorded)
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let flow = node.client().start(FLOW, "f", &3).await.unwrap();
    pass(Duration::from_secs(1)).await;
    flow.cancel("enough").await.unwrap();
    assert_eq!(flow.wait().await.unwrap(), 3);
    assert!(world.elapsed() < Duration::from_secs(20));
    stop(node).await;
    assert_eq!(
        world.kinds("f", 1).await,
        [
            "OrchestrationStarted",
            "OperationCompleted",
            "TimerCreated",
            "OrchestrationCancelRequested",
            "TimerCancelled",
            "OrchestrationCompleted",
        ]
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_result_that_comes_with_its_timeout_is_taken() {
    let world = World::new();
    let second = Duration::from_secs(1);
    let registry = Registry::builder()
        .orchestration(FLOW, move |ctx: OrchestrationContext, n| async move {
            ctx.activity(WORK, &n).attempt_timeout(second).await
        })
        .activity(WORK, move |_: ActivityContext, n: u32| async move {
            tokio::time::sleep(second).await;
            Ok::<_, Failure>(n)
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let flow = node.client().start(FLOW, "f", &3).await.unwrap();
    assert_eq!(flow.wait().await.unwrap(), 3);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_join_of_thousands_can_be_dropped_at_once() {
    const MANY: u32 = 2_000;
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(FLOW, |ctx: OrchestrationContext, _: u32| async move {
            let calls = (0..MANY).map(|n| ctx.activity(WORK, &n));
            durable_runtime::select! {
                go = ctx.external_event(GO) => go,
                _ = join_all(calls) => Ok(0),
            }
        })
        .activity(WORK, |ctx: ActivityContext, n: u32| async move {
            ctx.cancelled().await;
            Ok::<_, Failure>(n)
        })
        .build()
        .unwrap();
    let options = RuntimeOptions::default().verify_replay(false);
    let node = world.node_with(&registry, options).await;
    let flow = node.client().start(FLOW, "f", &1).await.unwrap();
    settle().await;
    flow.raise(GO, &5).await.unwrap();
    assert_eq!(flow.wait().await.unwrap(), 5);
    stop(node).await;
    let kinds = world.kinds("f", 1).await;
    let count = |kind| kinds.iter().filter(|other| **other == kind).count();
    assert_eq!(count("ActivityScheduled"), MANY as usize);
    assert_eq!(count("ActivityCompleted"), 0);
    world.assert_done();
}
