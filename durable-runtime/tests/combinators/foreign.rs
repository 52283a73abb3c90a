//! Waiting for what is not durable: always noticed, with the reason in the
//! instance's status, and never a hang.

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use durable_runtime::{
    ClientError, Failure, FailureKind, FaultPolicy, InstanceStatus, Misuse, Orchestration,
    OrchestrationContext, Registry, ReplayFailure,
};
use futures::FutureExt;
use tokio::sync::{Notify, oneshot};

use crate::scenario::{Log, WORK, work};
use crate::world::{World, options, settled};

use crate::dice::Dice;

const CODE: Orchestration<u64, Log> = Orchestration::new("code");
const LONG: Duration = Duration::from_secs(30 * 86_400);

fn registry<F, R>(code: F) -> Registry
where
    F: Fn(OrchestrationContext, u64) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Log, Failure>> + Send + 'static,
{
    let workers = crate::scenario::workers();
    workers.orchestration(CODE, code).build().unwrap()
}

/// Why an instance of this code is suspended. It must be within a minute.
async fn suspended<F, R>(code: F) -> Failure
where
    F: Fn(OrchestrationContext, u64) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Log, Failure>> + Send + 'static,
{
    let mut world = World::new(registry(code)).await;
    let instance = world.client().start(CODE, "i", &0).await.unwrap();
    let record = tokio::time::timeout(Duration::from_secs(60), settled(&instance)).await;
    let InstanceStatus::Suspended { failure } = record.unwrap().status else {
        panic!("it is not suspended");
    };
    assert_eq!(failure.kind, FailureKind::DeterminismViolation, "{failure}");
    assert!(!failure.retryable);
    world.stop().await;
    failure
}

#[track_caller]
fn assert_says(failure: &Failure, text: &str) {
    assert!(failure.message.contains(text), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn a_timer_of_tokio() {
    let alone = suspended(async |_: OrchestrationContext, _| {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(Log::new())
    })
    .await;
    assert_says(
        &alone,
        "after event 1 the orchestration awaits something that is not durable",
    );
    let beside = suspended(async |ctx: OrchestrationContext, _| {
        tokio::select! {
            done = ctx.sleep(LONG) => done?,
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
        Ok(Log::new())
    })
    .await;
    assert_says(&beside, "something that is not durable");
}

#[tokio::test(start_paused = true)]
async fn a_channel_from_outside() {
    static SENDER: Mutex<Option<oneshot::Sender<()>>> = Mutex::new(None);
    let alone = suspended(async |_: OrchestrationContext, _| {
        let (sender, receiver) = oneshot::channel();
        *SENDER.lock().unwrap() = Some(sender);
        receiver.await.unwrap();
        Ok(Log::new())
    })
    .await;
    assert_says(&alone, "awaits something that is not durable");
    tokio::spawn(async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        SENDER.lock().unwrap().take().unwrap().send(()).unwrap();
    });
    let beside = suspended(async |ctx: OrchestrationContext, _| {
        let (sender, receiver) = oneshot::channel();
        if !ctx.is_replaying() {
            *SENDER.lock().unwrap() = Some(sender);
        }
        tokio::select! {
            done = ctx.sleep(LONG) => done?,
            _ = receiver => {}
        }
        Ok(Log::new())
    })
    .await;
    assert_says(&beside, "something that is not durable");
}

#[tokio::test(start_paused = true)]
async fn a_durable_future_in_a_spawned_task() {
    let awaited = suspended(async |ctx: OrchestrationContext, _| {
        let task = tokio::spawn(async move {
            let done = ctx.activity(WORK, &work("a", &mut Dice::new(0))).await;
            done.map(|done| vec![done])
        });
        task.await.unwrap()
    })
    .await;
    assert_says(&awaited, "not durable, such as a task of `tokio::spawn`");
    // No code awaits it, and the orchestration has a month to sleep.
    let forgotten = suspended(async |ctx: OrchestrationContext, _| {
        let context = ctx.clone();
        tokio::spawn(async move { context.sleep(Duration::from_secs(1)).await });
        ctx.sleep(LONG).await?;
        Ok(Log::new())
    })
    .await;
    assert_says(&forgotten, "durable");
    let commands = suspended(async |ctx: OrchestrationContext, _| {
        let context = ctx.clone();
        tokio::spawn(async move { context.set_state("key", &1) });
        ctx.sleep(LONG).await?;
        Ok(Log::new())
    })
    .await;
    assert_says(&commands, "durable");
}

#[tokio::test(start_paused = true)]
async fn a_durable_future_on_another_thread() {
    let polled = suspended(async |ctx: OrchestrationContext, _| {
        let mut timer = ctx.sleep(LONG);
        assert!(futures::poll!(&mut timer).is_pending());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let done = timer.poll_unpin(&mut Context::from_waker(Waker::noop()));
                let Poll::Ready(Err(failure)) = done else {
                    panic!("{done:?}");
                };
                assert_eq!(failure.kind, FailureKind::DeterminismViolation);
            });
        });
        timer.await?;
        Ok(Log::new())
    })
    .await;
    assert_says(&polled, "durable");
    let dropped = suspended(async |ctx: OrchestrationContext, _| {
        let mut timer = ctx.sleep(LONG);
        assert!(futures::poll!(&mut timer).is_pending());
        std::thread::spawn(move || drop(timer)).join().unwrap();
        ctx.sleep(LONG).await?;
        Ok(Log::new())
    })
    .await;
    assert_says(&dropped, "durable");
}

#[tokio::test(start_paused = true)]
async fn nothing_at_all() {
    let at_once = suspended(async |_: OrchestrationContext, _| pending().await).await;
    assert_says(&at_once, "after event 1 ");
    let later = suspended(async |ctx: OrchestrationContext, _| {
        ctx.sleep(Duration::from_secs(1)).await?;
        let _promise = ctx.promise::<()>("promise")?;
        drop(_promise);
        pending().await
    })
    .await;
    assert_says(&later, "after event 4 ");
    // Something durable is open, but not what is awaited.
    let beside = suspended(async |ctx: OrchestrationContext, _| {
        let mut timer = ctx.sleep(Duration::from_secs(1));
        assert!(futures::poll!(&mut timer).is_pending());
        pending::<()>().await;
        timer.await?;
        Ok(Log::new())
    })
    .await;
    assert_says(&beside, "after event 3 ");
}

#[tokio::test(start_paused = true)]
async fn a_task_of_tokio_that_yields() {
    let failure = suspended(async |ctx: OrchestrationContext, _| {
        ctx.sleep(Duration::from_secs(1)).await?;
        tokio::task::yield_now().await;
        Ok(Log::new())
    })
    .await;
    assert_says(&failure, "after event 3 ");
}

#[tokio::test(start_paused = true)]
async fn another_orchestration() {
    static BELL: Notify = Notify::const_new();
    async fn code(ctx: OrchestrationContext, role: u64) -> Result<Log, Failure> {
        if role == 1 {
            ctx.sleep(Duration::from_secs(1)).await?;
            BELL.notify_waiters();
            return Ok(Log::new());
        }
        tokio::select! {
            done = ctx.sleep(LONG) => done?,
            () = BELL.notified() => {}
        }
        Ok(Log::new())
    }
    let mut world = World::new(registry(code)).await;
    let listener = world.client().start(CODE, "listener", &0).await.unwrap();
    let ringer = world.client().start(CODE, "ringer", &1).await.unwrap();
    ringer.wait().await.unwrap();
    let record = settled(&listener).await;
    assert!(
        matches!(record.status, InstanceStatus::Suspended { .. }),
        "{record:?}"
    );
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn itself_without_end() {
    let failure = suspended(async |_: OrchestrationContext, _| {
        poll_fn(|cx| {
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        })
        .await;
        Ok(Log::new())
    })
    .await;
    assert_says(&failure, "wakes itself again and again");
}

#[tokio::test(start_paused = true)]
async fn a_fixed_deploy_goes_on_where_the_instance_was_suspended() {
    async fn wrong(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        let done = ctx.activity(WORK, &work("a", &mut Dice::new(0))).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(vec![done])
    }
    async fn right(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        let done = ctx.activity(WORK, &work("a", &mut Dice::new(0))).await?;
        ctx.sleep(Duration::from_secs(1)).await?;
        Ok(vec![done])
    }
    let world = World::new(registry(wrong)).await;
    let instance = world.client().start(CODE, "i", &0).await.unwrap();
    settled(&instance).await;
    let mut world = world.with_code(registry(right)).await;
    let instance = world.client().instance(CODE, "i");
    instance.resume().await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), ["a"]);
    world.stop().await;
    world.check_all().await;
}

#[tokio::test(start_paused = true)]
async fn by_policy_it_ends_the_instance() {
    let options = options().fault_policy(FaultPolicy::Terminate);
    async fn code(ctx: OrchestrationContext, wait: u64) -> Result<Log, Failure> {
        if wait == 0 {
            return pending().await;
        }
        tokio::select! {
            done = ctx.sleep(LONG) => done?,
            () = tokio::time::sleep(Duration::from_secs(wait)) => {}
        }
        Ok(Log::new())
    }
    let mut world = World::with(registry(code), options).await;
    for wait in [0, 1] {
        let start = world.client().start(CODE, format!("i{wait}"), &wait);
        let instance = start.await.unwrap();
        let record = settled(&instance).await;
        let InstanceStatus::Terminated { failure } = record.status else {
            panic!("{record:?}");
        };
        assert_eq!(failure.kind, FailureKind::DeterminismViolation);
        assert_says(&failure, "not durable");
        assert!(!failure.retryable);
        let Err(ClientError::Failed { failure: told, .. }) = instance.wait().await else {
            panic!("who waits is told");
        };
        assert_eq!(told, failure);
    }
    world.stop().await;
    world.check_all().await;
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("boom");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn panics_in_the_code_and_in_what_it_drops() {
    async fn code(ctx: OrchestrationContext, way: u64) -> Result<Log, Failure> {
        match way {
            0 => panic!("boom at once"),
            1 => {
                ctx.sleep(Duration::from_secs(1)).await?;
                panic!("boom later")
            }
            2 => {
                let _bomb = Bomb;
                ctx.sleep(Duration::from_secs(1)).await?;
            }
            3 => {
                let _bomb = Bomb;
                ctx.sleep(LONG).await?;
            }
            _ => {
                let _bomb = Bomb;
                return ctx.continue_as_new(&5).await;
            }
        }
        Ok(Log::new())
    }
    async fn next(ctx: OrchestrationContext, way: u64) -> Result<Log, Failure> {
        match way {
            5 => Ok(vec!["next".into()]),
            way => code(ctx, way).await,
        }
    }
    let mut world = World::new(registry(next)).await;
    for (way, text) in [(0, "boom at once"), (1, "boom later"), (2, "boom")] {
        let start = world.client().start(CODE, format!("i{way}"), &way);
        let record = settled(&start.await.unwrap()).await;
        let InstanceStatus::Suspended { failure } = record.status else {
            panic!("{record:?}");
        };
        assert_eq!(failure.kind, FailureKind::Panicked);
        assert_says(&failure, text);
    }
    // Where the code does not end by itself, the panic of what it drops changes
    // nothing.
    let instance = world.client().start(CODE, "i3", &3).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    instance.terminate("enough").await.unwrap();
    let record = settled(&instance).await;
    assert!(
        matches!(record.status, InstanceStatus::Terminated { .. }),
        "{record:?}"
    );
    let instance = world.client().start(CODE, "i4", &4).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), ["next"]);
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_replayer_says_the_same() {
    async fn fine(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        ctx.sleep(Duration::from_secs(1)).await?;
        Ok(Log::new())
    }
    let mut world = World::new(registry(fine)).await;
    let instance = world.client().start(CODE, "i", &0).await.unwrap();
    instance.wait().await.unwrap();
    world.stop().await;
    let history = world.history(instance.id(), 1).await;
    type Code =
        fn(OrchestrationContext) -> Pin<Box<dyn Future<Output = Result<Log, Failure>> + Send>>;
    let replay = |code: Code| {
        let registry = registry(move |ctx, _| code(ctx));
        let cut = durable_core::EventId::FIRST;
        durable_runtime::Replayer::new(registry)
            .replay_up_to(&history, cut)
            .unwrap_err()
    };
    let after = durable_core::EventId::FIRST;
    assert_eq!(
        replay(|_| Box::pin(pending())),
        ReplayFailure::NonDurableWait { after }
    );
    assert_eq!(
        replay(|_| Box::pin(async { panic!("boom") })),
        ReplayFailure::Panicked {
            message: "boom".into(),
            after
        }
    );
    let misused = replay(|ctx| {
        Box::pin(async move {
            let elsewhere = std::thread::spawn(move || ctx.set_state("key", &1)).join();
            elsewhere.unwrap()?;
            Ok(Log::new())
        })
    });
    let misuse = Misuse::Elsewhere;
    assert_eq!(misused, ReplayFailure::Misuse { misuse, after });
    assert!(misused.to_string().contains("outside of its orchestration"));
}
