//! Calling activities: results, retries, timeouts, panics, heartbeats.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use durable_core::{EarlierAttempts, Event};
use durable_runtime::{
    Activity, ActivityContext, ClientError, Failure, FailureKind, Orchestration,
    OrchestrationContext, Registry, RegistryBuilder, RetryPolicy, RuntimeOptions,
};

use crate::world::{World, stop};

const GREET: Activity<String, String> = Activity::new("greet");
const HELLO: Orchestration<String, String> = Orchestration::new("hello");
const WORK: Activity<u32, u32> = Activity::new("work");
const CALL: Orchestration<u32, u32> = Orchestration::new("call");

/// The history of one call, however many attempts it took.
const ONE_SUCCESS: [&str; 4] = [
    "OrchestrationStarted",
    "ActivityScheduled",
    "ActivityCompleted",
    "OrchestrationCompleted",
];
const ONE_FAILURE: [&str; 4] = [
    "OrchestrationStarted",
    "ActivityScheduled",
    "ActivityFailed",
    "OrchestrationFailed",
];

async fn hello(ctx: OrchestrationContext, name: String) -> Result<String, Failure> {
    let first = ctx.activity(GREET, &name).await?;
    ctx.activity(GREET, &first).await
}

async fn greet(_: ActivityContext, name: String) -> Result<String, Failure> {
    Ok(format!("Hello, {name}!"))
}

#[tokio::test(start_paused = true)]
async fn results_come_back_in_order_and_the_history_tells_it_all() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(HELLO, hello)
        .activity(GREET, greet)
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let instance = node
        .client()
        .start(HELLO, "hello-1", &"Ada".to_string())
        .await
        .unwrap();
    assert_eq!(instance.wait().await.unwrap(), "Hello, Hello, Ada!!");
    stop(node).await;
    assert_eq!(
        world.kinds("hello-1", 1).await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityCompleted",
            "ActivityScheduled",
            "ActivityCompleted",
            "OrchestrationCompleted",
        ]
    );
    assert_eq!(world.elapsed(), Duration::ZERO);
    world.assert_done();
}

/// How `work` is called.
#[derive(Clone, Copy)]
struct Call {
    retry: RetryPolicy,
    attempt_timeout: Option<Duration>,
    timeout: Option<Duration>,
}

const ONCE: Call = Call {
    retry: RetryPolicy::NEVER,
    attempt_timeout: None,
    timeout: None,
};

/// So many attempts, a second after the first and twice as long each time.
const fn attempts(max_attempts: u32) -> Call {
    Call {
        retry: RetryPolicy::attempts(max_attempts)
            .first_backoff(Duration::from_secs(1))
            .max_backoff(Duration::from_secs(60))
            .backoff_percent(200)
            .jitter_percent(0),
        ..ONCE
    }
}

fn calling(call: Call) -> RegistryBuilder {
    Registry::builder().orchestration(CALL, move |ctx: OrchestrationContext, input| async move {
        let mut work = ctx.activity(WORK, &input).retry(call.retry);
        if let Some(timeout) = call.attempt_timeout {
            work = work.attempt_timeout(timeout);
        }
        if let Some(timeout) = call.timeout {
            work = work.timeout(timeout);
        }
        work.await
    })
}

/// Runs `call` on one node to its end, and asserts that nothing is left behind.
async fn run_call(world: &World, registry: &Registry) -> Result<u32, Failure> {
    let node = world.node(registry).await;
    let instance = node.client().start(CALL, "call-1", &7).await.unwrap();
    let result = instance.wait().await;
    stop(node).await;
    world.assert_done();
    result.map_err(|error| match error {
        ClientError::Failed { failure, .. } => failure,
        error => panic!("{error}"),
    })
}

/// Something that activities write down.
#[derive(Clone)]
struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Log<T> {
    fn new() -> Self {
        Self(Arc::default())
    }

    fn write(&self, entry: T) {
        self.0.lock().unwrap().push(entry);
    }

    fn take(&self) -> Vec<T> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// `work` fails until the given attempt, and writes down when it was tried.
async fn times_of_attempts(call: Call, succeeds_at: u32) -> (Result<u32, Failure>, Vec<u64>) {
    let world = World::new();
    let began = tokio::time::Instant::now();
    let times = Log::new();
    let log = times.clone();
    let registry = calling(call)
        .activity(WORK, move |ctx: ActivityContext, input: u32| {
            log.write(began.elapsed().as_millis() as u64);
            async move {
                if ctx.attempt() < succeeds_at {
                    Err(Failure::application(
                        "flaky",
                        format!("no {}", ctx.attempt()),
                    ))
                } else {
                    Ok(input + ctx.attempt())
                }
            }
        })
        .build()
        .unwrap();
    let result = run_call(&world, &registry).await;
    let kinds = world.kinds("call-1", 1).await;
    match &result {
        Ok(_) => assert_eq!(kinds, ONE_SUCCESS),
        Err(_) => assert_eq!(kinds, ONE_FAILURE),
    }
    let times = times.take();
    let earlier = EarlierAttempts::new(times.len() as u32 - 1, 0);
    assert_eq!(world.earlier_attempts("call-1", 1).await, [earlier]);
    (result, times)
}

#[tokio::test(start_paused = true)]
async fn retries_wait_twice_as_long_each_time() {
    let (result, times) = times_of_attempts(attempts(5), 5).await;
    assert_eq!(result, Ok(12));
    assert_eq!(times, [0, 1_000, 3_000, 7_000, 15_000]);
}

#[tokio::test(start_paused = true)]
async fn jitter_shortens_a_wait_by_at_most_its_share() {
    let mut call = attempts(6);
    call.retry.jitter_percent = 20;
    let (result, times) = times_of_attempts(call, 6).await;
    assert_eq!(result, Ok(13));
    let waits: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(waits.len(), 5);
    for (attempt, wait) in waits.iter().enumerate() {
        let longest = 1_000 << attempt;
        assert!((longest * 80 / 100..=longest).contains(wait), "{waits:?}");
    }
    let is_random = waits
        .iter()
        .enumerate()
        .any(|(attempt, wait)| *wait != 1_000 << attempt);
    assert!(is_random, "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn the_last_failure_is_the_result_when_all_attempts_failed() {
    let (result, times) = times_of_attempts(attempts(3), 9).await;
    assert_eq!(result, Err(Failure::application("flaky", "no 3")));
    assert_eq!(times, [0, 1_000, 3_000]);
}

#[tokio::test(start_paused = true)]
async fn without_a_retry_policy_one_attempt_is_all() {
    let (result, times) = times_of_attempts(ONCE, 9).await;
    assert_eq!(result, Err(Failure::application("flaky", "no 1")));
    assert_eq!(times, [0]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_not_retryable_ends_the_call() {
    let world = World::new();
    let declined = || Failure::application("declined", "the bank said no").not_retryable();
    let registry = calling(attempts(5))
        .activity(WORK, move |_, _| async move { Err(declined()) })
        .build()
        .unwrap();
    assert_eq!(run_call(&world, &registry).await, Err(declined()));
    assert_eq!(world.elapsed(), Duration::ZERO);
    assert_eq!(world.kinds("call-1", 1).await, ONE_FAILURE);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_takes_too_long_is_told_and_tried_again() {
    let world = World::new();
    let told = Log::new();
    let log = told.clone();
    let mut call = attempts(2);
    call.attempt_timeout = Some(Duration::from_secs(5));
    let registry = calling(call)
        .activity(WORK, move |ctx: ActivityContext, input: u32| {
            let log = log.clone();
            async move {
                if ctx.attempt() == 2 {
                    tokio::time::sleep(Duration::from_secs(4)).await;
                    return Ok::<_, Failure>(input);
                }
                tokio::spawn(async move {
                    ctx.cancelled().await;
                    log.write(ctx.attempt());
                });
                std::future::pending().await
            }
        })
        .build()
        .unwrap();
    assert_eq!(run_call(&world, &registry).await, Ok(7));
    assert_eq!(told.take(), [1]);
    assert_eq!(world.elapsed(), Duration::from_secs(5 + 1 + 4));
    assert_eq!(world.kinds("call-1", 1).await, ONE_SUCCESS);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_every_attempt_is_a_failure_that_names_its_bounds() {
    let world = World::new();
    let mut call = attempts(2);
    call.attempt_timeout = Some(Duration::from_secs(5));
    let registry = calling(call)
        .activity(WORK, |_, _| std::future::pending::<Result<u32, Failure>>())
        .build()
        .unwrap();
    let failure = run_call(&world, &registry).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert_eq!(
        failure.message,
        "activity `work` took longer than it may: 5s per attempt"
    );
    assert_eq!(world.elapsed(), Duration::from_secs(5 + 1 + 5));
}

#[tokio::test(start_paused = true)]
async fn the_total_timeout_interrupts_an_attempt() {
    let world = World::new();
    let mut call = attempts(9);
    call.timeout = Some(Duration::from_secs(10));
    let registry = calling(call)
        .activity(WORK, |_, _| std::future::pending::<Result<u32, Failure>>())
        .build()
        .unwrap();
    let failure = run_call(&world, &registry).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert_eq!(world.elapsed(), Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn no_attempt_is_made_that_would_begin_after_the_total_timeout() {
    let mut call = attempts(9);
    call.timeout = Some(Duration::from_secs(6));
    let (result, times) = times_of_attempts(call, 9).await;
    assert_eq!(result, Err(Failure::application("flaky", "no 3")));
    assert_eq!(times, [0, 1_000, 3_000]);
}

#[tokio::test(start_paused = true)]
async fn work_that_waited_past_its_total_timeout_is_not_begun() {
    let world = World::new();
    let begun = Log::new();
    let log = begun.clone();
    let mut call = ONCE;
    call.timeout = Some(Duration::from_secs(6));
    let orchestrations = calling(call).build().unwrap();
    let activities = Registry::builder()
        .activity(WORK, move |_, input: u32| {
            log.write(input);
            async move { Ok::<_, Failure>(input) }
        })
        .build()
        .unwrap();
    let no_activities = RuntimeOptions::default().queues([Some("elsewhere")]);
    let first = world.node_with(&orchestrations, no_activities).await;
    let instance = first.client().start(CALL, "call-1", &7).await.unwrap();
    tokio::time::sleep(Duration::from_secs(7)).await;
    let second = world.node(&activities).await;
    let error = instance.wait().await.unwrap_err();
    let ClientError::Failed { failure, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(
        failure.to_string(),
        "timeout: activity `work` took longer than it may: 6s in all"
    );
    assert!(begun.take().is_empty());
    stop(second).await;
    stop(first).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_that_can_be_retried() {
    let world = World::new();
    let registry = calling(attempts(2))
        .activity(WORK, |ctx: ActivityContext, input: u32| async move {
            assert!(ctx.attempt() > 1, "not this time");
            Ok::<_, Failure>(input)
        })
        .build()
        .unwrap();
    assert_eq!(run_call(&world, &registry).await, Ok(7));
    assert_eq!(world.elapsed(), Duration::from_secs(1));

    let world = World::new();
    let registry = calling(ONCE)
        .activity(WORK, |_: ActivityContext, _: u32| async move {
            if true {
                panic!("out of luck");
            }
            Ok::<u32, Failure>(0)
        })
        .build()
        .unwrap();
    let failure = run_call(&world, &registry).await.unwrap_err();
    assert_eq!(failure, Failure::new(FailureKind::Panicked, "out of luck"));
    assert_eq!(world.kinds("call-1", 1).await, ONE_FAILURE);
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_an_attempt_is_dropped_takes_no_worker_with_it() {
    struct PanicsOnDrop;
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            panic!("dropped badly");
        }
    }
    let world = World::new();
    let mut call = ONCE;
    call.attempt_timeout = Some(Duration::from_secs(1));
    let registry = calling(call)
        .activity(WORK, |_: ActivityContext, _: u32| async move {
            let _guard = PanicsOnDrop;
            std::future::pending::<Result<u32, Failure>>().await
        })
        .build()
        .unwrap();
    let failure = run_call(&world, &registry).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Timeout);
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_tells_the_next_attempt_how_far_it_came() {
    let world = World::new();
    let registry = calling(attempts(3))
        .activity(WORK, |ctx: ActivityContext, _: u32| async move {
            let done: u32 = ctx.earlier_heartbeat()?.unwrap_or(0);
            ctx.heartbeat(&(done + 1)).await?;
            ctx.heartbeat(&(done + 10)).await?;
            if ctx.attempt() < 3 {
                return Err(Failure::application("flaky", "half-way"));
            }
            Ok(done)
        })
        .build()
        .unwrap();
    assert_eq!(run_call(&world, &registry).await, Ok(20));
}

#[tokio::test(start_paused = true)]
async fn the_idempotency_key_is_the_same_in_every_attempt_and_in_no_other_call() {
    let world = World::new();
    let keys = Log::new();
    let log = keys.clone();
    let registry = Registry::builder()
        .orchestration(CALL, |ctx: OrchestrationContext, input| async move {
            let first = ctx.activity(WORK, &input).retry(attempts(3).retry).await?;
            ctx.activity(WORK, &first).retry(attempts(3).retry).await
        })
        .activity(WORK, move |ctx: ActivityContext, input: u32| {
            log.write((ctx.idempotency_key(), ctx.attempt()));
            async move {
                if ctx.attempt() < 2 {
                    return Err(Failure::application("flaky", "again"));
                }
                Ok(input)
            }
        })
        .build()
        .unwrap();
    assert_eq!(run_call(&world, &registry).await, Ok(7));
    let key = |event: u32| format!("call-1/1/{event}");
    assert_eq!(
        keys.take(),
        [(key(2), 1), (key(2), 2), (key(4), 1), (key(4), 2)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_result_of_another_type_is_a_failure_that_names_the_activity_and_the_event() {
    let world = World::new();
    let registry = calling(ONCE)
        .activity("work", |_: ActivityContext, _: u32| async move {
            Ok::<_, Failure>("seven".to_string())
        })
        .build()
        .unwrap();
    let failure = run_call(&world, &registry).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::InvalidPayload);
    let message = &failure.message;
    assert!(message.contains("`work`"), "{message}");
    assert!(message.contains("event 2"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn an_input_of_another_type_fails_the_call_and_is_not_retried() {
    let world = World::new();
    let registry = calling(attempts(5))
        .activity("work", |_: ActivityContext, _: String| async move {
            Ok::<_, Failure>(1_u32)
        })
        .build()
        .unwrap();
    let failure = run_call(&world, &registry).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::InvalidPayload);
    assert!(failure.message.contains("input of activity `work`"));
    assert_eq!(world.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_too_large_is_cut_down_to_one_that_says_so() {
    let world = World::new();
    let registry = calling(ONCE)
        .activity(WORK, |_, _| async move {
            let long = "x".repeat(5 * 1024 * 1024);
            Err::<u32, _>(Failure::application("chatty", long))
        })
        .build()
        .unwrap();
    let failure = run_call(&world, &registry).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::LimitExceeded);
    assert_eq!(world.kinds("call-1", 1).await, ONE_FAILURE);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_too_large_fails_the_call_and_is_not_retried() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration("call", |ctx: OrchestrationContext, input: u32| async move {
            let call = ctx.activity("long", &input).retry(attempts(5).retry);
            let text: String = call.await?;
            Ok::<_, Failure>(text.len() as u32)
        })
        .activity("long", |_: ActivityContext, _: u32| async move {
            Ok::<_, Failure>("x".repeat(5 * 1024 * 1024))
        })
        .build()
        .unwrap();
    let failure = run_call(&world, &registry).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::LimitExceeded);
    assert_eq!(world.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_scheduling_event_holds_the_options_of_the_call() {
    let world = World::new();
    let mut call = attempts(3);
    call.attempt_timeout = Some(Duration::from_millis(1_500));
    call.timeout = Some(Duration::from_secs(60));
    let registry = calling(call)
        .activity(WORK, |_, input: u32| async move { Ok::<_, Failure>(input) })
        .build()
        .unwrap();
    assert_eq!(run_call(&world, &registry).await, Ok(7));
    let history = world.history("call-1", 1).await;
    let Event::ActivityScheduled {
        name,
        input,
        options,
        ..
    } = &history[1].event
    else {
        panic!("{history:#?}");
    };
    assert_eq!((name.as_str(), input.as_str()), ("work", "7"));
    assert_eq!(options.retry, call.retry);
    assert_eq!(options.attempt_timeout_ms, Some(1_500));
    assert_eq!(options.total_timeout_ms, Some(60_000));
    assert_eq!(options.queue, None);
}
