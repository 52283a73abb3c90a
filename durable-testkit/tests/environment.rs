//! The test environment for users.
#![cfg(test)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use durable_core::{EventId, EventKind};
use durable_runtime::{
    Activity, ActivityContext, EventName, Failure, Orchestration, OrchestrationContext, Registry,
    Request,
};
use durable_testkit::{AtEvent, EnvironmentError, TestEnvironment, TestEnvironmentBuilder};
use futures::future::{Either, select};

const CHARGE: Activity<u64, String> = Activity::new("charge");
const REMIND: Activity<String, ()> = Activity::new("remind");
const FULFIL: Orchestration<u64, String> = Orchestration::new("fulfil");
const APPROVAL: Orchestration<u64, bool> = Orchestration::new("approval");
const APPROVED: EventName<bool> = EventName::new("approved");
/// How long an order waits for its reminder.
const WAIT: Duration = Duration::from_secs(2 * 86_400);
const DAY: Duration = Duration::from_secs(86_400);

async fn fulfil(ctx: OrchestrationContext, order: u64) -> Result<String, Failure> {
    let receipt = ctx.activity(CHARGE, &order).await?;
    ctx.sleep(WAIT).await?;
    ctx.activity(REMIND, &receipt).await?;
    Ok(receipt)
}

async fn approval(ctx: OrchestrationContext, order: u64) -> Result<bool, Failure> {
    ctx.activity(CHARGE, &order).await?;
    let approved = ctx.external_event(APPROVED);
    match select(approved, ctx.sleep(DAY)).await {
        Either::Left((approved, _)) => approved,
        Either::Right((timeout, _)) => timeout.map(|()| false),
    }
}

/// The real activities must never run.
fn registry() -> Registry {
    Registry::builder()
        .orchestration(FULFIL, fulfil)
        .orchestration(APPROVAL, approval)
        .activity(CHARGE, |_: ActivityContext, _: u64| async {
            Err::<String, _>(Failure::application("real_money", "was charged").not_retryable())
        })
        .build()
        .unwrap()
}

fn environment() -> TestEnvironmentBuilder {
    TestEnvironment::builder(registry())
        .replace_activity(
            CHARGE,
            |order| async move { Ok(format!("receipt of {order}")) },
        )
        .replace_activity(REMIND, |_| async { Ok(()) })
}

#[test]
fn a_timer_of_thirty_days_takes_no_such_time() {
    let registry = Registry::builder()
        .orchestration("nap", |ctx: OrchestrationContext, days: u32| async move {
            ctx.sleep(days * DAY).await
        })
        .build()
        .unwrap();
    let began = Instant::now();
    TestEnvironment::builder(registry).run(async |env| {
        let before = env.now();
        let nap = env.start::<u32, ()>("nap", "nap-1", &30).await.unwrap();
        env.wait(&nap).await.unwrap();
        assert_eq!(env.now().duration_since(before).unwrap(), 30 * DAY);
    });
    assert!(began.elapsed() < DAY / 100, "{:?}", began.elapsed());
}

#[test]
fn advancing_comes_to_the_very_millisecond() {
    environment().run(async |env| {
        let order = env.start(FULFIL, "order-7", &7).await.unwrap();
        env.advance(WAIT - Duration::from_millis(1)).await;
        assert_eq!(env.scheduled(CHARGE), [7]);
        assert!(env.scheduled(REMIND).is_empty());
        env.advance(Duration::from_millis(1)).await;
        assert_eq!(env.scheduled(REMIND), ["receipt of 7"]);
        assert_eq!(env.wait(&order).await.unwrap(), "receipt of 7");
    });
}

#[tokio::test(start_paused = true)]
async fn an_environment_also_lives_in_a_paused_tokio_test() {
    let env = environment().build().await.unwrap();
    let order = env.start(FULFIL, "order-7", &7).await.unwrap();
    assert_eq!(env.wait(&order).await.unwrap(), "receipt of 7");
}

#[test]
fn an_event_is_raised_at_its_trigger() {
    environment().run(async |env| {
        let subscribed = AtEvent::of_kind(EventKind::ExternalSubscribed).of("order-7");
        env.raise_when(subscribed, APPROVED, &true);
        let order = env.start(APPROVAL, "order-7", &7).await.unwrap();
        assert!(env.wait(&order).await.unwrap());
        assert!(env.pending_triggers().is_empty());
    });
}

#[test]
fn an_event_that_comes_before_anybody_waits_is_not_lost() {
    environment().run(async |env| {
        env.raise_when(EventId::new(2), APPROVED, &true);
        let order = env.start(APPROVAL, "order-7", &7).await.unwrap();
        assert!(env.wait(&order).await.unwrap());
        let kinds: Vec<EventKind> = env
            .recorded("order-7")
            .iter()
            .map(|e| e.event.kind())
            .collect();
        assert_eq!(kinds[2], EventKind::ExternalEvent, "{kinds:?}");
    });
}

#[test]
fn without_the_event_the_timeout_decides() {
    environment().run(async |env| {
        let order = env.start(APPROVAL, "order-7", &7).await.unwrap();
        assert!(!env.wait(&order).await.unwrap());
    });
}

#[test]
fn a_cancellation_comes_at_its_trigger() {
    environment().run(async |env| {
        env.cancel_when(EventKind::TimerCreated, "changed my mind");
        let order = env.start(FULFIL, "order-7", &7).await.unwrap();
        let Err(EnvironmentError::Client(error)) = env.wait(&order).await else {
            panic!("{:?}", env.recorded("order-7"));
        };
        assert!(error.to_string().contains("cancelled"), "{error}");
        assert!(env.scheduled(REMIND).is_empty());
    });
}

#[test]
fn a_crash_at_any_event_changes_nothing_in_the_history() {
    let calm: Vec<String> = environment().run(async |env| {
        let order = env.start(FULFIL, "order-7", &7).await.unwrap();
        env.wait(&order).await.unwrap();
        events(env)
    });
    assert_eq!(calm.len(), 8);
    for number in 1..=8 {
        for is_before in [false, true] {
            let stormy = environment().run(async |env| {
                let trigger = AtEvent::number(EventId::new(number));
                match is_before {
                    true => env.crash_before(trigger),
                    false => env.crash_after(trigger),
                }
                let order = env.start(FULFIL, "order-7", &7).await.unwrap();
                assert_eq!(env.wait(&order).await.unwrap(), "receipt of 7");
                assert_eq!(env.crashes(), 1);
                events(env)
            });
            assert_eq!(stormy, calm, "event {number}, before: {is_before}");
        }
    }
}

fn events(env: &TestEnvironment) -> Vec<String> {
    let recorded = env.recorded("order-7");
    recorded
        .iter()
        .map(|entry| entry.event.to_string())
        .collect()
}

#[test]
fn an_activity_whose_result_was_not_stored_runs_again() {
    let charged = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&charged);
    TestEnvironment::builder(registry())
        .replace_activity(CHARGE, move |order| {
            let counter = Arc::clone(&counter);
            async move {
                counter.fetch_add(1, Ordering::Relaxed);
                Ok(format!("receipt of {order}"))
            }
        })
        .replace_activity(REMIND, |_| async { Ok(()) })
        .run(async |env| {
            env.crash_before(EventKind::ActivityCompleted);
            let order = env.start(FULFIL, "order-7", &7).await.unwrap();
            env.wait(&order).await.unwrap();
            assert_eq!(env.scheduled(CHARGE), [7], "one call");
        });
    assert_eq!(charged.load(Ordering::Relaxed), 2, "two attempts");
}

#[test]
fn a_node_can_die_between_two_events() {
    environment().run(async |env| {
        let order = env.start(FULFIL, "order-7", &7).await.unwrap();
        env.advance(DAY).await;
        env.crash().await.unwrap();
        assert_eq!(env.wait(&order).await.unwrap(), "receipt of 7");
        assert_eq!(env.crashes(), 1);
    });
}

#[test]
fn what_waits_for_ever_is_an_error_with_its_history() {
    let registry = Registry::builder()
        .orchestration("lonely", |ctx: OrchestrationContext, (): ()| async move {
            ctx.external_event(APPROVED).await
        })
        .build()
        .unwrap();
    TestEnvironment::builder(registry)
        .wait_timeout(DAY)
        .run(async |env| {
            let lonely = env
                .start::<(), bool>("lonely", "lonely-1", &())
                .await
                .unwrap();
            let error = env.wait(&lonely).await.unwrap_err();
            let text = error.to_string();
            assert!(text.contains("after event 2"), "{text}");
            assert!(text.contains("ExternalSubscribed `approved`"), "{text}");
        });
}

#[test]
fn a_wait_for_a_parent_names_the_suspended_child() {
    let registry = Registry::builder()
        .orchestration("clumsy", |_: OrchestrationContext, (): ()| async move {
            assert!(std::env::args().count() == 0, "dropped it");
            Ok::<(), Failure>(())
        })
        .orchestration("parent", |ctx: OrchestrationContext, (): ()| async move {
            let clumsy = ctx.sub_orchestration("clumsy", &()).id("clumsy-1");
            let clumsy: Result<(), Failure> = clumsy.await;
            clumsy
        })
        .build()
        .unwrap();
    TestEnvironment::builder(registry).run(async |env| {
        let parent = env.start::<(), ()>("parent", "parent-1", &());
        let error = env.wait(&parent.await.unwrap()).await.unwrap_err();
        let EnvironmentError::Waiting {
            suspended_children, ..
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(suspended_children.len(), 1);
        assert_eq!(suspended_children[0].instance, "clumsy-1");
        let text = error.to_string();
        let last = text.lines().last().unwrap();
        assert!(
            last.starts_with("its child `clumsy-1` is suspended: panicked: "),
            "{text}"
        );
    });
}

#[test]
fn code_that_panics_is_an_error_that_says_so() {
    let registry = Registry::builder()
        .orchestration("clumsy", |_: OrchestrationContext, (): ()| async move {
            assert!(std::env::args().count() == 0, "dropped it");
            Ok::<(), Failure>(())
        })
        .build()
        .unwrap();
    TestEnvironment::builder(registry).run(async |env| {
        let clumsy = env
            .start::<(), ()>("clumsy", "clumsy-1", &())
            .await
            .unwrap();
        let error = env.wait(&clumsy).await.unwrap_err();
        let EnvironmentError::Suspended { failure, .. } = &error else {
            panic!("{error}");
        };
        assert!(failure.message.contains("dropped it"), "{failure}");
    });
}

#[test]
fn code_that_no_node_has_is_named_at_once() {
    let registry = Registry::builder()
        .orchestration("alone", |ctx: OrchestrationContext, ()| async move {
            ctx.sleep(Duration::from_secs(86_400)).await?;
            ctx.activity::<(), u32>("missing", &()).await
        })
        .build()
        .unwrap();
    TestEnvironment::builder(registry).run(async |env| {
        let unknown = env.start::<(), u32>("unknown", "u", &()).await.unwrap();
        let told = "instance `u` cannot go on: not registered: no node of the environment has the \
                    orchestration `unknown`: register it";
        assert_eq!(env.wait(&unknown).await.unwrap_err().to_string(), told);

        let began = env.now();
        let alone = env.start::<(), u32>("alone", "a", &()).await.unwrap();
        let told = "instance `a` cannot go on: not registered: no node of the environment has the \
                    activity `missing`: register it";
        assert_eq!(env.wait(&alone).await.unwrap_err().to_string(), told);
        let days = env.now().duration_since(began).unwrap().as_secs() / 86_400;
        assert!((1..=3).contains(&days), "{days} days");
    });
}

#[test]
fn a_request_is_answered_across_a_crash_of_its_node() {
    const ADD: Request<u64, u64> = Request::new("add");
    const COUNTER: Orchestration<u64, u64> = Orchestration::new("counter");
    let counter = |ctx: OrchestrationContext, mut sum: u64| async move {
        for _ in 0..2 {
            let add = ctx.request(ADD).await?;
            ctx.sleep(DAY).await?;
            sum += add.input();
            add.answer(&sum)?;
        }
        Ok::<_, Failure>(sum)
    };
    let registry = Registry::builder().orchestration(COUNTER, counter);
    TestEnvironment::builder(registry.build().unwrap()).run(async |env| {
        env.crash_after(AtEvent::of_kind(EventKind::RequestReceived));
        let counter = env.start(COUNTER, "counter-1", &0).await.unwrap();
        let handle = env.client().instance(COUNTER, "counter-1");
        let (first, second) = tokio::join!(handle.request(ADD, &1), handle.request(ADD, &2));
        assert_eq!((first, second), (Ok(1), Ok(3)));
        assert_eq!(env.wait(&counter).await.unwrap(), 3);
        assert_eq!(env.crashes(), 1);
    });
}
