//! The programs of the benchmark as orchestrations.

use bench_harness::{Program, TIMER, add, child};
use durable_runtime::{
    Activity, ActivityContext, EventName, Failure, Orchestration, OrchestrationContext, Registry,
    RegistryError,
};
use futures::future::try_join_all;

/// The event of `gated` and `mixed`.
pub(crate) const GO: EventName<u64> = EventName::new("go");
const ADD: Activity<u64, u64> = Activity::new("add");
const CHILD: Orchestration<u64, u64> = Orchestration::new("child");

/// The orchestration of this program.
pub(crate) fn handle(program: Program) -> Orchestration<u64, u64> {
    Orchestration::new(program.name())
}

/// Everything that the node runs.
pub(crate) fn registry() -> Result<Registry, RegistryError> {
    Registry::builder()
        .activity(ADD, |_: ActivityContext, number: u64| async move {
            Ok::<_, Failure>(add(number))
        })
        .orchestration(handle(Program::Chain), chain)
        .orchestration(handle(Program::FanOut), fan_out)
        .orchestration(handle(Program::One), one)
        .orchestration(handle(Program::Gated), gated)
        .orchestration(handle(Program::Mixed), mixed)
        .orchestration(CHILD, |_: OrchestrationContext, number: u64| async move {
            Ok::<_, Failure>(child(number))
        })
        .build()
}

async fn chain(ctx: OrchestrationContext, steps: u64) -> Result<u64, Failure> {
    let mut number = 0;
    for _ in 0..steps {
        number = ctx.activity(ADD, &number).await?;
    }
    Ok(number)
}

async fn fan_out(ctx: OrchestrationContext, width: u64) -> Result<u64, Failure> {
    let calls = (0..width).map(|_| ctx.activity(ADD, &0));
    Ok(try_join_all(calls).await?.into_iter().sum())
}

async fn one(ctx: OrchestrationContext, number: u64) -> Result<u64, Failure> {
    ctx.activity(ADD, &number).await
}

async fn gated(ctx: OrchestrationContext, number: u64) -> Result<u64, Failure> {
    let number = ctx.activity(ADD, &number).await?;
    let number = ctx.activity(ADD, &number).await?;
    let number = number + ctx.external_event(GO).await?;
    let number = ctx.activity(ADD, &number).await?;
    ctx.activity(ADD, &number).await
}

async fn mixed(ctx: OrchestrationContext, number: u64) -> Result<u64, Failure> {
    let number = ctx.activity(ADD, &number).await?;
    let number = number + ctx.external_event(GO).await?;
    let number = ctx.activity(ADD, &number).await?;
    ctx.sleep(TIMER).await?;
    let number = ctx.sub_orchestration(CHILD, &number).await?;
    ctx.activity(ADD, &number).await
}
