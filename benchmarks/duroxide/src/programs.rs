//! The programs of the benchmark as duroxide's orchestrations.

use bench_harness::{Program, TIMER, add, child};
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, OrchestrationContext, OrchestrationRegistry};

/// The queue that `gated` and `mixed` wait for.
pub(crate) const GO: &str = "go";
const ADD: &str = "add";
const CHILD: &str = "child";

pub(crate) fn activities() -> ActivityRegistry {
    ActivityRegistry::builder()
        .register_typed(ADD, |_: ActivityContext, number: u64| async move {
            Ok::<u64, String>(add(number))
        })
        .build()
}

pub(crate) fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register_typed(Program::Chain.name(), chain)
        .register_typed(Program::FanOut.name(), fan_out)
        .register_typed(Program::One.name(), one)
        .register_typed(Program::Gated.name(), gated)
        .register_typed(Program::Mixed.name(), mixed)
        .register_typed(CHILD, |_: OrchestrationContext, number: u64| async move {
            Ok::<u64, String>(child(number))
        })
        .build()
}

async fn chain(ctx: OrchestrationContext, steps: u64) -> Result<u64, String> {
    let mut number = 0;
    for _ in 0..steps {
        number = ctx.schedule_activity_typed(ADD, &number).await?;
    }
    Ok(number)
}

async fn fan_out(ctx: OrchestrationContext, width: u64) -> Result<u64, String> {
    let calls = (0..width).map(|_| ctx.schedule_activity_typed::<u64, u64>(ADD, &0));
    let results = ctx.join(calls.collect()).await;
    results.into_iter().sum()
}

async fn one(ctx: OrchestrationContext, number: u64) -> Result<u64, String> {
    ctx.schedule_activity_typed(ADD, &number).await
}

async fn gated(ctx: OrchestrationContext, number: u64) -> Result<u64, String> {
    let number: u64 = ctx.schedule_activity_typed(ADD, &number).await?;
    let number: u64 = ctx.schedule_activity_typed(ADD, &number).await?;
    let number = number + ctx.dequeue_event_typed::<u64>(GO).await;
    let number: u64 = ctx.schedule_activity_typed(ADD, &number).await?;
    ctx.schedule_activity_typed(ADD, &number).await
}

async fn mixed(ctx: OrchestrationContext, number: u64) -> Result<u64, String> {
    let number: u64 = ctx.schedule_activity_typed(ADD, &number).await?;
    let number = number + ctx.dequeue_event_typed::<u64>(GO).await;
    let number: u64 = ctx.schedule_activity_typed(ADD, &number).await?;
    ctx.schedule_timer(TIMER).await;
    let number: u64 = ctx.schedule_sub_orchestration_typed(CHILD, &number).await?;
    ctx.schedule_activity_typed(ADD, &number).await
}
