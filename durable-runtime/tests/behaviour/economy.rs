//! What things cost, counted in calls to the store: results travel in memory, new
//! work is claimed in the commit, a cached turn reads nothing, a wait reads the end.

use std::sync::Arc;
use std::time::Duration;

use durable_runtime::{
    Activity, ActivityContext, EventName, Failure, IdReuse, Orchestration, OrchestrationContext,
    Registry, RuntimeOptions,
};

use crate::faulty::{Fault, Faulty};
use crate::world::{World, settle, stop};

const NOTHING: Activity<u32, u32> = Activity::new("nothing");
const CHAIN: Orchestration<u32, u32> = Orchestration::new("chain");
/// Runs an activity, says how far it is, and goes on anew.
const BUSY: Orchestration<u32, u32> = Orchestration::new("busy");
const WAIT: Orchestration<u32, u32> = Orchestration::new("wait");
/// Sleeps again and again, and never for long.
const NAPS: Orchestration<u32, u32> = Orchestration::new("naps");
const GO: EventName<u32> = EventName::new("go");

fn registry() -> Registry {
    Registry::builder()
        .orchestration(CHAIN, |ctx: OrchestrationContext, n| async move {
            for step in 0..n {
                ctx.activity(NOTHING, &step).await?;
            }
            Ok::<_, Failure>(n)
        })
        .orchestration(WAIT, |ctx: OrchestrationContext, n| async move {
            let mut sum = 0;
            for _ in 0..n {
                sum += ctx.external_event(GO).await?;
            }
            Ok::<_, Failure>(sum)
        })
        .orchestration(BUSY, |ctx: OrchestrationContext, n| async move {
            ctx.activity(NOTHING, &n).await?;
            ctx.set_custom_status(&n)?;
            match n {
                0 => Ok::<_, Failure>(0),
                n => ctx.continue_as_new(&(n - 1)).await,
            }
        })
        .orchestration(NAPS, |ctx: OrchestrationContext, n| async move {
            for _ in 0..n {
                ctx.sleep(Duration::ZERO).await?;
            }
            Ok::<_, Failure>(n)
        })
        .activity(NOTHING, |_: ActivityContext, n| async move {
            Ok::<_, Failure>(n)
        })
        .build()
        .unwrap()
}

fn options() -> RuntimeOptions {
    RuntimeOptions::default().verify_replay(false)
}

async fn counted_node(
    world: &World,
    options: RuntimeOptions,
) -> (durable_runtime::Runtime, Faulty) {
    let store = world.counted();
    let node = world
        .node_on(Arc::new(store.clone()), &registry(), options)
        .await;
    settle().await;
    (node, store)
}

#[tokio::test(start_paused = true)]
async fn a_chain_of_n_activities_costs_n_plus_one_commits_and_nothing_else_per_step() {
    const N: u32 = 100;
    let world = World::new();
    let (node, store) = counted_node(&world, options()).await;
    let client = world.client();
    let before = store.all_calls();
    // Nothing waits for a fetch: it works as well when there is none.
    store.follow(|name, _| match name {
        "fetch_work" => Fault::Unavailable,
        _ => Fault::None,
    });
    let chain = client.start(CHAIN, "c", &N).await.unwrap();
    assert_eq!(chain.wait().await.unwrap(), N);
    settle().await;
    let calls = |name: &str| store.calls(name) - before.get(name).copied().unwrap_or(0);
    assert_eq!(calls("commit"), u64::from(N) + 1);
    assert_eq!(calls("settle_work"), 0);
    assert_eq!(calls("release"), 0);
    assert_eq!(calls("history"), 0);
    assert_eq!(calls("instance"), 0);
    assert!(
        calls("fetch_instances") <= 3,
        "{}",
        calls("fetch_instances")
    );
    assert!(world.elapsed() <= Duration::from_millis(2));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_started_an_instance_and_waits_reads_it_once() {
    let world = World::new();
    let (node, _) = counted_node(&world, options()).await;
    let store = world.counted();
    let client = world.client_on(Arc::new(store.clone()));
    // It ends during the wait: it begins, runs activities, says something, goes on anew.
    let busy = client.start(BUSY, "b", &3).await.unwrap();
    assert_eq!(busy.wait().await.unwrap(), 0);
    assert_eq!((store.calls("wait"), store.calls("instance")), (1, 1));
    // It ended before the wait.
    assert_eq!(busy.clone().wait().await.unwrap(), 0);
    assert_eq!((store.calls("wait"), store.calls("instance")), (2, 2));
    // It ended before it was started anew.
    let again = client.start(BUSY, "b", &1).reuse(IdReuse::RestartEnded);
    assert_eq!(again.await.unwrap().wait().await.unwrap(), 0);
    assert_eq!((store.calls("wait"), store.calls("instance")), (3, 3));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_waits_for_an_instance_of_another_reads_it_first_and_at_its_end() {
    let world = World::new();
    let (node, _) = counted_node(&world, options()).await;
    let store = world.counted();
    let client = world.client_on(Arc::new(store.clone()));
    let started = world.client().start(WAIT, "w", &2).await.unwrap();
    let waiting = client.instance(WAIT, "w");
    let waiting = tokio::spawn(async move { waiting.wait().await });
    settle().await;
    started.raise(GO, &1).await.unwrap();
    settle().await;
    assert_eq!((store.calls("wait"), store.calls("instance")), (1, 1));
    started.raise(GO, &2).await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap(), 3);
    assert_eq!((store.calls("wait"), store.calls("instance")), (1, 2));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_waits_for_an_instance_reads_it_once_when_it_is_suspended() {
    let world = World::new();
    let (node, _) = counted_node(&world, options()).await;
    let store = world.counted();
    let client = world.client_on(Arc::new(store.clone()));
    let instance = client.start(WAIT, "w", &2).await.unwrap();
    let waiting = instance.clone();
    let waiting = tokio::spawn(async move { waiting.wait().await });
    settle().await;
    instance.raise(GO, &1).await.unwrap();
    settle().await;
    assert_eq!((store.calls("wait"), store.calls("instance")), (1, 0));
    instance.suspend("lunch").await.unwrap();
    waiting.await.unwrap().unwrap_err();
    assert_eq!((store.calls("wait"), store.calls("instance")), (1, 1));
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn with_verification_the_history_is_read_after_turns_1_2_4_and_at_the_end_alone() {
    const N: u32 = 100;
    let world = World::new();
    let (node, store) = counted_node(&world, options().verify_replay(true)).await;
    // The next timer fires while a turn is still being verified.
    store.follow(|name, _| match name {
        "history" => Fault::Slow(5, 5),
        _ => Fault::None,
    });
    let naps = world.client().start(NAPS, "n", &N).await.unwrap();
    assert_eq!(naps.wait().await.unwrap(), N);
    stop(node).await;
    // Turns 1, 2, 4, 8, 16, 32 and 64, and the last one: the history is one page.
    assert_eq!(store.calls("history"), 8);
    assert_eq!(store.calls("instance"), 0, "nothing was replayed to go on");
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_cached_turn_reads_no_history() {
    let world = World::new();
    let (node, store) = counted_node(&world, options()).await;
    let wait = world.client().start(WAIT, "w", &100).await.unwrap();
    settle().await;
    for n in 0..100 {
        wait.raise(GO, &n).await.unwrap();
        settle().await;
    }
    assert_eq!(wait.wait().await.unwrap(), 4_950);
    assert_eq!(store.calls("history"), 0);
    assert_eq!(store.calls("commit"), 101);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn the_cache_is_bounded_and_what_it_pushed_out_is_replayed_once() {
    let world = World::new();
    let options = options().cached_executions(2);
    let (node, store) = counted_node(&world, options).await;
    let client = world.client();
    let mut instances = Vec::new();
    for number in 0..3 {
        instances.push(client.start(WAIT, format!("w-{number}"), &3).await.unwrap());
        settle().await;
    }
    assert_eq!(store.calls("history"), 0);
    // The first was pushed out by the third.
    instances[0].raise(GO, &1).await.unwrap();
    settle().await;
    assert_eq!(store.calls("history"), 1);
    // It is in the cache again and has pushed out the second.
    instances[0].raise(GO, &1).await.unwrap();
    instances[2].raise(GO, &1).await.unwrap();
    settle().await;
    assert_eq!(store.calls("history"), 1);
    instances[1].raise(GO, &1).await.unwrap();
    settle().await;
    assert_eq!(store.calls("history"), 2);
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn without_a_cache_every_turn_replays() {
    let world = World::new();
    let options = options().cached_executions(0);
    let (node, store) = counted_node(&world, options).await;
    let wait = world.client().start(WAIT, "w", &10).await.unwrap();
    for n in 0..10 {
        settle().await;
        wait.raise(GO, &n).await.unwrap();
    }
    assert_eq!(wait.wait().await.unwrap(), 45);
    assert_eq!(store.calls("history"), 10);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_rejected_commit_evicts_and_the_next_turn_replays() {
    let world = World::new();
    let (node, store) = counted_node(&world, options()).await;
    let wait = world.client().start(WAIT, "w", &2).await.unwrap();
    settle().await;
    // The commit comes to the store after the instance was suspended: it is fenced.
    store.follow(|name, _| match name {
        "commit" => Fault::Slow(1_000, 0),
        _ => Fault::None,
    });
    wait.raise(GO, &5).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    wait.suspend("lunch").await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    store.follow(|_, _| Fault::None);
    assert_eq!(store.calls("history"), 0);
    assert_eq!(world.kinds("w", 1).await.len(), 2, "nothing was changed");
    wait.resume().await.unwrap();
    settle().await;
    assert_eq!(store.calls("history"), 1);
    assert_eq!(world.kinds("w", 1).await.len(), 4);
    wait.raise(GO, &6).await.unwrap();
    assert_eq!(wait.wait().await.unwrap(), 11);
    assert_eq!(store.calls("history"), 1);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn messages_that_wait_together_share_a_commit() {
    let world = World::new();
    let wait = world.client().start(WAIT, "w", &200).await.unwrap();
    for n in 0..200 {
        wait.raise(GO, &n).await.unwrap();
    }
    let (node, store) = counted_node(&world, options()).await;
    assert_eq!(wait.wait().await.unwrap(), 19_900);
    assert_eq!(store.calls("commit"), 1);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_idle_node_asks_the_store_only_now_and_then() {
    let world = World::new();
    let (node, store) = counted_node(&world, options()).await;
    let _waiting = world.client().start(WAIT, "w", &1).await.unwrap();
    settle().await;
    let before: u64 = store.all_calls().values().sum();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let calls = store.all_calls().values().sum::<u64>() - before;
    let heartbeats = 3_600_000 / 3_750;
    // For instances, work, cancellations and timers: each asks and then waits.
    let looks = 60 * 4 * 2;
    assert!(calls <= heartbeats + looks + 10, "{calls} calls in an hour");
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_instance_is_held_by_no_session() {
    let world = World::new();
    let (node, _) = counted_node(&world, options()).await;
    let client = world.client();
    for number in 0..10 {
        client.start(WAIT, format!("w-{number}"), &1).await.unwrap();
    }
    settle().await;
    let instances = world.store.snapshot().instances;
    assert!(instances.values().all(|instance| instance.holder.is_none()));
    stop(node).await;
}
