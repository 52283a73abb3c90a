//! What a start may bring: events, a delay, a deadline.

use std::time::{Duration, UNIX_EPOCH};

use durable_core::provider::StatusKind;
use durable_runtime::{
    ClientError, EventName, Failure, FailureKind, IdReuse, InstanceStatus, Orchestration,
    OrchestrationContext, Registry,
};

use crate::world::{EPOCH_MS, World, other_code, pass, settle, stop};

const ITEM: EventName<u32> = EventName::new("item");
const COLLECT: Orchestration<u32, Vec<u32>> = Orchestration::new("collect");
const LOOP: Orchestration<u32, ()> = Orchestration::new("loop");

async fn collect(ctx: OrchestrationContext, count: u32) -> Result<Vec<u32>, Failure> {
    let mut items = Vec::new();
    for _ in 0..count {
        items.push(ctx.external_event(ITEM).await?);
    }
    Ok(items)
}

/// Goes on for ever, in one execution after the other.
async fn go_round(ctx: OrchestrationContext, round: u32) -> Result<(), Failure> {
    ctx.sleep(Duration::from_secs(1)).await?;
    ctx.continue_as_new(&(round + 1)).await
}

fn registry() -> Registry {
    Registry::builder()
        .orchestration(COLLECT, collect)
        .orchestration(LOOP, go_round)
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_start_with_events_starts_or_reaches_an_instance() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    let first = client.start(COLLECT, "c", &3).with_event(ITEM, &1);
    let first = first.with_event(ITEM, &2).await.unwrap();
    assert!(first.was_started());
    settle().await;
    let second = client.start(COLLECT, "c", &9).with_event(ITEM, &3);
    let second = second.await.unwrap();
    assert!(!second.was_started());
    assert_eq!(second.wait().await.unwrap(), [1, 2, 3]);
    let third = client.start(COLLECT, "c", &1).with_event(ITEM, &4).await;
    assert!(matches!(third, Err(ClientError::Taken { .. })), "{third:?}");
    let fourth = client.start(COLLECT, "c", &1).with_event(ITEM, &5);
    let fourth = fourth.reuse(IdReuse::RestartEnded).await.unwrap();
    assert!(fourth.was_started());
    assert_eq!(fourth.wait().await.unwrap(), [5]);
    stop(node).await;
    assert_eq!(
        world.kinds("c", 1).await,
        [
            "OrchestrationStarted",
            "ExternalSubscribed",
            "ExternalSubscribed",
            "ExternalSubscribed",
            "ExternalEvent",
            "OrchestrationCompleted",
        ],
        "the events of the start come with it"
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_start_with_an_event_is_repeated_by_its_message_id() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    for _ in 0..3 {
        let start = client.start(COLLECT, "c", &3).with_event(ITEM, &1);
        start.message_id("s-1").await.unwrap();
        settle().await;
    }
    for _ in 0..3 {
        let start = client.start(COLLECT, "c", &3).with_event(ITEM, &2);
        start.message_id("s-2").await.unwrap();
        settle().await;
    }
    let last = client.start(COLLECT, "c", &3).with_event(ITEM, &3);
    assert_eq!(last.await.unwrap().wait().await.unwrap(), [1, 2, 3]);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_bad_event_starts_nothing() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let refused = node.client().start(COLLECT, "c", &1).with_event("", &1);
    let refused = refused.await.unwrap_err();
    assert!(matches!(refused, ClientError::Refused(_)), "{refused:?}");
    let record = node.client().instance(COLLECT, "c").record().await;
    assert!(matches!(record, Err(ClientError::NotFound { .. })));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_delayed_start_is_pending_until_its_time_has_come() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let hour = Duration::from_secs(3_600);
    let begins = UNIX_EPOCH + Duration::from_millis(EPOCH_MS) + hour;
    let start = node.client().start(COLLECT, "c", &2).at(begins);
    let instance = start.with_event(ITEM, &1).await.unwrap();
    instance.raise(ITEM, &2).await.unwrap();
    pass(hour - Duration::from_secs(1)).await;
    let record = instance.record().await.unwrap();
    assert_eq!(record.status.kind(), StatusKind::Pending);
    assert_eq!(record.begins_at_ms, Some(EPOCH_MS + 3_600_000));
    assert_eq!(instance.wait().await.unwrap(), [1, 2]);
    assert_eq!(world.elapsed(), hour);
    let record = instance.record().await.unwrap();
    assert_eq!(record.begins_at_ms, None);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn what_is_cancelled_or_terminated_does_not_wait_for_its_begin() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    let day = Duration::from_secs(86_400);
    let cancelled = client.start(COLLECT, "c", &1).after(day).await.unwrap();
    let terminated = client.start(COLLECT, "t", &1).after(day).await.unwrap();
    settle().await;
    cancelled.cancel("enough").await.unwrap();
    terminated.terminate("enough").await.unwrap();
    let _ = cancelled.wait().await.unwrap_err();
    let _ = terminated.wait().await.unwrap_err();
    assert!(world.elapsed() < Duration::from_secs(60));
    let kind = async |id| world.status(id).await.kind();
    assert_eq!(kind("c").await, StatusKind::Failed);
    assert_eq!(kind("t").await, StatusKind::Terminated);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_orchestration_starts_with_events_what_does_not_run() {
    const STARTER: Orchestration<(String, u32), ()> = Orchestration::new("starter");
    async fn starter(ctx: OrchestrationContext, (id, item): (String, u32)) -> Result<(), Failure> {
        ctx.detached(COLLECT, id.as_str(), &2)
            .with_event(ITEM, &item)
            .with_event(ITEM, &(item + 1))
            .reuse(IdReuse::RestartEnded)
            .start()
    }
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(COLLECT, collect)
        .orchestration(STARTER, starter)
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let client = node.client();
    for (starter, item) in [("s-1", 1), ("s-2", 5)] {
        let input = ("c".to_owned(), item);
        let started = client.start(STARTER, starter, &input).await.unwrap();
        started.wait().await.unwrap();
        let collector = client.instance(COLLECT, "c");
        let is_done = |record: &durable_runtime::InstanceRecord| record.status.kind().is_ended();
        collector.wait_until(is_done).await.unwrap();
        assert_eq!(collector.wait().await.unwrap(), [item, item + 1]);
    }
    let running = client.start(COLLECT, "r", &3).await.unwrap();
    settle().await;
    let input = ("r".to_owned(), 7);
    client.start(STARTER, "s-3", &input).await.unwrap();
    settle().await;
    running.raise(ITEM, &9).await.unwrap();
    assert_eq!(running.wait().await.unwrap(), [7, 8, 9]);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_orchestration_starts_with_a_delay_and_a_deadline() {
    const STARTER: Orchestration<(), ()> = Orchestration::new("starter");
    async fn starter(ctx: OrchestrationContext, (): ()) -> Result<(), Failure> {
        let hour = Duration::from_secs(3_600);
        ctx.detached(COLLECT, "c", &1)
            .after(hour)
            .deadline(2 * hour)
            .start()
    }
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(COLLECT, collect)
        .orchestration(STARTER, starter)
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let client = node.client();
    let starter = client.start(STARTER, "s", &()).await.unwrap();
    starter.wait().await.unwrap();
    let collector = client.instance(COLLECT, "c");
    let record = collector.record().await.unwrap();
    assert_eq!(record.begins_at_ms, Some(EPOCH_MS + 3_600_000));
    let _ = collector.wait().await.unwrap_err();
    assert_eq!(world.elapsed(), Duration::from_secs(7_200));
    let failure = termination(&world, "c").await;
    assert_eq!(failure.kind, FailureKind::Timeout);
    stop(node).await;
    world.assert_done();
}

/// What an instance of the world was terminated with.
async fn termination(world: &World, id: &str) -> Failure {
    match world.status(id).await {
        InstanceStatus::Terminated { failure } => failure,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_ends_at_its_deadline_through_all_its_executions() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let within = Duration::from_millis(10_500);
    let start = node.client().start(LOOP, "l", &0).deadline(within);
    let instance = start.await.unwrap();
    let _ = instance.wait().await.unwrap_err();
    assert!(world.elapsed() >= within && world.elapsed() < within + Duration::from_secs(1));
    let failure = termination(&world, "l").await;
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert!(failure.message.contains("deadline"), "{failure}");
    let executions = instance.executions().await.unwrap().len();
    assert_eq!(executions, 11);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_ends_in_time_keeps_no_deadline() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let start = node.client().start(COLLECT, "c", &1).with_event(ITEM, &1);
    let instance = start.deadline(Duration::from_secs(5)).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), [1]);
    pass(Duration::from_secs(10)).await;
    let kind = world.status("c").await.kind();
    assert_eq!(kind, StatusKind::Completed);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_deadline_passes_without_the_code_while_suspended_and_before_the_begin() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    let within = Duration::from_secs(60);
    let suspended = client.start(COLLECT, "s", &1).deadline(within);
    let suspended = suspended.await.unwrap();
    settle().await;
    suspended.suspend("lunch").await.unwrap();
    stop(node).await;
    // From here on no node has the code.
    let client = world.client();
    let start = client.start(COLLECT, "unserved", &1).deadline(within);
    let unserved = start.await.unwrap();
    let start = client.start(COLLECT, "delayed", &1).deadline(within);
    let delayed = start.after(Duration::from_secs(3_600)).await.unwrap();
    let node = world.node(&other_code()).await;
    for instance in [&suspended, &unserved, &delayed] {
        let _ = instance.wait().through_suspension().await.unwrap_err();
    }
    assert!(world.elapsed() < Duration::from_secs(120));
    for id in ["s", "unserved", "delayed"] {
        assert_eq!(termination(&world, id).await.kind, FailureKind::Timeout);
    }
    assert_eq!(
        world.kinds("delayed", 1).await,
        ["OrchestrationStarted", "OrchestrationTerminated"]
    );
    stop(node).await;
    world.assert_done();
}
