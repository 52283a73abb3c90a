//! Worlds in which the store is right and the code is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry,
    RuntimeOptions,
};
use durable_testkit::{Effects, FaultPlan, SimReport, Simulation, Workload};

const COUNT: Activity<u64, u64> = Activity::new("count");
const FICKLE: Orchestration<u64, u64> = Orchestration::new("fickle");

/// Runs one instance, without faults, on nodes that do not verify replay.
fn simulate(workload: Workload) -> SimReport {
    Simulation::new(7)
        .faults(FaultPlan::NONE)
        .options(RuntimeOptions::default().verify_replay(false))
        .run(workload)
}

fn start_one(registry: Registry) -> Workload {
    Workload::new(registry, |client| async move {
        client.expect_output("fickle-1", &1u64);
        client.start(FICKLE, "fickle-1", &1).await.map(drop)
    })
}

async fn count(_: ActivityContext, number: u64) -> Result<u64, Failure> {
    Ok(number)
}

/// Calls the activity in its first life only.
async fn fickle(
    ctx: OrchestrationContext,
    number: u64,
    lives: Arc<AtomicU64>,
) -> Result<u64, Failure> {
    match lives.fetch_add(1, Ordering::Relaxed) {
        0 => ctx.activity(COUNT, &number).await,
        _ => ctx.sleep(Duration::from_secs(1)).await.map(|()| number),
    }
}

#[test]
fn code_that_does_something_else_when_it_is_replayed_is_found() {
    let lives = Arc::new(AtomicU64::new(0));
    let registry = Registry::builder()
        .activity(COUNT, count)
        .orchestration(FICKLE, move |ctx, number| {
            fickle(ctx, number, Arc::clone(&lives))
        })
        .build()
        .unwrap();
    let report = simulate(start_one(registry));
    assert_eq!(report.broken(), Some("replay_is_exact"), "{report}");
}

#[test]
fn code_that_returns_something_else_is_found() {
    let registry = Registry::builder()
        .orchestration(FICKLE, |_: OrchestrationContext, number: u64| async move {
            Ok::<_, Failure>(number + 1)
        })
        .build()
        .unwrap();
    let report = simulate(start_one(registry));
    assert_eq!(report.broken(), Some("outputs_are_as_expected"), "{report}");
    let text = report.to_string();
    assert!(text.contains("expected output 1, found"), "{text}");
}

#[test]
fn an_activity_that_claims_to_have_worked_is_found() {
    let effects = Effects::default();
    let noted = effects.clone();
    let is_first = AtomicU64::new(0);
    let registry = Registry::builder()
        .activity(COUNT, move |ctx: ActivityContext, number: u64| {
            if is_first.fetch_add(1, Ordering::Relaxed) == 0 {
                noted.note(&ctx);
            }
            std::future::ready(Ok::<_, Failure>(number))
        })
        .orchestration(
            FICKLE,
            |ctx: OrchestrationContext, number: u64| async move {
                ctx.activity(COUNT, &number).await?;
                ctx.activity(COUNT, &number).await
            },
        )
        .build()
        .unwrap();
    let report = simulate(start_one(registry).effects(&effects));
    assert_eq!(
        report.broken(),
        Some("activities_complete_once"),
        "{report}"
    );
    let text = report.to_string();
    assert!(text.contains("completed and never ran"), "{text}");
}
