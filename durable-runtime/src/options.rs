//! How a node behaves.

use std::time::Duration;

use durable_core::{Limits, Name};

/// What becomes of an instance whose code panics, violates determinism or waits
/// for something foreign, or whose history is corrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FaultPolicy {
    /// It is suspended: nothing is lost, and it goes on when it is resumed after
    /// the cause is gone.
    #[default]
    Suspend,
    /// It is terminated with the fault as its failure.
    Terminate,
}

/// How a node behaves. Start from [`RuntimeOptions::default`].
///
/// ```
/// use durable_runtime::RuntimeOptions;
///
/// let options = RuntimeOptions {
///     node: "worker-1".into(),
///     max_activities: 256,
///     ..RuntimeOptions::default()
/// };
/// assert!(options.max_turns > 0);
/// ```
///
/// A node for one kind of work: it runs no orchestrations, and of the activities only
/// those that were called with the queue `gpu`.
///
/// ```
/// use durable_runtime::RuntimeOptions;
///
/// let options = RuntimeOptions {
///     max_turns: 0,
///     queues: vec![Some("gpu".into())],
///     ..RuntimeOptions::default()
/// };
/// # let _ = options;
/// ```
#[derive(Debug, Clone)]
pub struct RuntimeOptions {
    /// The name of the node, for people.
    pub node: String,
    /// How many turns run at once; with none the node runs activities only.
    pub max_turns: usize,
    /// How many activities run at once; with none the node runs orchestrations only.
    pub max_activities: usize,
    /// The activity queues that this node serves; `None` is the default queue.
    pub queues: Vec<Option<Name>>,
    /// How many executions stay in memory while they wait; others are replayed.
    pub cached_executions: usize,
    /// How long the node may be silent before others take over what it holds.
    pub session_timeout: Duration,
    /// How long a dispatcher waits at most before it looks again, although nothing
    /// was to come: a net below the notifications of the store.
    pub max_poll_interval: Duration,
    /// How often a work item may take its worker down before it is set aside, and
    /// an instance its node before it is suspended.
    pub max_crashes: u32,
    /// What becomes of an instance that cannot go on.
    pub fault_policy: FaultPolicy,
    /// Whether turns are replayed and compared after they were committed: turns 1,
    /// 2, 4, 8, … and the last one of an execution.
    pub verify_replay: bool,
    /// The largest names and payloads.
    pub limits: Limits,
    /// From how many events on `should_continue_as_new` says yes.
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
            max_poll_interval: Duration::from_secs(60),
            max_crashes: 5,
            fault_policy: FaultPolicy::default(),
            verify_replay: cfg!(debug_assertions),
            limits: Limits::default(),
            continue_as_new_after: 10_000,
        }
    }
}
