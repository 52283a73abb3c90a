//! Sub-orchestrations and detached starts.

use std::time::Duration;

use durable_core::provider::{InstanceStatus, Message, MessageBody, OutgoingMessage, Provider};
use durable_core::{Event, EventId, ExecutionId, InstanceId};
use durable_runtime::{
    ClientError, EventName, Failure, FailureKind, Orchestration, OrchestrationContext, Registry,
    RegistryBuilder,
};

use crate::world::{World, settle, stop};

const PARENT: Orchestration<u32, u32> = Orchestration::new("parent");
const CHILD: Orchestration<u32, u32> = Orchestration::new("child");
const GO: EventName<()> = EventName::new("go");

fn double(builder: RegistryBuilder) -> Registry {
    builder
        .orchestration(CHILD, |_: OrchestrationContext, n| async move {
            Ok::<_, Failure>(2 * n)
        })
        .build()
        .unwrap()
}

fn parent<R>(
    code: impl Fn(OrchestrationContext, u32) -> R + Send + Sync + 'static,
) -> RegistryBuilder
where
    R: Future<Output = Result<u32, Failure>> + Send + 'static,
{
    Registry::builder().orchestration(PARENT, code)
}

#[tokio::test(start_paused = true)]
async fn a_child_answers_under_a_derived_or_a_given_id() {
    let world = World::new();
    let registry = double(parent(|ctx, n| async move {
        let first = ctx.sub_orchestration(CHILD, &n).await?;
        ctx.sub_orchestration(CHILD, &first).id("given").await
    }));
    let node = world.node(&registry).await;
    let instance = node.client().start(PARENT, "p", &3).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 12);
    stop(node).await;
    assert_eq!(
        world.kinds("p", 1).await,
        [
            "OrchestrationStarted",
            "SubOrchestrationScheduled",
            "SubOrchestrationCompleted",
            "SubOrchestrationScheduled",
            "SubOrchestrationCompleted",
            "OrchestrationCompleted",
        ]
    );
    for child in ["p/1/2", "given"] {
        assert_eq!(
            world.kinds(child, 1).await,
            ["OrchestrationStarted", "OrchestrationCompleted"]
        );
    }
    let Event::OrchestrationStarted { parent, .. } = &world.history("given", 1).await[0].event
    else {
        panic!("no start");
    };
    let parent = parent.as_ref().unwrap();
    assert_eq!(parent.instance, "p");
    assert_eq!((parent.execution_id.get(), parent.event_id.get()), (1, 4));
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_child_runs_the_newest_version_or_the_one_that_is_asked_for() {
    let world = World::new();
    let version = |number: u32| {
        move |_: OrchestrationContext, _: u32| async move { Ok::<_, Failure>(number) }
    };
    let registry = parent(|ctx, n| async move {
        let newest = ctx.sub_orchestration(CHILD, &n).await?;
        let old = ctx.sub_orchestration(CHILD.at("1.2.0"), &n).await?;
        Ok(newest * 10 + old)
    })
    .orchestration(CHILD.at("1.2.0"), version(1))
    .orchestration(CHILD.at("1.10.0"), version(2))
    .build()
    .unwrap();
    let node = world.node(&registry).await;
    let instance = node.client().start(PARENT, "p", &0).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 21);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_childs_failure_is_a_value() {
    let world = World::new();
    let declined = || Failure::application("declined", "no").with_details("{\"code\":7}");
    let registry = parent(|ctx, n| async move {
        let failure = ctx.sub_orchestration(CHILD, &n).await.unwrap_err();
        assert_eq!(failure.details.as_deref(), Some("{\"code\":7}"));
        Err(failure)
    })
    .orchestration(CHILD, move |_: OrchestrationContext, _| async move {
        Err::<u32, _>(declined())
    })
    .build()
    .unwrap();
    let node = world.node(&registry).await;
    let instance = node.client().start(PARENT, "p", &0).await.unwrap();
    let error = instance.wait().await.unwrap_err();
    assert!(matches!(error, ClientError::Failed { failure, .. } if failure == declined()));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_child_id_that_is_taken_is_a_failure_of_the_call() {
    let world = World::new();
    let registry = parent(|ctx, _| async move {
        let running = ctx.sub_orchestration(CHILD, &1).id("running").await;
        let ended = ctx.sub_orchestration(CHILD, &1).id("ended").await;
        for taken in [running, ended] {
            assert_eq!(taken.unwrap_err().kind, FailureKind::InstanceExists);
        }
        let own = ctx.sub_orchestration(CHILD, &1).id(ctx.instance_id()).await;
        assert_eq!(own.unwrap_err().kind, FailureKind::InstanceExists);
        ctx.send_event("running", GO, &()).detach()?;
        Ok(5)
    })
    .orchestration(CHILD, |ctx: OrchestrationContext, n| async move {
        if n == 0 {
            ctx.external_event(GO).await?;
        }
        Ok::<_, Failure>(n)
    })
    .build()
    .unwrap();
    let node = world.node(&registry).await;
    let client = node.client();
    let running = client.start(CHILD, "running", &0).await.unwrap();
    client
        .start(CHILD, "ended", &9)
        .await
        .unwrap()
        .wait()
        .await
        .unwrap();
    let instance = client.start(PARENT, "p", &0).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 5);
    assert_eq!(running.wait().await.unwrap(), 0);
    stop(node).await;
    assert_eq!(
        world.kinds("ended", 1).await.len(),
        2,
        "it did not run again"
    );
    world.assert_done();
}

/// A tree: each node has two children, and the leaves wait for ever.
fn tree() -> Registry {
    Registry::builder()
        .orchestration(PARENT, |ctx: OrchestrationContext, depth: u32| async move {
            if depth == 0 {
                ctx.external_event(GO).await?;
                return Ok(1);
            }
            let child = || ctx.sub_orchestration(PARENT, &(depth - 1));
            let (left, right) = futures::future::join(child(), child()).await;
            Ok::<_, Failure>(left? + right?)
        })
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn cancellation_goes_down_a_tree_of_children() {
    let world = World::new();
    let node = world.node(&tree()).await;
    let instance = node.client().start(PARENT, "root", &3).await.unwrap();
    settle().await;
    assert_eq!(world.store.snapshot().instances.len(), 15);
    instance.cancel("enough").await.unwrap();
    let error = instance.wait().await.unwrap_err();
    assert!(matches!(error, ClientError::Failed { failure, .. } if failure.is_cancelled()));
    settle().await;
    assert_eq!(
        world.kinds("root", 1).await,
        [
            "OrchestrationStarted",
            "SubOrchestrationScheduled",
            "SubOrchestrationScheduled",
            "OrchestrationCancelRequested",
            "SubOrchestrationCancelRequested",
            "SubOrchestrationCancelRequested",
            "OrchestrationFailed",
        ]
    );
    for (id, instance) in world.store.snapshot().instances {
        let InstanceStatus::Failed { failure } = instance.record.status else {
            panic!("{id}: {:?}", instance.record.status);
        };
        assert_eq!(failure.kind, FailureKind::Cancelled, "{id}");
    }
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn terminating_a_parent_asks_its_children_to_stop() {
    let world = World::new();
    let node = world.node(&tree()).await;
    let instance = node.client().start(PARENT, "root", &3).await.unwrap();
    settle().await;
    instance.terminate("off").await.unwrap();
    instance.wait().await.unwrap_err();
    settle().await;
    assert_eq!(
        world.kinds("root", 1).await,
        [
            "OrchestrationStarted",
            "SubOrchestrationScheduled",
            "SubOrchestrationScheduled",
            "OrchestrationTerminated",
        ]
    );
    stop(node).await;
    world.assert_done();
    assert_eq!(world.store.snapshot().instances.len(), 15);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_child_asks_it_to_stop_and_its_answer_is_not_recorded() {
    let world = World::new();
    let registry = parent(|ctx, n| async move {
        tokio::select! {
            child = ctx.sub_orchestration(CHILD, &n).id("c") => return child,
            timer = ctx.sleep(Duration::from_secs(1)) => timer?,
        }
        ctx.sleep(Duration::from_secs(60)).await?;
        Ok(7)
    })
    .orchestration(CHILD, |ctx: OrchestrationContext, n| async move {
        let cancelled = ctx.external_event(GO).await.unwrap_err();
        assert!(cancelled.is_cancelled());
        assert_eq!(
            ctx.cancel_reason().as_deref(),
            Some("its parent no longer waits for it")
        );
        ctx.sleep(Duration::from_secs(10)).await?;
        Ok::<_, Failure>(n)
    })
    .build()
    .unwrap();
    let node = world.node(&registry).await;
    let instance = node.client().start(PARENT, "p", &0).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 7);
    stop(node).await;
    assert_eq!(
        world.kinds("c", 1).await,
        [
            "OrchestrationStarted",
            "ExternalSubscribed",
            "OrchestrationCancelRequested",
            "TimerCreated",
            "TimerFired",
            "OrchestrationCompleted",
        ]
    );
    let kinds = world.kinds("p", 1).await;
    assert!(kinds.contains(&"SubOrchestrationCancelRequested"));
    assert!(!kinds.contains(&"SubOrchestrationCompleted"), "{kinds:?}");
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn the_answer_of_a_child_does_not_reach_a_later_execution() {
    let world = World::new();
    let registry = parent(|ctx, round| async move {
        if round == 1 {
            ctx.sleep(Duration::from_secs(60)).await?;
            return Ok(9);
        }
        let mut child = std::pin::pin!(ctx.sub_orchestration(CHILD, &0).id("c"));
        tokio::select! {
            biased;
            child = &mut child => child,
            timer = ctx.sleep(Duration::from_secs(1)) => {
                timer?;
                ctx.continue_as_new(&1).await
            }
        }
    })
    .orchestration(CHILD, |ctx: OrchestrationContext, n| async move {
        ctx.external_event(GO).await.unwrap_err();
        Ok::<_, Failure>(n)
    })
    .build()
    .unwrap();
    let node = world.node(&registry).await;
    let instance = node.client().start(PARENT, "p", &0).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 9);
    stop(node).await;
    assert_eq!(
        world.kinds("p", 2).await,
        [
            "OrchestrationStarted",
            "TimerCreated",
            "TimerFired",
            "OrchestrationCompleted"
        ]
    );
    assert_eq!(
        world.kinds("c", 1).await.last(),
        Some(&"OrchestrationCompleted")
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_start_that_the_store_delivers_twice_starts_one_child() {
    let world = World::new();
    let registry = parent(|ctx, n| async move { ctx.sub_orchestration(CHILD, &n).id("c").await })
        .orchestration(CHILD, |ctx: OrchestrationContext, n| async move {
            ctx.external_event(GO).await?;
            Ok::<_, Failure>(n)
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let instance = node.client().start(PARENT, "p", &4).await.unwrap();
    settle().await;
    // An answer that comes twice is recorded once.
    let child = node.client().instance(CHILD, "c");
    let body = MessageBody::SubOrchestrationFinished {
        execution_id: ExecutionId::FIRST,
        source_event_id: EventId::new(2),
        result: Ok("8".into()),
    };
    let message = Message::new("again".into(), body);
    let answer = OutgoingMessage::new(InstanceId::from("p"), message);
    child.raise(GO, &()).await.unwrap();
    let _ = world.store.send(answer).await.unwrap();
    let result = instance.wait().await.unwrap();
    assert!(result == 4 || result == 8);
    stop(node).await;
    assert_eq!(world.kinds("p", 1).await.len(), 4);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_detached_start_outlives_its_starter_and_a_taken_id_changes_nothing() {
    let world = World::new();
    let registry = parent(|ctx, n| async move {
        ctx.start_detached(CHILD, "free", &n)?;
        ctx.start_detached(CHILD, "free", &100)?;
        Ok(n)
    })
    .orchestration(CHILD, |ctx: OrchestrationContext, n| async move {
        ctx.sleep(Duration::from_secs(60)).await?;
        Ok::<_, Failure>(n + 1)
    })
    .build()
    .unwrap();
    let node = world.node(&registry).await;
    let client = node.client();
    let instance = client.start(PARENT, "p", &1).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 1);
    assert_eq!(world.elapsed(), Duration::ZERO);
    let free = client.instance(CHILD, "free");
    assert_eq!(free.wait().await.unwrap(), 2);
    stop(node).await;
    assert_eq!(
        world.kinds("p", 1).await,
        [
            "OrchestrationStarted",
            "OrchestrationChained",
            "OrchestrationChained",
            "OrchestrationCompleted",
        ]
    );
    let record = world.store.instance(&"free".into()).await.unwrap().unwrap();
    assert_eq!(record.parent, None);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_child_that_continues_as_new_answers_from_its_last_execution() {
    let world = World::new();
    let registry = parent(|ctx, n| async move { ctx.sub_orchestration(CHILD, &n).id("c").await })
        .orchestration(CHILD, |ctx: OrchestrationContext, n| async move {
            if n < 5 {
                return ctx.continue_as_new(&(n + 1)).await;
            }
            Ok::<_, Failure>(n)
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let instance = node.client().start(PARENT, "p", &1).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 5);
    stop(node).await;
    let executions = world.store.executions(&"c".into()).await.unwrap();
    assert_eq!(executions.len(), 5);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_child_that_is_terminated_fails_its_parents_call() {
    let world = World::new();
    let registry = parent(|ctx, n| async move { ctx.sub_orchestration(CHILD, &n).id("c").await })
        .orchestration(CHILD, |ctx: OrchestrationContext, n| async move {
            ctx.external_event(GO).await?;
            Ok::<_, Failure>(n)
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let client = node.client();
    let instance = client.start(PARENT, "p", &1).await.unwrap();
    settle().await;
    client.instance(CHILD, "c").terminate("off").await.unwrap();
    let error = instance.wait().await.unwrap_err();
    let ClientError::Failed { failure, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(failure, Failure::new(FailureKind::Terminated, "off"));
    stop(node).await;
    world.assert_done();
}
