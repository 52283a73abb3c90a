//! The programs of the benchmark as durust's workflows.

use bench_harness::TIMER;
use durust::{DurableBackend, WorkerBuilder, call_activity};
use serde::{Deserialize, Serialize};

use crate::QUEUE;

/// The signal that `gated` and `mixed` wait for.
pub(crate) const GO: &str = "go";

/// Handlers take a struct.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Number {
    pub(crate) number: u64,
}

pub(crate) fn register<B: DurableBackend>(builder: WorkerBuilder<B>) -> WorkerBuilder<B> {
    builder
        .register_activity(add)
        .register_workflow(chain)
        .register_workflow(fan_out)
        .register_workflow(one)
        .register_workflow(gated)
        .register_workflow(mixed)
        .register_workflow(child)
}

#[durust::activity(name = "add")]
async fn add(input: Number) -> durust::Result<u64> {
    Ok(bench_harness::add(input.number))
}

async fn added(number: u64) -> durust::Result<u64> {
    call_activity!(add(Number { number }))
        .task_queue(QUEUE)
        .await
}

#[durust::workflow(name = "chain", version = 1)]
pub(crate) async fn chain(input: Number) -> durust::Result<u64> {
    let mut number = 0;
    for _ in 0..input.number {
        number = added(number).await?;
    }
    Ok(number)
}

#[durust::workflow(name = "fan-out", version = 1)]
pub(crate) async fn fan_out(input: Number) -> durust::Result<u64> {
    let mut branches = Vec::new();
    for _ in 0..input.number {
        let call = call_activity!(add(Number { number: 0 })).task_queue(QUEUE);
        branches.push(call.spawn().await?.result());
    }
    Ok(durust::join_all(branches).await?.into_iter().sum())
}

#[durust::workflow(name = "one", version = 1)]
pub(crate) async fn one(input: Number) -> durust::Result<u64> {
    added(input.number).await
}

#[durust::workflow(name = "gated", version = 1)]
pub(crate) async fn gated(input: Number) -> durust::Result<u64> {
    let number = added(input.number).await?;
    let number = added(number).await?;
    let number = number + durust::signal::<u64>(GO).await?;
    let number = added(number).await?;
    added(number).await
}

#[durust::workflow(name = "mixed", version = 1)]
pub(crate) async fn mixed(input: Number) -> durust::Result<u64> {
    let number = added(input.number).await?;
    let number = number + durust::signal::<u64>(GO).await?;
    let number = added(number).await?;
    durust::sleep(TIMER).await?;
    let started = durust::child!(child(Number { number }))
        .workflow_id(format!("child-{}", input.number))
        .spawn()
        .await?;
    let number = started.result().await?;
    added(number).await
}

#[durust::workflow(name = "child", version = 1)]
pub(crate) async fn child(input: Number) -> durust::Result<u64> {
    Ok(bench_harness::child(input.number))
}
