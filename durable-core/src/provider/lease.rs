//! Sessions and leases: who holds what.
//!
//! A session is the life of one node. It has one heartbeat, and everything that
//! the node holds hangs on it. A lease names what is held together with a fencing
//! token that rises with every claim, so that a session that lost the lease can do no
//! harm.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::commit::CommitId;
use super::message::InboxMessage;
use super::wake::WakeSeq;
use crate::failure::Failure;
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
#[non_exhaustive]
pub struct SessionOptions {
    /// A name for people: it stands in views and logs.
    pub node: String,
    /// How long the session lives without a heartbeat, in milliseconds; 15,000 unless
    /// said otherwise.
    pub session_timeout_ms: u64,
}

impl SessionOptions {
    /// The default session timeout, in milliseconds.
    pub const DEFAULT_TIMEOUT_MS: u64 = 15_000;

    /// A session of this node, with the default timeout.
    pub fn new(node: impl Into<String>) -> Self {
        Self {
            node: node.into(),
            session_timeout_ms: Self::DEFAULT_TIMEOUT_MS,
        }
    }

    /// How long the session lives without a heartbeat, in milliseconds.
    #[must_use]
    pub const fn session_timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.session_timeout_ms = timeout_ms;
        self
    }
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self::new("node")
    }
}

/// The right to commit turns of one instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The instance.
    pub instance: InstanceId,
    /// The session that holds it.
    pub session: SessionId,
    /// The fencing token: it rises with every claim of the instance.
    pub token: u64,
}

/// A lease on its way back, without a commit.
///
/// ```
/// use durable_core::provider::{Lease, Release, SessionId};
/// use durable_core::{Failure, FailureKind};
///
/// let lease = Lease { instance: "order-7".into(), session: SessionId(3), token: 9 };
/// let missing = Failure::new(FailureKind::NotRegistered, "`order` 2.0.0 is not registered");
/// let release = Release::new(lease).not_before(1_000).blocked(missing);
/// assert_eq!(release.not_before_ms, Some(1_000));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Release {
    /// The lease.
    pub lease: Lease,
    /// No session may claim the instance before this time; `None` is at once.
    pub not_before_ms: Option<u64>,
    /// What kept the session from running the instance, such as a version that its
    /// node lacks. `None` leaves what the record says.
    pub blocked: Option<Failure>,
}

impl Release {
    /// Gives a lease back: the instance can be claimed again at once.
    pub fn new(lease: Lease) -> Self {
        Self {
            lease,
            not_before_ms: None,
            blocked: None,
        }
    }

    /// No session may claim the instance before this time.
    #[must_use]
    pub fn not_before(mut self, not_before_ms: u64) -> Self {
        self.not_before_ms = Some(not_before_ms);
        self
    }

    /// Says what kept the session from running the instance.
    #[must_use]
    pub fn blocked(mut self, blocked: Failure) -> Self {
        self.blocked = Some(blocked);
        self
    }
}

/// Instances that a session has claimed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ReadyInstances {
    /// What to pass to [`Provider::wait`](super::Provider::wait) so that nothing
    /// that came after this fetch is missed.
    pub seen: WakeSeq,
    /// The instances, those that waited longest first.
    pub instances: Vec<ReadyInstance>,
    /// When time alone may make more of them ready: a delay that passes, or a
    /// session that ends without a heartbeat.
    pub next_due_ms: Option<u64>,
}

/// An instance that is to run, claimed by a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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

impl ReadyInstance {
    /// An instance of which nothing is recorded, without messages.
    pub const fn new(lease: Lease, execution_id: ExecutionId) -> Self {
        Self {
            lease,
            execution_id,
            last_event_id: EventId::UNASSIGNED,
            last_commit_id: None,
            messages: Vec::new(),
            has_more: false,
            crashes: 0,
        }
    }
}
