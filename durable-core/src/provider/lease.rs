//! Sessions and leases: who holds what.
//!
//! A session is the life of one node. It has one heartbeat, and everything that
//! the node holds hangs on it. A lease names what is held together with a fencing
//! token that rises with every claim, so that a session that lost the lease can do no
//! harm.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::code::{RequiredCode, ServedCode};
use super::commit::CommitId;
use super::error::ProviderError;
use super::message::InboxMessage;
use super::wake::WakeSeq;
use crate::failure::Failure;
use crate::id::{EventId, ExecutionId};
use crate::text::{InstanceId, Name};

/// Names one life of one node. Never used again by the same store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {}", self.0)
    }
}

/// What a node says of itself when it opens a session.
///
/// ```
/// use durable_core::provider::{ServedCode, SessionOptions};
///
/// let code = ServedCode::new().orchestration("order", "1.0.0").activity("charge");
/// let options = SessionOptions::new("worker-1").code(code);
/// assert_eq!(SessionOptions::from_json(&options.to_json()?)?, options);
/// # Ok::<(), durable_core::provider::ProviderError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SessionOptions {
    /// A name for people: it stands in views and logs.
    pub node: String,
    /// How long the session lives without a heartbeat, in milliseconds; 15,000 unless
    /// said otherwise.
    pub session_timeout_ms: u64,
    /// The code that the node has. The store gives the session nothing else. `None`, as
    /// unless said otherwise, is any code.
    pub code: Option<ServedCode>,
    /// The queues that the node takes work from, for views; `None` in the list is the
    /// default queue, which is the only one unless said otherwise.
    pub queues: Vec<Option<Name>>,
}

impl SessionOptions {
    /// The default session timeout, in milliseconds.
    pub const DEFAULT_TIMEOUT_MS: u64 = 15_000;

    /// A session of this node, with the default timeout.
    pub fn new(node: impl Into<String>) -> Self {
        Self {
            node: node.into(),
            session_timeout_ms: Self::DEFAULT_TIMEOUT_MS,
            code: None,
            queues: vec![None],
        }
    }

    /// How long the session lives without a heartbeat, in milliseconds.
    #[must_use]
    pub const fn session_timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.session_timeout_ms = timeout_ms;
        self
    }

    /// The code that the node has.
    #[must_use]
    pub fn code(mut self, code: ServedCode) -> Self {
        self.code = Some(code);
        self
    }

    /// The queues that the node takes work from; `None` is the default queue.
    #[must_use]
    pub fn queues(mut self, queues: Vec<Option<Name>>) -> Self {
        self.queues = queues;
        self
    }

    /// As JSON, in which a store can keep it.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Invalid`] if it cannot be written as JSON.
    pub fn to_json(&self) -> Result<String, ProviderError> {
        serde_json::to_string(self).map_err(|error| ProviderError::Invalid {
            reason: format!("the options of a session cannot be encoded: {error}"),
        })
    }

    /// From JSON that [`to_json`](Self::to_json) wrote, in this version or an earlier one.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Damaged`] if it is something else.
    pub fn from_json(json: &str) -> Result<Self, ProviderError> {
        serde_json::from_str(json).map_err(|error| ProviderError::Damaged {
            reason: format!("the options of a session: {error}"),
        })
    }

    /// Whether the node can run turns of an instance that needs this code.
    pub fn can_run(&self, required: &RequiredCode) -> bool {
        let code = self.code.as_ref();
        code.is_none_or(|code| code.can_run(required))
    }

    /// Whether the node can run this activity.
    pub fn has_activity(&self, name: &str) -> bool {
        let code = self.code.as_ref();
        code.is_none_or(|code| code.has_activity(name))
    }

    /// Whether the node takes work from this queue; `None` is the default queue.
    pub fn has_queue(&self, queue: Option<&Name>) -> bool {
        self.queues.iter().any(|own| own.as_ref() == queue)
    }
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self::new("node")
    }
}

/// A session that lives.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionRecord {
    /// Which one.
    pub session: SessionId,
    /// What its node said of itself.
    pub options: SessionOptions,
    /// When it ends by the store's clock, unless a heartbeat comes before.
    pub ends_at_ms: u64,
}

impl SessionRecord {
    /// A session that lives until this time, unless a heartbeat comes before.
    pub const fn new(session: SessionId, options: SessionOptions, ends_at_ms: u64) -> Self {
        Self {
            session,
            options,
            ends_at_ms,
        }
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
