//! The in-memory provider keeps every promise of the storage contract.

use std::time::Duration;

use durable_testkit::{
    CheckOutcome, Clock, Conformance, MemoryOptions, MemoryProvider, StoreClock,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_memory_provider_keeps_the_contract() {
    let report = Conformance::at_places(MemoryProvider::new, |store| async move {
        MemoryProvider::clone(&store)
    })
    .run()
    .await;
    report.assert_ok();
    let left_out = |outcome: &CheckOutcome| matches!(outcome, CheckOutcome::NotRun { .. });
    assert!(!report.checks.iter().any(|check| left_out(&check.outcome)));
}

#[tokio::test]
async fn a_store_that_opens_once_and_gives_few_messages_keeps_it_too() {
    let options = MemoryOptions {
        messages_per_fetch: 1,
        ..MemoryOptions::default()
    };
    Conformance::new(move || async move { MemoryProvider::with_options(options) })
        .run()
        .await
        .assert_ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_with_a_clock_of_its_own_keeps_it_too() {
    let options = MemoryOptions {
        clock: StoreClock::Own,
        ..MemoryOptions::default()
    };
    let store = move || MemoryProvider::with_options(options);
    let short = Duration::from_millis(400);
    Conformance::at_places(store, |store| async move { MemoryProvider::clone(&store) })
        .clock(Clock::Wall { short })
        .run()
        .await
        .assert_ok();
}
