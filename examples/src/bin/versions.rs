//! Versions and patches: instances that run while the code changes.
//!
//! A new version serves new instances and leaves those that run on theirs. A patch
//! changes one version in place: executions that were past it keep to the old path.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use durable_examples::ExampleResult;
use durable_provider_sqlite::SqliteProvider;
use durable_runtime::{
    Activity, ActivityContext, EventName, Failure, Orchestration, OrchestrationContext, Registry,
    RegistryBuilder, Runtime,
};

const GO: EventName<()> = EventName::new("go");
const STEP: Activity<String, String> = Activity::new("step");
const SHIP: Orchestration<(), String> = Orchestration::new("ship");
const PACKED: &str = "packed";
const PACK: Orchestration<(), String> = Orchestration::new("pack");

async fn ship_v1(ctx: OrchestrationContext, (): ()) -> Result<String, Failure> {
    ctx.external_event(GO).await?;
    ctx.activity(STEP, &"by post".into()).await
}

async fn ship_v2(ctx: OrchestrationContext, (): ()) -> Result<String, Failure> {
    ctx.external_event(GO).await?;
    ctx.activity(STEP, &"by drone".into()).await
}

async fn pack_before(ctx: OrchestrationContext, (): ()) -> Result<String, Failure> {
    let packed = ctx.activity(STEP, &"packed".into()).await?;
    ctx.set_custom_status(PACKED)?;
    ctx.external_event(GO).await?;
    Ok(packed)
}

/// Weighs before it packs, but not for orders that were packed already.
async fn pack_patched(ctx: OrchestrationContext, (): ()) -> Result<String, Failure> {
    let mut done = String::new();
    if ctx.patched("weigh first").await {
        done = ctx.activity(STEP, &"weighed and ".into()).await?;
    }
    done += &ctx.activity(STEP, &"packed".into()).await?;
    ctx.set_custom_status(PACKED)?;
    ctx.external_event(GO).await?;
    Ok(done)
}

fn common() -> RegistryBuilder {
    Registry::builder()
        .orchestration(SHIP, ship_v1)
        .activity(STEP, |_: ActivityContext, step: String| async move {
            Ok::<_, Failure>(step)
        })
}

async fn node(file: &Path, registry: RegistryBuilder) -> Result<Runtime, Box<dyn Error>> {
    let store = SqliteProvider::open(file)?;
    Ok(Runtime::builder(store, registry.build()?).start().await?)
}

#[tokio::main]
async fn main() -> ExampleResult {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("versions.db");

    let old = node(&file, common().orchestration(PACK, pack_before)).await?;
    old.client().start(SHIP, "ship-old", &()).await?;
    let packing = old.client().start(PACK, "pack-old", &()).await?;
    // It is past the place of the patch when it has packed.
    packing
        .wait_until(|record| record.custom_status.is_some())
        .await?;
    old.shutdown(Duration::from_secs(1)).await;

    println!("a deploy: ship 2.0.0 beside 1.0.0, pack patched");
    let code = common()
        .orchestration(SHIP.at("2.0.0"), ship_v2)
        .orchestration(PACK, pack_patched);
    let new = node(&file, code).await?;
    let client = new.client();
    client.start(SHIP, "ship-new", &()).await?;
    client.start(PACK, "pack-new", &()).await?;
    for (orchestration, id) in [
        (SHIP, "ship-old"),
        (SHIP, "ship-new"),
        (PACK, "pack-old"),
        (PACK, "pack-new"),
    ] {
        let instance = client.instance(orchestration, id);
        instance.raise(GO, &()).await?;
        let done = instance.wait().await?;
        let version = instance
            .record()
            .await?
            .version
            .unwrap_or_else(|| "?".into());
        println!("{id} on {version}: {done}");
    }
    new.shutdown(Duration::from_secs(1)).await;
    Ok(folder.close()?)
}
