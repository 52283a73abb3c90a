//! Waiting for the end of an instance: what stops it is told at once, with the reason.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::ProviderError;
use durable_runtime::{
    ClientError, EventName, Failure, FailureKind, InstanceHandle, Orchestration,
    OrchestrationContext, Registry, Runtime, StartError,
};

use crate::faulty::Fault;
use crate::world::{World, settle, stop};

/// Waits for `GO` and does what it says.
const FLOW: Orchestration<(), u32> = Orchestration::new("flow");
const PARENT: Orchestration<(), u32> = Orchestration::new("parent");
const GRANDPARENT: Orchestration<(), u32> = Orchestration::new("grandparent");
const GO: EventName<Step> = EventName::new("go");

#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
enum Step {
    Return(u32),
    Panic,
    SleepOutside,
}

fn registry() -> Registry {
    Registry::builder()
        .orchestration(FLOW, |ctx: OrchestrationContext, ()| async move {
            match ctx.external_event(GO).await? {
                Step::Return(value) => Ok::<_, Failure>(value),
                Step::Panic => panic!("a bug"),
                Step::SleepOutside => {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    pending().await
                }
            }
        })
        .orchestration(PARENT, |ctx: OrchestrationContext, ()| async move {
            let one = ctx.sub_orchestration(FLOW, &()).id("child-1");
            let two = ctx.sub_orchestration(FLOW, &()).id("child-2");
            let (one, two) = tokio::try_join!(one, two)?;
            Ok::<_, Failure>(one + two)
        })
        .orchestration(GRANDPARENT, |ctx: OrchestrationContext, ()| async move {
            ctx.sub_orchestration(PARENT, &()).id("parent").await
        })
        .build()
        .unwrap()
}

#[track_caller]
fn reason(waited: Result<u32, ClientError>) -> Failure {
    match waited {
        Err(ClientError::Suspended { instance, failure }) if instance == "f" => failure,
        other => panic!("{other:?}"),
    }
}

/// Waits in a task of its own; the wait has begun when this returns.
async fn begin_wait(
    instance: InstanceHandle<u32>,
) -> tokio::task::JoinHandle<Result<u32, ClientError>> {
    let waiting = tokio::spawn(async move { instance.wait().await });
    settle().await;
    assert!(!waiting.is_finished());
    waiting
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_an_instance_that_stops_answers_with_the_reason() {
    for (step, kind, text) in [
        (Step::Panic, FailureKind::Panicked, "a bug"),
        (
            Step::SleepOutside,
            FailureKind::DeterminismViolation,
            "tokio::time::sleep",
        ),
    ] {
        let world = World::new();
        let node = world.node(&registry()).await;
        let started = node.client().start(FLOW, "f", &()).await.unwrap();
        settle().await;
        let found = world.client().instance(FLOW, "f");
        let waiting = [
            begin_wait(started.clone()).await,
            begin_wait(found.clone()).await,
        ];
        started.raise(GO, &step).await.unwrap();
        for waiting in waiting {
            let failure = reason(waiting.await.unwrap());
            assert_eq!(failure.kind, kind);
            assert!(failure.message.contains(text), "{failure}");
        }
        // So does a wait that begins afterwards.
        assert_eq!(reason(started.wait().await).kind, kind);
        assert_eq!(reason(found.wait().await).kind, kind);
        stop(node).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_an_instance_that_a_client_suspends_answers_with_the_clients_reason() {
    let world = World::new();
    // No node is there: it is suspended before its first turn.
    let instance = world.client().start(FLOW, "f", &()).await.unwrap();
    let waiting = begin_wait(instance.clone()).await;
    instance.suspend("lunch").await.unwrap();
    let failure = reason(waiting.await.unwrap());
    assert_eq!(failure, Failure::new(FailureKind::Suspended, "lunch"));
    let error = instance.wait().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "instance `f` is suspended: suspended: lunch; it goes on when it is resumed"
    );

    // Once it is resumed, it is waited for again.
    instance.resume().await.unwrap();
    let waiting = begin_wait(instance.clone()).await;
    let node = world.node(&registry()).await;
    instance.raise(GO, &Step::Return(7)).await.unwrap();
    assert_eq!(waiting.await.unwrap(), Ok(7));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_wait_through_suspension_ends_with_the_instance() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let instance = world.client().start(FLOW, "f", &()).await.unwrap();
    let waiting = instance.clone();
    let waiting = tokio::spawn(async move { waiting.wait().through_suspension().await });
    for _ in 0..3 {
        instance.suspend("lunch").await.unwrap();
        settle().await;
        assert!(!waiting.is_finished());
        instance.resume().await.unwrap();
        settle().await;
    }
    instance.raise(GO, &Step::Return(7)).await.unwrap();
    assert_eq!(waiting.await.unwrap(), Ok(7));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_wait_with_a_timeout_gives_up_when_it_is_over_and_not_before() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let instance = world.client().start(FLOW, "f", &()).await.unwrap();
    let timeout = Duration::from_secs(90);
    let began = world.elapsed();
    let error = instance.wait().timeout(timeout).await.unwrap_err();
    assert_eq!(world.elapsed() - began, timeout);
    let expected = ClientError::TimedOut {
        instance: "f".into(),
        timeout,
        blocked: None,
    };
    assert_eq!(error, expected);
    assert_eq!(error.to_string(), "instance `f` had not ended after 90s");

    instance.suspend("lunch").await.unwrap();
    let patient = instance.wait().through_suspension();
    assert_eq!(patient.timeout(timeout).await.unwrap_err(), expected);

    instance.resume().await.unwrap();
    instance.raise(GO, &Step::Return(7)).await.unwrap();
    assert_eq!(instance.wait().timeout(timeout).await, Ok(7));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_gives_up_says_that_no_node_has_the_code() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let unknown = world.client().start::<(), u32>("unknown", "u", &());
    let unknown = unknown.await.unwrap();
    let error = unknown.wait().timeout(Duration::from_secs(1)).await;
    let told = "instance `u` had not ended after 1s: not registered: no node that lives has \
                the orchestration `unknown`: start one that does";
    assert_eq!(error.unwrap_err().to_string(), told);
    stop(node).await;
    let alone = world.client().start(FLOW, "f", &()).await.unwrap();
    let error = alone.wait().timeout(Duration::from_secs(1)).await;
    let told = "instance `f` had not ended after 1s: not registered: no node that lives has \
                the orchestration `flow`: start one that does";
    assert_eq!(error.unwrap_err().to_string(), told);
}

#[tokio::test(start_paused = true)]
async fn the_suspended_children_of_an_instance_are_found_at_any_depth() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = world.client();
    let grandparent = client.start(GRANDPARENT, "g", &()).await.unwrap();
    settle().await;
    assert_eq!(grandparent.suspended_children().await.unwrap(), []);

    let child = client.instance(FLOW, "child-1");
    child.raise(GO, &Step::Panic).await.unwrap();
    settle().await;
    for waiting in [grandparent.clone(), client.instance(PARENT, "parent")] {
        let suspended = waiting.suspended_children().await.unwrap();
        let [suspended] = &suspended[..] else {
            panic!("{suspended:?}");
        };
        assert_eq!(suspended.instance, "child-1");
        assert_eq!(suspended.parent.instance, "parent");
        assert_eq!(suspended.failure.kind, FailureKind::Panicked);
    }
    // What has no children waits for none.
    assert_eq!(child.suspended_children().await.unwrap(), []);

    child.terminate("enough").await.unwrap();
    let failed = grandparent.wait().await.unwrap_err();
    assert!(matches!(failed, ClientError::Failed { .. }), "{failed}");
    assert_eq!(grandparent.suspended_children().await.unwrap(), []);
    settle().await;
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_of_a_store_that_is_gone_gets_its_error_and_does_not_wait() {
    let world = World::new();
    let store = world.counted();
    let client = world.client_on(Arc::new(store.clone()));
    let started = client.start(FLOW, "f", &()).await.unwrap();
    let found = client.instance(FLOW, "f");
    store.follow(|_, _| Fault::Unavailable);
    let gone = |result: Result<u32, ClientError>| {
        let error = result.unwrap_err();
        let is_told = matches!(
            error,
            ClientError::Provider(ProviderError::Unavailable { .. })
        );
        assert!(is_told, "{error}");
    };
    gone(started.wait().await);
    gone(found.wait().through_suspension().await);
    gone(found.raise(GO, &Step::Panic).await.map(|()| 0));
    let another = client.start(FLOW, "g", &()).await;
    gone(another.map(|_| 0));
    let node = Runtime::builder(store, registry()).start().await;
    assert!(matches!(
        node,
        Err(StartError::Provider(ProviderError::Unavailable { .. }))
    ));
    assert_eq!(world.elapsed(), Duration::ZERO);
}
