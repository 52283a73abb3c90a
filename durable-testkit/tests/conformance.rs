//! The in-memory provider keeps every promise of the storage contract.

use std::time::Duration;

use durable_testkit::{CheckOutcome, Conformance, MemoryOptions, MemoryProvider, StoreClock};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_memory_provider_keeps_the_contract() {
    let suite = Conformance::at_places(MemoryProvider::new, |store, clock| async move {
        store.handle_with_clock(clock)
    });
    let report = suite.run().await;
    report.assert_ok();
    let left_out = |outcome: &CheckOutcome| matches!(outcome, CheckOutcome::NotRun { .. });
    assert!(!report.checks.iter().any(|check| left_out(&check.outcome)));
}

#[tokio::test]
async fn a_store_that_opens_once_and_gives_few_messages_keeps_it_too() {
    let suite = Conformance::new(|clock| async move {
        let options = MemoryOptions::default().messages_per_fetch(1);
        MemoryProvider::with_options(options.clock(clock))
    });
    suite.run().await.assert_ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_with_a_clock_of_its_own_keeps_it_too() {
    let suite = Conformance::at_places(MemoryProvider::new, |store, _| async move {
        MemoryProvider::clone(&store)
    });
    let short = Duration::from_millis(400);
    let report = suite.clock(StoreClock::Wall { short }).run().await;
    report.assert_ok();
}

#[tokio::test]
async fn a_store_in_partitions_is_not_asked_for_the_work_of_others() {
    let suite = Conformance::new(|clock| async { MemoryProvider::with_clock(clock) });
    let check = "a_commit_claims_the_oldest_work_of_all_instances";
    let report = suite.partitioned().only([check]).run().await;
    let reason = "a commit claims work of its own partition only";
    assert_eq!(report.checks.len(), 1);
    assert_eq!(report.checks[0].outcome, CheckOutcome::NotRun { reason });
}
