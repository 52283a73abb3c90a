//! Promises: resolved and rejected by clients and by other instances.

use std::time::Duration;

use durable_core::{EventId, ExecutionId};
use durable_runtime::{
    Client, ClientError, EventName, Failure, InstanceHandle, Orchestration, OrchestrationContext,
    PromiseToken, Registry,
};

use crate::world::{World, settle, stop};

const ASK: Orchestration<u32, String> = Orchestration::new("ask");
const ANSWER: Orchestration<(String, Option<String>), ()> = Orchestration::new("answer");
const STOP: EventName<()> = EventName::new("stop");

/// Publishes its token as its custom status, waits for the answer, then waits for
/// the word to stop.
async fn ask(ctx: OrchestrationContext, _: u32) -> Result<String, Failure> {
    let answer = ctx.promise::<String>("answer")?;
    ctx.set_custom_status(&answer.token().to_string())?;
    let answer = answer.await;
    ctx.external_event(STOP).await?;
    answer
}

async fn answer(
    ctx: OrchestrationContext,
    (token, value): (String, Option<String>),
) -> Result<(), Failure> {
    let token: PromiseToken = token.parse().unwrap();
    match value {
        Some(value) => ctx.resolve_promise(token, &value),
        None => {
            let _ = ctx.reject_promise(token, Failure::application("shy", "no answer"));
            Ok(())
        }
    }
}

fn registry() -> Registry {
    Registry::builder()
        .orchestration(ASK, ask)
        .orchestration(ANSWER, answer)
        .build()
        .unwrap()
}

async fn asked(client: &Client, id: &str) -> (InstanceHandle<String>, PromiseToken) {
    let instance = client.start(ASK, id, &0).await.unwrap();
    let record = instance.wait_until(|record| record.custom_status.is_some());
    record.await.unwrap();
    let token: String = instance.custom_status().await.unwrap().unwrap();
    (instance, token.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_client_resolves_a_promise_once() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    let (instance, token) = asked(&client, "ask-1").await;
    assert_eq!(token.to_string(), "ask-1/1/Promise(0)");
    client.resolve_promise(&token, &"first").await.unwrap();
    client.resolve_promise(&token, &"second").await.unwrap();
    settle().await;
    client.resolve_promise(&token, &"third").await.unwrap();
    let rejection = Failure::application("late", "too late");
    client.reject_promise(&token, rejection).await.unwrap();
    settle().await;
    instance.raise(STOP, &()).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), "first");
    stop(node).await;
    let kinds = world.kinds("ask-1", 1).await;
    assert_eq!(kinds[0], "OrchestrationStarted");
    let mut first_step = kinds[1..3].to_vec();
    first_step.sort_unstable();
    assert_eq!(first_step, ["PromiseCreated", "ViewPublished"]);
    assert_eq!(
        kinds[3..],
        [
            "PromiseResolved",
            "ExternalSubscribed",
            "ExternalEvent",
            "OrchestrationCompleted",
        ]
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_client_rejects_a_promise() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    let (instance, token) = asked(&client, "ask-1").await;
    let rejection = Failure::application("shy", "no answer");
    client
        .reject_promise(&token, rejection.clone())
        .await
        .unwrap();
    instance.raise(STOP, &()).await.unwrap();
    let error = instance.wait().await.unwrap_err();
    assert!(matches!(error, ClientError::Failed { failure, .. } if failure == rejection));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn another_orchestration_resolves_or_rejects_a_promise() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    for (id, value) in [("ask-1", Some("yes".to_string())), ("ask-2", None)] {
        let (instance, token) = asked(&client, id).await;
        let input = (token.to_string(), value.clone());
        let answering = client
            .start(ANSWER, format!("to-{id}"), &input)
            .await
            .unwrap();
        answering.wait().await.unwrap();
        instance.raise(STOP, &()).await.unwrap();
        assert_eq!(instance.wait().await.ok(), value);
        assert_eq!(
            world.kinds(&format!("to-{id}"), 1).await,
            [
                "OrchestrationStarted",
                "PromiseResolutionSent",
                "OrchestrationCompleted"
            ]
        );
    }
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_promise_that_is_unknown_is_ignored_and_an_unknown_instance_is_an_error() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    let (instance, token) = asked(&client, "ask-1").await;
    let mut unknown = token.clone();
    unknown.number = 7;
    client.resolve_promise(&unknown, &"no").await.unwrap();
    let mut later = token.clone();
    later.execution_id = ExecutionId::new(2);
    client.resolve_promise(&later, &"no").await.unwrap();
    settle().await;
    assert_eq!(world.kinds("ask-1", 1).await.len(), 3);
    world.assert_idle();
    let mut unknown = token.clone();
    unknown.instance = "absent".into();
    let error = client.resolve_promise(&unknown, &"no").await.unwrap_err();
    assert!(matches!(error, ClientError::NotFound { .. }));
    client.resolve_promise(&token, &"yes").await.unwrap();
    instance.raise(STOP, &()).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), "yes");
    let error = client.resolve_promise(&token, &"again").await.unwrap_err();
    assert!(matches!(error, ClientError::Ended { .. }));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_promise_of_the_execution_before_means_nothing_to_the_next_one() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(ASK, |ctx: OrchestrationContext, round| async move {
            let answer = ctx.promise::<String>("answer")?;
            ctx.set_custom_status(&answer.token().to_string())?;
            if round == 0 {
                ctx.external_event(STOP).await?;
                return ctx.continue_as_new(&1).await;
            }
            answer.await
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let client = node.client();
    let (instance, old) = asked(&client, "ask-1").await;
    instance.raise(STOP, &()).await.unwrap();
    let second = |record: &durable_core::provider::InstanceRecord| {
        record.execution_id == ExecutionId::new(2) && record.last_event_id > EventId::FIRST
    };
    instance.wait_until(second).await.unwrap();
    client.resolve_promise(&old, &"old").await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.assert_idle();
    let token: String = instance.custom_status().await.unwrap().unwrap();
    assert_eq!(token, "ask-1/2/Promise(0)");
    client
        .resolve_promise(&token.parse().unwrap(), &"new")
        .await
        .unwrap();
    assert_eq!(instance.wait().await.unwrap(), "new");
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_promise_that_was_dropped_is_resolved_in_vain() {
    const DROP: Orchestration<u32, u32> = Orchestration::new("drop");
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(DROP, |ctx: OrchestrationContext, n| async move {
            let promise = ctx.promise::<u32>("unwanted")?;
            ctx.set_custom_status(&promise.token().to_string())?;
            ctx.sleep(Duration::from_secs(1)).await?;
            drop(promise);
            ctx.external_event(STOP).await?;
            Ok::<u32, Failure>(n)
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let instance = node.client().start(DROP, "d", &4).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let token: String = instance.custom_status().await.unwrap().unwrap();
    let token: PromiseToken = token.parse().unwrap();
    node.client().resolve_promise(&token, &1).await.unwrap();
    settle().await;
    instance.raise(STOP, &()).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 4);
    stop(node).await;
    let kinds = world.kinds("d", 1).await;
    assert!(!kinds.contains(&"PromiseResolved"), "{kinds:?}");
    world.assert_done();
}
