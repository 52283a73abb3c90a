//! Storage errors: nothing fails for them, nothing is lost, nothing is repeated in
//! a history.

use std::sync::Arc;
use std::time::Duration;

use durable_runtime::RuntimeOptions;

use crate::faulty::Fault;
use crate::journey;
use crate::telemetry::Metrics;
use crate::world::{Random, World, stop};

/// Runs journeys on nodes whose calls to the store are disturbed by this plan.
async fn disturbed<P>(seed: u64, nodes: u64, plan: impl Fn(u64) -> P)
where
    P: FnMut(&'static str, u64) -> Fault + Send + 'static,
{
    let undisturbed = journey::undisturbed().await;
    let world = World::new();
    let client = world.client();
    let ids: Vec<String> = (0..5).map(|number| format!("j{number}")).collect();
    let options = || RuntimeOptions::default().max_crashes(1_000);
    let mut running = Vec::new();
    for number in 0..nodes {
        let store = world.counted();
        let provider = Arc::new(store.clone());
        running.push((
            world
                .node_on(provider, &journey::registry(), options())
                .await,
            store.clone(),
        ));
        store.follow(plan(seed * 100 + number));
    }
    for id in &ids {
        journey::start(&client, id).await;
    }
    for id in &ids {
        let journey = client.instance(journey::JOURNEY, id.as_str());
        assert_eq!(
            journey.wait().await.unwrap(),
            journey::RESULT,
            "seed {seed}"
        );
    }
    for (node, store) in running {
        store.follow(|_, _| Fault::None);
        stop(node).await;
    }
    // A session that was left open in doubt ends when its heartbeat is late.
    let node = world.node_with(&journey::registry(), options()).await;
    world.pass_heartbeat_bound().await;
    stop(node).await;
    world.assert_done();
    for id in &ids {
        assert_eq!(
            journey::trace(&world, id).await,
            undisturbed,
            "seed {seed}, {id}"
        );
    }
}

/// One fault in so many calls, at random.
fn at_random(seed: u64, one_in: u64, fault: Fault) -> impl FnMut(&'static str, u64) -> Fault {
    let mut random = Random::new(seed);
    move |_, _| match random.below(one_in) {
        0 => fault,
        _ => Fault::None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_now_and_then_delays_and_that_is_all() {
    for seed in 0..10 {
        disturbed(seed, 2, |seed| at_random(seed, 5, Fault::Unavailable)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_may_have_happened_and_did_not_are_made_again() {
    for seed in 0..10 {
        disturbed(seed, 2, |seed| at_random(seed, 10, Fault::UnknownBefore)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_happened_but_are_said_to_have_failed_do_no_harm() {
    for seed in 0..10 {
        disturbed(seed, 2, |seed| at_random(seed, 10, Fault::UnknownAfter)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn each_method_alone_may_be_said_to_have_failed_after_it_happened() {
    const METHODS: [&str; 14] = [
        "open_session",
        "heartbeat",
        "close_session",
        "fetch_instances",
        "commit",
        "release",
        "fetch_work",
        "settle_work",
        "heartbeat_work",
        "fire_timers",
        "suspend",
        "instance",
        "history",
        "wait",
    ];
    for (seed, method) in (0..).zip(METHODS) {
        for fault in [
            Fault::UnknownAfter,
            Fault::UnknownBefore,
            Fault::Unavailable,
        ] {
            disturbed(seed, 1, |seed| {
                let mut random = at_random(seed, 3, fault);
                move |name, number| match name == method {
                    true => random(name, number),
                    false => Fault::None,
                }
            })
            .await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_call_may_take_its_time_before_and_after_its_effect() {
    for seed in 0..10 {
        disturbed(seed, 3, |seed| {
            let mut random = Random::new(seed);
            move |_, _| Fault::Slow(random.below(200), random.below(200))
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn everything_at_once() {
    for seed in 0..10 {
        disturbed(seed, 3, |seed| {
            let mut random = Random::new(seed);
            move |_, _| match random.below(20) {
                0 => Fault::Unavailable,
                1 => Fault::UnknownBefore,
                2 => Fault::UnknownAfter,
                3..8 => Fault::Slow(random.below(500), random.below(500)),
                _ => Fault::None,
            }
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_waited_out() {
    let world = World::new();
    let store = world.counted();
    let node = world
        .node_on(
            Arc::new(store.clone()),
            &journey::registry(),
            Default::default(),
        )
        .await;
    let client = world.client();
    journey::start(&client, "j").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let before = store.all_calls().values().sum::<u64>();
    store.follow(|_, _| Fault::Unavailable);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let during = store.all_calls().values().sum::<u64>() - before;
    assert!(during < 5_000, "{during} calls in an hour: it backs off");
    store.follow(|_, _| Fault::None);
    let journey = client.instance(journey::JOURNEY, "j");
    assert_eq!(journey.wait().await.unwrap(), journey::RESULT);
    assert_eq!(
        journey::trace(&world, "j").await,
        journey::undisturbed().await
    );
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_slow_store_is_no_reason_for_a_rejected_commit() {
    let metrics = Metrics::default();
    let _listening = metrics::set_default_local_recorder(&metrics);
    for seed in 0..10 {
        disturbed(seed, 1, |seed| {
            let mut random = Random::new(seed);
            move |_, _| Fault::Slow(random.below(100), random.below(100))
        })
        .await;
    }
    assert!(metrics.get("durable_commits_total") > 500);
    assert_eq!(metrics.get("durable_commits_rejected_total"), 0);
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_always_lost_do_not_make_a_node_open_sessions_without_end() {
    let world = World::new();
    let store = world.counted();
    let node = world
        .node_on(
            Arc::new(store.clone()),
            &journey::registry(),
            Default::default(),
        )
        .await;
    let client = world.client();
    journey::start(&client, "j").await;
    store.follow(|name, _| match name {
        "fetch_instances" | "fetch_work" => Fault::UnknownAfter,
        _ => Fault::None,
    });
    tokio::time::sleep(Duration::from_secs(600)).await;
    let sessions = store.calls("open_session");
    assert!(
        (10..200).contains(&sessions),
        "{sessions} sessions in ten minutes"
    );
    assert!(
        world.store.snapshot().sessions.len() < 20,
        "they are closed again"
    );
    store.follow(|_, _| Fault::None);
    let journey = client.instance(journey::JOURNEY, "j");
    assert_eq!(journey.wait().await.unwrap(), journey::RESULT);
    stop(node).await;
    world.assert_done();
    assert_eq!(
        journey::trace(&world, "j").await,
        journey::undisturbed().await
    );
}
