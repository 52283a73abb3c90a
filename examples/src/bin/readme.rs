//! The program that the README shows; a test compares the two.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use durable_provider_sqlite::SqliteProvider;
use durable_runtime::{Activity, ActivityContext, EventName, Failure, Orchestration};
use durable_runtime::{IdReuse, OrchestrationContext, Registry, Runtime};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);
const CHARGE: Activity<u64, String> = Activity::new("charge");
const APPROVED: EventName<bool> = EventName::new("approved");
const ORDER: Orchestration<u64, String> = Orchestration::new("order");

async fn order(ctx: OrchestrationContext, cents: u64) -> Result<String, Failure> {
    let receipt = ctx.activity(CHARGE, &cents).await?; // recorded: not called again after a crash
    tokio::select! {
        approved = ctx.external_event(APPROVED) => approved.map(|_| receipt),
        late = ctx.sleep(DAY) => late.map(|()| "not approved in time".into()),
    }
}

async fn charge(_: ActivityContext, cents: u64) -> Result<String, Failure> {
    Ok(format!("receipt of {cents} cents"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = Registry::builder()
        .orchestration(ORDER, order)
        .activity(CHARGE, charge)
        .build()?;
    let store = SqliteProvider::open("orders.db")?;
    let node = Runtime::builder(store, registry).start().await?;
    let start = node.client().start(ORDER, "order-7", &4990);
    let order = start.reuse(IdReuse::RestartEnded).await?;
    order.raise(APPROVED, &true).await?;
    println!("{}", order.wait().await?);
    node.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
