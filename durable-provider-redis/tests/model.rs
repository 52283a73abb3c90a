//! Random scripts of calls, against the in-memory model: every answer and every state
//! must be the same. `DURABLE_MODEL_CASES` and `DURABLE_MODEL_SEED` play others.
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::sync::Arc;

use durable_provider_redis::RedisOptions;
use durable_testkit::ModelTest;
use support::server::{Server, store_options};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn check(options: impl Fn() -> RedisOptions + 'static) {
    let is_partitioned = options().partitions.is_some();
    let server = Arc::new(Server::start());
    let make = move |clock| {
        let (server, options) = (Arc::clone(&server), options());
        async move { server.open_at(options, clock).await }
    };
    let cases = number("DURABLE_MODEL_CASES").unwrap_or(40);
    let test = ModelTest::new(make)
        .cases(u32::try_from(cases).unwrap())
        .max_steps(60)
        .seed(number("DURABLE_MODEL_SEED").unwrap_or(0));
    let test = match is_partitioned {
        true => test.partitioned(),
        false => test,
    };
    if let Err(failure) = test.run() {
        panic!("{failure}");
    }
}

#[test]
fn redis_does_what_the_model_does() {
    check(store_options);
}

#[test]
fn giving_few_messages_at_a_time_makes_no_difference() {
    check(|| store_options().messages_per_fetch(1));
}

#[test]
fn partitions_make_no_difference() {
    check(|| store_options().partitions(Some(4)));
}
