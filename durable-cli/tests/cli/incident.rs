//! A bad deploy, from the first alarm to the end: the story that the guide tells.

use std::time::Duration;

use durable_core::provider::StatusKind;
use durable_provider_sqlite::SqliteProvider;
use durable_runtime::{
    Activity, ActivityContext, EventName, Failure, Orchestration, OrchestrationContext, Registry,
    Runtime,
};

use crate::support::Place;

const CHARGE: Activity<u64, u64> = Activity::new("charge");
const PACK: Activity<u64, u64> = Activity::new("pack");
const GO: EventName<()> = EventName::new("go");
const ORDER: Orchestration<u64, u64> = Orchestration::new("order");

async fn good(ctx: OrchestrationContext, order: u64) -> Result<u64, Failure> {
    ctx.activity(CHARGE, &order).await?;
    ctx.set_custom_status(&"charged")?;
    ctx.external_event(GO).await?;
    ctx.activity(PACK, &order).await
}

/// Packs before it charges, also for orders that were charged already.
async fn bad(ctx: OrchestrationContext, order: u64) -> Result<u64, Failure> {
    ctx.activity(PACK, &order).await?;
    ctx.external_event(GO).await?;
    ctx.activity(CHARGE, &order).await
}

async fn deploy<F, R>(place: &Place, code: F) -> Runtime
where
    F: Fn(OrchestrationContext, u64) -> R + Send + Sync + 'static,
    R: Future<Output = Result<u64, Failure>> + Send + 'static,
{
    let same = |_: ActivityContext, number: u64| async move { Ok::<_, Failure>(number) };
    let registry = Registry::builder()
        .orchestration(ORDER, code)
        .activity(CHARGE, same)
        .activity(PACK, same)
        .build()
        .unwrap();
    let store = SqliteProvider::open(place.file()).unwrap();
    Runtime::builder(store, registry).start().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_deploy_suspends_and_a_good_one_goes_on() {
    let place = Place::new();
    let node = deploy(&place, good).await;
    let order = node.client().start(ORDER, "order-7", &7).await.unwrap();
    order
        .wait_until(|record| record.custom_status.is_some())
        .await
        .unwrap();
    node.shutdown(Duration::from_secs(5)).await;

    let node = deploy(&place, bad).await;
    place.durable(&["raise", "order-7", "go"]).done();
    let order = node.client().instance(ORDER, "order-7");
    order
        .wait_until(|record| record.status.kind() == StatusKind::Suspended)
        .await
        .unwrap();
    node.shutdown(Duration::from_secs(5)).await;
    let shown = place.durable(&["show", "order-7"]).done();
    for part in [
        "order-7  suspended\n",
        "determinism violation: in instance `order-7`, execution 1, at event 2, Activity(0): ",
        "the history has ActivityScheduled `charge`, the code did ActivityScheduled `pack`",
        "waits to be resumed: `durable resume order-7`",
        "event `go`",
    ] {
        assert!(shown.contains(part), "{part:?} in {shown}");
    }

    let node = deploy(&place, good).await;
    let resumed = place.durable(&["resume", "--status", "suspended"]).done();
    assert_eq!(resumed, "order-7: resumed\n");
    let order = node.client().instance(ORDER, "order-7");
    assert_eq!(order.wait().await.unwrap(), 7);
    node.shutdown(Duration::from_secs(5)).await;
    assert_eq!(place.json(&["check"])["sound"], true);
}
