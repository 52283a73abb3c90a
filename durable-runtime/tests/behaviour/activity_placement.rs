//! Which node runs an activity: queues, missing code, crashes, poison.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use durable_core::{EarlierAttempts, Name};
use durable_runtime::{
    Activity, ActivityContext, ClientError, Failure, FailureKind, Orchestration,
    OrchestrationContext, Registry, RetryPolicy, RuntimeOptions,
};

use crate::world::{World, settle, stop};

const PACK: Activity<u32, String> = Activity::new("pack");
const SHIP: Activity<u32, String> = Activity::new("ship");
const ORDER: Orchestration<u32, Vec<String>> = Orchestration::new("order");

fn serving(queue: Option<&str>) -> RuntimeOptions {
    RuntimeOptions::default().queues(vec![queue.map(Name::from)])
}

async fn order(ctx: OrchestrationContext, item: u32) -> Result<Vec<String>, Failure> {
    let packed = ctx.activity(PACK, &item).queue("packers").await?;
    let shipped = ctx.activity(SHIP, &item).queue("shippers").await?;
    Ok(vec![packed, shipped])
}

/// Both activities, by this worker.
fn worker(name: &'static str) -> Registry {
    Registry::builder()
        .orchestration(ORDER, order)
        .activity(PACK, move |_, item| async move {
            Ok::<_, Failure>(format!("{item} packed by {name}"))
        })
        .activity(SHIP, move |_, item| async move {
            Ok::<_, Failure>(format!("{item} shipped by {name}"))
        })
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn nodes_specialise_by_queue() {
    let world = World::new();
    let packer = world
        .node_with(&worker("Ada"), serving(Some("packers")))
        .await;
    let shipper = world
        .node_with(&worker("Bob"), serving(Some("shippers")))
        .await;
    let client = world.client();
    for item in 0..20 {
        let instance = client
            .start(ORDER, format!("order-{item}"), &item)
            .await
            .unwrap();
        let result = instance.wait().await.unwrap();
        assert_eq!(
            result,
            [
                format!("{item} packed by Ada"),
                format!("{item} shipped by Bob")
            ]
        );
    }
    assert_eq!(world.elapsed(), Duration::ZERO);
    stop(packer).await;
    stop(shipper).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn work_of_a_queue_that_no_node_serves_waits() {
    let world = World::new();
    let packer = world
        .node_with(&worker("Ada"), serving(Some("packers")))
        .await;
    let instance = packer.client().start(ORDER, "order-1", &1).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(
        world.kinds("order-1", 1).await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityCompleted",
            "ActivityScheduled"
        ]
    );
    let shipper = world
        .node_with(&worker("Bob"), serving(Some("shippers")))
        .await;
    assert_eq!(instance.wait().await.unwrap()[1], "1 shipped by Bob");
    assert_eq!(world.elapsed(), Duration::from_secs(3600));
    stop(packer).await;
    stop(shipper).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_activity_that_a_node_lacks_is_run_by_one_that_has_it() {
    let world = World::new();
    let all = [Some("packers"), Some("shippers")].map(|queue| queue.map(Name::from));
    let options = RuntimeOptions::default().queues(all.to_vec());
    let part = |builder: durable_runtime::RegistryBuilder| {
        builder.orchestration(ORDER, order).build().unwrap()
    };
    let packing = part(Registry::builder().activity(PACK, |_, item| async move {
        Ok::<_, Failure>(format!("{item} packed"))
    }));
    let shipping = part(Registry::builder().activity(SHIP, |_, item| async move {
        Ok::<_, Failure>(format!("{item} shipped"))
    }));
    let packer = world.node_with(&packing, options.clone()).await;
    let shipper = world.node_with(&shipping, options).await;
    let client = world.client();
    for item in 0..20 {
        let instance = client
            .start(ORDER, format!("order-{item}"), &item)
            .await
            .unwrap();
        let result = instance.wait().await.unwrap();
        assert_eq!(
            result,
            [format!("{item} packed"), format!("{item} shipped")]
        );
        let kinds = world.kinds(&format!("order-{item}"), 1).await;
        assert_eq!(kinds.len(), 6, "{kinds:?}");
    }
    // Each order was handed back once at most by either node before the other one
    // took it.
    assert!(world.elapsed() <= 20 * 2 * Duration::from_millis(150));
    stop(packer).await;
    stop(shipper).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn work_that_no_node_has_the_code_for_is_given_to_none_and_costs_nothing() {
    let world = World::new();
    let store = world.counted();
    let registry = Registry::builder()
        .orchestration("alone", |ctx: OrchestrationContext, (): ()| async move {
            ctx.activity::<(), u32>("missing", &()).await
        })
        .build()
        .unwrap();
    let node = world
        .node_on(
            Arc::new(store.clone()),
            &registry,
            RuntimeOptions::default(),
        )
        .await;
    let client = world.client();
    let _instance = client
        .start::<(), u32>("alone", "alone-1", &())
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(store.calls("settle_work"), 0);
    let fetches = store.calls("fetch_work");
    assert!(fetches <= 62, "{fetches} in an hour, of which 60 are due");
    stop(node).await;
    let work = world.store.snapshot().work;
    assert_eq!(work.len(), 1);
    assert!(
        work.values()
            .all(|work| work.failures == 0 && work.crashes == 0)
    );
}

/// An activity that takes its node down: it never returns, and says when it began.
fn deadly(begun: &Arc<AtomicU32>) -> Registry {
    let begun = begun.clone();
    Registry::builder()
        .orchestration(ORDER, |ctx: OrchestrationContext, item| async move {
            Ok::<_, Failure>(vec![ctx.activity(PACK, &item).await?])
        })
        .activity(PACK, move |_: ActivityContext, _| {
            begun.fetch_add(1, Ordering::Relaxed);
            std::future::pending::<Result<String, Failure>>()
        })
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn work_that_takes_its_worker_down_again_and_again_is_set_aside() {
    let world = World::new();
    let begun = Arc::new(AtomicU32::new(0));
    let registry = deadly(&begun);
    let options = || RuntimeOptions::default().max_crashes(3);
    let instance = world.client().start(ORDER, "order-1", &1).await.unwrap();
    for death in 1..=3 {
        let node = world.node_with(&registry, options()).await;
        settle().await;
        assert_eq!(begun.load(Ordering::Relaxed), death);
        drop(node);
        world.pass_heartbeat_bound().await;
    }
    let node = world.node_with(&registry, options()).await;
    let error = instance.wait().await.unwrap_err();
    let ClientError::Failed { failure, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(failure.kind, FailureKind::Poisoned);
    assert_eq!(
        failure.message,
        "activity `pack` took its worker down 3 times and is set aside: see the logs of the workers"
    );
    assert_eq!(begun.load(Ordering::Relaxed), 3);
    stop(node).await;
    world.assert_done();
    assert_eq!(
        world.kinds("order-1", 1).await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityFailed",
            "OrchestrationFailed"
        ]
    );
    let poisoned = world.client().poisoned(None, 10).await.unwrap();
    assert_eq!(poisoned.next, None);
    let [kept] = &poisoned.work[..] else {
        panic!("it is kept for inspection: {poisoned:?}");
    };
    assert_eq!(kept.item.key.instance, "order-1");
    assert_eq!(kept.item.command().to_string(), "Activity(0)");
    assert_eq!((&*kept.item.name, &*kept.item.input), ("pack", "1"));
    assert_eq!(kept.failure, failure);
}

#[tokio::test(start_paused = true)]
async fn stopping_in_good_order_does_not_count_as_a_crash() {
    let world = World::new();
    let begun = Arc::new(AtomicU32::new(0));
    let registry = deadly(&begun);
    let _instance = world.client().start(ORDER, "order-1", &1).await.unwrap();
    for stops in 1..=10 {
        let node = world.node(&registry).await;
        settle().await;
        assert_eq!(begun.load(Ordering::Relaxed), stops);
        node.shutdown(Duration::from_secs(1)).await;
        let work = world.store.snapshot().work;
        let work = work.values().next().unwrap();
        assert_eq!((work.crashes, work.failures, work.holder), (0, 0, None));
    }
}

#[tokio::test(start_paused = true)]
async fn an_activity_runs_again_after_a_crash_knows_it_and_its_result_is_recorded_once() {
    let world = World::new();
    let runs = Arc::new(Mutex::new(Vec::new()));
    let log = runs.clone();
    let registry = Registry::builder()
        .orchestration(ORDER, |ctx: OrchestrationContext, item| async move {
            let pack = ctx.activity(PACK, &item).retry(RetryPolicy::attempts(2));
            Ok::<_, Failure>(vec![pack.await?])
        })
        .activity(PACK, move |ctx: ActivityContext, _| {
            let delivery = (ctx.idempotency_key(), ctx.attempt(), ctx.is_redelivery());
            log.lock().unwrap().push(delivery);
            async move {
                tokio::time::sleep(Duration::from_secs(10)).await;
                match ctx.attempt() {
                    2 => Err(Failure::application("flaky", "again")),
                    _ => Ok("packed".to_string()),
                }
            }
        })
        .build()
        .unwrap();
    let instance = world.client().start(ORDER, "order-1", &1).await.unwrap();
    let first = world.node(&registry).await;
    tokio::time::sleep(Duration::from_secs(9)).await;
    drop(first);
    let second = world.node(&registry).await;
    assert_eq!(instance.wait().await.unwrap(), ["packed"]);
    stop(second).await;
    let key = "order-1/1/2".to_string();
    let delivered = [(1, false), (2, true), (3, true)];
    let delivered = delivered.map(|(attempt, again)| (key.clone(), attempt, again));
    // Two attempts are allowed, and one failed: a crash is no failure.
    assert_eq!(*runs.lock().unwrap(), delivered);
    let earlier = world.earlier_attempts("order-1", 1).await;
    assert_eq!(earlier, [EarlierAttempts::new(1, 1)]);
    assert_eq!(
        world.kinds("order-1", 1).await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityCompleted",
            "OrchestrationCompleted"
        ]
    );
    world.assert_done();
}
