//! A store and the nodes on it, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::{InstanceStatus, Provider, StatusKind};
use durable_core::{EarlierAttempts, Event, EventId, ExecutionId, History, HistoryEntry};
use durable_runtime::{Client, Failure, OrchestrationContext, Registry, Runtime, RuntimeOptions};
use durable_testkit::{MemoryProvider, TokioClock};

use crate::faulty::{Fault, Faulty};

/// When virtual time begins.
pub(crate) const EPOCH_MS: u64 = 1_700_000_000_000;

/// One store, in virtual time. Use it in tests with `start_paused = true`.
pub(crate) struct World {
    pub(crate) store: Arc<MemoryProvider>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::lasting(Duration::from_secs(2 * 24 * 3600))
    }

    /// A world for a test that takes at most so long, in virtual time.
    pub(crate) fn lasting(longest: Duration) -> Self {
        let clock = TokioClock::starting_at(EPOCH_MS);
        let store = Arc::new(MemoryProvider::with_clock(clock));
        tokio::spawn(end_a_test_that_hangs(store.clone(), longest));
        Self { store }
    }

    /// A client that has nothing but the store.
    pub(crate) fn client(&self) -> Client {
        self.client_on(self.store.clone())
    }

    /// A client of another store, or of one around this one.
    pub(crate) fn client_on(&self, store: Arc<dyn Provider>) -> Client {
        Client::new(store)
    }

    /// Starts a node with default options.
    pub(crate) async fn node(&self, registry: &Registry) -> Runtime {
        self.node_with(registry, RuntimeOptions::default()).await
    }

    pub(crate) async fn node_with(&self, registry: &Registry, options: RuntimeOptions) -> Runtime {
        self.node_on(self.store.clone(), registry, options).await
    }

    /// Starts a node that reaches the store through another provider.
    pub(crate) async fn node_on(
        &self,
        provider: Arc<dyn Provider>,
        registry: &Registry,
        options: RuntimeOptions,
    ) -> Runtime {
        Runtime::builder(provider, registry.clone())
            .options(options)
            .start()
            .await
            .unwrap()
    }

    /// The store behind a provider that counts calls.
    pub(crate) fn counted(&self) -> Faulty {
        Faulty::counting(self.store.clone())
    }

    /// The store behind a provider that does what this plan says.
    pub(crate) fn faulty(
        &self,
        plan: impl FnMut(&'static str, u64) -> Fault + Send + 'static,
    ) -> Faulty {
        Faulty::new(self.store.clone(), plan)
    }

    /// Virtual time since the beginning.
    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_millis(self.store.now_ms() - EPOCH_MS)
    }

    /// The whole history of an execution, which is checked to be a valid one.
    pub(crate) async fn history(&self, instance: &str, execution: u64) -> Vec<HistoryEntry> {
        let execution_id = ExecutionId::new(execution);
        let page = self
            .store
            .history(
                &instance.into(),
                execution_id,
                EventId::UNASSIGNED,
                usize::MAX,
            )
            .await
            .unwrap();
        assert!(!page.has_more);
        let history = History::new(instance.into(), execution_id, page.entries);
        history.validate().unwrap();
        history.entries
    }

    /// The kinds of the events of an execution, in order.
    pub(crate) async fn kinds(&self, instance: &str, execution: u64) -> Vec<&'static str> {
        let history = self.history(instance, execution).await;
        history
            .iter()
            .map(|entry| entry.event.kind().name())
            .collect()
    }

    /// Of each activity of an execution that ended, the attempts before the last one.
    pub(crate) async fn earlier_attempts(
        &self,
        instance: &str,
        execution: u64,
    ) -> Vec<EarlierAttempts> {
        let history = self.history(instance, execution).await;
        let ended = history.iter().filter_map(|entry| match &entry.event {
            Event::ActivityCompleted {
                earlier_attempts, ..
            }
            | Event::ActivityFailed {
                earlier_attempts, ..
            } => Some(*earlier_attempts),
            _ => None,
        });
        ended.collect()
    }

    /// Where an instance stands.
    pub(crate) async fn status(&self, instance: &str) -> InstanceStatus {
        let record = self.store.instance(&instance.into()).await.unwrap();
        record.unwrap().status
    }

    /// What keeps an instance from going on, in words.
    pub(crate) async fn blocked(&self, instance: &str) -> Option<String> {
        let instance = self.client().instance::<(), ()>("", instance);
        let blocked = instance.record().await.unwrap().blocked;
        blocked.map(|failure| failure.to_string())
    }

    /// Nothing is left to be done: no work, no timer, no message, no lease,
    /// and every instance has ended.
    pub(crate) fn assert_done(&self) {
        self.assert_idle();
        for (id, instance) in self.store.snapshot().instances {
            let status = instance.record.status.kind();
            assert!(status.is_ended(), "{id} is {status}");
        }
    }

    /// As [`assert_done`](Self::assert_done), but instances may wait for something
    /// from outside, or for a client to resume them.
    pub(crate) fn assert_idle(&self) {
        let snapshot = self.store.snapshot();
        assert!(snapshot.work.is_empty(), "work: {:#?}", snapshot.work);
        assert!(snapshot.timers.is_empty(), "timers: {:#?}", snapshot.timers);
        for (id, instance) in &snapshot.instances {
            assert_eq!(instance.holder, None, "{id} is held");
            if instance.record.status.kind() != StatusKind::Suspended {
                assert_eq!(instance.inbox, [], "the inbox of {id}");
            }
        }
    }

    /// A crash is noticed: the heartbeat bound passes.
    pub(crate) async fn pass_heartbeat_bound(&self) {
        pass(RuntimeOptions::default().session_timeout + Duration::from_millis(1)).await;
    }
}

/// In a paused runtime a test that waits for what never comes would spin for ever:
/// heartbeats keep time moving.
#[expect(clippy::print_stderr, reason = "a failed test's message")]
async fn end_a_test_that_hangs(store: Arc<MemoryProvider>, longest: Duration) {
    tokio::time::sleep(longest).await;
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let mut left = store.snapshot();
    left.instances
        .retain(|_, instance| !instance.record.status.kind().is_ended());
    left.histories.clear();
    eprintln!("{test} waits for something that never comes: {left:#?}");
    std::process::exit(101);
}

/// Code that no instance asks for: the node that has it lacks what they need.
pub(crate) fn other_code() -> Registry {
    let other = |_: OrchestrationContext, (): ()| async move { Ok::<_, Failure>(()) };
    let builder = Registry::builder().orchestration("other", other);
    builder.build().unwrap()
}

/// Lets virtual time pass, and everything that is due in it happen.
pub(crate) async fn pass(duration: Duration) {
    tokio::time::sleep(duration).await;
    settle().await;
}

/// Lets everything happen that needs no time.
pub(crate) async fn settle() {
    // In a paused runtime time moves only when nothing else is to be done.
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Stops a node in good order.
pub(crate) async fn stop(node: Runtime) {
    node.shutdown(Duration::from_secs(10)).await;
}

/// A small stream of random numbers that depends on nothing but its seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below this bound.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
