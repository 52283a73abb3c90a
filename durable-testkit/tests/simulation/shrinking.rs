//! A broken seed becomes a small one that breaks in the same way.

use durable_testkit::{SimReport, SimScope, smallest_failure};

use super::{Mistake, assert_found, broken, simulate_broken};

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

#[test]
fn what_needs_faults_is_shrunk_to_a_few() {
    let (found, smallest) = shrink("one_owner", broken::forgets_the_fence, 400);
    assert_eq!(smallest.broken(), found.broken());
    let (before, after) = (found.struck.len(), smallest.struck.len());
    assert!(before > 50, "{before}");
    assert!((1..before / 2).contains(&after), "{after} of {before}");
    assert!(smallest.parts.len() < found.parts.len());
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
