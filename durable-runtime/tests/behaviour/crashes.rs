//! Crashes at every point: what was stored is kept, what was not is done again,
//! and the history is the one of an undisturbed run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use durable_core::{EarlierAttempts, Event, HistoryEntry};
use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry,
    RuntimeOptions,
};

use crate::faulty::Fault;
use crate::journey;
use crate::world::{Random, World, stop};

const SQUARE: Activity<u32, u32> = Activity::new("square");
const SUM: Activity<Vec<u32>, u32> = Activity::new("sum");
const FAN: Orchestration<u32, u32> = Orchestration::new("fan");

/// Fan out, fan in.
async fn fan(ctx: OrchestrationContext, width: u32) -> Result<u32, Failure> {
    let squares = (1..=width).map(|n| ctx.activity(SQUARE, &n));
    let squares = futures::future::try_join_all(squares).await?;
    ctx.activity(SUM, &squares).await
}

fn registry(ran: &Arc<AtomicU32>) -> Registry {
    let (squared, summed) = (ran.clone(), ran.clone());
    Registry::builder()
        .orchestration(FAN, fan)
        .activity(SQUARE, move |_: ActivityContext, n| {
            squared.fetch_add(1, Ordering::Relaxed);
            async move { Ok::<_, Failure>(n * n) }
        })
        .activity(SUM, move |_: ActivityContext, squares: Vec<u32>| {
            summed.fetch_add(1, Ordering::Relaxed);
            async move { Ok::<_, Failure>(squares.iter().sum()) }
        })
        .build()
        .unwrap()
}

/// The events of the run in which the node died at the given call, and how often
/// activities ran. `None` if there were fewer calls.
async fn die_at(call: u64, fault: Fault) -> Option<(Vec<HistoryEntry>, u32)> {
    let world = World::new();
    let ran = Arc::new(AtomicU32::new(0));
    let registry = registry(&ran);
    let dying = world.faulty(move |_, number| match number == call {
        true => fault,
        false => Fault::None,
    });
    let instance = world.client().start(FAN, "fan", &4).await.unwrap();
    let start =
        durable_runtime::Runtime::builder(Arc::new(dying.clone()), registry.clone()).start();
    let first = tokio::select! {
        biased;
        node = start => Some(node.unwrap()),
        () = dying.died() => None,
    };
    tokio::select! {
        biased;
        () = dying.died() => {}
        result = instance.wait() => {
            // The rest of the calls is of a node that has nothing to do.
            assert_eq!(result.unwrap(), 30);
            return None;
        }
    }
    drop(first);
    let second = world.node(&registry).await;
    assert_eq!(instance.wait().await.unwrap(), 30);
    stop(second).await;
    world.assert_done();
    Some((world.history("fan", 1).await, ran.load(Ordering::Relaxed)))
}

/// The events, but for how many attempts of the activities crashed: at most one each.
fn events(history: &[HistoryEntry]) -> Vec<String> {
    let event = |entry: &HistoryEntry| {
        let mut event = entry.event.clone();
        if let Event::ActivityCompleted {
            earlier_attempts, ..
        } = &mut event
        {
            assert!(earlier_attempts.failed == 0 && earlier_attempts.crashed <= 1);
            *earlier_attempts = EarlierAttempts::NONE;
        }
        serde_json::to_string(&event).unwrap()
    };
    history.iter().map(event).collect()
}

#[tokio::test(start_paused = true)]
async fn a_fan_out_survives_a_crash_at_every_call_to_its_store() {
    let undisturbed = {
        let world = World::new();
        let ran = Arc::new(AtomicU32::new(0));
        let node = world.node(&registry(&ran)).await;
        let instance = node.client().start(FAN, "fan", &4).await.unwrap();
        assert_eq!(instance.wait().await.unwrap(), 30);
        stop(node).await;
        assert_eq!(ran.load(Ordering::Relaxed), 5);
        events(&world.history("fan", 1).await)
    };
    assert_eq!(undisturbed.len(), 12);
    let mut crashes = 0;
    for fault in [Fault::DieBefore, Fault::DieAfter] {
        for call in 1.. {
            let Some((history, ran)) = die_at(call, fault).await else {
                break;
            };
            assert_eq!(events(&history), undisturbed, "{fault:?} at call {call}");
            assert!(
                (5..=10).contains(&ran),
                "{fault:?} at call {call}: {ran} runs"
            );
            crashes += 1;
        }
    }
    assert!(crashes >= 10, "{crashes} crashes");
}

#[tokio::test(start_paused = true)]
async fn a_journey_survives_a_crash_at_every_call_to_its_store() {
    let undisturbed = journey::undisturbed().await;
    let mut crashes = 0;
    for fault in [Fault::DieBefore, Fault::DieAfter] {
        for call in 2.. {
            let world = World::new();
            let dying = world.faulty(move |_, number| match number == call {
                true => fault,
                false => Fault::None,
            });
            let client = world.client();
            journey::start(&client, "j").await;
            let journey = client.instance(journey::JOURNEY, "j");
            let first = world
                .node_on(
                    Arc::new(dying.clone()),
                    &journey::registry(),
                    Default::default(),
                )
                .await;
            let is_over = tokio::select! {
                biased;
                () = dying.died() => false,
                _ = journey.wait() => true,
            };
            if is_over {
                break;
            }
            drop(first);
            let second = world.node(&journey::registry()).await;
            let result = journey.wait().await;
            assert_eq!(result.unwrap(), journey::RESULT, "{fault:?} at call {call}");
            stop(second).await;
            world.assert_done();
            let trace = journey::trace(&world, "j").await;
            assert_eq!(trace, undisturbed, "{fault:?} at call {call}");
            crashes += 1;
        }
    }
    assert!(crashes >= 50, "{crashes} crashes");
}

#[tokio::test(start_paused = true)]
async fn journeys_survive_nodes_that_crash_again_and_again() {
    let undisturbed = journey::undisturbed().await;
    for seed in 0..10 {
        let world = World::new();
        let mut random = Random::new(seed);
        let client = world.client();
        let ids: Vec<String> = (0..5).map(|number| format!("j{number}")).collect();
        for id in &ids {
            journey::start(&client, id).await;
        }
        // Crashes are counted against instances and work, and these have much to do.
        let options = || {
            RuntimeOptions::default()
                .max_crashes(1_000)
                .session_timeout(Duration::from_secs(2))
        };
        for _ in 0..15 {
            let call = 2 + random.below(40);
            let fault = match random.below(2) {
                0 => Fault::DieBefore,
                _ => Fault::DieAfter,
            };
            let dying = world.faulty(move |_, number| match number == call {
                true => fault,
                false => Fault::None,
            });
            let node = world
                .node_on(Arc::new(dying.clone()), &journey::registry(), options())
                .await;
            let _ = tokio::time::timeout(Duration::from_secs(60), dying.died()).await;
            drop(node);
        }
        let node = world.node_with(&journey::registry(), options()).await;
        for id in &ids {
            let journey = client.instance(journey::JOURNEY, id.as_str());
            assert_eq!(
                journey.wait().await.unwrap(),
                journey::RESULT,
                "seed {seed}"
            );
        }
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
}
