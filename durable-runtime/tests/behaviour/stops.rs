//! Instances that cannot go on: they are suspended or terminated, never hot-looped,
//! never lost, and go on when the cause is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use durable_core::provider::InstanceStatus;
use durable_runtime::{
    Activity, ClientError, EventName, Failure, FailureKind, FaultPolicy, Orchestration,
    OrchestrationContext, Registry, RegistryBuilder, RuntimeOptions,
};

use crate::faulty::Fault;
use crate::world::{World, settle, stop};

const WORK: Activity<u32, u32> = Activity::new("work");
const FLOW: Orchestration<u32, u32> = Orchestration::new("flow");
const PARENT: Orchestration<u32, u32> = Orchestration::new("parent");
const GO: EventName<u32> = EventName::new("go");

fn with_work(ran: &Arc<AtomicU32>) -> RegistryBuilder {
    let ran = ran.clone();
    Registry::builder().activity(WORK, move |_, n| {
        ran.fetch_add(1, Ordering::Relaxed);
        async move { Ok::<_, Failure>(n + 1) }
    })
}

fn terminating() -> RuntimeOptions {
    RuntimeOptions::default().fault_policy(FaultPolicy::Terminate)
}

async fn suspension(world: &World, id: &str) -> Failure {
    match world.status(id).await {
        InstanceStatus::Suspended { failure } => failure,
        status => panic!("{id} is {status:?}"),
    }
}

/// Calls `work` twice; what comes between is up to the caller.
fn between<R>(
    builder: RegistryBuilder,
    code: impl Fn(OrchestrationContext) -> R + Clone + Send + Sync + 'static,
) -> Registry
where
    R: Future<Output = Result<(), Failure>> + Send + 'static,
{
    builder
        .orchestration(FLOW, move |ctx: OrchestrationContext, n| {
            let code = code.clone();
            async move {
                let n = ctx.activity(WORK, &n).await?;
                code(ctx.clone()).await?;
                ctx.activity(WORK, &n).await
            }
        })
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_panic_suspends_and_fixed_code_goes_on_without_repeating_anything() {
    let world = World::new();
    let ran = Arc::new(AtomicU32::new(0));
    let store = world.counted();
    let broken = between(with_work(&ran), |_| async { panic!("a bug") });
    let node = world
        .node_on(Arc::new(store.clone()), &broken, RuntimeOptions::default())
        .await;
    let instance = node.client().start(FLOW, "f", &1).await.unwrap();
    settle().await;
    let failure = suspension(&world, "f").await;
    assert_eq!(failure.kind, FailureKind::Panicked);
    assert!(failure.message.contains("a bug"), "{failure}");
    let (commits, fetches) = (store.calls("commit"), store.calls("fetch_instances"));
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(store.calls("commit"), commits, "it does not run again");
    let idle_fetches = store.calls("fetch_instances") - fetches;
    assert!(idle_fetches <= 61, "{idle_fetches} in an hour");
    // The result that led to the panic is kept for the next attempt.
    assert_eq!(world.kinds("f", 1).await.len(), 2);
    let snapshot = world.store.snapshot();
    assert_eq!(snapshot.instances["f"].inbox.len(), 1);
    assert!(snapshot.work.is_empty());
    stop(node).await;

    let fixed = between(with_work(&ran), |_| async { Ok(()) });
    let node = world.node(&fixed).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    suspension(&world, "f").await;
    instance.resume().await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 3);
    assert_eq!(ran.load(Ordering::Relaxed), 2);
    stop(node).await;
    assert_eq!(world.kinds("f", 1).await.len(), 6);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn resuming_before_the_cause_is_gone_suspends_again() {
    let world = World::new();
    let ran = Arc::new(AtomicU32::new(0));
    let store = world.counted();
    let broken = between(with_work(&ran), |_| async { panic!("a bug") });
    let node = world
        .node_on(Arc::new(store.clone()), &broken, RuntimeOptions::default())
        .await;
    let instance = node.client().start(FLOW, "f", &1).await.unwrap();
    settle().await;
    for _ in 0..5 {
        let commits = store.calls("commit");
        instance.resume().await.unwrap();
        settle().await;
        suspension(&world, "f").await;
        assert_eq!(store.calls("commit"), commits + 1, "one turn each");
    }
    assert_eq!(ran.load(Ordering::Relaxed), 1);
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_terminates_if_the_policy_says_so_and_the_parent_is_told() {
    let world = World::new();
    let ran = Arc::new(AtomicU32::new(0));
    let builder = with_work(&ran)
        .orchestration(PARENT, |ctx: OrchestrationContext, n| async move {
            ctx.sub_orchestration(FLOW, &n).id("f").await
        });
    let broken = between(builder, |_| async { panic!("a bug") });
    let node = world.node_with(&broken, terminating()).await;
    let parent = node.client().start(PARENT, "p", &1).await.unwrap();
    let error = parent.wait().await.unwrap_err();
    let ClientError::Failed { failure, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(failure.kind, FailureKind::Panicked);
    assert!(matches!(
        world.status("f").await,
        InstanceStatus::Terminated { .. }
    ));
    assert_eq!(
        world.kinds("f", 1).await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "OrchestrationTerminated"
        ]
    );
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_first_step_terminates_with_a_history_that_has_a_start() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(FLOW, |_: OrchestrationContext, n: u32| async move {
            assert_ne!(n, 1, "a bug");
            Ok::<_, Failure>(n)
        })
        .build()
        .unwrap();
    let node = world.node_with(&registry, terminating()).await;
    let instance = node.client().start(FLOW, "f", &1).await.unwrap();
    instance.wait().await.unwrap_err();
    assert_eq!(
        world.kinds("f", 1).await,
        ["OrchestrationStarted", "OrchestrationTerminated"]
    );
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn changed_code_suspends_with_a_violation_that_names_the_event() {
    let world = World::new();
    let ran = Arc::new(AtomicU32::new(0));
    let waiting = |ctx: OrchestrationContext| async move { ctx.external_event(GO).await.map(drop) };
    let original = between(with_work(&ran), waiting);
    let node = world.node(&original).await;
    let instance = node.client().start(FLOW, "f", &1).await.unwrap();
    settle().await;
    stop(node).await;

    let changed = between(with_work(&ran), |ctx| async move {
        ctx.sleep(Duration::from_secs(1)).await
    });
    let store = world.counted();
    let node = world
        .node_on(Arc::new(store.clone()), &changed, RuntimeOptions::default())
        .await;
    instance.raise(GO, &1).await.unwrap();
    settle().await;
    let failure = suspension(&world, "f").await;
    assert_eq!(failure.kind, FailureKind::DeterminismViolation);
    for part in ["event 4", "ExternalSubscribed", "TimerCreated"] {
        assert!(failure.message.contains(part), "{failure}");
    }
    let turns = store.calls("commit");
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!((turns, store.calls("commit")), (1, 1), "never hot-looped");
    stop(node).await;

    let node = world.node(&original).await;
    instance.resume().await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 3);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn changed_code_terminates_if_the_policy_says_so() {
    let world = World::new();
    let ran = Arc::new(AtomicU32::new(0));
    let waiting = |ctx: OrchestrationContext| async move { ctx.external_event(GO).await.map(drop) };
    let node = world.node(&between(with_work(&ran), waiting)).await;
    let instance = node.client().start(FLOW, "f", &1).await.unwrap();
    settle().await;
    stop(node).await;
    let changed = between(with_work(&ran), |_| async { Ok(()) });
    let node = world.node_with(&changed, terminating()).await;
    instance.raise(GO, &1).await.unwrap();
    let error = instance.wait().await.unwrap_err();
    let ClientError::Failed { failure, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(failure.kind, FailureKind::DeterminismViolation);
    assert_eq!(
        world.kinds("f", 1).await.last(),
        Some(&"OrchestrationTerminated")
    );
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn code_that_is_not_deterministic_is_found_by_verification() {
    let world = World::new();
    let calls = Arc::new(AtomicU32::new(0));
    let registry = Registry::builder()
        .orchestration(FLOW, move |ctx: OrchestrationContext, n: u32| {
            let call = calls.fetch_add(1, Ordering::Relaxed);
            async move {
                ctx.set_state(format!("key-{call}"), &n)?;
                ctx.external_event(GO).await
            }
        })
        .build()
        .unwrap();
    let options = RuntimeOptions::default().verify_replay(true);
    let node = world.node_with(&registry, options).await;
    let _instance = node.client().start(FLOW, "f", &1).await.unwrap();
    settle().await;
    let failure = suspension(&world, "f").await;
    assert_eq!(failure.kind, FailureKind::DeterminismViolation);
    assert!(failure.message.contains("key-0"), "{failure}");
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn a_damaged_history_suspends_the_one_instance_and_goes_on_when_it_is_repaired() {
    let world = World::new();
    let ran = Arc::new(AtomicU32::new(0));
    let waiting = |ctx: OrchestrationContext| async move { ctx.external_event(GO).await.map(drop) };
    let registry = between(with_work(&ran), waiting);
    let node = world.node(&registry).await;
    let client = node.client();
    let hurt = client.start(FLOW, "hurt", &1).await.unwrap();
    let sound = client.start(FLOW, "sound", &1).await.unwrap();
    settle().await;
    stop(node).await;

    let damaged = world.counted();
    damaged.damage("hurt");
    let node = world
        .node_on(
            Arc::new(damaged.clone()),
            &registry,
            RuntimeOptions::default(),
        )
        .await;
    hurt.raise(GO, &1).await.unwrap();
    sound.raise(GO, &1).await.unwrap();
    assert_eq!(sound.wait().await.unwrap(), 3);
    let failure = suspension(&world, "hurt").await;
    assert_eq!(failure.kind, FailureKind::CorruptHistory);
    assert!(failure.message.contains("event 2 of hurt"), "{failure}");
    let reads = damaged.calls("history");
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(damaged.calls("history"), reads);
    damaged.repair();
    hurt.resume().await.unwrap();
    assert_eq!(hurt.wait().await.unwrap(), 3);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_instance_with_a_damaged_history_can_be_terminated() {
    let world = World::new();
    let ran = Arc::new(AtomicU32::new(0));
    let waiting = |ctx: OrchestrationContext| async move { ctx.external_event(GO).await.map(drop) };
    let builder = with_work(&ran)
        .orchestration(PARENT, |ctx: OrchestrationContext, n| async move {
            ctx.sub_orchestration(FLOW, &n).id("hurt").await
        });
    let registry = between(builder, waiting);
    let node = world.node(&registry).await;
    let client = node.client();
    let parent = client.start(PARENT, "p", &1).await.unwrap();
    settle().await;
    stop(node).await;
    let damaged = world.counted();
    damaged.damage("hurt");
    let node = world
        .node_on(Arc::new(damaged), &registry, RuntimeOptions::default())
        .await;
    let hurt = client.instance(FLOW, "hurt");
    hurt.terminate("beyond repair").await.unwrap();
    hurt.wait().await.unwrap_err();
    let error = parent.wait().await.unwrap_err();
    assert!(error.to_string().contains("beyond repair"), "{error}");
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn code_that_awaits_something_foreign_is_suspended_and_told_so() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(FLOW, |_: OrchestrationContext, n| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok::<_, Failure>(n)
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let _instance = node.client().start(FLOW, "f", &1).await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let failure = suspension(&world, "f").await;
    assert_eq!(failure.kind, FailureKind::DeterminismViolation);
    assert!(failure.message.contains("not durable"), "{failure}");
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn a_foreign_wake_up_while_something_durable_is_open_is_found_too() {
    for policy in [FaultPolicy::Suspend, FaultPolicy::Terminate] {
        let world = World::new();
        let registry = Registry::builder()
            .orchestration(FLOW, |ctx: OrchestrationContext, n| async move {
                tokio::select! {
                    biased;
                    event = ctx.external_event(GO) => event,
                    () = tokio::time::sleep(Duration::from_secs(1)) => Ok::<_, Failure>(n),
                }
            })
            .build()
            .unwrap();
        let options = RuntimeOptions::default().fault_policy(policy);
        let node = world.node_with(&registry, options).await;
        let instance = node.client().start(FLOW, "f", &1).await.unwrap();
        tokio::time::sleep(Duration::from_secs(10)).await;
        let failure = match (policy, world.status("f").await) {
            (FaultPolicy::Suspend, InstanceStatus::Suspended { failure })
            | (FaultPolicy::Terminate, InstanceStatus::Terminated { failure }) => failure,
            (_, status) => panic!("{status:?}"),
        };
        assert!(failure.message.contains("not durable"), "{failure}");
        assert_eq!(
            world.kinds("f", 1).await[..2],
            ["OrchestrationStarted", "ExternalSubscribed"]
        );
        let _ = instance.terminate("done").await;
        settle().await;
        stop(node).await;
        world.assert_done();
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_takes_its_nodes_down_is_suspended_after_a_while() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(FLOW, |_: OrchestrationContext, n| async move {
            Ok::<_, Failure>(n)
        })
        .build()
        .unwrap();
    let instance = world.client().start(FLOW, "f", &1).await.unwrap();
    let max_crashes = RuntimeOptions::default().max_crashes;
    for _ in 0..max_crashes {
        let dying = world.faulty(|name, _| match name {
            "commit" => Fault::DieBefore,
            _ => Fault::None,
        });
        let node = world
            .node_on(
                Arc::new(dying.clone()),
                &registry,
                RuntimeOptions::default(),
            )
            .await;
        dying.died().await;
        drop(node);
        world.pass_heartbeat_bound().await;
    }
    let node = world.node(&registry).await;
    settle().await;
    let failure = suspension(&world, "f").await;
    assert_eq!(failure.kind, FailureKind::Poisoned);
    assert_eq!(
        failure.message,
        "5 nodes died while they ran this instance: resume it when the cause is gone"
    );
    instance.resume().await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 1);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_ended_instance_stays_ended_whatever_reaches_it_and_its_code_is_not_run() {
    let world = World::new();
    let node_registry = Registry::builder()
        .orchestration(FLOW, |_: OrchestrationContext, n| async move {
            Ok::<_, Failure>(n)
        })
        .build()
        .unwrap();
    let node = world.node(&node_registry).await;
    let instance = node.client().start(FLOW, "f", &1).await.unwrap();
    instance.wait().await.unwrap();
    stop(node).await;
    // A parent that cannot know that it ended starts it as a child, and the code has
    // changed beyond recognition.
    let changed = Registry::builder()
        .orchestration(FLOW, |_: OrchestrationContext, _: u32| async move {
            panic!("never run");
            #[allow(unreachable_code)]
            Ok::<u32, Failure>(0)
        })
        .orchestration(PARENT, |ctx: OrchestrationContext, n| async move {
            let taken = ctx.sub_orchestration(FLOW, &n).id("f").await.unwrap_err();
            assert_eq!(taken.kind, FailureKind::InstanceExists);
            Ok::<_, Failure>(n)
        })
        .build()
        .unwrap();
    let node = world.node_with(&changed, terminating()).await;
    let parent = node.client().start(PARENT, "p", &5).await.unwrap();
    assert_eq!(parent.wait().await.unwrap(), 5);
    assert!(matches!(
        world.status("f").await,
        InstanceStatus::Completed { .. }
    ));
    assert_eq!(world.kinds("f", 1).await.len(), 2);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn whole_steps_before_the_fault_are_kept() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(FLOW, |ctx: OrchestrationContext, _| async move {
            let mut sum = 0;
            loop {
                let n = ctx.external_event(GO).await?;
                assert_ne!(n, 3, "a bug");
                sum += n;
                if n == 9 {
                    return Ok::<_, Failure>(sum);
                }
            }
        })
        .build()
        .unwrap();
    let instance = world.client().start(FLOW, "f", &0).await.unwrap();
    for n in [1, 2, 3, 4] {
        instance.raise(GO, &n).await.unwrap();
    }
    // All four come in one turn.
    let node = world.node(&registry).await;
    settle().await;
    suspension(&world, "f").await;
    assert_eq!(world.kinds("f", 1).await.len(), 6, "two events were read");
    let inbox = &world.store.snapshot().instances["f"].inbox;
    assert_eq!(inbox.len(), 2, "the third and the fourth wait");
    stop(node).await;
}
