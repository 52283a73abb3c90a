//! The test environment, used for orders: reserve and charge, wait for approval, ship
//! in a child, remind after a month, undo what was done.
#![cfg(test)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use durable_core::EventKind;
use durable_runtime::{
    Activity, EventName, Failure, Orchestration, OrchestrationContext, Registry, RetryPolicy,
};
use durable_testkit::{AtEvent, Interleavings, TestEnvironment, TestEnvironmentBuilder};
use futures::future::{Either, select};

const RESERVE: Activity<u64, u64> = Activity::new("reserve");
const CHARGE: Activity<u64, String> = Activity::new("charge");
const RELEASE: Activity<u64, ()> = Activity::new("release");
const PACK: Activity<u64, String> = Activity::new("pack");
const REMIND: Activity<u64, ()> = Activity::new("remind");
const APPROVED: EventName<bool> = EventName::new("approved");
const FULFIL: Orchestration<u64, String> = Orchestration::new("fulfil");
const SHIP: Orchestration<u64, String> = Orchestration::new("ship");

const DAY: Duration = Duration::from_secs(86_400);

async fn fulfil(ctx: OrchestrationContext, order: u64) -> Result<String, Failure> {
    ctx.activity(RESERVE, &order).await?;
    let approved = match select(ctx.external_event(APPROVED), ctx.sleep(3 * DAY)).await {
        Either::Left((approved, _)) => approved?,
        Either::Right((waited, _)) => waited.map(|()| false)?,
    };
    if !approved {
        ctx.activity(RELEASE, &order).await?;
        return Ok("released".into());
    }
    let retries = RetryPolicy::attempts(3);
    if let Err(failure) = ctx.activity(CHARGE, &order).retry(retries).await {
        ctx.activity(RELEASE, &order).await?;
        return Err(failure);
    }
    let parcel = ctx.sub_orchestration(SHIP, &order).await?;
    ctx.sleep(30 * DAY).await?;
    ctx.activity(REMIND, &order).await?;
    Ok(parcel)
}

async fn ship(ctx: OrchestrationContext, order: u64) -> Result<String, Failure> {
    ctx.activity(PACK, &order).await
}

fn orders() -> TestEnvironmentBuilder {
    let registry = Registry::builder()
        .orchestration(FULFIL, fulfil)
        .orchestration(SHIP, ship)
        .build()
        .unwrap();
    TestEnvironment::builder(registry)
        .replace_activity(RESERVE, |order| async move { Ok(order) })
        .replace_activity(
            CHARGE,
            |order| async move { Ok(format!("receipt {order}")) },
        )
        .replace_activity(RELEASE, |_| async { Ok(()) })
        .replace_activity(PACK, |order| async move { Ok(format!("parcel {order}")) })
        .replace_activity(REMIND, |_| async { Ok(()) })
}

/// Approves as soon as the order waits for it.
fn approve(env: &TestEnvironment) {
    let waits = AtEvent::of_kind(EventKind::ExternalSubscribed).named("approved");
    env.raise_when(waits, APPROVED, &true);
}

#[test]
fn an_approved_order_is_charged_shipped_and_reminded_of_after_a_month() {
    orders().run(async |env| {
        approve(env);
        let order = env.start(FULFIL, "order-7", &7).await.unwrap();
        env.settle().await;
        assert_eq!(env.scheduled(CHARGE), [7]);
        assert_eq!(env.scheduled_children(SHIP), [7]);
        assert!(env.scheduled(REMIND).is_empty());
        assert_eq!(env.timers("order-7"), [env.now() + 30 * DAY]);
        env.advance(30 * DAY).await;
        assert_eq!(env.scheduled(REMIND), [7]);
        assert_eq!(env.wait(&order).await.unwrap(), "parcel 7");
        assert!(env.scheduled(RELEASE).is_empty());
        assert_eq!(env.timers("order-7"), []);
    });
}

#[test]
fn an_order_without_approval_is_released() {
    orders().run(async |env| {
        let order = env.start(FULFIL, "order-7", &7).await.unwrap();
        assert_eq!(env.wait(&order).await.unwrap(), "released");
        assert_eq!(env.scheduled(RELEASE), [7]);
        assert!(env.scheduled(CHARGE).is_empty());
        let history = env.show("order-7");
        let last = history.lines().last().unwrap();
        assert!(last.contains("OrchestrationCompleted"), "{history}");
    });
}

#[test]
fn a_card_that_is_declined_three_times_releases_the_goods() {
    let env = orders().replace_activity_with(CHARGE, |ctx, _| async move {
        let attempt = ctx.attempt();
        Err(Failure::application(
            "declined",
            format!("attempt {attempt}"),
        ))
    });
    env.run(async |env| {
        approve(env);
        let order = env.start(FULFIL, "order-7", &7).await.unwrap();
        let error = env.wait(&order).await.unwrap_err();
        assert!(error.to_string().contains("attempt 3"), "{error}");
        assert_eq!(env.scheduled(RELEASE), [7]);
        assert!(env.scheduled_children(SHIP).is_empty());
    });
}

#[test]
fn a_crash_at_a_named_activity_or_child_changes_nothing() {
    let triggers = [
        AtEvent::of_kind(EventKind::ActivityCompleted).named("charge"),
        AtEvent::of_kind(EventKind::ActivityScheduled).named("charge"),
        AtEvent::of_kind(EventKind::SubOrchestrationCompleted).named("ship"),
        AtEvent::of_kind(EventKind::ActivityCompleted)
            .named("pack")
            .nth(1),
    ];
    for trigger in triggers {
        orders().run(async |env| {
            approve(env);
            env.crash_before(trigger.clone());
            env.crash_after(trigger.clone());
            let order = env.start(FULFIL, "order-7", &7).await.unwrap();
            assert_eq!(env.wait(&order).await.unwrap(), "parcel 7", "{trigger}");
            assert_eq!(env.crashes(), 2, "{trigger}");
            assert_eq!(env.pending_triggers(), [], "{trigger}");
            assert_eq!(env.scheduled(CHARGE), [7], "{trigger}");
        });
    }
}

#[test]
fn a_trigger_of_another_name_does_not_fire() {
    orders().run(async |env| {
        approve(env);
        let never = AtEvent::of_kind(EventKind::ActivityCompleted).named("release");
        env.crash_after(never.clone());
        let order = env.start(FULFIL, "order-7", &7).await.unwrap();
        env.wait(&order).await.unwrap();
        assert_eq!(env.pending_triggers(), [never]);
        assert_eq!(env.crashes(), 0);
    });
}

/// How often the card was charged in this case.
static CHARGED: AtomicU64 = AtomicU64::new(0);

#[test]
fn an_approval_at_any_time_charges_once_or_releases() {
    let env = orders().replace_activity(CHARGE, |order| async move {
        CHARGED.fetch_add(1, Ordering::Relaxed);
        Ok(format!("receipt {order}"))
    });
    let charged_once = async |env: &TestEnvironment| {
        CHARGED.store(0, Ordering::Relaxed);
        let order = env.start(FULFIL, "order-7", &7).await.unwrap();
        let approved = env.raise_sometime("order-7", APPROVED, &true).await;
        approved.unwrap();
        let outcome = env.wait(&order).await.unwrap();
        let expected = u64::from(outcome != "released");
        assert_eq!(CHARGED.load(Ordering::Relaxed), expected, "charges");
    };
    let search = Interleavings::of(env).cases(200);
    search.check(charged_once);

    // A node may die, too: then the code that charges must not charge again.
    let failure = search.crashes(1).search(charged_once).unwrap_err();
    assert!(failure.message.contains("charges"), "{failure}");
    let deaths = failure.order.iter().filter(|what| what.contains("dies"));
    let deaths: Vec<&String> = deaths.collect();
    assert_eq!(deaths.len(), 1, "{failure}");
    assert!(deaths[0].contains("`charge` of `order-7`"), "{failure}");
}

#[test]
fn a_year_takes_no_noticeable_time() {
    let registry = Registry::builder()
        .orchestration("nap", |ctx: OrchestrationContext, (): ()| async move {
            ctx.sleep(365 * DAY).await
        })
        .build()
        .unwrap();
    let began = Instant::now();
    TestEnvironment::builder(registry).run(async |env| {
        let before = env.now();
        let nap = env.start::<(), ()>("nap", "nap-1", &()).await.unwrap();
        env.wait(&nap).await.unwrap();
        assert_eq!(env.now().duration_since(before).unwrap(), 365 * DAY);
        assert_eq!(env.recorded("nap-1").len(), 4);
    });
    assert!(began.elapsed() < DAY, "{:?}", began.elapsed());
}
