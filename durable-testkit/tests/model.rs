//! The model test finds nothing between two in-memory stores. What it finds in
//! broken ones stands in `broken_providers.rs`.

use durable_testkit::{MemoryOptions, MemoryProvider, ModelTest, StoreClock};

#[test]
fn the_memory_provider_agrees_with_itself() {
    ModelTest::new(|clock| async { MemoryProvider::with_clock(clock) })
        .cases(300)
        .max_steps(60)
        .run()
        .unwrap();
}

#[test]
fn giving_few_messages_at_a_time_makes_no_difference() {
    let few = |clock| {
        let options = MemoryOptions::default().messages_per_fetch(1);
        MemoryProvider::with_options(options.clock(clock))
    };
    ModelTest::new(move |clock| async move { few(clock) })
        .run()
        .unwrap();
}

#[test]
fn stores_with_clocks_of_their_own_agree_too() {
    ModelTest::new(|_| async { MemoryProvider::new() })
        .clock(StoreClock::WALL)
        .run()
        .unwrap();
}

#[test]
fn commits_of_scripts_for_partitions_claim_no_work() {
    ModelTest::new(|clock| async { MemoryProvider::with_clock(clock) })
        .partitioned()
        .run()
        .unwrap();
}
