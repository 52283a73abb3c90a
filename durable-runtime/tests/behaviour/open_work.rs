//! What a client sees of the activities that an instance waits for.

use std::time::Duration;

use durable_core::provider::WorkState;
use durable_runtime::{
    Activity, ActivityContext, ActivityStatus, ClientError, Failure, FailureKind, InstanceHandle,
    Orchestration, OrchestrationContext, Registry, RegistryBuilder, RetryPolicy, RuntimeOptions,
};

use crate::world::{EPOCH_MS, World, pass, settle, stop};

const FLOW: Orchestration<(), ()> = Orchestration::new("flow");
const PARENT: Orchestration<(), ()> = Orchestration::new("parent");
const COPY: Activity<u32, u32> = Activity::new("copy");

/// Copies, in this queue.
fn flow(queue: Option<&'static str>) -> RegistryBuilder {
    Registry::builder()
        .orchestration(FLOW, move |ctx: OrchestrationContext, ()| async move {
            let retry = RetryPolicy::attempts(3)
                .first_backoff(Duration::from_secs(10))
                .jitter_percent(0);
            let call = ctx.activity(COPY, &7).retry(retry);
            match queue {
                Some(queue) => call.queue(queue).await?,
                None => call.await?,
            };
            Ok::<_, Failure>(())
        })
        .orchestration(PARENT, |ctx: OrchestrationContext, ()| async move {
            ctx.sub_orchestration(FLOW, &()).id("child").await
        })
}

/// Reports half, then fails after a second, the first time; then takes for ever.
fn copying(builder: RegistryBuilder) -> Registry {
    let copy = |ctx: ActivityContext, _: u32| async move {
        if ctx.attempt() == 1 {
            ctx.heartbeat(&50_u8).await?;
            tokio::time::sleep(Duration::from_secs(1)).await;
            let message = format!("the disk is full{}", "!".repeat(2_000));
            return Err(Failure::application("full", message).with_details("17"));
        }
        std::future::pending().await
    };
    builder.activity(COPY, copy).build().unwrap()
}

async fn only_activity<O>(instance: &InstanceHandle<O>) -> ActivityStatus {
    let mut open = instance.activities().await.unwrap();
    assert_eq!(open.len(), 1, "{open:?}");
    open.remove(0)
}

#[tokio::test(start_paused = true)]
async fn a_client_sees_attempts_heartbeats_failures_and_the_next_retry() {
    let world = World::new();
    let node = world.node(&copying(flow(None))).await;
    let instance = world.client().start(FLOW, "f", &()).await.unwrap();
    settle().await;
    let running = only_activity(&instance).await;
    assert_eq!(running.name(), "copy");
    assert_eq!(running.event_id().get(), 2);
    assert_eq!(running.work.item.input, "7");
    assert!(matches!(running.work.state, WorkState::Held { .. }));
    assert_eq!((running.work.attempt, running.work.crashes), (1, 0));
    assert_eq!(running.heartbeat::<u8>().unwrap(), Some(50));
    let wrong = running.heartbeat::<bool>().unwrap_err();
    assert!(matches!(wrong, ClientError::InvalidPayload(_)), "{wrong}");
    assert_eq!((running.work.last_failure, running.blocked), (None, None));

    pass(Duration::from_secs(1)).await;
    let waiting = only_activity(&instance).await;
    let retry_at_ms = EPOCH_MS + 11_000;
    let state = WorkState::Queued {
        ready_at_ms: retry_at_ms,
    };
    assert_eq!(waiting.work.state, state);
    let now_ms = EPOCH_MS + 1_000;
    assert_eq!(waiting.work.delayed_until_ms(now_ms), Some(retry_at_ms));
    assert_eq!(waiting.work.attempt, 2);
    let failure = waiting.work.last_failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Application("full".into()));
    assert!(failure.message.starts_with("the disk is full!"));
    assert_eq!((failure.message.len(), failure.details), (1_027, None));

    pass(Duration::from_secs(10)).await;
    let again = only_activity(&instance).await;
    assert!(matches!(again.work.state, WorkState::Held { .. }));
    assert_eq!(again.work.attempt, 2);
    assert_eq!(again.heartbeat::<u8>().unwrap(), Some(50));
    assert!(again.work.last_failure.is_some());
    drop(node);
    world.pass_heartbeat_bound().await;
    let node = world.node(&copying(flow(None))).await;
    settle().await;
    let after_a_crash = only_activity(&instance).await.work;
    assert_eq!((after_a_crash.attempt, after_a_crash.crashes), (2, 1));
    assert_eq!(after_a_crash.delivery(), 3);
    instance.terminate("enough").await.unwrap();
    settle().await;
    drop(node);
}

#[tokio::test(start_paused = true)]
async fn a_record_names_the_activity_that_no_node_has() {
    let world = World::new();
    let node = world.node(&flow(Some("disk")).build().unwrap()).await;
    let instance = world.client().start(FLOW, "f", &()).await.unwrap();
    settle().await;
    let told = "not registered: no node that lives has the activity `copy`: start one that does";
    assert_eq!(world.blocked("f").await.as_deref(), Some(told));
    let status = only_activity(&instance).await;
    assert_eq!(status.blocked.unwrap().to_string(), told);
    let waited = instance.wait().timeout(Duration::from_secs(1)).await;
    let waited = waited.unwrap_err().to_string();
    assert_eq!(
        waited,
        format!("instance `f` had not ended after 1s: {told}")
    );

    let other = world.node(&copying(flow(Some("disk")))).await;
    settle().await;
    let told = "not registered: no node that lives and has the activity `copy` takes work from \
                the queue `disk`: start one that does";
    assert_eq!(world.blocked("f").await.as_deref(), Some(told));

    let options = RuntimeOptions::default().queues([Some("disk")]);
    let right = world.node_with(&copying(flow(Some("disk"))), options).await;
    settle().await;
    assert_eq!(world.blocked("f").await, None);
    assert_eq!(only_activity(&instance).await.blocked, None);
    stop(node).await;
    stop(other).await;
    drop(right);
}

#[tokio::test(start_paused = true)]
async fn the_record_of_a_parent_says_that_its_child_is_suspended() {
    let world = World::new();
    let node = world.node(&copying(flow(None))).await;
    let parent = world.client().start(PARENT, "p", &()).await.unwrap();
    settle().await;
    assert_eq!(world.blocked("p").await, None);
    let child = world.client().instance(FLOW, "child");
    child.suspend("a look at it").await.unwrap();
    let told =
        "suspended: its child `child` is suspended: suspended: a look at it: resume that one";
    assert_eq!(world.blocked("p").await.as_deref(), Some(told));
    let waited = parent.wait().timeout(Duration::from_secs(1)).await;
    let waited = waited.unwrap_err().to_string();
    assert_eq!(
        waited,
        format!("instance `p` had not ended after 1s: {told}")
    );
    child.resume().await.unwrap();
    settle().await;
    assert_eq!(world.blocked("p").await, None);
    drop(node);
}
