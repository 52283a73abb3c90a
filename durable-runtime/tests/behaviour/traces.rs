//! Traces: what an instance was started for reaches its turns, its activities, what it
//! starts and its next executions.

use std::time::Duration;

use durable_runtime::{
    Activity, ActivityContext, EventName, Failure, Orchestration, OrchestrationContext, Registry,
    RuntimeOptions, TraceParent,
};

use crate::telemetry::Spans;
use crate::world::{World, settle, stop};

const WHERE: Activity<(), Option<String>> = Activity::new("where");
const FLOW: Orchestration<u32, Vec<Option<String>>> = Orchestration::new("flow");
const CHILD: Orchestration<(), Option<String>> = Orchestration::new("child");
const GO: EventName<()> = EventName::new("go");
const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Asks an activity where it is, once in each execution; then a child; then waits.
async fn flow(ctx: OrchestrationContext, left: u32) -> Result<Vec<Option<String>>, Failure> {
    let here = ctx.activity(WHERE, &()).await?;
    if left > 0 {
        return ctx.continue_as_new(&(left - 1)).await;
    }
    let child = ctx.sub_orchestration(CHILD, &()).await?;
    ctx.external_event(GO).await?;
    Ok(vec![here, child])
}

fn registry() -> Registry {
    Registry::builder()
        .orchestration(FLOW, flow)
        .orchestration(CHILD, |ctx: OrchestrationContext, ()| async move {
            ctx.activity(WHERE, &()).await
        })
        .activity(WHERE, |ctx: ActivityContext, ()| async move {
            Ok::<_, Failure>(ctx.trace_parent().map(ToString::to_string))
        })
        .build()
        .unwrap()
}

fn options() -> RuntimeOptions {
    RuntimeOptions::default().verify_replay(false)
}

fn trace_parent() -> TraceParent {
    HEADER.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_trace_goes_along_with_activities_children_and_continue_as_new() {
    let spans = Spans::default();
    let _listening = spans.listen();
    let world = World::new();
    let node = world.node_with(&registry(), options()).await;
    let start = node.client().start(FLOW, "f", &2);
    let flow = start.trace_parent(trace_parent()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    stop(node).await;
    // A node that replays it knows the trace, too, and the replay has no span.
    let seen = spans.named("turn").len();
    let node = world.node_with(&registry(), options()).await;
    settle().await;
    assert_eq!(spans.named("turn").len(), seen);
    flow.raise(GO, &()).await.unwrap();
    let parent = Some(HEADER.to_string());
    assert_eq!(flow.wait().await.unwrap(), [parent.clone(), parent]);
    stop(node).await;
    for name in ["turn", "activity"] {
        let seen = spans.named(name);
        assert!(!seen.is_empty());
        for span in seen {
            assert_eq!(span.field("trace_parent"), Some(HEADER), "{span:?}");
        }
    }
    assert_eq!(spans.named("activity").len(), 4);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_instance_without_a_trace_has_none() {
    let spans = Spans::default();
    let _listening = spans.listen();
    let world = World::new();
    let node = world.node_with(&registry(), options()).await;
    let flow = node.client().start(FLOW, "f", &1).await.unwrap();
    flow.raise(GO, &()).await.unwrap();
    assert_eq!(flow.wait().await.unwrap(), [None, None]);
    stop(node).await;
    for name in ["turn", "activity"] {
        for span in spans.named(name) {
            assert_eq!(span.field("trace_parent"), None, "{span:?}");
        }
    }
    world.assert_done();
}
