//! A hard stop overtakes whatever waits before it, and whatever stops the instance.

use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::{InboxSeq, InstanceStatus, Provider};
use durable_runtime::{
    EventName, Failure, FailureKind, Orchestration, OrchestrationContext, Registry, RuntimeOptions,
};

use crate::faulty::Fault;
use crate::world::{World, other_code, settle, stop};

const FLOW: Orchestration<(), ()> = Orchestration::new("flow");
const GO: EventName<u32> = EventName::new("go");
/// More than two pages of an inbox.
const MANY: u32 = 2_500;

/// Panics at its first event.
fn registry() -> Registry {
    Registry::builder()
        .orchestration(FLOW, |ctx: OrchestrationContext, ()| async move {
            let number = ctx.external_event(GO).await?;
            assert_eq!(number, u32::MAX, "as planned");
            Ok::<(), Failure>(())
        })
        .build()
        .unwrap()
}

fn terminated(reason: &str) -> InstanceStatus {
    InstanceStatus::Terminated {
        failure: Failure::new(FailureKind::Terminated, reason),
    }
}

#[tokio::test(start_paused = true)]
async fn a_hard_stop_overtakes_an_inbox_of_many_pages_whose_first_makes_the_code_panic() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let flow = world.client().start(FLOW, "f", &()).await.unwrap();
    settle().await;
    stop(node).await;
    for number in 0..MANY {
        flow.raise(GO, &number).await.unwrap();
    }
    flow.terminate("enough").await.unwrap();
    let inbox = flow.inbox(InboxSeq::default(), usize::MAX).await.unwrap();
    assert_eq!(inbox.messages.len(), MANY as usize + 1);
    let node = world.node(&registry()).await;
    assert!(flow.wait().await.is_err());
    assert_eq!(world.status("f").await, terminated("enough"));
    assert_eq!(
        world.kinds("f", 1).await,
        [
            "OrchestrationStarted",
            "ExternalSubscribed",
            "OrchestrationTerminated"
        ]
    );
    settle().await;
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_suspended_instance_with_a_long_inbox_can_be_terminated() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let flow = world.client().start(FLOW, "f", &()).await.unwrap();
    for number in 0..MANY {
        flow.raise(GO, &number).await.unwrap();
    }
    settle().await;
    assert!(matches!(
        world.status("f").await,
        InstanceStatus::Suspended { .. }
    ));
    flow.terminate("enough").await.unwrap();
    assert!(flow.wait().await.is_err());
    assert_eq!(world.status("f").await, terminated("enough"));
    settle().await;
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_hard_stop_overtakes_a_long_inbox_that_no_node_can_read() {
    let world = World::new();
    let flow = world.client().start(FLOW, "f", &()).await.unwrap();
    for number in 0..MANY {
        flow.raise(GO, &number).await.unwrap();
    }
    flow.terminate("no node has it").await.unwrap();
    let lacking = world.node(&other_code()).await;
    assert!(flow.wait().await.is_err());
    assert_eq!(world.status("f").await, terminated("no node has it"));
    assert_eq!(
        world.kinds("f", 1).await,
        ["OrchestrationStarted", "OrchestrationTerminated"]
    );
    settle().await;
    stop(lacking).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_hard_stop_that_comes_while_the_instance_is_being_suspended_is_not_missed() {
    let world = World::new();
    let store = world.counted();
    let provider = Arc::new(store.clone());
    let node = world
        .node_on(provider, &registry(), RuntimeOptions::default())
        .await;
    let flow = world.client().start(FLOW, "f", &()).await.unwrap();
    settle().await;
    store.follow(|name, _| match name {
        "commit" => Fault::Slow(1_000, 0),
        _ => Fault::None,
    });
    flow.raise(GO, &1).await.unwrap();
    // The turn has panicked, and its commit is on its way.
    tokio::time::sleep(Duration::from_millis(500)).await;
    flow.terminate("enough").await.unwrap();
    let record = world.store.instance(&"f".into()).await.unwrap().unwrap();
    assert_eq!(record.status, InstanceStatus::Running);
    assert!(flow.wait().through_suspension().await.is_err());
    assert_eq!(world.status("f").await, terminated("enough"));
    store.follow(|_, _| Fault::None);
    stop(node).await;
    world.assert_done();
}
