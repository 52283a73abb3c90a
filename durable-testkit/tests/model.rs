//! The model test finds nothing between two in-memory stores. What it finds in
//! broken ones stands in `broken_providers.rs`.

use durable_testkit::{Clock, MemoryOptions, MemoryProvider, ModelTest, StoreClock};

#[test]
fn the_memory_provider_agrees_with_itself() {
    ModelTest::new(|| async { MemoryProvider::new() })
        .cases(300)
        .max_steps(60)
        .run()
        .unwrap();
}

#[test]
fn giving_few_messages_at_a_time_makes_no_difference() {
    let options = MemoryOptions {
        messages_per_fetch: 1,
        ..MemoryOptions::default()
    };
    ModelTest::new(move || async move { MemoryProvider::with_options(options) })
        .run()
        .unwrap();
}

#[test]
fn stores_with_clocks_of_their_own_agree_too() {
    let options = MemoryOptions {
        clock: StoreClock::Own,
        ..MemoryOptions::default()
    };
    ModelTest::new(move || async move { MemoryProvider::with_options(options) })
        .clock(Clock::WALL)
        .run()
        .unwrap();
}
