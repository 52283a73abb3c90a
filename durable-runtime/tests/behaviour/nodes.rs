//! Several nodes: hand-over, zombies, stopping in good order.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use durable_core::provider::{Provider, ProviderError};
use durable_runtime::{
    Activity, ActivityContext, EventName, Failure, IdleReason, Name, Orchestration,
    OrchestrationContext, Registry, Runtime, RuntimeOptions, StartError,
};

use crate::faulty::Fault;
use crate::world::{World, other_code, settle, stop};

const STEP: Activity<u32, u32> = Activity::new("step");
const FLOW: Orchestration<u32, u32> = Orchestration::new("flow");
const GO: EventName<u32> = EventName::new("go");

type Log = Arc<Mutex<Vec<String>>>;

/// Ten steps of a second each, one after the other.
fn stepping(log: &Log, who: &'static str) -> Registry {
    let log = log.clone();
    Registry::builder()
        .orchestration(FLOW, |ctx: OrchestrationContext, steps| async move {
            let mut done = 0;
            for step in 0..steps {
                done += ctx.activity(STEP, &step).await?;
            }
            Ok::<_, Failure>(done)
        })
        .activity(STEP, move |_: ActivityContext, step| {
            let log = log.clone();
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                log.lock().unwrap().push(format!("{who} {step}"));
                Ok::<_, Failure>(1)
            }
        })
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_node_that_stops_hands_over_to_the_next_without_repeating_a_step() {
    let world = World::new();
    let log = Log::default();
    let first = world.node(&stepping(&log, "first")).await;
    let instance = first.client().start(FLOW, "f", &10).await.unwrap();
    tokio::time::sleep(Duration::from_millis(4_500)).await;
    let second = world.node(&stepping(&log, "second")).await;
    stop(first).await;
    assert_eq!(
        world.elapsed(),
        Duration::from_secs(5),
        "the running step was waited for"
    );
    assert_eq!(instance.wait().await.unwrap(), 10);
    assert_eq!(world.elapsed(), Duration::from_secs(10));
    let mut expected: Vec<String> = (0..5).map(|step| format!("first {step}")).collect();
    expected.extend((5..10).map(|step| format!("second {step}")));
    assert_eq!(*log.lock().unwrap(), expected);
    stop(second).await;
    assert_eq!(world.kinds("f", 1).await.len(), 22);
    world.assert_done();
    assert!(world.store.snapshot().sessions.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_crashes_is_replaced_when_its_heartbeat_bound_has_passed() {
    let world = World::new();
    let log = Log::default();
    let first = world.node(&stepping(&log, "first")).await;
    let instance = first.client().start(FLOW, "f", &10).await.unwrap();
    tokio::time::sleep(Duration::from_millis(4_500)).await;
    let second = world.node(&stepping(&log, "second")).await;
    drop(first);
    assert_eq!(instance.wait().await.unwrap(), 10);
    let mut expected: Vec<String> = (0..4).map(|step| format!("first {step}")).collect();
    expected.extend((4..10).map(|step| format!("second {step}")));
    assert_eq!(*log.lock().unwrap(), expected);
    // The last sign of life was the heartbeat at 3.75 s.
    let noticed = Duration::from_millis(3_750 + 15_000 + 1);
    assert_eq!(world.elapsed(), noticed + Duration::from_secs(6));
    stop(second).await;
    assert_eq!(world.kinds("f", 1).await.len(), 22);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn many_instances_are_shared_by_two_nodes_and_survive_one_of_them() {
    let world = World::new();
    let log = Log::default();
    let options = || RuntimeOptions::default().max_activities(16);
    let first = world.node_with(&stepping(&log, "first"), options()).await;
    let second = world.node_with(&stepping(&log, "second"), options()).await;
    let client = world.client();
    let mut instances = Vec::new();
    for number in 0..60 {
        instances.push(client.start(FLOW, format!("f-{number}"), &3).await.unwrap());
    }
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    drop(first);
    for instance in &instances {
        assert_eq!(instance.wait().await.unwrap(), 3);
    }
    for number in 0..60 {
        assert_eq!(world.kinds(&format!("f-{number}"), 1).await.len(), 8);
    }
    let log = log.lock().unwrap().clone();
    assert!(log.iter().any(|entry| entry.starts_with("first")));
    assert!(log.iter().any(|entry| entry.starts_with("second")));
    stop(second).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_zombie_whose_heartbeats_fail_can_do_no_harm() {
    let world = World::new();
    let log = Log::default();
    let cut_off = world.faulty(|name, _| match name {
        "heartbeat" => Fault::Unavailable,
        _ => Fault::None,
    });
    let zombie = world
        .node_on(
            Arc::new(cut_off.clone()),
            &stepping(&log, "zombie"),
            Default::default(),
        )
        .await;
    let instance = world.client().start(FLOW, "f", &40).await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let heir = world.node(&stepping(&log, "heir")).await;
    assert_eq!(instance.wait().await.unwrap(), 40);
    assert_eq!(
        world.kinds("f", 1).await.len(),
        82,
        "every step is recorded once"
    );
    world.history("f", 1).await;
    stop(zombie).await;
    stop(heir).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_zombie_that_only_commits_is_fenced() {
    let world = World::new();
    let log = Log::default();
    // Everything but commits and settlements is cut off after a while.
    let cut_off = world.counted();
    let zombie = world
        .node_on(
            Arc::new(cut_off.clone()),
            &stepping(&log, "zombie"),
            Default::default(),
        )
        .await;
    let instance = world.client().start(FLOW, "f", &40).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5_500)).await;
    cut_off.follow(|name, _| match name {
        "commit" | "settle_work" => Fault::Slow(20_000, 0),
        _ => Fault::Unavailable,
    });
    let heir = world.node(&stepping(&log, "heir")).await;
    assert_eq!(instance.wait().await.unwrap(), 40);
    assert_eq!(world.kinds("f", 1).await.len(), 82);
    let zombies_steps = log
        .lock()
        .unwrap()
        .iter()
        .filter(|entry| entry.starts_with("zombie"))
        .count();
    assert!(zombies_steps <= 7, "{zombies_steps}");
    cut_off.follow(|_, _| Fault::None);
    stop(zombie).await;
    stop(heir).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_node_that_lost_its_session_opens_another_one() {
    let world = World::new();
    let log = Log::default();
    let cut_off = world.counted();
    let node = world
        .node_on(
            Arc::new(cut_off.clone()),
            &stepping(&log, "node"),
            Default::default(),
        )
        .await;
    let instance = world.client().start(FLOW, "f", &3).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    cut_off.follow(|_, _| Fault::Unavailable);
    tokio::time::sleep(Duration::from_secs(60)).await;
    cut_off.follow(|_, _| Fault::None);
    assert_eq!(instance.wait().await.unwrap(), 3);
    assert_eq!(world.kinds("f", 1).await.len(), 8);
    stop(node).await;
    world.assert_done();
    assert!(world.store.snapshot().sessions.is_empty());
}

/// An activity that takes as long as it is told.
fn sleeping(ran: &Arc<AtomicU32>) -> Registry {
    let ran = ran.clone();
    Registry::builder()
        .orchestration(FLOW, |ctx: OrchestrationContext, seconds| async move {
            ctx.activity(STEP, &seconds).await
        })
        .activity(STEP, move |_: ActivityContext, seconds: u32| {
            ran.fetch_add(1, Ordering::Relaxed);
            async move {
                tokio::time::sleep(Duration::from_secs(seconds.into())).await;
                Ok::<_, Failure>(seconds)
            }
        })
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn stopping_waits_for_what_runs_within_the_bound_and_hands_back_the_rest() {
    let world = World::new();
    let ran = Arc::new(AtomicU32::new(0));
    let node = world.node(&sleeping(&ran)).await;
    let client = world.client();
    let short = client.start(FLOW, "short", &5).await.unwrap();
    let long = client.start(FLOW, "long", &60).await.unwrap();
    settle().await;
    node.shutdown(Duration::from_secs(10)).await;
    let stopped = world.elapsed();
    assert_eq!(stopped.as_secs(), 10);
    let snapshot = world.store.snapshot();
    assert!(snapshot.sessions.is_empty());
    let work: Vec<_> = snapshot.work.values().collect();
    assert_eq!(work.len(), 1, "the short one's result is stored");
    assert_eq!(
        (work[0].crashes, work[0].failures, work[0].holder),
        (0, 0, None)
    );
    assert!(
        snapshot
            .instances
            .values()
            .all(|instance| instance.holder.is_none())
    );

    let node = world.node(&sleeping(&ran)).await;
    assert_eq!(short.wait().await.unwrap(), 5);
    assert_eq!(world.elapsed(), stopped);
    assert_eq!(long.wait().await.unwrap(), 60);
    assert_eq!(
        ran.load(Ordering::Relaxed),
        3,
        "only the long one ran twice"
    );
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_idle_node_stops_at_once() {
    let world = World::new();
    let node = world.node(&other_code()).await;
    settle().await;
    let before = world.elapsed();
    node.shutdown(Duration::from_secs(3600)).await;
    assert_eq!(world.elapsed(), before);
    assert!(world.store.snapshot().sessions.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_node_stops_in_bounded_time_when_its_store_does_not_answer() {
    for dead in [Fault::DieBefore, Fault::Unavailable, Fault::UnknownBefore] {
        let world = World::new();
        let log = Log::default();
        let cut_off = world.counted();
        let node = world
            .node_on(
                Arc::new(cut_off.clone()),
                &stepping(&log, "node"),
                Default::default(),
            )
            .await;
        let _instance = node.client().start(FLOW, "f", &30).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        cut_off.follow(move |_, _| dead);
        let began = world.elapsed();
        node.shutdown(Duration::from_secs(3)).await;
        let took = world.elapsed() - began;
        assert!(took <= Duration::from_secs(3 + 5 + 5), "{dead:?}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_cannot_open_a_session_says_so() {
    let world = World::new();
    let cut_off = world.faulty(|_, _| Fault::Unavailable);
    let start = Runtime::builder(cut_off, other_code()).start();
    let error = start.await.unwrap_err();
    assert!(
        matches!(
            error,
            StartError::Provider(ProviderError::Unavailable { .. })
        ),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_node_that_could_run_nothing_is_refused() {
    use IdleReason::{NoQueues, NoneAtOnce, NoneRegistered};

    let nothing = Registry::default();
    let turns = || {
        let flow = |_: OrchestrationContext, n: u32| async move { Ok::<_, Failure>(n) };
        Registry::builder().orchestration(FLOW, flow)
    };
    let work = |_: ActivityContext, n: u32| async move { Ok::<_, Failure>(n) };
    let activities = Registry::builder().activity("work", work).build().unwrap();
    let turns_only = turns().build().unwrap();
    let both = turns().activity("work", work).build().unwrap();
    let options = RuntimeOptions::default;
    let no_queues = || options().queues([None::<Name>; 0]);
    for (registry, options, orchestrations, activities) in [
        (&nothing, options(), NoneRegistered, NoneRegistered),
        (
            &turns_only,
            options().max_turns(0),
            NoneAtOnce,
            NoneRegistered,
        ),
        (
            &activities,
            options().max_activities(0),
            NoneRegistered,
            NoneAtOnce,
        ),
        (&activities, no_queues(), NoneRegistered, NoQueues),
        (
            &both,
            options().max_turns(0).max_activities(0),
            NoneAtOnce,
            NoneAtOnce,
        ),
        (&both, no_queues().max_turns(0), NoneAtOnce, NoQueues),
    ] {
        let world = World::new();
        let store = world.counted();
        let node = Runtime::builder(store.clone(), registry.clone()).options(options);
        let error = node.start().await.unwrap_err();
        let expected = StartError::NothingToRun {
            orchestrations,
            activities,
        };
        assert_eq!(error, expected);
        assert_eq!(store.all_calls().values().sum::<u64>(), 0);
    }
    let error = StartError::NothingToRun {
        orchestrations: NoneAtOnce,
        activities: NoQueues,
    };
    assert_eq!(
        error.to_string(),
        "the node would run nothing: no orchestration (`max_turns` is 0) and no activity (`queues` \
         is empty); to start and read instances a client is enough"
    );
}

#[tokio::test(start_paused = true)]
async fn dropping_a_node_leaves_the_store_as_a_crash_would() {
    let world = World::new();
    let store = world.counted();
    let ran = Arc::new(AtomicU32::new(0));
    let node = world
        .node_on(Arc::new(store.clone()), &sleeping(&ran), Default::default())
        .await;
    let _instance = node.client().start(FLOW, "f", &60).await.unwrap();
    settle().await;
    let calls = store.all_calls();
    drop(node);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(store.all_calls(), calls, "a dead node says nothing");
    let snapshot = world.store.snapshot();
    assert_eq!(snapshot.work.len(), 1);
    // The store notices when it is asked next.
    let _ = world.store.fire_timers(1).await.unwrap();
    let snapshot = world.store.snapshot();
    assert!(snapshot.work.values().all(|work| work.crashes == 1));
    assert!(
        snapshot
            .instances
            .values()
            .all(|instance| instance.crashes == 1)
    );
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_waits_for_a_slow_activity_still_takes_messages() {
    let world = World::new();
    let ran = Arc::new(AtomicU32::new(0));
    let registry = Registry::builder()
        .merge(sleeping(&ran))
        .orchestration(
            "both",
            |ctx: OrchestrationContext, seconds: u32| async move {
                let slow = ctx.activity(STEP, &seconds);
                let (slow, event) = futures::future::join(slow, ctx.external_event(GO)).await;
                ctx.set_custom_status(&"both")?;
                Ok::<_, Failure>(slow? + event?)
            },
        )
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let instance = node
        .client()
        .start::<u32, u32>("both", "b", &600)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    instance.raise(GO, &7).await.unwrap();
    settle().await;
    assert_eq!(world.kinds("b", 1).await.last(), Some(&"ExternalEvent"));
    assert_eq!(instance.wait().await.unwrap(), 607);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn concurrency_is_bounded_as_configured() {
    let world = World::new();
    let running = Arc::new(Mutex::new((0_u32, 0_u32)));
    let count = running.clone();
    let registry = Registry::builder()
        .orchestration(FLOW, |ctx: OrchestrationContext, calls| async move {
            let calls = (0..calls).map(|call| ctx.activity(STEP, &call));
            let done = futures::future::try_join_all(calls).await?;
            Ok::<_, Failure>(done.len() as u32)
        })
        .activity(STEP, move |_: ActivityContext, step| {
            let count = count.clone();
            async move {
                {
                    let mut count = count.lock().unwrap();
                    count.0 += 1;
                    count.1 = count.1.max(count.0);
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
                count.lock().unwrap().0 -= 1;
                Ok::<_, Failure>(step)
            }
        })
        .build()
        .unwrap();
    let options = RuntimeOptions::default().max_activities(3).max_turns(1);
    let node = world.node_with(&registry, options).await;
    let client = node.client();
    let mut instances = Vec::new();
    for number in 0..4 {
        instances.push(client.start(FLOW, format!("f-{number}"), &6).await.unwrap());
    }
    for instance in instances {
        assert_eq!(instance.wait().await.unwrap(), 6);
    }
    assert_eq!(*running.lock().unwrap(), (0, 3));
    assert_eq!(
        world.elapsed(),
        Duration::from_secs(8),
        "no slot is ever idle"
    );
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_node_can_run_orchestrations_only_or_activities_only() {
    let world = World::new();
    let log = Log::default();
    let orchestrations = RuntimeOptions::default().max_activities(0);
    let activities = RuntimeOptions::default().max_turns(0);
    let thinker = world
        .node_with(&stepping(&log, "thinker"), orchestrations)
        .await;
    let worker = world.node_with(&stepping(&log, "worker"), activities).await;
    let client = world.client();
    let mut instances = Vec::new();
    for number in 0..5 {
        instances.push(client.start(FLOW, format!("f-{number}"), &3).await.unwrap());
    }
    for instance in instances {
        assert_eq!(instance.wait().await.unwrap(), 3);
    }
    assert_eq!(world.elapsed(), Duration::from_secs(3));
    assert_eq!(log.lock().unwrap().len(), 15);
    assert!(
        log.lock()
            .unwrap()
            .iter()
            .all(|entry| entry.starts_with("worker"))
    );
    stop(thinker).await;
    stop(worker).await;
    world.assert_done();
}
