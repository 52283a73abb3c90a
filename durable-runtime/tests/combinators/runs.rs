//! Recorded side effects: once when live, never in a replay.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use durable_core::provider::Provider;
use durable_core::{Event, EventId, ExecutionId};
use durable_runtime::{
    Failure, FailureKind, InstanceStatus, Orchestration, OrchestrationContext, Registry, Runtime,
};
use durable_testkit::MemoryProvider;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};

use crate::dice::Dice;
use crate::recorder::Recorder;
use crate::scenario::{Log, Scenario, WORK, distinct, pause, risky, word, work};
use crate::world::{World, forgetful, settled};

const CODE: Orchestration<u64, Log> = Orchestration::new("code");

fn registry<F, R>(code: F) -> Registry
where
    F: Fn(OrchestrationContext, u64) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Log, Failure>> + Send + 'static,
{
    let workers = crate::scenario::workers();
    workers.orchestration(CODE, code).build().unwrap()
}

/// Runs one instance to its end, on a node that replays every turn, and replays it.
async fn run_once(registry: Registry) -> Log {
    let mut world = World::with(registry, forgetful()).await;
    let instance = world.client().start(CODE, "i", &0).await.unwrap();
    let log = instance.wait().await.unwrap();
    world.stop().await;
    world.check_all().await;
    log
}

#[tokio::test(start_paused = true)]
async fn it_executes_once_and_never_in_a_replay() {
    static EXECUTED: AtomicUsize = AtomicUsize::new(0);
    async fn code(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        let mut log = Log::new();
        let local = String::from("borrowed");
        for n in 0..3 {
            let effect = async {
                EXECUTED.fetch_add(1, Ordering::Relaxed);
                Ok::<_, Failure>(format!("{local} {n}"))
            };
            log.push(ctx.run("effect", effect).await?);
            ctx.sleep(Duration::from_secs(1)).await?;
        }
        Ok(log)
    }
    let log = run_once(registry(code)).await;
    assert_eq!(log, ["borrowed 0", "borrowed 1", "borrowed 2"]);
    assert_eq!(EXECUTED.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn what_led_to_it_is_stored_before_it_executes() {
    static STORE: Mutex<Option<Arc<Recorder>>> = Mutex::new(None);
    async fn code(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        ctx.sleep(Duration::from_secs(1)).await?;
        ctx.set_state("before", &1)?;
        let effect = async {
            let store = STORE.lock().unwrap().clone().unwrap();
            let history = store
                .history(&"i".into(), ExecutionId::FIRST, EventId::UNASSIGNED, 100)
                .await
                .unwrap();
            let events = history.entries.iter();
            Ok::<_, Failure>(events.map(|entry| entry.event.kind().to_string()).collect())
        };
        ctx.run("look", effect).await
    }
    let mut world = World::new(registry(code)).await;
    *STORE.lock().unwrap() = Some(world.provider.clone());
    let instance = world.client().start(CODE, "i", &0).await.unwrap();
    assert_eq!(
        instance.wait().await.unwrap(),
        [
            "OrchestrationStarted",
            "TimerCreated",
            "TimerFired",
            "StateSet"
        ]
    );
    world.stop().await;
    assert_eq!(world.check_all().await, 3);
    STORE.lock().unwrap().take();
}

#[tokio::test(start_paused = true)]
async fn one_that_waits_holds_the_step_and_inputs_wait_for_it() {
    async fn code(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        let log = Mutex::new(Log::new());
        let say = |text: &str| log.lock().unwrap().push(text.to_string());
        let effect = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            let (sender, receiver) = tokio::sync::oneshot::channel();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(5)).await;
                sender.send("slow").unwrap();
            });
            Ok::<_, Failure>(receiver.await.unwrap().to_string())
        };
        let (slow, timer) = tokio::join!(
            async {
                let done = ctx.run("slow", effect).await?;
                say(&done);
                Ok::<_, Failure>(())
            },
            async {
                ctx.sleep(Duration::from_secs(1)).await?;
                say("timer");
                Ok(())
            },
        );
        slow.and(timer)?;
        Ok(log.into_inner().unwrap())
    }
    assert_eq!(run_once(registry(code)).await, ["slow", "timer"]);
}

#[tokio::test(start_paused = true)]
async fn one_that_fails_fails_the_same_way_in_every_replay() {
    async fn code(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        let effect =
            async { Err::<(), _>(Failure::application("broken", "no luck").with_details("7")) };
        let failure = ctx.run("effect", effect).await.unwrap_err();
        ctx.sleep(Duration::from_secs(1)).await?;
        let details = failure.details.as_ref().map(ToString::to_string);
        Ok(vec![failure.to_string(), details.unwrap_or_default()])
    }
    let log = run_once(registry(code)).await;
    assert_eq!(log, ["broken: no luck", "7"]);
}

#[tokio::test(start_paused = true)]
async fn one_that_panics_stops_the_instance_and_runs_again_when_it_is_resumed() {
    static TIMES: AtomicUsize = AtomicUsize::new(0);
    async fn code(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        let effect = async {
            assert!(TIMES.fetch_add(1, Ordering::Relaxed) > 0, "the first time");
            Ok::<_, Failure>("done".to_string())
        };
        Ok(vec![ctx.run("effect", effect).await?])
    }
    let mut world = World::new(registry(code)).await;
    let instance = world.client().start(CODE, "i", &0).await.unwrap();
    let InstanceStatus::Suspended { failure } = settled(&instance).await.status else {
        panic!("it is not suspended");
    };
    assert_eq!(failure.kind, FailureKind::Panicked);
    assert!(failure.message.contains("the first time"), "{failure}");
    assert_eq!(world.kinds("i", 1).await, ["OrchestrationStarted"]);
    instance.resume().await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), ["done"]);
    world.stop().await;
    world.check_all().await;
}

#[tokio::test(start_paused = true)]
async fn the_context_cannot_be_used_inside() {
    type Inside = fn(OrchestrationContext) -> futures::future::BoxFuture<'static, ()>;
    let ways: [(&str, Inside); 6] = [
        ("activity", |ctx| {
            let call = async move { ctx.activity::<_, ()>("work", &()).await };
            call.map(drop).boxed()
        }),
        ("sleep", |ctx| {
            async move { ctx.sleep(Duration::ZERO).await }
                .map(drop)
                .boxed()
        }),
        ("state", |ctx| {
            async move { ctx.set_state("key", &1) }.map(drop).boxed()
        }),
        ("random", |ctx| {
            async move { ctx.random() }.map(drop).boxed()
        }),
        ("promise", |ctx| {
            async move { ctx.promise::<()>("p") }.map(drop).boxed()
        }),
        ("run", |ctx| {
            let inner = async { Ok::<_, Failure>(()) };
            async move { ctx.run("inner", inner).await }
                .map(drop)
                .boxed()
        }),
    ];
    for (name, inside) in ways {
        let code = move |ctx: OrchestrationContext, _| async move {
            let effect = inside(ctx.clone()).map(Ok::<_, Failure>);
            ctx.run("effect", effect).await?;
            Ok(Log::new())
        };
        let mut world = World::new(registry(code)).await;
        let instance = world.client().start(CODE, "i", &0).await.unwrap();
        let InstanceStatus::Suspended { failure } = settled(&instance).await.status else {
            panic!("{name}: it is not suspended");
        };
        assert_eq!(failure.kind, FailureKind::DeterminismViolation, "{name}");
        assert!(
            failure.message.contains("inside a recorded side effect"),
            "{name}: {failure}"
        );
        world.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn two_at_once_execute_one_after_the_other() {
    static BUSY: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    async fn effect(name: &str) -> Result<String, Failure> {
        let busy = BUSY.fetch_add(1, Ordering::SeqCst) + 1;
        MOST.fetch_max(busy, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(10)).await;
        BUSY.fetch_sub(1, Ordering::SeqCst);
        Ok(name.into())
    }
    async fn code(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        let log = Mutex::new(Log::new());
        let one = async |name: &'static str| {
            let done = ctx.run(name, effect(name)).await?;
            log.lock().unwrap().push(done);
            ctx.sleep(Duration::from_secs(1)).await
        };
        tokio::try_join!(one("c"), one("a"), one("b"))?;
        Ok(log.into_inner().unwrap())
    }
    assert_eq!(run_once(registry(code)).await, ["a", "b", "c"]);
    assert_eq!(MOST.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn one_that_loses_a_select_before_its_turn_does_not_execute() {
    static EXECUTED: AtomicUsize = AtomicUsize::new(0);
    async fn code(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        let effect = async |name: &'static str| {
            EXECUTED.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Failure>(name.to_string())
        };
        let winner = tokio::select! {
            done = ctx.run("b", effect("b")) => done?,
            done = ctx.run("a", effect("a")) => done?,
            done = ctx.sleep(Duration::ZERO) => word(done.map(|()| "timer")),
        };
        ctx.sleep(Duration::from_secs(1)).await?;
        Ok(vec![winner])
    }
    assert_eq!(run_once(registry(code)).await, ["a"]);
    assert_eq!(EXECUTED.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn side_effects_that_wait_in_branches_replay_exactly() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let branch = async |tag: String| {
            let mut dice = Dice::of(seed, &tag);
            ctx.sleep(pause(&mut dice)).await?;
            let wait = Duration::from_millis(dice.delay_ms());
            let effect = async {
                for _ in 0..3 {
                    tokio::time::sleep(wait).await;
                    tokio::task::yield_now().await;
                }
                match wait.as_millis() {
                    5 => Err(Failure::application("five", tag.clone())),
                    _ => Ok(tag.clone()),
                }
            };
            let drawn = ctx.run(format!("run {tag}"), effect).await;
            let done = ctx.activity(WORK, &risky(word(drawn), &mut dice)).await;
            Ok::<_, Failure>(word(done))
        };
        let mut log = Log::new();
        let mut open: FuturesUnordered<_> = (0..4).map(|n| branch(format!("u{n}"))).collect();
        let mut late = pin!(branch("late".into()));
        let mut is_late = false;
        loop {
            tokio::select! {
                Some(done) = open.next() => log.push(done?),
                done = &mut late, if !is_late => {
                    is_late = true;
                    log.push(done?);
                    log.push(ctx.activity(WORK, &work("handled", &mut Dice::new(seed))).await?);
                }
                else => break,
            }
        }
        Ok(log)
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

/// The wakers that effects were polled with.
type Wakers = Mutex<Vec<Waker>>;

/// Keeps its waker, wakes itself once, and is done.
async fn restless(wakers: &'static Wakers) -> Result<(), Failure> {
    let mut polls = 0;
    poll_fn(|cx| {
        wakers.lock().unwrap().push(cx.waker().clone());
        cx.waker().wake_by_ref();
        polls += 1;
        if polls > 2 {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn its_wakers_mean_nothing_once_it_has_ended() {
    static WAKERS: Wakers = Mutex::new(Vec::new());
    static POLLS: AtomicUsize = AtomicUsize::new(0);
    async fn code(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        let mut all: FuturesUnordered<_> = [ctx.run("effect", restless(&WAKERS)).boxed()]
            .into_iter()
            .collect();
        all.next().await.unwrap()?;
        let mut timer = ctx.sleep(Duration::from_secs(10));
        poll_fn(|cx| {
            POLLS.fetch_add(1, Ordering::Relaxed);
            timer.poll_unpin(cx)
        })
        .await?;
        Ok(Log::new())
    }
    let mut world = World::new(registry(code)).await;
    let instance = world.client().start(CODE, "i", &0).await.unwrap();
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        WAKERS.lock().unwrap().iter().for_each(Waker::wake_by_ref);
        let wakers: Vec<Waker> = WAKERS.lock().unwrap().clone();
        std::thread::spawn(move || wakers.into_iter().for_each(Waker::wake))
            .join()
            .unwrap();
    }
    assert_eq!(instance.wait().await.unwrap(), Log::new());
    world.stop().await;
    let live = POLLS.swap(0, Ordering::Relaxed);
    world.check_all().await;
    assert!(live > 0);
    assert_eq!(world.kinds("i", 1).await.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn something_foreign_is_noticed_also_after_one_has_waited() {
    async fn code(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        let effect = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok::<_, Failure>(())
        };
        ctx.run("effect", effect).await?;
        tokio::select! {
            done = ctx.sleep(Duration::from_secs(86_400)) => done?,
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
        Ok(Log::new())
    }
    let mut world = World::new(registry(code)).await;
    let instance = world.client().start(CODE, "i", &0).await.unwrap();
    let record = settled(&instance).await;
    assert!(
        matches!(record.status, InstanceStatus::Suspended { .. }),
        "{record:?}"
    );
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_that_is_woken_by_another_thread_while_it_is_polled_goes_on() {
    async fn code(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        let mut polls = 0;
        let effect = poll_fn(|cx| {
            polls += 1;
            let waker = cx.waker().clone();
            // The wake-up has happened before this poll ends.
            std::thread::spawn(move || waker.wake()).join().unwrap();
            match polls {
                5 => Poll::Ready(Ok::<_, Failure>(())),
                _ => Poll::Pending,
            }
        });
        ctx.run("effect", effect).await?;
        ctx.sleep(Duration::from_secs(1)).await?;
        Ok(Log::new())
    }
    assert_eq!(run_once(registry(code)).await, Log::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn wake_ups_from_other_threads_are_neither_lost_nor_foreign() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut log = Log::new();
        for round in 0..4_u64 {
            let effect = async {
                let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
                // They finish while the effect is being polled, or just after.
                for n in 0..4 {
                    let sender = sender.clone();
                    tokio::spawn(async move {
                        for _ in 0..(seed + n) % 5 {
                            tokio::task::yield_now().await;
                        }
                        sender.send(n).unwrap();
                    });
                }
                drop(sender);
                let mut sum = 0;
                while let Some(n) = receiver.recv().await {
                    sum += n;
                }
                let blocking = tokio::task::spawn_blocking(move || sum + round);
                Ok::<_, Failure>(blocking.await.unwrap())
            };
            let sum: u64 = ctx.run("sum", effect).await?;
            log.push(sum.to_string());
        }
        Ok(log)
    }
    let store = Arc::new(MemoryProvider::new());
    let node = Runtime::builder(store, registry(code))
        .start()
        .await
        .unwrap();
    let mut instances = Vec::new();
    for seed in 0..200 {
        let start = node.client().start(CODE, format!("i{seed}"), &seed);
        instances.push(start.await.unwrap());
    }
    for instance in instances {
        let wait = tokio::time::timeout(Duration::from_secs(30), async {
            let record = settled(&instance).await;
            assert!(
                matches!(record.status, InstanceStatus::Completed { .. }),
                "{record:?}"
            );
            instance.wait().await.unwrap()
        });
        assert_eq!(wait.await.unwrap(), ["6", "7", "8", "9"]);
    }
    node.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test(start_paused = true)]
async fn its_result_stands_where_it_ended() {
    async fn code(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        ctx.run("effect", async { Ok::<_, Failure>(1) }).await?;
        Ok(Log::new())
    }
    let mut world = World::new(registry(code)).await;
    let instance = world.client().start(CODE, "i", &0).await.unwrap();
    instance.wait().await.unwrap();
    world.stop().await;
    let history = world.history(instance.id(), 1).await;
    let Event::OperationCompleted { name, result, .. } = &history.entries[1].event else {
        panic!("{:?}", history.entries);
    };
    assert_eq!(
        (name.as_str(), result.as_ref().unwrap().as_str()),
        ("effect", "1")
    );
}
