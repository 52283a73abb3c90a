//! What the tasks of a node share during one session.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use durable_core::provider::{CommitId, Provider, SessionId};
use pin_project_lite::pin_project;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;

use crate::dispatch::{Cache, InstanceTasks, ReleaseBackoff, Releases, RunningActivities};
use crate::execution::{ContextSettings, StopRequest};
use crate::options::RuntimeOptions;
use crate::payload_codec::ActiveCodec;
use crate::registry::Registry;
use crate::watchdog::Watchdog;

/// What a node is made of; it outlives the node's sessions.
#[derive(Clone)]
pub(crate) struct NodeParts {
    /// The store; what goes into it is encoded.
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) codec: ActiveCodec,
    pub(crate) registry: Arc<Registry>,
    pub(crate) options: Arc<RuntimeOptions>,
    /// The node was dropped: its tasks end where they stand, as in a crash.
    pub(crate) killed: CancellationToken,
    /// The runtime of the node's own thread; `None` where there is no such thread.
    pub(crate) thread: Option<Handle>,
}

/// Shared by all tasks of a node during one session.
pub(crate) struct Node {
    /// The store; what goes into it is encoded.
    pub(crate) provider: Arc<dyn Provider>,
    /// Decodes what comes out of the store.
    pub(crate) codec: ActiveCodec,
    pub(crate) registry: Arc<Registry>,
    pub(crate) options: Arc<RuntimeOptions>,
    pub(crate) settings: Arc<ContextSettings>,
    pub(crate) session: SessionId,
    /// Turns that may run at once.
    pub(crate) turn_slots: Arc<Semaphore>,
    /// Activities that may run at once.
    pub(crate) activity_slots: Arc<Semaphore>,
    /// Tasks that must end before the session does.
    pub(crate) tasks: TaskTracker,
    /// Nothing new is begun.
    pub(crate) draining: CancellationToken,
    /// The session may hold a lease that no task knows of: only the end of the session
    /// frees it.
    pub(crate) session_uncertain: CancellationToken,
    /// The session is over: whatever still runs has no say any more.
    pub(crate) ended: CancellationToken,
    /// Tasks end where they stand.
    pub(crate) killed: CancellationToken,
    /// Asks for instances to be stopped whose own turns cannot.
    pub(crate) stop_requests: mpsc::UnboundedSender<StopRequest>,
    /// The runtime of the node's own thread; `None` where there is no such thread.
    thread: Option<Handle>,
    /// Sees the polls of user code, if the node has a thread that can look.
    pub(crate) watchdog: Option<Arc<Watchdog>>,
    /// Told when the store has more messages for a held instance.
    pub(crate) look_again: Notify,
    pub(crate) cache: Cache,
    pub(crate) instance_tasks: InstanceTasks,
    pub(crate) running: RunningActivities,
    pub(crate) release_backoff: ReleaseBackoff,
    pub(crate) releases: Releases,
    is_left_open: AtomicBool,
    commits: AtomicU64,
}

impl Node {
    pub(crate) fn new(
        parts: &NodeParts,
        session: SessionId,
        stop_requests: mpsc::UnboundedSender<StopRequest>,
    ) -> Self {
        let options = &parts.options;
        let watchdog = parts.thread.as_ref().map(|_| Arc::<Watchdog>::default());
        Self {
            provider: Arc::clone(&parts.provider),
            codec: parts.codec.clone(),
            registry: Arc::clone(&parts.registry),
            session,
            settings: Arc::new(ContextSettings::of(options).watched_by(watchdog.clone())),
            turn_slots: Arc::new(Semaphore::new(slots(options.max_turns))),
            activity_slots: Arc::new(Semaphore::new(slots(options.max_activities))),
            tasks: TaskTracker::new(),
            draining: CancellationToken::new(),
            session_uncertain: CancellationToken::new(),
            ended: CancellationToken::new(),
            killed: parts.killed.child_token(),
            stop_requests,
            thread: parts.thread.clone(),
            watchdog,
            look_again: Notify::new(),
            cache: Cache::new(options.cached_executions),
            instance_tasks: InstanceTasks::default(),
            running: RunningActivities::default(),
            release_backoff: ReleaseBackoff::default(),
            releases: Releases::default(),
            is_left_open: AtomicBool::new(false),
            commits: AtomicU64::new(0),
            options: Arc::clone(options),
        }
    }

    /// Runs a task that belongs to the session.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let killed = self.killed.clone().cancelled_owned();
        self.tasks.spawn(UntilKilled { killed, task });
    }

    /// As [`spawn`](Self::spawn), on the node's own thread if it has one: user code cannot
    /// keep the task from running.
    pub(crate) fn spawn_apart(&self, task: impl Future<Output = ()> + Send + 'static) {
        let Some(thread) = &self.thread else {
            return self.spawn(task);
        };
        let killed = self.killed.clone().cancelled_owned();
        self.tasks.spawn_on(UntilKilled { killed, task }, thread);
    }

    /// The session is over: nothing new is begun, and what runs is let go.
    pub(crate) fn end(&self) {
        self.draining.cancel();
        self.ended.cancel();
    }

    /// An answer of the store was lost that may have given a lease to this session.
    pub(crate) fn mark_session_uncertain(&self) {
        self.session_uncertain.cancel();
    }

    /// An instance was left in the middle of a turn. Closing the session would release
    /// it as if it had come to rest; without closing, the store gives it to the next
    /// session to be run.
    pub(crate) fn leave_session_open(&self) {
        self.is_left_open.store(true, Ordering::Relaxed);
    }

    /// Whether the session is not to be closed.
    pub(crate) fn is_left_open(&self) -> bool {
        self.is_left_open.load(Ordering::Relaxed)
    }

    /// A name for a commit: session ids are never used again, so neither is this.
    pub(crate) fn next_commit_id(&self) -> CommitId {
        let number = self.commits.fetch_add(1, Ordering::Relaxed);
        CommitId(u128::from(self.session.0) << 64 | u128::from(number))
    }

    /// The store's time, as far as it is known without asking.
    pub(crate) fn now_ms(&self) -> u64 {
        self.provider.now_ms()
    }

    /// How long it is until something is due by the store's clock.
    pub(crate) fn until(&self, due_ms: u64) -> Duration {
        Duration::from_millis(due_ms.saturating_sub(self.now_ms()))
    }
}

pin_project! {
    /// A task that ends where it stands when its node is killed. An `async` block would
    /// hold the task twice: as what it captured, and as what it waits for.
    struct UntilKilled<T> {
        #[pin]
        killed: WaitForCancellationFutureOwned,
        #[pin]
        task: T,
    }
}

impl<T: Future<Output = ()>> Future for UntilKilled<T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        match this.killed.poll(cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => this.task.poll(cx),
        }
    }
}

/// As many as a semaphore can count and give away at once: `usize::MAX` is meant as
/// "no bound".
pub(crate) fn slots(wanted: usize) -> usize {
    const MOST: usize = 1 << 28;
    wanted.min(MOST)
}
