//! Cancelling, terminating, suspending and resuming.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use durable_core::provider::InstanceStatus;
use durable_runtime::{
    Activity, ActivityContext, ClientError, EventName, Failure, FailureKind, Orchestration,
    OrchestrationContext, Registry,
};

use crate::faulty::Fault;
use crate::world::{World, other_code, settle, stop};

const BOOK: Activity<String, String> = Activity::new("book");
const UNDO: Activity<String, String> = Activity::new("undo");
const TRIP: Orchestration<u32, Vec<String>> = Orchestration::new("trip");
const GO: EventName<()> = EventName::new("go");

type Log = Arc<Mutex<Vec<String>>>;

/// Books three things, ten seconds each. Whatever goes wrong, what was booked is
/// undone, last one first.
async fn trip(ctx: OrchestrationContext, _: u32) -> Result<Vec<String>, Failure> {
    let mut booked = Vec::new();
    for what in ["flight", "hotel", "car"] {
        match ctx.activity(BOOK, &what.to_string()).await {
            Ok(receipt) => booked.push(receipt),
            Err(failure) => {
                while let Some(receipt) = booked.pop() {
                    ctx.activity(UNDO, &receipt).await?;
                }
                return Err(failure);
            }
        }
    }
    Ok(booked)
}

fn agency(log: &Log) -> Registry {
    let note = |log: &Log, what: &'static str| {
        let log = log.clone();
        move |_: ActivityContext, thing: String| {
            let log = log.clone();
            async move {
                tokio::time::sleep(Duration::from_secs(10)).await;
                log.lock().unwrap().push(format!("{what} {thing}"));
                Ok::<_, Failure>(thing)
            }
        }
    };
    Registry::builder()
        .orchestration(TRIP, trip)
        .activity(BOOK, note(log, "book"))
        .activity(UNDO, note(log, "undo"))
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_saga_undoes_what_it_did_when_it_is_cancelled() {
    let world = World::new();
    let log = Log::default();
    let node = world.node(&agency(&log)).await;
    let instance = node.client().start(TRIP, "trip-1", &0).await.unwrap();
    tokio::time::sleep(Duration::from_secs(25)).await;
    instance.cancel("rain").await.unwrap();
    instance.cancel("snow").await.unwrap();
    let error = instance.wait().await.unwrap_err();
    let ClientError::Failed { failure, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(failure, Failure::cancelled("rain"));
    // The car is booked on: no node interrupts it, and its result is dropped.
    assert_eq!(
        *log.lock().unwrap(),
        [
            "book flight",
            "book hotel",
            "book car",
            "undo hotel",
            "undo flight"
        ]
    );
    assert_eq!(world.elapsed(), Duration::from_secs(45));
    stop(node).await;
    assert_eq!(
        world.kinds("trip-1", 1).await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityCompleted",
            "ActivityScheduled",
            "ActivityCompleted",
            "ActivityScheduled",
            "OrchestrationCancelRequested",
            "ActivityCancelRequested",
            "ActivityScheduled",
            "ActivityCompleted",
            "ActivityScheduled",
            "ActivityCompleted",
            "OrchestrationFailed",
        ]
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_orchestration_may_finish_its_work() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(TRIP, |ctx: OrchestrationContext, _| async move {
            let cancelled = ctx.sleep(Duration::from_secs(3600)).await.unwrap_err();
            assert!(cancelled.is_cancelled() && ctx.is_cancelled());
            // What comes after the cancellation is not cancelled.
            ctx.sleep(Duration::from_secs(5)).await?;
            Ok::<_, Failure>(vec![ctx.cancel_reason().unwrap()])
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let instance = node.client().start(TRIP, "trip-1", &0).await.unwrap();
    settle().await;
    instance.cancel("rain").await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), ["rain"]);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn terminating_ends_at_once_and_runs_no_code() {
    let world = World::new();
    let log = Log::default();
    let node = world.node(&agency(&log)).await;
    let instance = node.client().start(TRIP, "trip-1", &0).await.unwrap();
    tokio::time::sleep(Duration::from_secs(15)).await;
    instance.terminate("bankrupt").await.unwrap();
    let error = instance.wait().await.unwrap_err();
    assert!(matches!(
        error,
        ClientError::Failed { failure, .. }
            if failure == Failure::new(FailureKind::Terminated, "bankrupt")
    ));
    assert_eq!(world.elapsed(), Duration::from_secs(15));
    tokio::time::sleep(Duration::from_secs(60)).await;
    stop(node).await;
    assert_eq!(*log.lock().unwrap(), ["book flight", "book hotel"]);
    assert_eq!(
        world.kinds("trip-1", 1).await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityCompleted",
            "ActivityScheduled",
            "OrchestrationTerminated",
        ]
    );
    let error = instance.terminate("again").await.unwrap_err();
    assert!(matches!(error, ClientError::Ended { .. }));
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_never_ran_can_be_terminated() {
    let world = World::new();
    let instance = world.client().start(TRIP, "trip-1", &0).await.unwrap();
    instance.terminate("never mind").await.unwrap();
    // The node does not even have the code.
    let node = world.node(&other_code()).await;
    instance.wait().await.unwrap_err();
    stop(node).await;
    assert_eq!(
        world.kinds("trip-1", 1).await,
        ["OrchestrationStarted", "OrchestrationTerminated"]
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_suspended_instance_can_be_terminated_without_running_its_code() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(TRIP, |_: OrchestrationContext, _| async move {
            panic!("at every attempt");
            #[allow(unreachable_code)]
            Ok::<_, Failure>(Vec::new())
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let instance = node.client().start(TRIP, "trip-1", &0).await.unwrap();
    settle().await;
    assert!(matches!(
        world.status("trip-1").await,
        InstanceStatus::Suspended { .. }
    ));
    instance.terminate("hopeless").await.unwrap();
    let error = instance.wait().await.unwrap_err();
    assert!(error.to_string().contains("hopeless"), "{error}");
    stop(node).await;
    assert_eq!(
        world.kinds("trip-1", 1).await,
        ["OrchestrationStarted", "OrchestrationTerminated"]
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn terminating_interrupts_a_side_effect() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(TRIP, |ctx: OrchestrationContext, _| async move {
            let stuck = std::future::pending::<Result<Vec<String>, Failure>>();
            ctx.run("stuck", stuck).await
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let instance = node.client().start(TRIP, "trip-1", &0).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    instance.terminate("stuck").await.unwrap();
    instance.wait().await.unwrap_err();
    assert_eq!(world.elapsed(), Duration::from_secs(5));
    stop(node).await;
    assert_eq!(
        world.kinds("trip-1", 1).await,
        ["OrchestrationStarted", "OrchestrationTerminated"]
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_hard_stop_that_comes_too_late_changes_nothing() {
    let world = World::new();
    let store = world.counted();
    let registry = Registry::builder()
        .orchestration(TRIP, |ctx: OrchestrationContext, _| async move {
            ctx.external_event(GO).await?;
            Ok::<_, Failure>(vec!["done".to_string()])
        })
        .build()
        .unwrap();
    let node = world
        .node_on(Arc::new(store.clone()), &registry, Default::default())
        .await;
    let instance = world.client().start(TRIP, "trip-1", &0).await.unwrap();
    settle().await;
    // The end is on its way to the store when the hard stop arrives there.
    store.follow(|name, _| match name {
        "commit" => Fault::Slow(1_000, 0),
        _ => Fault::None,
    });
    instance.raise(GO, &()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    instance.terminate("too late").await.unwrap();
    instance.cancel("too late as well").await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), ["done"]);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(instance.wait().await.unwrap(), ["done"]);
    stop(node).await;
    assert_eq!(
        world.kinds("trip-1", 1).await.last(),
        Some(&"OrchestrationCompleted")
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn results_that_come_while_an_instance_is_suspended_are_neither_lost_nor_repeated() {
    let world = World::new();
    let log = Log::default();
    let node = world.node(&agency(&log)).await;
    let instance = node.client().start(TRIP, "trip-1", &0).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    instance.suspend("audit").await.unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(*log.lock().unwrap(), ["book flight"]);
    let record = instance.record().await.unwrap();
    let InstanceStatus::Suspended { failure } = record.status else {
        panic!("{record:?}");
    };
    assert_eq!(failure.message, "audit");
    let snapshot = world.store.snapshot();
    assert!(
        snapshot.work.is_empty(),
        "the result is in the inbox: {:?}",
        snapshot.work
    );
    assert_eq!(snapshot.instances["trip-1"].inbox.len(), 1);
    assert_eq!(world.kinds("trip-1", 1).await.len(), 2);
    instance.resume().await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), ["flight", "hotel", "car"]);
    assert_eq!(
        *log.lock().unwrap(),
        ["book flight", "book hotel", "book car"]
    );
    stop(node).await;
    assert_eq!(world.kinds("trip-1", 1).await.len(), 8);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn suspending_and_resuming_while_an_activity_runs_changes_nothing() {
    let world = World::new();
    let log = Log::default();
    let node = world.node(&agency(&log)).await;
    let instance = node.client().start(TRIP, "trip-1", &0).await.unwrap();
    for _ in 0..14 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        instance.suspend("audit").await.unwrap();
        instance.suspend("again").await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        instance.resume().await.unwrap();
        instance.resume().await.unwrap();
    }
    assert_eq!(instance.wait().await.unwrap(), ["flight", "hotel", "car"]);
    assert_eq!(
        *log.lock().unwrap(),
        ["book flight", "book hotel", "book car"]
    );
    stop(node).await;
    assert_eq!(world.kinds("trip-1", 1).await.len(), 8);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn resuming_an_idle_instance_costs_one_turn() {
    let world = World::new();
    let store = world.counted();
    let registry = Registry::builder()
        .orchestration(TRIP, |ctx: OrchestrationContext, _| async move {
            ctx.external_event(GO).await?;
            Ok::<_, Failure>(Vec::new())
        })
        .build()
        .unwrap();
    let node = world
        .node_on(Arc::new(store.clone()), &registry, Default::default())
        .await;
    let instance = node.client().start(TRIP, "trip-1", &0).await.unwrap();
    settle().await;
    let commits = store.calls("commit");
    instance.suspend("lunch").await.unwrap();
    instance.resume().await.unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(store.calls("commit"), commits + 1);
    assert_eq!(store.calls("release"), 0);
    instance.raise(GO, &()).await.unwrap();
    instance.wait().await.unwrap();
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn clients_of_unknown_and_ended_instances_are_told_so() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(TRIP, |_: OrchestrationContext, _| async move {
            Ok::<_, Failure>(Vec::new())
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let client = node.client();
    let unknown = client.instance(TRIP, "absent");
    for answer in [
        unknown.cancel("x").await,
        unknown.terminate("x").await,
        unknown.suspend("x").await,
        unknown.resume().await,
        unknown.wait().await.map(drop),
        unknown.record().await.map(drop),
    ] {
        assert!(
            matches!(answer, Err(ClientError::NotFound { .. })),
            "{answer:?}"
        );
    }
    let ended = client.start(TRIP, "trip-1", &0).await.unwrap();
    ended.wait().await.unwrap();
    for answer in [
        ended.cancel("x").await,
        ended.terminate("x").await,
        ended.suspend("x").await,
        ended.resume().await,
    ] {
        assert!(
            matches!(answer, Err(ClientError::Ended { .. })),
            "{answer:?}"
        );
    }
    stop(node).await;
    world.assert_done();
}
