//! User code that holds its worker thread, in real time: the node keeps its session, names the
//! code, and other instances go on. Tests wait for what happens, never for time to pass.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use durable_core::provider::{
    InstanceStatus, Layer, Layered, Provider, ProviderError, SessionId, SessionOptions, StatusKind,
};
use durable_runtime::{
    Activity, ActivityContext, Failure, FailureKind, FaultPolicy, Orchestration,
    OrchestrationContext, Registry, RegistryBuilder, Runtime, RuntimeOptions,
};
use durable_testkit::MemoryProvider;

use crate::telemetry::Spans;

const BLOCK: Activity<u32, u32> = Activity::new("block");
const STEP: Activity<u32, u32> = Activity::new("step");
const CALL: Orchestration<u32, u32> = Orchestration::new("call");
const STEPS: Orchestration<u32, u32> = Orchestration::new("steps");
const STUCK: Orchestration<u32, u32> = Orchestration::new("stuck");

/// Only against a test that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A gate at which threads block, and which counts them.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    came: Vec<u32>,
    is_open: bool,
}

impl Gate {
    /// Blocks the thread until the gate is open.
    fn pass(&self, number: u32) {
        let mut state = self.state.lock().unwrap();
        state.came.push(number);
        self.changed.notify_all();
        while !state.is_open {
            state = self.changed.wait(state).unwrap();
        }
    }

    fn open(&self) {
        self.state.lock().unwrap().is_open = true;
        self.changed.notify_all();
    }

    /// Waits until so many have come; all that have.
    fn wait_for(&self, count: usize) -> Vec<u32> {
        let state = self.state.lock().unwrap();
        let waits = |state: &mut GateState| state.came.len() < count;
        let waited = self.changed.wait_timeout_while(state, PATIENCE, waits);
        let (state, timeout) = waited.unwrap();
        assert!(!timeout.timed_out(), "only {:?} have come", state.came);
        state.came.clone()
    }
}

/// Counts sessions and heartbeats.
struct Counted {
    store: Arc<MemoryProvider>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    sessions: Mutex<u32>,
    heartbeats: Mutex<u32>,
    changed: Condvar,
}

impl Counts {
    /// Waits for so many more heartbeats.
    fn wait_for_heartbeats(&self, more: u32) {
        let heartbeats = self.heartbeats.lock().unwrap();
        let wanted = *heartbeats + more;
        let waits = |heartbeats: &mut u32| *heartbeats < wanted;
        let waited = self.changed.wait_timeout_while(heartbeats, PATIENCE, waits);
        assert!(!waited.unwrap().1.timed_out(), "the heart stands still");
    }
}

#[async_trait]
impl Layer for Counted {
    type Inner = Arc<MemoryProvider>;

    fn inner(&self) -> &Arc<MemoryProvider> {
        &self.store
    }

    async fn open_session(&self, options: SessionOptions) -> Result<SessionId, ProviderError> {
        *self.counts.sessions.lock().unwrap() += 1;
        self.store.open_session(options).await
    }

    async fn heartbeat(&self, session: SessionId) -> Result<(), ProviderError> {
        self.store.heartbeat(session).await?;
        *self.counts.heartbeats.lock().unwrap() += 1;
        self.counts.changed.notify_all();
        Ok(())
    }
}

/// A tokio runtime with this many workers; dropping it does not wait for blocked ones.
struct Workers(Option<tokio::runtime::Runtime>);

impl Workers {
    fn new(count: usize) -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(count).enable_all().build();
        Self(Some(runtime.unwrap()))
    }

    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        let runtime = self.0.as_ref().unwrap();
        let bounded = async { tokio::time::timeout(PATIENCE, future).await };
        runtime.block_on(bounded).expect("it ends")
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// A session that lapses soon without heartbeats, and a watchdog that looks often.
fn options() -> RuntimeOptions {
    RuntimeOptions::default()
        .session_timeout(Duration::from_millis(300))
        .blocking_threshold(Duration::from_millis(20))
}

fn registry(gate: &Arc<Gate>) -> RegistryBuilder {
    let (at_activity, at_orchestration) = (Arc::clone(gate), Arc::clone(gate));
    Registry::builder()
        .orchestration(CALL, |ctx: OrchestrationContext, number| async move {
            ctx.activity(BLOCK, &number).await
        })
        .orchestration(STEPS, |ctx: OrchestrationContext, steps| async move {
            let mut sum = 0;
            for _ in 0..steps {
                sum += ctx.activity(STEP, &1).await?;
                ctx.sleep(Duration::from_millis(1)).await?;
            }
            Ok::<_, Failure>(sum)
        })
        .orchestration(STUCK, move |ctx: OrchestrationContext, number| {
            let gate = Arc::clone(&at_orchestration);
            async move {
                let number = ctx.activity(STEP, &number).await?;
                let number = ctx
                    .run("now", async move { Ok::<_, Failure>(number + 1) })
                    .await?;
                gate.pass(number);
                Ok::<_, Failure>(number)
            }
        })
        .activity(STEP, |_: ActivityContext, number| async move {
            Ok::<u32, Failure>(number)
        })
        .activity(BLOCK, move |ctx: ActivityContext, number| {
            let gate = Arc::clone(&at_activity);
            async move {
                assert_eq!(ctx.attempt(), 1);
                gate.pass(number);
                Ok::<u32, Failure>(number)
            }
        })
}

#[test]
fn activities_that_block_every_worker_keep_their_session_and_run_once() {
    let spans = Spans::default();
    let _listening = spans.listen();
    let gate = Arc::<Gate>::default();
    let counts = Arc::<Counts>::default();
    let store = Arc::new(MemoryProvider::new());
    let counted = Counted {
        store: Arc::clone(&store),
        counts: Arc::clone(&counts),
    };
    let workers = Workers::new(2);
    let (node, calls) = workers.block_on(async {
        let node = Runtime::builder(Layered(counted), registry(&gate).build().unwrap())
            .options(options())
            .start()
            .await
            .unwrap();
        let mut calls = Vec::new();
        for number in 0..4 {
            let call = node.client().start(CALL, format!("c-{number}"), &number);
            calls.push(call.await.unwrap());
        }
        (node, calls)
    });
    gate.wait_for(2);
    // Four heartbeats come within the timeout of a session.
    counts.wait_for_heartbeats(12);
    let message = "an activity holds its worker thread: what blocks or computes for long \
                   belongs into `tokio::task::spawn_blocking`";
    let named = spans.wait_for(message, 2);
    assert!(
        named
            .iter()
            .all(|seen| seen.field("activity") == Some("block"))
    );
    assert_eq!(named[0].field("event"), Some("2"));
    assert_ne!(named[0].field("instance"), named[1].field("instance"));
    gate.open();
    workers.block_on(async {
        for (number, call) in (0..).zip(&calls) {
            assert_eq!(call.wait().await.unwrap(), number);
        }
        node.shutdown(PATIENCE).await;
    });
    let mut came = gate.wait_for(4);
    came.sort_unstable();
    assert_eq!(came, [0, 1, 2, 3], "each ran once");
    assert_eq!(*counts.sessions.lock().unwrap(), 1, "no session was lost");
    assert!(store.snapshot().poisoned.is_empty());
}

#[test]
fn an_orchestration_that_never_yields_is_named_and_suspended_and_others_go_on() {
    let spans = Spans::default();
    let _listening = spans.listen();
    let gate = Arc::<Gate>::default();
    let store = Arc::new(MemoryProvider::new());
    let workers = Workers::new(2);
    let (node, stuck) = workers.block_on(async {
        let node = Runtime::builder(Arc::clone(&store), registry(&gate).build().unwrap())
            .options(options())
            .start()
            .await
            .unwrap();
        let stuck = node.client().start(STUCK, "stuck-1", &7).await.unwrap();
        (node, stuck)
    });
    assert_eq!(gate.wait_for(1), [8]);
    workers.block_on(async {
        for number in 0..20 {
            let steps = node.client().start(STEPS, format!("s-{number}"), &3);
            assert_eq!(steps.await.unwrap().wait().await.unwrap(), 3);
        }
        let is_suspended = |record: &durable_runtime::InstanceRecord| {
            record.status.kind() == StatusKind::Suspended
        };
        let record = stuck.wait_until(is_suspended).await.unwrap();
        let InstanceStatus::Suspended { failure } = record.status else {
            panic!("it is {:?}", record.status);
        };
        assert_eq!(failure.kind, FailureKind::Timeout);
        let said = "orchestration `stuck` held its worker thread for 300ms and did not yield: \
                    what blocks or computes for long belongs into an activity";
        assert_eq!(failure.message, said);
    });
    let message = "an orchestration holds its worker thread: what blocks or computes for long \
                   belongs into an activity, in `tokio::task::spawn_blocking`";
    for seen in spans.wait_for(message, 1) {
        assert_eq!(seen.field("orchestration"), Some("stuck"));
        assert_eq!(seen.field("instance"), Some("stuck-1"));
    }
    gate.open();
    workers.block_on(async {
        stuck.resume().await.unwrap();
        assert_eq!(stuck.wait().await.unwrap(), 8);
        node.shutdown(PATIENCE).await;
    });
    assert!(store.snapshot().work.is_empty());
}

#[test]
fn an_orchestration_that_never_yields_is_terminated_if_the_policy_says_so() {
    let gate = Arc::<Gate>::default();
    let store = Arc::new(MemoryProvider::new());
    let workers = Workers::new(2);
    let (node, stuck) = workers.block_on(async {
        let node = Runtime::builder(Arc::clone(&store), registry(&gate).build().unwrap())
            .options(options().fault_policy(FaultPolicy::Terminate))
            .start()
            .await
            .unwrap();
        let stuck = node.client().start(STUCK, "stuck-1", &7).await.unwrap();
        (node, stuck)
    });
    gate.wait_for(1);
    workers.block_on(async {
        let is_told = || !store.snapshot().instances[stuck.id()].inbox.is_empty();
        while !is_told() {
            tokio::task::yield_now().await;
        }
        gate.open();
        let ended = stuck.wait_until(|record| record.status.kind().is_ended());
        // Its poll has returned: it ends by itself or by the hard stop, whatever comes first.
        assert!(ended.await.unwrap().status.kind().is_ended());
        node.shutdown(PATIENCE).await;
    });
}

/// A worker thread of tokio keeps the task that it woke last to itself, here the activity that
/// the turn has begun before the code goes on.
#[test]
fn what_an_instance_began_before_its_code_blocks_goes_on() {
    let (gate, done) = (Arc::<Gate>::default(), Arc::<Gate>::default());
    done.open();
    let (at_orchestration, at_activity) = (Arc::clone(&gate), Arc::clone(&done));
    let registry = Registry::builder()
        .orchestration(STUCK, move |ctx: OrchestrationContext, number| {
            let gate = Arc::clone(&at_orchestration);
            async move {
                let effect = async {
                    gate.pass(number);
                    Ok::<_, Failure>(number)
                };
                let (step, run) =
                    durable_runtime::join!(ctx.activity(STEP, &number), ctx.run("block", effect),);
                Ok::<_, Failure>(step? + run?)
            }
        })
        .activity(STEP, move |_: ActivityContext, number| {
            at_activity.pass(number);
            async move { Ok::<u32, Failure>(number) }
        })
        .build()
        .unwrap();
    let workers = Workers::new(2);
    let (node, stuck) = workers.block_on(async {
        let node = Runtime::builder(MemoryProvider::new(), registry).start();
        let node = node.await.unwrap();
        let stuck = node.client().start(STUCK, "stuck-1", &7).await.unwrap();
        (node, stuck)
    });
    assert_eq!(gate.wait_for(1), [7]);
    assert_eq!(
        done.wait_for(1),
        [7],
        "the activity runs on the other worker"
    );
    gate.open();
    workers.block_on(async {
        assert_eq!(stuck.wait().await.unwrap(), 14);
        node.shutdown(PATIENCE).await;
    });
}
