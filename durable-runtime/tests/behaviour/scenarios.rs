//! Stories that people write orchestrations for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use durable_core::filter::Filter;
use durable_core::provider::PurgeRequest;
use durable_runtime::{
    Activity, ActivityContext, EventName, Failure, Orchestration, OrchestrationContext, Registry,
    RuntimeOptions,
};

use crate::world::{Random, World, settle, stop};

const APPROVAL: Orchestration<u32, String> = Orchestration::new("approval");
const APPROVED: EventName<String> = EventName::new("approved");
const COUNTER: Orchestration<Counter, u64> = Orchestration::new("counter");
const TICK: EventName<u64> = EventName::new("tick");
const WORK: Activity<u64, u64> = Activity::new("work");
const MANY: Orchestration<u64, u64> = Orchestration::new("many");

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Waits for a person, reminds them each day, gives up after three.
async fn approval(ctx: OrchestrationContext, _: u32) -> Result<String, Failure> {
    let mut approved = std::pin::pin!(ctx.external_event(APPROVED));
    for day in 1..=3 {
        tokio::select! {
            by = &mut approved => return Ok(format!("approved by {}", by?)),
            timer = ctx.sleep(DAY) => timer?,
        }
        ctx.set_custom_status(&format!("reminded {day} times"))?;
    }
    Ok("no answer".to_string())
}

fn approvals() -> Registry {
    Registry::builder()
        .orchestration(APPROVAL, approval)
        .build()
        .unwrap()
}

fn slow_heartbeats() -> RuntimeOptions {
    RuntimeOptions::default().session_timeout(Duration::from_secs(3600))
}

#[tokio::test(start_paused = true)]
async fn a_person_approves_in_time() {
    let world = World::lasting(DAY * 10);
    let node = world.node_with(&approvals(), slow_heartbeats()).await;
    let instance = node.client().start(APPROVAL, "a", &0).await.unwrap();
    tokio::time::sleep(DAY + Duration::from_secs(3600)).await;
    let status: Option<String> = instance.custom_status().await.unwrap();
    assert_eq!(status.as_deref(), Some("reminded 1 times"));
    instance.raise(APPROVED, &"Ada".to_string()).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), "approved by Ada");
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn no_approval_comes_in_time() {
    let world = World::lasting(DAY * 10);
    let node = world.node_with(&approvals(), slow_heartbeats()).await;
    let instance = node.client().start(APPROVAL, "a", &0).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), "no answer");
    assert_eq!(world.elapsed(), DAY * 3);
    stop(node).await;
    world.assert_done();
}

#[derive(serde::Serialize, serde::Deserialize, Clone, Copy)]
struct Counter {
    iteration: u64,
    count: u64,
    sum: u64,
}

const ITERATIONS: u64 = 10_000;
const TICKS: u64 = 500;

/// One iteration per execution, for ever: it takes a tick if there is one, else a
/// short rest. At the end it waits for the ticks that are missing.
async fn counter(ctx: OrchestrationContext, mut state: Counter) -> Result<u64, Failure> {
    state.iteration += 1;
    let tick = if state.iteration > ITERATIONS {
        Some(ctx.external_event(TICK).await?)
    } else {
        tokio::select! {
            biased;
            tick = ctx.external_event(TICK) => Some(tick?),
            rest = ctx.sleep(Duration::from_millis(10)) => {
                rest?;
                None
            }
        }
    };
    if let Some(tick) = tick {
        assert_eq!(tick, state.count, "ticks come in order");
        state.count += 1;
        state.sum += tick;
    }
    if state.iteration >= ITERATIONS && state.count == TICKS {
        return Ok(state.sum);
    }
    ctx.continue_as_new(&state).await
}

#[tokio::test(start_paused = true)]
async fn an_eternal_orchestration_loses_no_event_in_ten_thousand_iterations() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(COUNTER, counter)
        .build()
        .unwrap();
    let options = RuntimeOptions::default().verify_replay(false);
    let node = world.node_with(&registry, options).await;
    let client = node.client();
    let start = Counter {
        iteration: 0,
        count: 0,
        sum: 0,
    };
    let instance = client.start(COUNTER, "c", &start).await.unwrap();
    let mut random = Random::new(7);
    for tick in 0..TICKS {
        // Now one by one, now in bursts.
        if random.below(3) == 0 {
            tokio::time::sleep(Duration::from_millis(random.below(1_200))).await;
        }
        instance.raise(TICK, &tick).await.unwrap();
    }
    assert_eq!(instance.wait().await.unwrap(), TICKS * (TICKS - 1) / 2);
    let executions = instance.executions().await.unwrap();
    assert!(
        executions.len() as u64 >= ITERATIONS,
        "{}",
        executions.len()
    );
    assert!(
        executions
            .iter()
            .all(|execution| execution.last_event_id.get() < 30)
    );
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_thousand_parallel_activities_finish_in_random_order() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(MANY, |ctx: OrchestrationContext, count| async move {
            let calls = (0..count).map(|n| ctx.activity(WORK, &n));
            let done = futures::future::try_join_all(calls).await?;
            assert_eq!(done, (0..count).map(|n| n * 2).collect::<Vec<_>>());
            Ok::<_, Failure>(done.iter().sum())
        })
        .activity(WORK, |_: ActivityContext, n| async move {
            let ms = Random::new(n).below(60_000);
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Ok::<_, Failure>(n * 2)
        })
        .build()
        .unwrap();
    let options = RuntimeOptions::default()
        .max_activities(2_000)
        .verify_replay(false);
    let node = world.node_with(&registry, options).await;
    let instance = node.client().start(MANY, "m", &1_000).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 999_000);
    assert!(world.elapsed() <= Duration::from_secs(60));
    stop(node).await;
    let history = world.history("m", 1).await;
    assert_eq!(history.len(), 2_002);
    let sources: Vec<u64> = history[1_001..2_001]
        .iter()
        .map(|entry| entry.event.source_event_id().unwrap().get())
        .collect();
    assert!(!sources.is_sorted(), "in random order");
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_thousand_parallel_activities_on_two_small_nodes() {
    let world = World::new();
    let ran = Arc::new(AtomicU32::new(0));
    let count = ran.clone();
    let registry = Registry::builder()
        .orchestration(MANY, |ctx: OrchestrationContext, count| async move {
            let calls = (0..count).map(|n| ctx.activity(WORK, &n));
            Ok::<_, Failure>(futures::future::try_join_all(calls).await?.iter().sum())
        })
        .activity(WORK, move |_: ActivityContext, n| {
            count.fetch_add(1, Ordering::Relaxed);
            async move {
                tokio::time::sleep(Duration::from_millis(1 + n % 10)).await;
                Ok::<_, Failure>(n)
            }
        })
        .build()
        .unwrap();
    let options = || {
        RuntimeOptions::default()
            .max_activities(7)
            .verify_replay(false)
    };
    let first = world.node_with(&registry, options()).await;
    let second = world.node_with(&registry, options()).await;
    let instance = first.client().start(MANY, "m", &1_000).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 499_500);
    assert_eq!(ran.load(Ordering::Relaxed), 1_000, "each ran once");
    stop(first).await;
    stop(second).await;
    assert_eq!(world.kinds("m", 1).await.len(), 2_002);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_thousand_instances_come_and_go_and_leave_nothing_after_a_purge() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(MANY, |ctx: OrchestrationContext, n| async move {
            let doubled = ctx.activity(WORK, &n).await?;
            ctx.sleep(Duration::from_secs(n % 7)).await?;
            Ok::<_, Failure>(doubled)
        })
        .activity(WORK, |_: ActivityContext, n| async move {
            Ok::<_, Failure>(n * 2)
        })
        .build()
        .unwrap();
    let options = RuntimeOptions::default()
        .cached_executions(10)
        .verify_replay(false);
    let node = world.node_with(&registry, options).await;
    let client = node.client();
    let mut instances = Vec::new();
    for number in 0..1_000 {
        instances.push(
            client
                .start(MANY, format!("m-{number}"), &number)
                .await
                .unwrap(),
        );
    }
    for (number, instance) in (0..).zip(instances) {
        assert_eq!(instance.wait().await.unwrap(), number * 2);
    }
    settle().await;
    stop(node).await;
    world.assert_done();
    let purge = PurgeRequest::new(Filter::all(), 10_000);
    assert_eq!(client.purge(&purge).await.unwrap().instances, 1_000);
    let snapshot = world.store.snapshot();
    assert!(snapshot.instances.is_empty() && snapshot.histories.is_empty());
}
