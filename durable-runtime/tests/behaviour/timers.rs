//! Timers.

use std::time::{Duration, SystemTime};

use durable_core::Event;
use durable_runtime::{Failure, Orchestration, OrchestrationContext, Registry, RuntimeOptions};

use crate::world::{EPOCH_MS, World, settle, stop};

const WAIT: Orchestration<u64, u64> = Orchestration::new("wait");
const DAY: Duration = Duration::from_secs(24 * 3600);

fn registry<R>(code: impl Fn(OrchestrationContext, u64) -> R + Send + Sync + 'static) -> Registry
where
    R: Future<Output = Result<u64, Failure>> + Send + 'static,
{
    Registry::builder()
        .orchestration(WAIT, code)
        .build()
        .unwrap()
}

fn ms_since_epoch(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    since.as_millis() as u64
}

#[tokio::test(start_paused = true)]
async fn sleep_waits_as_long_as_it_says_and_time_goes_on() {
    let world = World::new();
    let registry = registry(|ctx, ms| async move {
        let before = ctx.now();
        ctx.sleep(Duration::from_millis(ms)).await?;
        Ok(ctx.now().duration_since(before).unwrap().as_millis() as u64)
    });
    let node = world.node(&registry).await;
    let instance = node.client().start(WAIT, "wait-1", &1_500).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 1_500);
    assert_eq!(world.elapsed(), Duration::from_millis(1_500));
    stop(node).await;
    assert_eq!(
        world.kinds("wait-1", 1).await,
        [
            "OrchestrationStarted",
            "TimerCreated",
            "TimerFired",
            "OrchestrationCompleted"
        ]
    );
    let history = world.history("wait-1", 1).await;
    assert_eq!(history[2].recorded_at_ms, EPOCH_MS + 1_500);
    assert!(matches!(
        history[1].event,
        Event::TimerCreated { fire_at_ms, .. } if fire_at_ms == EPOCH_MS + 1_500
    ));
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn sleep_until_waits_for_a_time_of_day_and_a_time_that_has_passed_is_now() {
    let world = World::new();
    let registry = registry(|ctx, ms| async move {
        ctx.sleep_until(SystemTime::UNIX_EPOCH + Duration::from_millis(ms))
            .await?;
        Ok(ms_since_epoch(ctx.now()))
    });
    let node = world.node(&registry).await;
    let client = node.client();
    let later = client
        .start(WAIT, "later", &(EPOCH_MS + 60_000))
        .await
        .unwrap();
    let passed = client.start(WAIT, "passed", &5).await.unwrap();
    assert_eq!(passed.wait().await.unwrap(), EPOCH_MS);
    assert_eq!(world.elapsed(), Duration::ZERO);
    assert_eq!(later.wait().await.unwrap(), EPOCH_MS + 60_000);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn no_timer_is_shorter_than_it_says() {
    let world = World::new();
    let registry = registry(|ctx, ns| async move {
        let started = ctx.now();
        ctx.sleep(Duration::from_nanos(ns)).await?;
        let first = ctx.now().duration_since(started).unwrap();
        assert!(first >= Duration::from_nanos(ns), "{first:?}");
        let until = ctx.now() + Duration::from_nanos(ns);
        ctx.sleep_until(until).await?;
        assert!(ctx.now() >= until);
        Ok(ctx.now().duration_since(started).unwrap().as_millis() as u64)
    });
    let node = world.node(&registry).await;
    let client = node.client();
    for (ns, waited_ms) in [(0, 0), (1, 2), (1_000_000, 2), (1_500_001, 4)] {
        let instance = client.start(WAIT, format!("wait-{ns}"), &ns).await.unwrap();
        assert_eq!(instance.wait().await.unwrap(), waited_ms, "{ns} ns");
    }
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_timer_of_thirty_days_takes_no_time() {
    let world = World::lasting(DAY * 31);
    let registry = registry(|ctx, days| async move {
        ctx.sleep(DAY * days as u32).await?;
        Ok(days)
    });
    let options = RuntimeOptions::default().session_timeout(Duration::from_secs(3600));
    let node = world.node_with(&registry, options).await;
    let instance = node.client().start(WAIT, "wait-1", &30).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 30);
    assert_eq!(world.elapsed(), DAY * 30);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_timer_survives_the_node_that_set_it() {
    let world = World::new();
    let registry = registry(|ctx, ms| async move {
        ctx.sleep(Duration::from_millis(ms)).await?;
        Ok(ms)
    });
    let first = world.node(&registry).await;
    let instance = first.client().start(WAIT, "wait-1", &60_000).await.unwrap();
    settle().await;
    drop(first);
    tokio::time::sleep(Duration::from_secs(600)).await;
    let second = world.node(&registry).await;
    assert_eq!(instance.wait().await.unwrap(), 60_000);
    let fired = &world.history("wait-1", 1).await[2];
    assert_eq!(fired.event.kind().name(), "TimerFired");
    assert!(fired.recorded_at_ms >= EPOCH_MS + 600_000);
    stop(second).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_timer_that_is_dropped_leaves_nothing_behind() {
    let world = World::new();
    let registry = registry(|ctx, _| async move {
        tokio::select! {
            long = ctx.sleep(DAY * 30) => long?,
            short = ctx.sleep(Duration::from_secs(1)) => short?,
        }
        ctx.sleep(Duration::from_secs(1)).await?;
        Ok(0)
    });
    let node = world.node(&registry).await;
    let instance = node.client().start(WAIT, "wait-1", &0).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(world.store.snapshot().timers.len(), 1);
    instance.wait().await.unwrap();
    assert_eq!(world.elapsed(), Duration::from_secs(2));
    stop(node).await;
    assert_eq!(
        world.kinds("wait-1", 1).await,
        [
            "OrchestrationStarted",
            "TimerCreated",
            "TimerCreated",
            "TimerFired",
            "TimerCreated",
            "TimerCancelled",
            "TimerFired",
            "OrchestrationCompleted",
        ]
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_timer_that_was_left_open_goes_when_the_instance_continues_or_ends() {
    let world = World::new();
    let registry = registry(|ctx, rounds| async move {
        let mut long = std::pin::pin!(ctx.sleep(DAY * 30));
        tokio::select! {
            biased;
            long = &mut long => long?,
            short = ctx.sleep(Duration::from_secs(1)) => short?,
        }
        match rounds {
            0 => Ok(0),
            more => ctx.continue_as_new(&(more - 1)).await,
        }
    });
    let node = world.node(&registry).await;
    let instance = node.client().start(WAIT, "wait-1", &3).await.unwrap();
    for _ in 0..4 {
        settle().await;
        assert_eq!(world.store.snapshot().timers.len(), 2);
        tokio::time::sleep(Duration::from_millis(999)).await;
    }
    instance.wait().await.unwrap();
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn timers_that_are_due_at_once_fire_in_the_order_in_which_they_were_set() {
    let world = World::new();
    let registry = registry(|ctx, count| async move {
        let at = ctx.now() + Duration::from_secs(5);
        let sleeps = (0..count).map(|_| ctx.sleep_until(at));
        futures::future::try_join_all(sleeps).await?;
        Ok(count)
    });
    let node = world.node(&registry).await;
    let instance = node.client().start(WAIT, "wait-1", &300).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 300);
    assert_eq!(world.elapsed(), Duration::from_secs(5));
    stop(node).await;
    let history = world.history("wait-1", 1).await;
    let fired: Vec<u64> = history
        .iter()
        .filter(|entry| entry.event.kind().name() == "TimerFired")
        .map(|entry| entry.event.source_event_id().unwrap().get())
        .collect();
    assert_eq!(fired, (2..302).collect::<Vec<_>>());
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn timers_of_many_instances_fire_by_their_times() {
    let world = World::new();
    let registry = registry(|ctx, ms| async move {
        ctx.sleep(Duration::from_millis(ms)).await?;
        Ok(ms_since_epoch(ctx.now()) - EPOCH_MS)
    });
    let node = world.node(&registry).await;
    let mut instances = Vec::new();
    for number in 0..100_u64 {
        let ms = (number * 7_919) % 100_000;
        let instance = node
            .client()
            .start(WAIT, format!("wait-{number}"), &ms)
            .await;
        instances.push((ms, instance.unwrap()));
    }
    for (ms, instance) in instances {
        assert_eq!(instance.wait().await.unwrap(), ms);
    }
    stop(node).await;
    world.assert_done();
}
