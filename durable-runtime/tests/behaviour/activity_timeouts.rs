//! Total timeouts of activities: the store enforces them, whether a node runs the
//! activity or none does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use durable_runtime::{
    Activity, ActivityContext, ClientError, Failure, FailureKind, InstanceHandle, Orchestration,
    OrchestrationContext, Registry, RegistryBuilder, RetryPolicy, RuntimeOptions,
};

use crate::world::{World, settle, stop};

const PACK: Activity<u32, u32> = Activity::new("pack");
const CALL: Orchestration<u32, u32> = Orchestration::new("call");
const TIMEOUT: Duration = Duration::from_millis(150);
const FAILED: [&str; 4] = [
    "OrchestrationStarted",
    "ActivityScheduled",
    "ActivityFailed",
    "OrchestrationFailed",
];

/// Calls `pack` on a queue, with the timeout.
fn calling(queue: &'static str) -> RegistryBuilder {
    Registry::builder().orchestration(CALL, move |ctx: OrchestrationContext, input| async move {
        ctx.activity(PACK, &input)
            .queue(queue)
            .retry(RetryPolicy::attempts(10))
            .timeout(TIMEOUT)
            .await
    })
}

async fn timed_out(instance: &InstanceHandle<u32>) -> Failure {
    match instance.wait().await {
        Err(ClientError::Failed { failure, .. }) => failure,
        other => panic!("{other:?}"),
    }
}

fn too_late() -> Failure {
    let message = "activity `pack` took longer than it may: 150ms in all";
    Failure::new(FailureKind::Timeout, message)
}

#[tokio::test(start_paused = true)]
async fn a_call_on_a_queue_that_no_node_serves_times_out() {
    let world = World::new();
    let registry = calling("unserved").build().unwrap();
    let node = world.node(&registry).await;
    let instance = node.client().start(CALL, "call-1", &7).await.unwrap();
    settle().await;
    let waiting = world.store.snapshot();
    assert_eq!((waiting.work.len(), waiting.timers.len()), (1, 1));
    assert_eq!(timed_out(&instance).await, too_late());
    assert_eq!(world.elapsed(), TIMEOUT);
    stop(node).await;
    assert_eq!(world.kinds("call-1", 1).await, FAILED);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_call_behind_a_busy_worker_times_out() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration("busy", |ctx: OrchestrationContext, ()| async move {
            ctx.activity::<(), u32>("slow", &()).await
        })
        .activity("slow", |_: ActivityContext, ()| async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            Ok::<_, Failure>(1)
        })
        .orchestration(CALL, |ctx: OrchestrationContext, input| async move {
            ctx.activity(PACK, &input).timeout(TIMEOUT).await
        })
        .activity(PACK, |_: ActivityContext, _| async {
            Err::<u32, _>(Failure::application("begun", "there is no slot for it"))
        })
        .build()
        .unwrap();
    let options = RuntimeOptions::default().max_activities(1);
    let node = world.node_with(&registry, options).await;
    let client = node.client();
    let busy = client.start::<(), u32>("busy", "busy-1", &()).await;
    settle().await;
    let called = world.elapsed();
    let instance = client.start(CALL, "call-1", &7).await.unwrap();
    assert_eq!(timed_out(&instance).await, too_late());
    assert_eq!(world.elapsed(), called + TIMEOUT);
    assert_eq!(busy.unwrap().wait().await.unwrap(), 1);
    stop(node).await;
    assert_eq!(world.kinds("call-1", 1).await, FAILED);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_call_times_out_on_a_node_without_activities() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(CALL, |ctx: OrchestrationContext, input| async move {
            ctx.activity(PACK, &input).timeout(TIMEOUT).await
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let instance = node.client().start(CALL, "call-1", &7).await.unwrap();
    assert_eq!(timed_out(&instance).await, too_late());
    assert_eq!(world.elapsed(), TIMEOUT);
    stop(node).await;
    assert_eq!(world.kinds("call-1", 1).await, FAILED);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_call_times_out_after_the_node_that_made_it_has_crashed() {
    let world = World::new();
    let registry = calling("unserved").build().unwrap();
    let first = world.node(&registry).await;
    let instance = world.client().start(CALL, "call-1", &7).await.unwrap();
    tokio::time::sleep(TIMEOUT / 2).await;
    drop(first);
    let second = world.node(&registry).await;
    assert_eq!(timed_out(&instance).await, too_late());
    assert_eq!(world.elapsed(), TIMEOUT);
    stop(second).await;
    assert_eq!(world.kinds("call-1", 1).await, FAILED);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_timeout_that_passed_while_no_node_ran_is_noticed_by_the_next() {
    let world = World::new();
    let registry = calling("unserved").build().unwrap();
    let first = world.node(&registry).await;
    let instance = world.client().start(CALL, "call-1", &7).await.unwrap();
    settle().await;
    drop(first);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let came = world.elapsed();
    let second = world.node(&registry).await;
    assert_eq!(timed_out(&instance).await, too_late());
    assert_eq!(world.elapsed(), came);
    stop(second).await;
    assert_eq!(world.kinds("call-1", 1).await, FAILED);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_in_time_leaves_no_timer() {
    let world = World::new();
    let registry = calling("packers")
        .activity(PACK, |ctx: ActivityContext, input| async move {
            match ctx.attempt() {
                1 => Err(Failure::application("flaky", "it fails first")),
                _ => Ok(input),
            }
        })
        .build()
        .unwrap();
    let options = RuntimeOptions::default().queues([Some("packers")]);
    let node = world.node_with(&registry, options).await;
    let instance = node.client().start(CALL, "call-1", &7).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 7);
    assert!(world.elapsed() < TIMEOUT, "{:?}", world.elapsed());
    assert_eq!(world.store.snapshot().timers.len(), 0);
    stop(node).await;
    assert_eq!(
        world.kinds("call-1", 1).await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityCompleted",
            "OrchestrationCompleted"
        ]
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_leaves_no_timer() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(CALL, |ctx: OrchestrationContext, left| async move {
            let hour = Duration::from_secs(3600);
            let call = || ctx.activity(PACK, &left).queue("unserved").timeout(hour);
            // One is dropped, one is cancelled by the end of its execution.
            tokio::select! {
                biased;
                result = call() => return result,
                timer = ctx.sleep(Duration::from_secs(1)) => timer?,
            }
            let mut open = std::pin::pin!(call());
            tokio::select! {
                biased;
                result = &mut open => return result,
                timer = ctx.sleep(Duration::from_secs(1)) => timer?,
            }
            match left {
                0 => Ok(0),
                left => ctx.continue_as_new(&(left - 1)).await,
            }
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let instance = node.client().start(CALL, "call-1", &2).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 0);
    assert_eq!(world.elapsed(), Duration::from_secs(6));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn cancelling_an_orchestration_removes_the_timers_of_its_calls() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(CALL, |ctx: OrchestrationContext, input| async move {
            let hour = Duration::from_secs(3600);
            let call = ctx.activity(PACK, &input).queue("unserved").timeout(hour);
            let failure = call.await.unwrap_err();
            assert!(failure.is_cancelled());
            ctx.external_event::<()>("never").await?;
            Ok::<_, Failure>(input)
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let instance = node.client().start(CALL, "call-1", &7).await.unwrap();
    settle().await;
    // Recovered from its history, and cancelled then.
    stop(node).await;
    let node = world.node(&registry).await;
    instance.cancel("changed my mind").await.unwrap();
    settle().await;
    let left = world.store.snapshot();
    assert_eq!((left.work.len(), left.timers.len()), (0, 0));
    stop(node).await;
    assert_eq!(
        world.kinds("call-1", 1).await[..4],
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "OrchestrationCancelRequested",
            "ActivityCancelRequested",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_runs_at_the_deadline_is_stopped_and_its_result_dropped() {
    let world = World::new();
    let begun = Arc::new(AtomicU32::new(0));
    let count = begun.clone();
    let registry = calling("far")
        .activity(PACK, move |ctx: ActivityContext, input| {
            count.fetch_add(1, Ordering::Relaxed);
            async move {
                ctx.cancelled().await;
                Ok::<_, Failure>(input)
            }
        })
        .build()
        .unwrap();
    let near = world.node(&registry).await;
    let serving = RuntimeOptions::default().queues([Some("far")]);
    let far = world.node_with(&registry, serving).await;
    let instance = near.client().start(CALL, "call-1", &7).await.unwrap();
    assert_eq!(timed_out(&instance).await, too_late());
    assert_eq!(world.elapsed(), TIMEOUT);
    stop(far).await;
    stop(near).await;
    assert_eq!(begun.load(Ordering::Relaxed), 1);
    assert_eq!(world.kinds("call-1", 1).await, FAILED);
    world.assert_done();
}
