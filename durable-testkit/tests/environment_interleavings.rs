//! Searching for orders of things that break an invariant.
#![cfg(test)]

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use durable_runtime::{
    Activity, EventName, Failure, Orchestration, OrchestrationContext, Registry,
};
use durable_testkit::{Interleavings, TestEnvironment, TestEnvironmentBuilder};
use futures::StreamExt;
use futures::future::{Either, select};
use futures::stream::FuturesUnordered;

const FETCH: Activity<u64, u64> = Activity::new("fetch");
const GATHER: Orchestration<u64, Vec<u64>> = Orchestration::new("gather");
const PAY: Orchestration<u64, String> = Orchestration::new("pay");
const CANCEL: EventName<()> = EventName::new("cancel");

/// Returns what it fetched in the order in which it came.
async fn gather(ctx: OrchestrationContext, count: u64) -> Result<Vec<u64>, Failure> {
    let numbers: Vec<u64> = (0..count).collect();
    let mut fetched: FuturesUnordered<_> = numbers.iter().map(|n| ctx.activity(FETCH, n)).collect();
    let mut gathered = Vec::new();
    while let Some(number) = fetched.next().await {
        gathered.push(number?);
    }
    Ok(gathered)
}

/// Pays unless it is cancelled within a minute; but it forgets to look once more.
async fn pay(ctx: OrchestrationContext, order: u64) -> Result<String, Failure> {
    let cancelled = ctx.external_event(CANCEL);
    match select(cancelled, ctx.sleep(Duration::from_secs(60))).await {
        Either::Left(_) => Ok("cancelled".into()),
        Either::Right(_) => {
            ctx.activity(FETCH, &order).await?;
            Ok("paid".into())
        }
    }
}

fn environment() -> TestEnvironmentBuilder {
    let registry = Registry::builder()
        .orchestration(GATHER, gather)
        .orchestration(PAY, pay)
        .build()
        .unwrap();
    TestEnvironment::builder(registry).replace_activity(FETCH, |number| async move { Ok(number) })
}

#[test]
fn activities_finish_in_every_order() {
    let seen = Mutex::new(BTreeSet::new());
    Interleavings::of(environment())
        .cases(60)
        .check(async |env| {
            let gather = env.start(GATHER, "gather-1", &3).await.unwrap();
            let gathered = env.wait(&gather).await.unwrap();
            seen.lock().unwrap().insert(gathered);
        });
    assert_eq!(seen.lock().unwrap().len(), 6);
}

#[test]
fn an_order_that_breaks_the_invariant_is_found_simplified_and_seen_again() {
    let last_is_last = async |env: &TestEnvironment| {
        let gather = env.start(GATHER, "gather-1", &4).await.unwrap();
        let gathered = env.wait(&gather).await.unwrap();
        assert_eq!(gathered.last(), Some(&3), "the last is not the last");
    };
    let search = Interleavings::of(environment()).cases(50);
    let failure = search.search(last_is_last).unwrap_err();
    assert_eq!(failure.order.len(), 4, "{failure}");
    let departures = failure.choices.iter().filter(|index| **index != 0);
    assert_eq!(departures.count(), 1, "{failure}");
    assert!(
        failure.message.contains("the last is not the last"),
        "{failure}"
    );
    let text = failure.to_string();
    assert!(
        text.contains("activity `fetch` of `gather-1` runs (event 5)"),
        "{text}"
    );

    let again = search.replay(&failure.choices, last_is_last).unwrap_err();
    assert_eq!(again.order, failure.order);
    assert_eq!(search.replay(&[], last_is_last), Ok(()));
}

#[test]
fn an_event_and_a_timer_race_both_ways() {
    let seen = Mutex::new(BTreeSet::new());
    Interleavings::of(environment())
        .cases(30)
        .check(async |env| {
            let pay = env.start(PAY, "pay-1", &7).await.unwrap();
            env.raise_sometime("pay-1", CANCEL, &()).await.unwrap();
            let outcome = env.wait(&pay).await.unwrap();
            assert_eq!(outcome == "paid", env.scheduled(FETCH) == [7]);
            seen.lock().unwrap().insert(outcome);
        });
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen, BTreeSet::from(["cancelled".into(), "paid".into()]));
}
