//! Telling activities that their orchestration no longer waits for them.

use std::time::Duration;

use durable_core::Name;
use durable_runtime::{
    Activity, ActivityContext, Failure, FaultPolicy, Orchestration, OrchestrationContext, Registry,
    RegistryBuilder, RuntimeOptions,
};
use tokio::sync::mpsc;

use crate::world::{World, settle, stop};

const LONG: Activity<(), u32> = Activity::new("long");
const CALL: Orchestration<u32, u32> = Orchestration::new("call");

/// An activity that ends when it is cancelled, and reports when that was.
fn reporting(
    builder: RegistryBuilder,
    world: &World,
) -> (Registry, mpsc::UnboundedReceiver<Duration>) {
    let (reports, told) = mpsc::unbounded_channel();
    let began = tokio::time::Instant::now();
    assert_eq!(world.elapsed(), Duration::ZERO);
    let registry = builder
        .activity(LONG, move |ctx: ActivityContext, ()| {
            let reports = reports.clone();
            async move {
                assert!(!ctx.is_cancelled());
                ctx.cancelled().await;
                assert!(ctx.is_cancelled());
                reports.send(began.elapsed()).unwrap();
                Err(Failure::cancelled("the orchestration no longer waits"))
            }
        })
        .build()
        .unwrap();
    (registry, told)
}

fn one_second(ctx: &OrchestrationContext) -> impl Future<Output = Result<(), Failure>> + use<> {
    ctx.sleep(Duration::from_secs(1))
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_tells_its_activity_at_once() {
    let world = World::new();
    let builder =
        Registry::builder().orchestration(CALL, |ctx: OrchestrationContext, input| async move {
            tokio::select! {
                result = ctx.activity(LONG, &()) => result,
                timer = one_second(&ctx) => timer.map(|()| input),
            }
        });
    let (registry, mut told) = reporting(builder, &world);
    let node = world.node(&registry).await;
    let instance = node.client().start(CALL, "call-1", &7).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 7);
    assert_eq!(told.recv().await, Some(Duration::from_secs(1)));
    stop(node).await;
    let kinds = world.kinds("call-1", 1).await;
    assert_eq!(kinds[0], "OrchestrationStarted");
    let mut scheduled = kinds[1..3].to_vec();
    scheduled.sort_unstable();
    assert_eq!(scheduled, ["ActivityScheduled", "TimerCreated"]);
    assert_eq!(
        kinds[3..],
        [
            "TimerFired",
            "ActivityCancelRequested",
            "OrchestrationCompleted"
        ]
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_activity_on_another_node_is_told_at_once() {
    let world = World::new();
    let builder =
        Registry::builder().orchestration(CALL, |ctx: OrchestrationContext, input| async move {
            tokio::select! {
                result = ctx.activity(LONG, &()).queue("far") => result,
                timer = one_second(&ctx) => timer.map(|()| input),
            }
        });
    let (registry, mut told) = reporting(builder, &world);
    let near = world.node(&registry).await;
    let queues = vec![Some(Name::from("far"))];
    let far = world
        .node_with(&registry, RuntimeOptions::default().queues(queues))
        .await;
    let instance = near.client().start(CALL, "call-1", &7).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 7);
    assert_eq!(told.recv().await, Some(Duration::from_secs(1)));
    stop(far).await;
    stop(near).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn cancelling_the_orchestration_tells_its_activities() {
    let world = World::new();
    let builder =
        Registry::builder().orchestration(CALL, |ctx: OrchestrationContext, input| async move {
            let cancelled = ctx.activity(LONG, &()).await.unwrap_err();
            assert!(cancelled.is_cancelled());
            Ok::<_, Failure>(input)
        });
    let (registry, mut told) = reporting(builder, &world);
    let node = world.node(&registry).await;
    let instance = node.client().start(CALL, "call-1", &7).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    instance.cancel("changed my mind").await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 7);
    assert_eq!(told.recv().await, Some(Duration::from_secs(3)));
    stop(node).await;
    assert_eq!(
        world.kinds("call-1", 1).await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "OrchestrationCancelRequested",
            "ActivityCancelRequested",
            "OrchestrationCompleted",
        ]
    );
    world.assert_done();
}

/// An orchestration that calls `long` and does not wait for it.
fn leaving_it_behind<R>(
    end: impl Fn(OrchestrationContext, u32) -> R + Clone + Send + Sync + 'static,
) -> RegistryBuilder
where
    R: Future<Output = Result<u32, Failure>> + Send + 'static,
{
    Registry::builder().orchestration(CALL, move |ctx: OrchestrationContext, input| {
        let end = end.clone();
        async move {
            let mut long = std::pin::pin!(ctx.activity(LONG, &()));
            tokio::select! {
                biased;
                result = &mut long => return result,
                timer = one_second(&ctx) => timer?,
            }
            end(ctx.clone(), input).await
        }
    })
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_orchestration_tells_its_activities() {
    let world = World::new();
    let (registry, mut told) = reporting(
        leaving_it_behind(|_, input| async move { Ok(input) }),
        &world,
    );
    let node = world.node(&registry).await;
    let instance = node.client().start(CALL, "call-1", &7).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 7);
    assert_eq!(told.recv().await, Some(Duration::from_secs(1)));
    stop(node).await;
    assert_eq!(
        world.kinds("call-1", 1).await,
        [
            "OrchestrationStarted",
            "TimerCreated",
            "ActivityScheduled",
            "TimerFired",
            "ActivityCancelRequested",
            "OrchestrationCompleted",
        ]
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn continuing_as_new_tells_the_activities_that_were_left_behind() {
    let world = World::new();
    let again = |ctx: OrchestrationContext, input: u32| async move {
        match input {
            0 => Ok(0),
            more => ctx.continue_as_new(&(more - 1)).await,
        }
    };
    let (registry, mut told) = reporting(leaving_it_behind(again), &world);
    let node = world.node(&registry).await;
    let instance = node.client().start(CALL, "call-1", &2).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 0);
    for seconds in 1..=3 {
        assert_eq!(told.recv().await, Some(Duration::from_secs(seconds)));
    }
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn terminating_the_orchestration_tells_its_activities() {
    let world = World::new();
    let builder = Registry::builder()
        .orchestration(CALL, |ctx: OrchestrationContext, _: u32| async move {
            ctx.activity(LONG, &()).await
        });
    let (registry, mut told) = reporting(builder, &world);
    let node = world.node(&registry).await;
    let instance = node.client().start(CALL, "call-1", &7).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    instance.terminate("enough").await.unwrap();
    instance.wait().await.unwrap_err();
    assert_eq!(told.recv().await, Some(Duration::from_secs(3)));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_before_a_worker_took_it_is_never_run() {
    let world = World::new();
    let builder =
        Registry::builder().orchestration(CALL, |ctx: OrchestrationContext, input| async move {
            tokio::select! {
                result = ctx.activity(LONG, &()).queue("unserved") => result,
                timer = one_second(&ctx) => timer.map(|()| input),
            }
        });
    let (registry, mut told) = reporting(builder, &world);
    let node = world.node(&registry).await;
    let instance = node.client().start(CALL, "call-1", &7).await.unwrap();
    settle().await;
    assert_eq!(world.store.snapshot().work.len(), 1);
    assert_eq!(instance.wait().await.unwrap(), 7);
    stop(node).await;
    world.assert_done();
    assert!(told.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_panic_that_ends_the_orchestration_tells_its_activities() {
    let world = World::new();
    let builder =
        Registry::builder().orchestration(CALL, |ctx: OrchestrationContext, _| async move {
            tokio::select! {
                biased;
                result = ctx.activity(LONG, &()) => result,
                _ = one_second(&ctx) => panic!("a bug"),
            }
        });
    let (registry, mut told) = reporting(builder, &world);
    let options = RuntimeOptions::default().fault_policy(FaultPolicy::Terminate);
    let node = world.node_with(&registry, options).await;
    let instance = node.client().start(CALL, "call-1", &7).await.unwrap();
    instance.wait().await.unwrap_err();
    assert_eq!(told.recv().await, Some(Duration::from_secs(1)));
    stop(node).await;
    world.assert_done();
}

/// Says when it is dropped.
struct DropReport(mpsc::UnboundedSender<Duration>, tokio::time::Instant);

impl Drop for DropReport {
    fn drop(&mut self) {
        self.0.send(self.1.elapsed()).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_activity_that_ignores_its_cancellation_is_dropped_after_the_grace_period() {
    let world = World::new();
    let (reports, mut dropped) = mpsc::unbounded_channel();
    let began = tokio::time::Instant::now();
    let registry = Registry::builder()
        .orchestration(CALL, |ctx: OrchestrationContext, input| async move {
            tokio::select! {
                result = ctx.activity(LONG, &()) => return result,
                timer = one_second(&ctx) => timer?,
            }
            // It waits for the only slot of the node.
            ctx.activity::<u32, u32>("next", &input).await
        })
        .activity(LONG, move |_: ActivityContext, ()| {
            let report = DropReport(reports.clone(), began);
            async move {
                let _report = report;
                std::future::pending::<Result<u32, Failure>>().await
            }
        })
        .activity("next", |_: ActivityContext, input: u32| async move {
            Ok::<_, Failure>(input)
        })
        .build()
        .unwrap();
    let grace = Duration::from_secs(5);
    let options = RuntimeOptions::default()
        .max_activities(1)
        .cancellation_grace(grace);
    let node = world.node_with(&registry, options).await;
    let instance = node.client().start(CALL, "call-1", &7).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 7);
    let after = Duration::from_secs(1) + grace;
    assert_eq!(world.elapsed(), after);
    assert_eq!(dropped.recv().await, Some(after));
    stop(node).await;
    let kinds = world.kinds("call-1", 1).await;
    assert_eq!(
        kinds[3..],
        [
            "TimerFired",
            "ActivityScheduled",
            "ActivityCancelRequested",
            "ActivityCompleted",
            "OrchestrationCompleted"
        ]
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_activity_that_ends_within_the_grace_period_ends_by_itself() {
    let world = World::new();
    let builder =
        Registry::builder().orchestration(CALL, |ctx: OrchestrationContext, input| async move {
            tokio::select! {
                result = ctx.activity(LONG, &()) => result,
                timer = one_second(&ctx) => timer.map(|()| input),
            }
        });
    let (reports, mut told) = mpsc::unbounded_channel();
    let registry = builder
        .activity(LONG, move |ctx: ActivityContext, ()| {
            let reports = reports.clone();
            async move {
                ctx.cancelled().await;
                tokio::time::sleep(Duration::from_secs(4)).await;
                reports.send(()).unwrap();
                Ok::<_, Failure>(0)
            }
        })
        .build()
        .unwrap();
    let options = RuntimeOptions::default().cancellation_grace(Duration::from_secs(5));
    let node = world.node_with(&registry, options).await;
    let instance = node.client().start(CALL, "call-1", &7).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 7);
    assert_eq!(told.recv().await, Some(()));
    assert_eq!(world.elapsed(), Duration::from_secs(5));
    stop(node).await;
    world.assert_done();
}
