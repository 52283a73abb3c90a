//! The store's time: the server's own clock, as stores are used, and one that a test gives.
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::sync::Arc;

use durable_core::provider::{IdReuse, Provider, ReadyInstance, SessionOptions};
use durable_core::{Failure, FailureKind};
use durable_provider_redis::RedisProvider;
use durable_testkit::{Conformance, ManualClock, StoreClock, TurnBuilder, start_message};
use support::server::{Server, store_options};

const EPOCH_MS: u64 = 1_700_000_000_000;

/// The server's time, in milliseconds.
fn server_ms(server: &Server) -> u64 {
    let answer = server.command("TIME");
    let mut numbers = answer.lines().filter_map(|line| line.parse::<u64>().ok());
    let (seconds, micros) = (numbers.next().unwrap(), numbers.next().unwrap());
    seconds * 1_000 + micros / 1_000
}

async fn claim(provider: &RedisProvider) -> ReadyInstance {
    let id = "order-7".into();
    let start = provider.start(&id, start_message("start"), IdReuse::Refuse);
    let _ = start.await.unwrap();
    let session = provider.open_session(SessionOptions::default());
    let ready = provider.fetch_instances(session.await.unwrap(), 9).await;
    let [ready] = ready.unwrap().instances.try_into().unwrap();
    ready
}

async fn times(provider: &RedisProvider) -> (u64, u64) {
    let record = provider.instance(&"order-7".into()).await;
    let record = record.unwrap().unwrap();
    (record.created_at_ms, record.updated_at_ms)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_server_keeps_every_promise_by_its_own_clock() {
    let server = Arc::new(Server::start());
    let suite = Conformance::at_places(store_options, move |options, _| {
        let server = Arc::clone(&server);
        async move { server.open((*options).clone()).await }
    });
    suite.clock(StoreClock::WALL).run().await.assert_ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_knows_the_time_of_the_server() {
    let server = Server::start();
    let provider = server.open(store_options()).await;
    for _ in 0..20 {
        let before_ms = server_ms(&server);
        let fired = provider.fire_timers(1).await.unwrap();
        assert_eq!((fired.fired, fired.next_due_ms), (0, None));
        let known_ms = provider.now_ms();
        let after_ms = server_ms(&server);
        // The estimate is rounded down, by two milliseconds at most.
        assert!(
            (before_ms.saturating_sub(2)..=after_ms).contains(&known_ms),
            "{before_ms} {known_ms} {after_ms}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_given_a_clock_goes_by_it_in_every_call() {
    let server = Server::start();
    let clock = ManualClock::starting_at(EPOCH_MS);
    let provider = server.open_at(store_options(), clock.clone());
    let provider = provider.await;
    assert_eq!(provider.now_ms(), EPOCH_MS);
    let ready = claim(&provider).await;
    assert_eq!(times(&provider).await, (EPOCH_MS, EPOCH_MS));

    clock.advance(10);
    let turn = TurnBuilder::new(&ready, EPOCH_MS).started();
    let turn = turn.timer(EPOCH_MS + 20).keeping_the_lease().build();
    let _ = provider.commit(Arc::new(turn.clone())).await.unwrap();
    assert_eq!(times(&provider).await, (EPOCH_MS, EPOCH_MS + 10));
    let early = provider.fire_timers(9).await.unwrap();
    assert_eq!((early.fired, early.next_due_ms), (0, Some(EPOCH_MS + 20)));

    clock.advance(10);
    let due = provider.fire_timers(9).await.unwrap();
    assert_eq!((due.fired, due.next_due_ms), (1, None));
    clock.set(EPOCH_MS);
    assert_eq!(provider.now_ms(), EPOCH_MS + 20, "it does not go back");
    let next = TurnBuilder::after(&turn, EPOCH_MS).activity("charge");
    let _ = provider.commit(Arc::new(next.build())).await.unwrap();
    assert_eq!(times(&provider).await, (EPOCH_MS, EPOCH_MS + 20));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_is_never_older_than_its_history() {
    let server = Server::start();
    let clock = ManualClock::starting_at(EPOCH_MS);
    let provider = server.open_at(store_options(), clock.clone());
    let provider = provider.await;
    let ready = claim(&provider).await;
    let ahead_ms = EPOCH_MS + 5_000;
    let turn = TurnBuilder::new(&ready, ahead_ms).started();
    let turn = turn.keeping_the_lease().build();
    let _ = provider.commit(Arc::new(turn.clone())).await.unwrap();
    assert_eq!(times(&provider).await, (EPOCH_MS, ahead_ms));

    clock.advance(1);
    let quiet = TurnBuilder::after(&turn, EPOCH_MS).build();
    let _ = provider.commit(Arc::new(quiet)).await.unwrap();
    assert_eq!(times(&provider).await, (EPOCH_MS, ahead_ms));
    let failure = Failure::new(FailureKind::CorruptHistory, "stop");
    let _ = provider.suspend(&"order-7".into(), failure).await.unwrap();
    assert_eq!(times(&provider).await, (EPOCH_MS, ahead_ms));
}
