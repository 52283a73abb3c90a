//! Replay tests: histories of yesterday against the code of today, before it is
//! deployed. The histories come from files (`durable export`) or out of a store.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use durable_examples::{ExampleNode, ExampleResult};
use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry,
    RegistryError,
};
use durable_testkit::{ReplayTester, export_histories, write_histories};

const CHARGE: Activity<u64, u64> = Activity::new("charge");
const PACK: Activity<u64, u64> = Activity::new("pack");
const ORDER: Orchestration<u64, u64> = Orchestration::new("order");

async fn yesterday(ctx: OrchestrationContext, order: u64) -> Result<u64, Failure> {
    ctx.activity(CHARGE, &order).await?;
    ctx.activity(PACK, &order).await
}

/// Packs first: orders that were charged cannot follow.
async fn careless(ctx: OrchestrationContext, order: u64) -> Result<u64, Failure> {
    ctx.activity(PACK, &order).await?;
    ctx.activity(CHARGE, &order).await
}

/// Packs first, for orders that come here from now on.
async fn careful(ctx: OrchestrationContext, order: u64) -> Result<u64, Failure> {
    if ctx.patched("pack first").await {
        return careless(ctx, order).await;
    }
    yesterday(ctx, order).await
}

fn registry<F, R>(code: F) -> Result<Registry, RegistryError>
where
    F: Fn(OrchestrationContext, u64) -> R + Send + Sync + 'static,
    R: Future<Output = Result<u64, Failure>> + Send + 'static,
{
    let same = |_: ActivityContext, number: u64| async move { Ok::<_, Failure>(number) };
    Registry::builder()
        .orchestration(ORDER, code)
        .activity(CHARGE, same)
        .activity(PACK, same)
        .build()
}

#[tokio::main]
async fn main() -> ExampleResult {
    let folder = tempfile::tempdir()?;
    record(&folder.path().join("order.json")).await?;
    for (what, code) in [
        ("the same code", registry(yesterday)?),
        ("a careless change", registry(careless)?),
        ("a patched change", registry(careful)?),
    ] {
        let report = ReplayTester::new(code).folder(folder.path()).run();
        println!(
            "{what}: {}",
            if report.is_ok() { "replays" } else { "breaks" }
        );
        for broken in report.failures() {
            println!("  {broken}");
        }
    }
    Ok(folder.close()?)
}

/// Runs an order with the code of yesterday and keeps its history.
async fn record(file: &std::path::Path) -> ExampleResult {
    let example = ExampleNode::start(registry(yesterday)?).await?;
    let order = example.node.client().start(ORDER, "order-7", &7).await?;
    order.wait().await?;
    let histories = export_histories(example.store(), order.id()).await?;
    write_histories(file, &histories)?;
    example.stop().await
}
