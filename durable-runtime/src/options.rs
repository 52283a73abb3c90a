//! How a node behaves.

use std::time::Duration;

use durable_core::{Limits, Name};

use crate::retention::Retention;

/// What becomes of an instance whose code panics, violates determinism, waits for
/// something that is not durable or never yields, or whose history is corrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FaultPolicy {
    /// It is suspended: nothing is lost, and it goes on when it is resumed after
    /// the cause is gone.
    #[default]
    Suspend,
    /// It is terminated with the fault as its failure.
    Terminate,
}

/// How a node behaves: the defaults, changed by the methods.
///
/// ```
/// use durable_runtime::RuntimeOptions;
///
/// let options = RuntimeOptions::default().node("worker-1").max_activities(64);
/// assert_eq!(options.max_turns, 256);
/// ```
///
/// A node for one kind of work: it runs no orchestrations, and of the activities only
/// those that were called with the queue `gpu`.
///
/// ```
/// use durable_runtime::RuntimeOptions;
///
/// let options = RuntimeOptions::default().max_turns(0).queues([Some("gpu")]);
/// # let _ = options;
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RuntimeOptions {
    /// The name of the node, for people. Default: `node`.
    pub node: String,
    /// How many turns run at once; with 0 the node runs activities only. Default: 256.
    pub max_turns: usize,
    /// How many activities run at once; with 0 the node runs orchestrations only.
    /// Default: 256.
    pub max_activities: usize,
    /// The activity queues that this node serves; `None` is the default queue. Default:
    /// the default queue alone.
    pub queues: Vec<Option<Name>>,
    /// How many executions stay in memory while they wait; others are replayed. Default:
    /// 10,000.
    pub cached_executions: usize,
    /// How long the node may send no heartbeat before other nodes claim what it holds.
    /// Default: 15 s.
    pub session_timeout: Duration,
    /// How long a poll of an activity or an orchestration may hold its worker thread before the
    /// node reports it; an orchestration that holds it for longer than `session_timeout` is
    /// stopped as `fault_policy` says. Default: 1 s.
    pub blocking_threshold: Duration,
    /// The longest interval between two polls of a dispatcher, in case a notification of
    /// the store was lost. Default: 60 s.
    pub max_poll_interval: Duration,
    /// How often a work item may take its worker down before it is poisoned, and an
    /// instance its node before it is suspended. Default: 5.
    pub max_crashes: u32,
    /// How long an activity may go on after it was cancelled. Then its slot is free, its
    /// code is dropped at its next `.await`, and what it would have returned is lost, as for
    /// every cancelled activity. Code that never awaits cannot be dropped. Default: `None`,
    /// as long as it takes.
    pub cancellation_grace: Option<Duration>,
    /// What the node removes in the background. Default: `None`, nothing.
    pub retention: Option<Retention>,
    /// What becomes of an instance that cannot go on. Default: it is suspended.
    pub fault_policy: FaultPolicy,
    /// Whether turns are replayed and compared after they were committed: turns 1,
    /// 2, 4, 8, … and the last one of an execution. The next turn does not wait for it. Default:
    /// in debug builds only.
    pub verify_replay: bool,
    /// The largest names and payloads, in bytes. Default: [`Limits::default`].
    pub limits: Limits,
    /// From how many events on `should_continue_as_new` says yes. Default: 10,000.
    pub continue_as_new_after: u64,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self {
            node: "node".into(),
            max_turns: 256,
            max_activities: 256,
            queues: vec![None],
            cached_executions: 10_000,
            session_timeout: Duration::from_secs(15),
            blocking_threshold: Duration::from_secs(1),
            max_poll_interval: Duration::from_secs(60),
            max_crashes: 5,
            cancellation_grace: None,
            retention: None,
            fault_policy: FaultPolicy::default(),
            verify_replay: cfg!(debug_assertions),
            limits: Limits::default(),
            continue_as_new_after: 10_000,
        }
    }
}

/// One method for each field: it takes the new value and gives the options back.
macro_rules! setters {
    ($($field:ident: $type:ty),+ $(,)?) => {
        $(
            #[doc = concat!("Sets [`", stringify!($field), "`](Self#structfield.", stringify!($field), ").")]
            #[must_use]
            pub fn $field(mut self, $field: $type) -> Self {
                self.$field = $field;
                self
            }
        )+
    };
}

impl RuntimeOptions {
    setters! {
        max_turns: usize,
        max_activities: usize,
        cached_executions: usize,
        session_timeout: Duration,
        blocking_threshold: Duration,
        max_poll_interval: Duration,
        max_crashes: u32,
        fault_policy: FaultPolicy,
        verify_replay: bool,
        limits: Limits,
        continue_as_new_after: u64,
    }

    /// Sets [`cancellation_grace`](Self#structfield.cancellation_grace).
    #[must_use]
    pub fn cancellation_grace(mut self, grace: impl Into<Option<Duration>>) -> Self {
        self.cancellation_grace = grace.into();
        self
    }

    /// Sets [`retention`](Self#structfield.retention).
    #[must_use]
    pub fn retention(mut self, retention: impl Into<Option<Retention>>) -> Self {
        self.retention = retention.into();
        self
    }

    /// Sets [`node`](Self#structfield.node).
    #[must_use]
    pub fn node(mut self, node: impl Into<String>) -> Self {
        self.node = node.into();
        self
    }

    /// Sets [`queues`](Self#structfield.queues).
    #[must_use]
    pub fn queues(mut self, queues: impl IntoIterator<Item = Option<impl Into<Name>>>) -> Self {
        let queues = queues.into_iter();
        self.queues = queues.map(|queue| queue.map(Into::into)).collect();
        self
    }
}
