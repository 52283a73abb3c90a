//! Sessions and leases: who holds what.
//!
//! A session is the life of one node. It has one heartbeat, and everything that
//! the node holds hangs on it. A lease names one holding together with a fencing
//! token that rises with every hand-out, so that a holder that lost it can do no
//! harm.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::commit::CommitId;
use super::message::InboxMessage;
use super::wake::WakeSeq;
use super::work::WorkKey;
use crate::id::{EventId, ExecutionId};
use crate::text::InstanceId;

/// Names one life of one node. Never used again by the same store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {}", self.0)
    }
}

/// What a node says of itself when it opens a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOptions {
    /// A name for people: it stands in views and logs.
    pub node: String,
    /// How long the session lives without a heartbeat.
    pub heartbeat_bound_ms: u64,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            node: "node".into(),
            heartbeat_bound_ms: 15_000,
        }
    }
}

/// The answer to a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionReport {
    /// The store's time.
    pub now_ms: u64,
    /// Work that this session holds and that was cancelled since it was claimed.
    /// Each is reported until it is settled.
    pub cancelled_work: Vec<WorkKey>,
}

/// The right to commit turns of one instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The instance.
    pub instance: InstanceId,
    /// The session that holds it.
    pub session: SessionId,
    /// Rises with every hand-out of the instance.
    pub token: u64,
}

/// Instances that are handed to a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadyInstances {
    /// The store's time.
    pub now_ms: u64,
    /// What to pass to [`Provider::wait`](super::Provider::wait) so that nothing
    /// that came after this fetch is missed.
    pub seen: WakeSeq,
    /// The instances, those that waited longest first.
    pub instances: Vec<ReadyInstance>,
    /// When time alone may make more of them ready: a delay that passes, or a
    /// session that ends without a heartbeat.
    pub next_due_ms: Option<u64>,
}

/// An instance that is to run, handed to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyInstance {
    /// The right to commit its turns: a new one, or the one that the session
    /// holds already.
    pub lease: Lease,
    /// Its current execution.
    pub execution_id: ExecutionId,
    /// The tail of that execution's history; unassigned before its start.
    pub last_event_id: EventId,
    /// The last commit that was applied to the instance, if any.
    pub last_commit_id: Option<CommitId>,
    /// Messages that this session has not been given under this lease, in order.
    pub messages: Vec<InboxMessage>,
    /// Whether there are more.
    pub has_more: bool,
    /// How many sessions died holding it since its last commit.
    pub crashes: u32,
}
