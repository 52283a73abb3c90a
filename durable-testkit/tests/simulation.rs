//! The simulator on its standard workload, and proof that it finds mistakes.
//!
//! `cargo xtask sim` runs more seeds.

#![cfg(test)]

#[path = "simulation/broken.rs"]
mod broken;
#[path = "simulation/shrinking.rs"]
mod shrinking;
#[path = "simulation/worlds.rs"]
mod worlds;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

use durable_core::provider::{Clock, InstanceStatus};
use durable_core::{Event, ExecutionId, FailureKind};
use durable_testkit::{
    FaultPlan, ManualClock, SimReport, SimScope, SimTotals, Simulation, Workload,
};

/// How many seeds are tried.
const SEEDS: u64 = 50;

fn simulate(seed: u64, scope: SimScope) -> SimReport {
    Simulation::new(seed)
        .scope(scope)
        .run(Workload::standard().unwrap())
}

fn simulate_all(seed: u64) -> SimReport {
    simulate(seed, SimScope::default())
}

#[test]
fn without_faults_everything_ends() {
    for seed in 0..5 {
        Simulation::new(seed)
            .faults(FaultPlan::NONE)
            .run(Workload::standard().unwrap())
            .assert_ok();
    }
}

/// The store's time at the end, and the true time.
fn times_at_the_end(skew: Duration) -> (u64, u64) {
    let skewed = FaultPlan {
        skew,
        ..FaultPlan::NONE
    };
    let report = Simulation::new(7)
        .faults(skewed)
        .run(Workload::standard().unwrap());
    report.assert_ok();
    let simulated_ms = u64::try_from(report.simulated.as_millis()).unwrap();
    let true_ms = ManualClock::default().now_ms() + simulated_ms;
    (report.snapshot.now_ms, true_ms)
}

#[test]
fn the_time_of_the_store_is_made_by_the_clocks_of_the_nodes() {
    let (store_ms, true_ms) = times_at_the_end(Duration::ZERO);
    assert!((true_ms - 60_000..=true_ms).contains(&store_ms));
    let (store_ms, true_ms) = times_at_the_end(Duration::from_secs(3_600));
    assert!(store_ms > true_ms + 60_000);
}

#[test]
fn a_seed_gives_one_run_to_the_byte() {
    for seed in 1..4 {
        let (first, second) = (simulate_all(seed), simulate_all(seed));
        assert_eq!(first.timeline.to_string(), second.timeline.to_string());
        assert_eq!(first, second);
        assert!(first.fault_count() > 50);
    }
}

#[test]
fn two_seeds_give_two_runs() {
    assert_ne!(simulate_all(1).timeline, simulate_all(2).timeline);
}

#[test]
fn the_invariants_hold_for_a_fixed_set_of_seeds_that_meet_everything() {
    let mut totals = SimTotals::default();
    let mut reports = Vec::new();
    for seed in 0..SEEDS {
        let report = simulate_all(seed);
        report.assert_ok();
        totals.add(&report);
        reports.push(report);
    }
    assert!(totals.faults.len() > 12, "{:?}", totals.faults);
    assert_everything_is_met(&reports);
}

/// Whether something of the kind is in one of the reports.
fn is_met(reports: &[SimReport], what: &str, outcome: &str) -> bool {
    let lines = reports.iter().flat_map(|report| report.timeline.entries());
    lines
        .filter(|line| line.what == what)
        .any(|line| line.outcome.contains(outcome))
}

/// The standard workload leads to everything that can happen.
fn assert_everything_is_met(reports: &[SimReport]) {
    let calls = [
        ("settle_work", "poisoned"),
        ("fetch_work", "audit"),
        ("settle_work", "handed back"),
        ("fetch_work", "blast"),
        ("suspend", "Accepted"),
        ("resume", "Accepted"),
        ("send", "terminate"),
        ("send", "cancel"),
        ("purge", "1 instances"),
        ("commit", "suspended"),
        ("commit", "terminated"),
    ];
    for (what, outcome) in calls {
        assert!(is_met(reports, what, outcome), "{what}: {outcome}");
    }
    let is_blocked = is_met(reports, "commit", "blocked");
    assert!(!is_blocked, "no node is given what it lacks the code for");
    let histories = || reports.iter().flat_map(|report| &report.snapshot.histories);
    let restarted = histories().any(|((id, execution), _)| {
        id.starts_with("restarted") && *execution != ExecutionId::FIRST
    });
    assert!(restarted, "an ended instance was started again");
    let of_versions: BTreeSet<String> = histories()
        .filter_map(|(_, entries)| match &entries.first()?.event {
            Event::OrchestrationStarted { version, .. } => Some(version.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(of_versions, ["1.0.0".into(), "2.0.0".into()].into());
    let mut ends = reports
        .iter()
        .flat_map(|report| report.snapshot.instances.values());
    let is_faulted = |status: &InstanceStatus| {
        matches!(status, InstanceStatus::Terminated { failure }
            if failure.kind == FailureKind::DeterminismViolation)
    };
    assert!(ends.any(|end| is_faulted(&end.record.status)), "by policy");
}

/// Nodes seldom die, but often lose what they hold and go on.
fn zombies() -> FaultPlan {
    FaultPlan {
        degraded_period_interval: Some(Duration::from_secs(10)),
        life: None,
        crash: 0,
        delayed: 4_000,
        ..FaultPlan::default()
    }
}

/// Makes one mistake in a store.
type Mistake = fn() -> broken::Mistaken;

/// A seed on a store with a mistake.
fn simulate_broken(seed: u64, mistake: Mistake, scope: SimScope) -> SimReport {
    Simulation::new(seed)
        .faults(zombies())
        .around_store(mistake())
        .rest_within(Duration::from_secs(900))
        .scope(scope)
        .run(Workload::standard().unwrap())
}

/// Breaks the store in one way and expects one of the seeds to show it by the name
/// of the invariant.
fn assert_found(invariant: &str, mistake: Mistake, seeds: Range<u64>) -> SimReport {
    let mut found = BTreeMap::new();
    for seed in seeds {
        let report = simulate_broken(seed, mistake, SimScope::default());
        let Some(name) = report.broken() else {
            continue;
        };
        if name == invariant {
            let text = report.to_string();
            assert!(text.contains(&format!("cargo xtask sim --seed {seed}")));
            return report;
        }
        found.insert(name, seed);
    }
    panic!("`{invariant}` was not broken; found: {found:?}");
}

#[test]
fn a_store_that_forgets_the_fence_is_found() {
    let _ = assert_found("one_owner", broken::forgets_the_fence, 0..100);
}

#[test]
fn a_store_that_hands_out_what_is_held_is_found() {
    let _ = assert_found("one_owner", broken::hands_out_what_is_held, 0..30);
}

#[test]
fn a_store_that_loses_events_is_found() {
    let _ = assert_found("events_are_delivered_once", broken::loses_events, 0..30);
}

#[test]
fn a_store_that_mixes_up_answers_is_found() {
    let check = "requests_are_answered_once";
    let _ = assert_found(check, broken::mixes_up_answers, 0..30);
}

#[test]
fn a_store_that_loses_starts_is_found() {
    let _ = assert_found("starts_finish", broken::loses_starts, 0..30);
}

#[test]
fn a_store_that_says_done_and_does_nothing_is_found() {
    let _ = assert_found("history_is_append_only", broken::says_done, 0..30);
}

#[test]
fn a_store_that_fires_early_is_found() {
    let _ = assert_found("no_timer_early", broken::fires_early, 0..30);
}

#[test]
fn a_store_that_loses_results_is_found() {
    let _ = assert_found("starts_finish", broken::loses_results, 0..30);
}

#[test]
fn a_store_that_leaves_messages_behind_is_found() {
    let _ = assert_found("nothing_is_left", broken::forgets_the_ended, 0..30);
}

#[test]
fn a_store_that_invents_results_is_found() {
    let _ = assert_found("activities_complete_once", broken::invents_results, 0..30);
}

#[test]
fn a_store_that_garbles_results_is_found() {
    let _ = assert_found("outputs_are_as_expected", broken::garbles_results, 0..30);
}

#[test]
fn a_store_that_forgets_poison_is_found() {
    let _ = assert_found("poison_is_kept", broken::forgets_poison, 0..60);
}
