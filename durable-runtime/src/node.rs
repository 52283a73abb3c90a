//! What the parts of a node share.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use durable_core::InstanceId;
use durable_core::provider::{CommitId, Lease, Provider, SessionId, WorkKey};
use lru::LruCache;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::Clock;
use crate::context::ContextSettings;
use crate::execution::Execution;
use crate::options::RuntimeOptions;
use crate::registry::Registry;
use crate::turn::Arrival;

/// Shared by all tasks of a node during one session.
pub(crate) struct Node {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) options: Arc<RuntimeOptions>,
    pub(crate) settings: Arc<ContextSettings>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) session: SessionId,
    /// Turns that may run at once.
    pub(crate) turn_slots: Arc<Semaphore>,
    /// Activities that may run at once.
    pub(crate) activity_slots: Arc<Semaphore>,
    /// Tasks that must end before the session does.
    pub(crate) tasks: TaskTracker,
    /// Nothing new is begun.
    pub(crate) draining: CancellationToken,
    /// The session is over: whatever still runs has no say any more.
    pub(crate) ended: CancellationToken,
    /// Told of instances whose code was woken by something foreign.
    pub(crate) foreign_wakes: mpsc::UnboundedSender<InstanceId>,
    state: Mutex<State>,
    releases: Mutex<Vec<Lease>>,
    pub(crate) release_wanted: Notify,
    commits: AtomicU64,
    /// The store's clock minus ours, modulo 2^64.
    store_offset_ms: AtomicU64,
}

struct State {
    /// Executions that wait, and what they must be found as to be valid.
    cache: LruCache<InstanceId, CachedExecution>,
    /// Where to reach the instances that this node holds.
    held: HashMap<InstanceId, mpsc::UnboundedSender<Arrival>>,
    /// Activities that run here.
    running: HashMap<WorkKey, CancellationToken>,
    /// How often an instance was handed back for want of its code.
    hand_backs: HashMap<InstanceId, u32>,
}

/// An execution in memory whose instance is not held.
pub(crate) struct CachedExecution {
    pub(crate) execution: Execution,
    pub(crate) last_commit_id: Option<CommitId>,
    pub(crate) turns: u64,
}

impl Node {
    pub(crate) fn new(
        provider: Arc<dyn Provider>,
        registry: Arc<Registry>,
        options: Arc<RuntimeOptions>,
        clock: Arc<dyn Clock>,
        session: SessionId,
        foreign_wakes: mpsc::UnboundedSender<InstanceId>,
    ) -> Self {
        let capacity = NonZeroUsize::new(options.cached_executions).unwrap_or(NonZeroUsize::MIN);
        Self {
            provider,
            registry,
            clock,
            session,
            settings: Arc::new(ContextSettings {
                limits: options.limits,
                history_hint: options.history_hint,
            }),
            turn_slots: Arc::new(Semaphore::new(options.max_turns)),
            activity_slots: Arc::new(Semaphore::new(options.max_activities)),
            tasks: TaskTracker::new(),
            draining: CancellationToken::new(),
            ended: CancellationToken::new(),
            state: Mutex::new(State {
                cache: LruCache::new(capacity),
                held: HashMap::new(),
                running: HashMap::new(),
                hand_backs: HashMap::new(),
            }),
            releases: Mutex::new(Vec::new()),
            release_wanted: Notify::new(),
            commits: AtomicU64::new(0),
            store_offset_ms: AtomicU64::new(0),
            foreign_wakes,
            options,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an execution out of the cache, if it is there.
    pub(crate) fn take_cached(&self, instance: &InstanceId) -> Option<CachedExecution> {
        self.state().cache.pop(instance)
    }

    /// Keeps an execution for its next turn. What it pushes out is dropped after
    /// the lock is free.
    pub(crate) fn keep_cached(&self, instance: InstanceId, cached: CachedExecution) {
        let pushed_out = self.state().cache.push(instance, cached);
        drop(pushed_out);
    }

    /// From now on arrivals for this instance go to this channel.
    pub(crate) fn hold(&self, instance: InstanceId, channel: mpsc::UnboundedSender<Arrival>) {
        self.state().held.insert(instance, channel);
    }

    /// This instance is no longer held.
    pub(crate) fn let_go(&self, instance: &InstanceId) {
        self.state().held.remove(instance);
    }

    /// Whether the instance is held.
    pub(crate) fn holds(&self, instance: &InstanceId) -> bool {
        self.state().held.contains_key(instance)
    }

    /// Hands an arrival to the holder of its instance; gives it back if there is none.
    pub(crate) fn forward(&self, instance: &InstanceId, arrival: Arrival) -> Result<(), Arrival> {
        let channel = self.state().held.get(instance).cloned();
        match channel {
            Some(channel) => channel.send(arrival).map_err(|unsent| unsent.0),
            None => Err(arrival),
        }
    }

    /// An activity begins here: the token tells it when nobody waits any more.
    pub(crate) fn activity_began(&self, key: WorkKey) -> CancellationToken {
        let token = self.ended.child_token();
        self.state().running.insert(key, token.clone());
        token
    }

    /// An activity ended here.
    pub(crate) fn activity_ended(&self, key: &WorkKey) {
        self.state().running.remove(key);
    }

    /// Nobody waits for these activities any more.
    pub(crate) fn cancel_activities<'a>(&self, keys: impl IntoIterator<Item = &'a WorkKey>) {
        let tokens: Vec<CancellationToken> = {
            let state = self.state();
            keys.into_iter()
                .filter_map(|key| state.running.get(key).cloned())
                .collect()
        };
        tokens.iter().for_each(CancellationToken::cancel);
    }

    /// Gives a lease back soon, together with others.
    pub(crate) fn release_soon(&self, lease: Lease) {
        self.releases
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(lease);
        self.release_wanted.notify_one();
    }

    /// The leases to give back.
    pub(crate) fn take_releases(&self) -> Vec<Lease> {
        std::mem::take(&mut *self.releases.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How long to wait before an instance is tried again for want of its code:
    /// longer each time.
    pub(crate) fn next_hand_back_delay(&self, instance: &InstanceId) -> Duration {
        const FIRST: Duration = Duration::from_millis(100);
        const LONGEST: Duration = Duration::from_secs(60);
        let mut state = self.state();
        let count = state.hand_backs.entry(instance.clone()).or_insert(0);
        *count = count.saturating_add(1);
        FIRST.saturating_mul(1 << (*count - 1).min(10)).min(LONGEST)
    }

    /// An instance found its code.
    pub(crate) fn forget_hand_backs(&self, instance: &InstanceId) {
        let mut state = self.state();
        if !state.hand_backs.is_empty() {
            state.hand_backs.remove(instance);
        }
    }

    /// A name for a commit: session ids are never used again, so neither is this.
    pub(crate) fn next_commit_id(&self) -> CommitId {
        let number = self.commits.fetch_add(1, Ordering::Relaxed);
        CommitId(u128::from(self.session.0) << 64 | u128::from(number))
    }

    /// Remembers how far the store's clock is from ours.
    pub(crate) fn saw_store_time(&self, store_ms: u64) {
        let offset = store_ms.wrapping_sub(self.clock.now_ms());
        self.store_offset_ms.store(offset, Ordering::Relaxed);
    }

    /// The store's time, as far as we know.
    pub(crate) fn store_now_ms(&self) -> u64 {
        let offset = self.store_offset_ms.load(Ordering::Relaxed);
        self.clock.now_ms().wrapping_add(offset)
    }
}
