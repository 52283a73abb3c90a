//! Stopping a node while other things go wrong: within its bound, and nothing is lost
//! or done twice in history.

use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::Provider;
use durable_runtime::{
    Activity, ActivityContext, Client, Failure, Orchestration, OrchestrationContext, Registry,
    Runtime, RuntimeOptions, StartError,
};

use crate::faulty::Fault;
use crate::journey;
use crate::world::{Random, World, pass, settle, stop};

/// What a stop may take beyond its bound: handing back, and closing the session.
const GRACE: Duration = Duration::from_secs(11);

/// How many worlds of chance there are.
const SEEDS: u64 = 50;

const FLOW: Orchestration<u32, u32> = Orchestration::new("flow");
const WORK: Activity<u32, u32> = Activity::new("work");

/// One call of an activity that takes an hour the first time.
fn slow_registry() -> Registry {
    let is_first = Arc::new(std::sync::atomic::AtomicBool::new(true));
    Registry::builder()
        .orchestration(FLOW, |ctx: OrchestrationContext, n| async move {
            ctx.activity(WORK, &n).await
        })
        .activity(WORK, move |_: ActivityContext, n: u32| {
            let is_first = is_first.swap(false, std::sync::atomic::Ordering::Relaxed);
            async move {
                if is_first {
                    tokio::time::sleep(Duration::from_secs(3600)).await;
                }
                Ok::<_, Failure>(n)
            }
        })
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_lost_while_its_node_stops_ends_the_wait() {
    let world = World::new();
    let registry = slow_registry();
    let node = world.node(&registry).await;
    let flow = world.client().start(FLOW, "f", &5).await.unwrap();
    settle().await;
    let stopping = tokio::spawn(node.shutdown(Duration::from_secs(1800)));
    pass(Duration::from_secs(1)).await;
    for session in world.store.snapshot().sessions.into_keys() {
        world.store.close_session(session).await.unwrap();
    }
    stopping.await.unwrap();
    assert!(world.elapsed() < Duration::from_secs(10));
    let node = world.node(&registry).await;
    assert_eq!(flow.wait().await.unwrap(), 5);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_stopped_while_it_replaces_its_session_stops() {
    let world = World::new();
    let registry = slow_registry();
    // The answer to the fetch that hands out the work is lost.
    let store = world.faulty(|name, call| match (name, call) {
        ("fetch_instances", 2..) => Fault::UnknownAfter,
        _ => Fault::None,
    });
    let options = RuntimeOptions::default();
    let node = world.node_on(Arc::new(store), &registry, options).await;
    let flow = world.client().start(FLOW, "f", &5).await.unwrap();
    pass(Duration::from_millis(50)).await;
    let before = world.elapsed();
    node.shutdown(Duration::from_secs(1)).await;
    assert!(world.elapsed() - before < Duration::from_secs(1) + GRACE);
    let node = world.node(&registry).await;
    pass(Duration::from_secs(3601)).await;
    assert_eq!(flow.wait().await.unwrap(), 5);
    stop(node).await;
    world.assert_done();
}

/// One recorded side effect.
fn effect_registry() -> Registry {
    Registry::builder()
        .orchestration(FLOW, |ctx: OrchestrationContext, n: u32| async move {
            ctx.run("effect", async move { Ok::<_, Failure>(n) }).await
        })
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_commit_in_the_middle_of_a_turn_that_may_have_happened_is_not_forgotten() {
    let world = World::new();
    let registry = effect_registry();
    let store = world.faulty(|name, _| match name {
        "commit" => Fault::UnknownAfter,
        _ => Fault::None,
    });
    let options = RuntimeOptions::default();
    let node = world.node_on(Arc::new(store), &registry, options).await;
    let flow = world.client().start(FLOW, "f", &5).await.unwrap();
    pass(Duration::from_millis(50)).await;
    node.shutdown(Duration::ZERO).await;
    assert_eq!(world.kinds("f", 1).await, ["OrchestrationStarted"]);
    let node = world.node(&registry).await;
    assert_eq!(flow.wait().await.unwrap(), 5);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_dropped_while_it_stops_leaves_the_store_as_a_crash_would() {
    let world = World::new();
    let registry = effect_registry();
    let store = world.faulty({
        let mut commits = 0;
        move |name, _| {
            commits += u32::from(name == "commit");
            match (name, commits) {
                ("commit", 2) => Fault::Slow(4_000, 0),
                _ => Fault::None,
            }
        }
    });
    let options = RuntimeOptions::default();
    let node = world.node_on(Arc::new(store), &registry, options).await;
    let flow = world.client().start(FLOW, "f", &5).await.unwrap();
    pass(Duration::from_millis(50)).await;
    let second = Duration::from_secs(1);
    let stopping = tokio::time::timeout(second, node.shutdown(Duration::ZERO));
    assert!(stopping.await.is_err(), "a commit is under way");
    settle().await;
    assert_eq!(world.kinds("f", 1).await, ["OrchestrationStarted"]);
    let node = world.node(&registry).await;
    assert_eq!(flow.wait().await.unwrap(), 5);
    stop(node).await;
    world.assert_done();
}

/// Starts journeys, however the store behaves.
async fn start_journeys(client: &Client) -> Vec<String> {
    let ids: Vec<String> = (0..4).map(|number| format!("j{number}")).collect();
    for id in &ids {
        journey::start(client, id).await;
    }
    ids
}

/// One call in eight goes wrong, in one way or another.
fn now_and_then(mut random: Random) -> impl FnMut(&'static str, u64) -> Fault {
    move |_, _| match random.below(40) {
        0 => Fault::Unavailable,
        1 => Fault::UnknownBefore,
        2 => Fault::UnknownAfter,
        3 => Fault::Slow(random.below(300), 0),
        4 => Fault::Slow(0, random.below(300)),
        _ => Fault::None,
    }
}

/// A node with settings of chance, on a store that fails now and then.
async fn node_of_chance(world: &World, random: &mut Random) -> Result<Runtime, StartError> {
    let store = world.faulty(now_and_then(Random::new(random.next())));
    let options = RuntimeOptions::default()
        .max_crashes(1_000)
        .session_timeout(Duration::from_secs(2))
        .max_turns(1 + random.below(4) as usize)
        .max_activities(1 + random.below(4) as usize)
        .cached_executions(random.below(3) as usize);
    Runtime::builder(store, journey::registry())
        .options(options)
        .start()
        .await
}

#[tokio::test(start_paused = true)]
async fn nodes_come_stop_and_die_while_calls_go_wrong() {
    let undisturbed = journey::undisturbed().await;
    for seed in 0..SEEDS {
        let world = World::new();
        let mut random = Random::new(seed);
        let ids = start_journeys(&world.client()).await;
        let mut nodes = Vec::new();
        for _ in 0..12 {
            nodes.extend(node_of_chance(&world, &mut random).await);
            tokio::time::sleep(Duration::from_millis(random.below(1_000))).await;
            if nodes.len() > random.below(3) as usize {
                let node = nodes.swap_remove(random.below(nodes.len() as u64) as usize);
                if random.below(4) == 0 {
                    drop(node);
                    continue;
                }
                let bound = Duration::from_millis(random.below(2_000));
                let before = world.elapsed();
                node.shutdown(bound).await;
                let took = world.elapsed() - before;
                assert!(took <= bound + GRACE, "seed {seed}: {took:?} for {bound:?}");
            }
        }
        drop(nodes);
        let node = world.node(&journey::registry()).await;
        for id in &ids {
            let journey = world.client().instance(journey::JOURNEY, id.as_str());
            let result = tokio::time::timeout(Duration::from_secs(300), journey.wait()).await;
            let Ok(result) = result else {
                panic!(
                    "seed {seed}: {id} waits for ever: {:#?}",
                    world.kinds(id, 2).await
                );
            };
            assert_eq!(result.unwrap(), journey::RESULT, "seed {seed}");
        }
        stop(node).await;
        world.assert_done();
        for id in &ids {
            let trace = journey::trace(&world, id).await;
            assert_eq!(trace, undisturbed, "seed {seed}, {id}");
        }
    }
}
