//! The orchestrations that are measured.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use durable_provider_sqlite::SqliteProvider;
use durable_runtime::{
    Activity, ActivityContext, EventName, Failure, Orchestration, OrchestrationContext, Registry,
    Runtime, RuntimeOptions,
};
use futures::future::try_join_all;

/// This many activities, one after the other.
pub(crate) const SEQUENCE: Orchestration<u64, u64> = Orchestration::new("sequence");
/// This many activities at once.
pub(crate) const FAN_OUT: Orchestration<u64, u64> = Orchestration::new("fan-out");
/// One activity.
pub(crate) const ONE: Orchestration<u64, u64> = Orchestration::new("one");
/// One activity, then an event, then another activity.
pub(crate) const GATED: Orchestration<u64, u64> = Orchestration::new("gated");
/// The event.
pub(crate) const GO: EventName<u64> = EventName::new("go");
const ADD: Activity<u64, u64> = Activity::new("add");

/// When each activity ran.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stamps(Arc<Mutex<Vec<Instant>>>);

impl Stamps {
    pub(crate) fn take(&self) -> Vec<Instant> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

async fn sequence(ctx: OrchestrationContext, steps: u64) -> Result<u64, Failure> {
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
    let one = ctx.activity(ADD, &number).await?;
    let told: u64 = ctx.external_event(GO).await?;
    ctx.activity(ADD, &(one + told)).await
}

/// A node that runs them.
pub(crate) async fn node(provider: &SqliteProvider, stamps: Stamps) -> Runtime {
    let add = move |_: ActivityContext, number: u64| {
        let stamps = stamps.clone();
        async move {
            stamps.0.lock().unwrap().push(Instant::now());
            Ok::<u64, Failure>(number + 1)
        }
    };
    let registry = Registry::builder()
        .activity(ADD, add)
        .orchestration(SEQUENCE, sequence)
        .orchestration(FAN_OUT, fan_out)
        .orchestration(ONE, one)
        .orchestration(GATED, gated)
        .build()
        .unwrap();
    let options = RuntimeOptions::default().session_timeout(Duration::from_secs(3_600));
    Runtime::builder(provider.clone(), registry)
        .options(options)
        .start()
        .await
        .unwrap()
}

/// The memory that this process has now.
pub(crate) fn resident_mib() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: Option<f64> = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or_default() * 4.0 / 1024.0
}
