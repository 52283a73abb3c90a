//! An orchestration that was changed without care: the history of its old code does
//! not replay with the new one.

use durable_core::History;
use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry,
};

use crate::record::{Recording, record_with};

const CHARGE: Activity<u64, u64> = Activity::new("charge");
const PACK: Activity<u64, u64> = Activity::new("pack");
const SHIP: Activity<u64, u64> = Activity::new("ship");
const ORDER: Orchestration<u64, u64> = Orchestration::new("order");

/// Where its history is.
pub(crate) const FILE: &str = "outdated/order.json";

/// What the replay tester says of it.
pub(crate) const REPORT: &str = "\
replay: 0 histories go on, 1 do not
outdated/order.json: `order`, execution 1: determinism violation in instance `order`, \
execution 1, at event 4, Activity(1): the history has ActivityScheduled `ship`, the code did \
ActivityScheduled `pack` (the name differs). Hint: was a call added or renamed since this \
instance started? Guard an added call with `patched`, and keep the old name of a renamed one for \
running instances
";

async fn old(ctx: OrchestrationContext, order: u64) -> Result<u64, Failure> {
    let receipt = ctx.activity(CHARGE, &order).await?;
    ctx.activity(SHIP, &receipt).await
}

async fn new(ctx: OrchestrationContext, order: u64) -> Result<u64, Failure> {
    let receipt = ctx.activity(CHARGE, &order).await?;
    let parcel = ctx.activity(PACK, &receipt).await?;
    ctx.activity(SHIP, &parcel).await
}

async fn increment(_: ActivityContext, number: u64) -> Result<u64, Failure> {
    Ok(number + 1)
}

pub(crate) fn old_registry() -> Registry {
    Registry::builder()
        .orchestration(ORDER, old)
        .activity(CHARGE, increment)
        .activity(SHIP, increment)
        .build()
        .unwrap()
}

pub(crate) fn new_registry() -> Registry {
    Registry::builder()
        .orchestration(ORDER, new)
        .build()
        .unwrap()
}

pub(crate) fn record() -> Vec<History> {
    let recording = Recording::of("order", |client| {
        Box::pin(async move {
            let order = client.start(ORDER, "order", &7).await.unwrap();
            assert_eq!(order.wait().await.unwrap(), 9);
        })
    });
    record_with(old_registry(), &recording)
}
