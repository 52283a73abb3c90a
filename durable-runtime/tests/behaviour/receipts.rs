//! Receipts: the sender of an event is told whether it has a receiver.

use std::time::Duration;

use durable_core::provider::StatusKind;
use durable_runtime::{
    EventName, Failure, FailureKind, InstanceStatus, Orchestration, OrchestrationContext, Registry,
};

use crate::world::{World, settle, stop};

const NEWS: EventName<u32> = EventName::new("news");
const READER: Orchestration<(), u32> = Orchestration::new("reader");
const SENDER: Orchestration<Vec<String>, Vec<String>> = Orchestration::new("sender");

async fn reader(ctx: OrchestrationContext, (): ()) -> Result<u32, Failure> {
    ctx.external_event(NEWS).await
}

fn told(receipt: Result<(), Failure>) -> String {
    receipt.map_or_else(|failure| failure.to_string(), |()| "delivered".into())
}

/// Sends an event to one instance after the other.
async fn sender(ctx: OrchestrationContext, targets: Vec<String>) -> Result<Vec<String>, Failure> {
    let mut receipts = Vec::new();
    for target in targets {
        receipts.push(told(ctx.send_event(target, NEWS, &7).await));
    }
    Ok(receipts)
}

fn registry() -> Registry {
    Registry::builder()
        .orchestration(READER, reader)
        .orchestration(SENDER, sender)
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_sender_is_told_what_became_of_its_events() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    let reader = client.start(READER, "reader", &()).await.unwrap();
    let targets = ["reader", "absent", "reader"].map(String::from).to_vec();
    // The reader ends before the third event is sent: the second receipt comes after it.
    let input = targets[..2].to_vec();
    let sender = client.start(SENDER, "s-1", &input).await.unwrap();
    let unknown = "unknown instance: there is no instance with the id `absent`";
    assert_eq!(sender.wait().await.unwrap(), ["delivered", unknown]);
    assert_eq!(reader.wait().await.unwrap(), 7);
    let input = targets[2..].to_vec();
    let sender = client.start(SENDER, "s-2", &input).await.unwrap();
    let ended = "instance ended: the instance `reader` has ended";
    assert_eq!(sender.wait().await.unwrap(), [ended]);
    stop(node).await;
    assert_eq!(
        world.kinds("s-1", 1).await,
        [
            "OrchestrationStarted",
            "ExternalEventSent",
            "ExternalEventDelivered",
            "ExternalEventSent",
            "ExternalEventUndeliverable",
            "OrchestrationCompleted",
        ]
    );
    assert_eq!(world.kinds("reader", 1).await.len(), 4);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_receipt_is_waited_for_across_nodes_and_replays() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let input = vec!["absent".to_owned(), "s-1".to_owned(), "absent".to_owned()];
    let sender = node.client().start(SENDER, "s-1", &input).await.unwrap();
    let receipts = sender.wait().await.unwrap();
    assert_eq!(receipts.len(), 3);
    assert_eq!(receipts[1], "delivered");
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_suspended_instance_is_a_receiver() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    let reader = client.start(READER, "reader", &()).await.unwrap();
    settle().await;
    reader.suspend("lunch").await.unwrap();
    let input = vec!["reader".to_owned()];
    let sender = client.start(SENDER, "s-1", &input).await.unwrap();
    assert_eq!(sender.wait().await.unwrap(), ["delivered"]);
    reader.resume().await.unwrap();
    assert_eq!(reader.wait().await.unwrap(), 7);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_sender_that_no_longer_waits_is_not_disturbed_by_the_receipt() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(
            SENDER,
            |ctx: OrchestrationContext, targets: Vec<String>| async move {
                for target in targets {
                    tokio::select! {
                        biased;
                        receipt = ctx.send_event(target, NEWS, &1) => drop(told(receipt)),
                        () = std::future::ready(()) => {}
                    }
                }
                ctx.sleep(Duration::from_secs(1)).await?;
                Ok::<_, Failure>(Vec::new())
            },
        )
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let input = vec!["absent".to_owned()];
    let sender = node.client().start(SENDER, "s-1", &input).await.unwrap();
    assert!(sender.wait().await.unwrap().is_empty());
    stop(node).await;
    assert_eq!(
        world.kinds("s-1", 1).await,
        [
            "OrchestrationStarted",
            "TimerCreated",
            "TimerFired",
            "OrchestrationCompleted",
        ],
        "it was dropped in the poll that made it: nothing was sent"
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_is_cancelled_stops_to_wait_for_a_receipt() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(READER, |ctx: OrchestrationContext, ()| async move {
            let cancelled = ctx.external_event(NEWS).await.unwrap_err();
            assert_eq!(cancelled.kind, FailureKind::Cancelled);
            // Clean-up code can still send.
            ctx.send_event("absent", NEWS, &1).await.map(|()| 0)
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let reader = node.client().start(READER, "reader", &()).await.unwrap();
    settle().await;
    reader.cancel("enough").await.unwrap();
    let _ = reader.wait().await.unwrap_err();
    let status = reader.record().await.unwrap().status;
    assert_eq!(status.kind(), StatusKind::Failed);
    let InstanceStatus::Failed { failure } = status else {
        panic!("{status:?}");
    };
    assert_eq!(failure.kind, FailureKind::UnknownInstance);
    stop(node).await;
    world.assert_done();
}
