//! Random scripts of calls, against the in-memory model: every answer and every state
//! must be the same. `DURABLE_MODEL_CASES` and `DURABLE_MODEL_SEED` play others.
#![cfg(test)]

use std::sync::Arc;

use durable_core::provider::Clock;
use durable_provider_sqlite::{SqliteOptions, SqliteProvider};
use durable_testkit::ModelTest;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn check(options: &SqliteOptions) {
    let options = options.clone();
    let make = move |clock: Arc<dyn Clock>| {
        let options = options.clone().clock(clock);
        async move { SqliteProvider::open_in_memory_with(options).unwrap() }
    };
    let cases = number("DURABLE_MODEL_CASES").unwrap_or(150);
    let test = ModelTest::new(make)
        .cases(u32::try_from(cases).unwrap())
        .max_steps(60)
        .seed(number("DURABLE_MODEL_SEED").unwrap_or(0));
    if let Err(failure) = test.run() {
        panic!("{failure}");
    }
}

#[test]
fn sqlite_does_what_the_model_does() {
    check(&SqliteOptions::default());
}

#[test]
fn giving_few_messages_at_a_time_makes_no_difference() {
    check(&SqliteOptions::default().messages_per_fetch(1));
}
