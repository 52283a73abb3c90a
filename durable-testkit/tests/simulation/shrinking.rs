//! A broken seed becomes a small one that breaks in the same way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use durable_runtime::{Failure, Orchestration, OrchestrationContext, Registry};
use durable_testkit::{
    FaultPlan, Invariant, InvariantViolation, SimReport, SimScope, Simulation, Snapshot, Workload,
    smallest_failure,
};

use super::{Mistake, assert_found, broken, simulate_broken};

const SLEEPER: Orchestration<u64, ()> = Orchestration::new("sleeper");

/// A seed that breaks the invariant, and the smallest run that does.
fn shrink(invariant: &str, mistake: Mistake, max_runs: usize) -> (SimReport, SimReport) {
    let found = assert_found(invariant, mistake, 0..200);
    let smallest = smallest_failure(max_runs, |scope| {
        simulate_broken(found.seed, mistake, scope)
    });
    (found, smallest.unwrap())
}

#[test]
fn what_needs_no_fault_is_shrunk_to_one_instance() {
    let (found, smallest) = shrink("events_are_delivered_once", broken::loses_events, 100);
    assert!(found.parts.len() > 10, "{:?}", found.parts);
    assert_eq!(smallest.broken(), found.broken());
    assert_eq!(smallest.parts.len(), 1, "{}", smallest.scope);
    assert_eq!(smallest.fault_count(), 0, "{}", smallest.scope);
    assert_eq!(smallest.nodes, 2, "{}", smallest.scope);
}

/// Broken by any fault that ends the life of a node, and by nothing else.
struct NoNodeDies(Arc<AtomicBool>);

impl Invariant for NoNodeDies {
    fn name(&self) -> &'static str {
        "no_node_dies"
    }

    fn look(&mut self, _: &Snapshot) -> Result<(), InvariantViolation> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(InvariantViolation::new("a node began its second life")),
            false => Ok(()),
        }
    }
}

/// Sleeps until every node has lived for long.
async fn sleeper(ctx: OrchestrationContext, _: u64) -> Result<(), Failure> {
    ctx.sleep(Duration::from_secs(3_600)).await
}

fn simulate_sleepers(seed: u64, scope: SimScope) -> SimReport {
    let registry = Registry::builder().orchestration(SLEEPER, sleeper);
    let registry = registry.build().unwrap();
    let has_died = Arc::new(AtomicBool::new(false));
    let invariant = NoNodeDies(Arc::clone(&has_died));
    let workload = Workload::new(registry.clone(), |client| async move {
        for (number, client) in client.parts(12) {
            let id = format!("sleeper-{number}");
            client.start(SLEEPER, id, &number).await?;
        }
        Ok(())
    });
    let workload = workload.on_nodes(2, move |start| {
        has_died.fetch_or(start.life() > 1, Ordering::Relaxed);
        registry.clone()
    });
    let simulation = Simulation::new(seed).faults(FaultPlan::default());
    simulation.scope(scope).invariant(invariant).run(workload)
}

#[test]
fn what_needs_a_fault_is_shrunk_to_it() {
    let found = simulate_sleepers(7, SimScope::default());
    assert_eq!(found.broken(), Some("no_node_dies"));
    assert!(found.struck.len() > 20, "{:?}", found.struck);
    let smallest = smallest_failure(100, |scope| simulate_sleepers(7, scope)).unwrap();
    assert_eq!(smallest.broken(), Some("no_node_dies"));
    assert_eq!(smallest.struck.len(), 1, "{}", smallest.scope);
    assert!(smallest.parts.len() <= 1, "{}", smallest.scope);
}

#[test]
fn the_command_of_a_shrunk_run_gives_the_same_run() {
    let (_, smallest) = shrink("one_owner", broken::forgets_the_fence, 100);
    let text = smallest.to_string();
    let scope = smallest.scope.to_string();
    let command = format!("cargo xtask sim --seed {} --scope '{scope}'", smallest.seed);
    assert!(text.ends_with(&command), "{text}");

    let scope: SimScope = scope.parse().unwrap();
    let again = simulate_broken(smallest.seed, broken::forgets_the_fence, scope);
    assert_eq!(again.to_string(), text);
    assert_eq!(again, smallest);
}

#[test]
fn a_seed_that_breaks_nothing_is_not_shrunk() {
    let mut runs = 0;
    let smallest = smallest_failure(100, |scope| {
        runs += 1;
        super::simulate(1, scope)
    });
    assert_eq!(smallest, None);
    assert_eq!(runs, 1);
}
