//! External events: raised by clients, sent by other instances.

use std::time::Duration;

use durable_core::Event;
use durable_runtime::{
    ClientError, EventName, Failure, FailureKind, InstanceRecord, InstanceStatus, Orchestration,
    OrchestrationContext, Registry, StatusKind,
};

use crate::world::{World, settle, stop};

const NUMBER: EventName<u32> = EventName::new("number");
const COLLECT: Orchestration<u32, Vec<u32>> = Orchestration::new("collect");
const LOOK: Orchestration<u32, Vec<Option<u32>>> = Orchestration::new("look");
/// Reads so many numbers from one stream, sleeps a second, and then looks for one more.
const READ: Orchestration<u32, (Vec<u32>, Option<u32>)> = Orchestration::new("read");
/// Reads until it is cancelled.
const READ_ON: Orchestration<(), Vec<String>> = Orchestration::new("read-on");
const STARE: Orchestration<(), u32> = Orchestration::new("stare");
const SEND: Orchestration<(String, Vec<u32>), ()> = Orchestration::new("send");

/// Sleeps a second, then reads so many numbers.
async fn collect(ctx: OrchestrationContext, count: u32) -> Result<Vec<u32>, Failure> {
    ctx.sleep(Duration::from_secs(1)).await?;
    let mut numbers = Vec::new();
    for _ in 0..count {
        numbers.push(ctx.external_event(NUMBER).await?);
    }
    Ok(numbers)
}

async fn send(
    ctx: OrchestrationContext,
    (target, numbers): (String, Vec<u32>),
) -> Result<(), Failure> {
    for number in numbers {
        ctx.send_event(target.as_str(), NUMBER, &number).detach()?;
    }
    Ok(())
}

/// Sleeps a second before each look: so many looks.
async fn look(ctx: OrchestrationContext, count: u32) -> Result<Vec<Option<u32>>, Failure> {
    let mut seen = Vec::new();
    for _ in 0..count {
        ctx.sleep(Duration::from_secs(1)).await?;
        seen.push(ctx.try_external_event(NUMBER).await?);
    }
    Ok(seen)
}

async fn read(ctx: OrchestrationContext, count: u32) -> Result<(Vec<u32>, Option<u32>), Failure> {
    let mut numbers = Vec::new();
    let mut stream = ctx.external_events(NUMBER);
    for _ in 0..count {
        numbers.extend(stream.next().await.transpose()?);
    }
    drop(stream);
    ctx.sleep(Duration::from_secs(1)).await?;
    Ok((numbers, ctx.try_external_event(NUMBER).await?))
}

async fn read_on(ctx: OrchestrationContext, (): ()) -> Result<Vec<String>, Failure> {
    let mut seen = Vec::new();
    let mut numbers = ctx.external_events(NUMBER);
    while let Some(number) = numbers.next().await {
        seen.push(match number {
            Ok(number) => number.to_string(),
            Err(failure) => failure.kind.to_string(),
        });
    }
    Ok(seen)
}

/// Does nothing but look.
async fn stare(ctx: OrchestrationContext, (): ()) -> Result<u32, Failure> {
    loop {
        if let Some(number) = ctx.try_external_event(NUMBER).await? {
            return Ok(number);
        }
    }
}

fn registry() -> Registry {
    Registry::builder()
        .orchestration(COLLECT, collect)
        .orchestration(LOOK, look)
        .orchestration(STARE, stare)
        .orchestration(READ, read)
        .orchestration(READ_ON, read_on)
        .orchestration(SEND, send)
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn events_that_come_before_anybody_waits_are_kept_in_order() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let instance = node.client().start(COLLECT, "c-1", &3).await.unwrap();
    for number in [3, 1, 2] {
        instance.raise(NUMBER, &number).await.unwrap();
    }
    assert_eq!(instance.wait().await.unwrap(), [3, 1, 2]);
    stop(node).await;
    assert_eq!(
        world.kinds("c-1", 1).await,
        [
            "OrchestrationStarted",
            "TimerCreated",
            "ExternalEvent",
            "ExternalEvent",
            "ExternalEvent",
            "TimerFired",
            "ExternalSubscribed",
            "ExternalSubscribed",
            "ExternalSubscribed",
            "OrchestrationCompleted",
        ]
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_event_wakes_who_waits_for_it() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let instance = node.client().start(COLLECT, "c-1", &2).await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    instance.raise(NUMBER, &7).await.unwrap();
    settle().await;
    assert_eq!(
        world.kinds("c-1", 1).await[3..],
        ["ExternalSubscribed", "ExternalEvent", "ExternalSubscribed"]
    );
    instance.raise("another", &9).await.unwrap();
    instance.raise(NUMBER, &8).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), [7, 8]);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_raised_again_with_its_message_id_is_not_repeated() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let instance = node.client().start(COLLECT, "c-1", &2).await.unwrap();
    for _ in 0..3 {
        instance.raise_with_id("m-1", NUMBER, &1).await.unwrap();
        instance.raise_with_id("m-1", NUMBER, &1).await.unwrap();
        settle().await;
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    instance.raise_with_id("m-1", NUMBER, &1).await.unwrap();
    settle().await;
    instance.raise_with_id("m-2", NUMBER, &2).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), [1, 2]);
    stop(node).await;
    let history = world.history("c-1", 1).await;
    let raised = history.iter().filter_map(|entry| match &entry.event {
        Event::ExternalEvent { message_id, .. } => Some(message_id.as_str()),
        _ => None,
    });
    assert_eq!(raised.collect::<Vec<_>>(), ["m-1", "m-2"]);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_unknown_or_finished_instance_is_a_typed_error() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    let unknown = client.instance(COLLECT, "absent");
    let error = unknown.raise(NUMBER, &1).await.unwrap_err();
    assert!(matches!(error, ClientError::NotFound { instance } if instance == "absent"));
    let instance = client.start(COLLECT, "c-1", &0).await.unwrap();
    instance.wait().await.unwrap();
    let error = instance.raise(NUMBER, &1).await.unwrap_err();
    assert!(matches!(error, ClientError::Ended { instance } if instance == "c-1"));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn events_for_a_suspended_instance_wait_until_it_is_resumed() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let instance = node.client().start(COLLECT, "c-1", &2).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    instance.suspend("lunch").await.unwrap();
    instance.raise(NUMBER, &1).await.unwrap();
    instance.raise(NUMBER, &2).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(
        world.kinds("c-1", 1).await.last(),
        Some(&"ExternalSubscribed")
    );
    assert_eq!(world.store.snapshot().instances["c-1"].inbox.len(), 2);
    instance.resume().await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), [1, 2]);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn instances_send_events_to_each_other() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    let collector = client.start(COLLECT, "c-1", &3).await.unwrap();
    let input = ("c-1".to_string(), vec![5, 6, 7]);
    let sender = client.start(SEND, "s-1", &input).await.unwrap();
    sender.wait().await.unwrap();
    assert_eq!(collector.wait().await.unwrap(), [5, 6, 7]);
    let input = ("absent".to_string(), vec![1]);
    let sender = client.start(SEND, "s-2", &input).await.unwrap();
    sender.wait().await.unwrap();
    let input = ("c-1".to_string(), vec![1]);
    let sender = client.start(SEND, "s-3", &input).await.unwrap();
    sender.wait().await.unwrap();
    stop(node).await;
    assert_eq!(
        world.kinds("s-1", 1).await,
        [
            "OrchestrationStarted",
            "ExternalEventSent",
            "ExternalEventSent",
            "ExternalEventSent",
            "OrchestrationCompleted",
        ]
    );
    assert_eq!(world.kinds("c-1", 1).await.len(), 10);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_instance_can_send_an_event_to_itself() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(COLLECT, |ctx: OrchestrationContext, number| async move {
            ctx.send_event(ctx.instance_id(), NUMBER, &number)
                .detach()?;
            Ok::<_, Failure>(vec![ctx.external_event(NUMBER).await?])
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let instance = node.client().start(COLLECT, "c-1", &4).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), [4]);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn data_of_another_type_is_a_failure_that_names_the_event() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let instance = node.client().start(COLLECT, "c-1", &1).await.unwrap();
    instance.raise("number", &"seven").await.unwrap();
    let error = instance.wait().await.unwrap_err().to_string();
    assert!(error.contains("event `number`"), "{error}");
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_thousand_events_at_once_are_read_in_order() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let instance = node.client().start(COLLECT, "c-1", &1_000).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    for number in 0..1_000 {
        instance.raise(NUMBER, &number).await.unwrap();
    }
    let numbers = instance.wait().await.unwrap();
    assert_eq!(numbers, (0..1_000).collect::<Vec<_>>());
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_event_that_reaches_a_wait_that_is_given_up_goes_to_the_next_one() {
    const BOTH: Orchestration<u32, (u32, u32)> = Orchestration::new("both");
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(BOTH, |ctx: OrchestrationContext, _: u32| async move {
            // Given up before anything came.
            durable_runtime::select! {
                _ = ctx.external_event::<u32>("left") => return Err(too_early()),
                timer = ctx.sleep(Duration::from_secs(1)) => timer?,
            }
            // One of two that are there is taken, and the other wait is given up.
            let left = durable_runtime::select! {
                left = ctx.external_event::<u32>("left") => left?,
                _ = ctx.external_event::<u32>("right") => return Err(too_early()),
            };
            Ok::<_, Failure>((left, ctx.external_event("right").await?))
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let both = node.client().start(BOTH, "b", &0).await.unwrap();
    settle().await;
    both.suspend("until both are there").await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    both.raise("left", &1).await.unwrap();
    both.raise("right", &2).await.unwrap();
    both.resume().await.unwrap();
    assert_eq!(both.wait().await.unwrap(), (1, 2));
    stop(node).await;
    world.assert_done();
}

fn too_early() -> Failure {
    Failure::application("early", "it came too early")
}

#[tokio::test(start_paused = true)]
async fn an_event_for_no_instance_is_no_failure_of_its_sender() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    let ended = client.start(COLLECT, "ended", &0).await.unwrap();
    assert!(ended.wait().await.unwrap().is_empty());
    let before = world.history("ended", 1).await;
    for (id, target) in [("s1", "ended"), ("s2", "absent")] {
        let input = (target.to_owned(), vec![1, 2]);
        let sender = client.start(SEND, id, &input).await.unwrap();
        sender.wait().await.unwrap();
    }
    stop(node).await;
    assert_eq!(world.history("ended", 1).await, before);
    assert!(!world.store.snapshot().instances.contains_key("absent"));
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_event_that_does_not_decode_fails_one_await_and_the_next_one_gets_the_next_event() {
    const TOLERANT: Orchestration<(), (u32, Vec<String>)> = Orchestration::new("tolerant");
    let registry = Registry::builder()
        .orchestration(TOLERANT, |ctx: OrchestrationContext, ()| async move {
            let mut skipped = Vec::new();
            loop {
                match ctx.external_event(NUMBER).await {
                    Ok(number) => return Ok::<_, Failure>((number, skipped)),
                    Err(failure) if failure.kind == FailureKind::InvalidPayload => {
                        skipped.push(failure.message);
                    }
                    Err(failure) => return Err(failure),
                }
            }
        })
        .build()
        .unwrap();
    let world = World::new();
    let first = world.node(&registry).await;
    let tolerant = world.client().start(TOLERANT, "t", &()).await.unwrap();
    settle().await;
    tolerant.raise("number", &"seven").await.unwrap();
    settle().await;
    stop(first).await;
    // Another node replays the failure, and reads on.
    let second = world.node(&registry).await;
    tolerant.raise("number", &-7).await.unwrap();
    tolerant.raise(NUMBER, &7).await.unwrap();
    let (number, skipped) = tolerant.wait().await.unwrap();
    assert_eq!(number, 7);
    assert_eq!(skipped.len(), 2);
    assert!(
        skipped[0].starts_with("the result of event `number` (event 2) does not decode as `u32`: "),
        "{skipped:?}"
    );
    stop(second).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_look_takes_what_is_there_and_waits_for_nothing() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let instance = node.client().start(LOOK, "l-1", &4).await.unwrap();
    for number in [3, 1] {
        instance.raise(NUMBER, &number).await.unwrap();
    }
    assert_eq!(
        instance.wait().await.unwrap(),
        [Some(3), Some(1), None, None]
    );
    stop(node).await;
    assert_eq!(
        world.kinds("l-1", 1).await,
        [
            "OrchestrationStarted",
            "TimerCreated",
            "ExternalEvent",
            "ExternalEvent",
            "TimerFired",
            "ExternalSubscribed",
            "TimerCreated",
            "TimerFired",
            "ExternalSubscribed",
            "TimerCreated",
            "TimerFired",
            "TimerCreated",
            "TimerFired",
            "OrchestrationCompleted",
        ]
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_no_value_of_the_type_is_read_by_a_look() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let instance = node.client().start(LOOK, "l-1", &1).await.unwrap();
    instance.raise("number", &"many").await.unwrap();
    let error = instance.wait().await.unwrap_err().to_string();
    assert!(error.contains("event `number`"), "{error}");
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn code_that_does_nothing_but_look_is_stopped() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let instance = node.client().start(STARE, "s-1", &()).await.unwrap();
    let is_suspended = |record: &InstanceRecord| record.status.kind() == StatusKind::Suspended;
    let record = instance.wait_until(is_suspended).await.unwrap();
    let InstanceStatus::Suspended { failure } = record.status else {
        panic!("not suspended");
    };
    assert_eq!(failure.kind, FailureKind::DeterminismViolation);
    assert_eq!(
        failure.message,
        "after event 1 the orchestration wakes itself again and again, or looks for events that \
         are not there, and does nothing else: await what it waits for"
    );
    instance.terminate("enough").await.unwrap();
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_subscribes_once_and_leaves_what_it_did_not_read() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let instance = node.client().start(READ, "r-1", &3).await.unwrap();
    settle().await;
    for number in [3, 1, 2, 9] {
        instance.raise(NUMBER, &number).await.unwrap();
        settle().await;
    }
    assert_eq!(instance.wait().await.unwrap(), (vec![3, 1, 2], Some(9)));
    stop(node).await;
    assert_eq!(
        world.kinds("r-1", 1).await,
        [
            "OrchestrationStarted",
            "ExternalEventsSubscribed",
            "ExternalEvent",
            "ExternalEvent",
            "ExternalEvent",
            "TimerCreated",
            "ExternalEvent",
            "TimerFired",
            "ExternalSubscribed",
            "OrchestrationCompleted",
        ]
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_stream_goes_on_after_what_does_not_decode_and_ends_when_it_is_cancelled() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let instance = node.client().start(READ_ON, "r-1", &()).await.unwrap();
    instance.raise(NUMBER, &1).await.unwrap();
    instance.raise("number", &"two").await.unwrap();
    instance.raise(NUMBER, &3).await.unwrap();
    settle().await;
    instance.cancel("enough").await.unwrap();
    assert_eq!(
        instance.wait().await.unwrap(),
        ["1", "invalid payload", "3", "cancelled"]
    );
    stop(node).await;
    world.assert_done();
}
