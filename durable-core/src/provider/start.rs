//! Starting instances.

use serde::{Deserialize, Serialize};

use crate::attribute::Attributes;
use crate::event::Parent;
use crate::id::ExecutionId;
use crate::text::{Name, Payload, Version};
use crate::trace::TraceParent;

use super::query::StatusKind;
use super::wake::WakeSeq;

/// What an instance is started with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StartInstance {
    /// The orchestration.
    pub name: Name,
    /// The version; `None` is the newest that the node which runs it knows.
    pub version: Option<Version>,
    /// The input.
    pub input: Payload,
    /// Who waits for the result.
    pub parent: Option<Parent>,
    /// What the instance can be found by, from its start on.
    pub attributes: Attributes,
    /// The trace of the caller, which the instance belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_parent: Option<TraceParent>,
}

impl StartInstance {
    /// Starts the newest version of an orchestration that the node which runs it knows,
    /// without a parent.
    pub const fn new(name: Name, input: Payload) -> Self {
        Self {
            name,
            version: None,
            input,
            parent: None,
            attributes: Attributes::new(),
            trace_parent: None,
        }
    }

    /// Starts this version.
    #[must_use]
    pub fn version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    /// Gives the instance these attributes.
    #[must_use]
    pub fn attributes(mut self, attributes: Attributes) -> Self {
        self.attributes = attributes;
        self
    }

    /// Has the instance belong to this trace.
    #[must_use]
    pub fn trace_parent(mut self, trace_parent: TraceParent) -> Self {
        self.trace_parent = Some(trace_parent);
        self
    }

    /// Tells this parent the result.
    #[must_use]
    pub fn parent(mut self, parent: Parent) -> Self {
        self.parent = Some(parent);
        self
    }
}

/// What to do when the instance id is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum IdReuse {
    /// Refuse.
    #[default]
    Refuse,
    /// Take the instance that runs; refuse one that has ended.
    UseRunning,
    /// Take the instance that runs; start an ended one anew, in its next execution.
    RestartEnded,
}

/// What became of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum StartOutcome {
    /// It was started by this request, now or in an earlier attempt with the
    /// same message id.
    Started {
        /// The execution that it begins with.
        execution_id: ExecutionId,
        /// What to pass to [`Provider::wait`](super::Provider::wait) to miss nothing that
        /// happens to the instance. `None` if an earlier attempt started it: it may have
        /// ended since.
        seen: Option<WakeSeq>,
    },
    /// It was running, and the policy takes it as it is.
    AlreadyRunning {
        /// The execution that runs.
        execution_id: ExecutionId,
    },
    /// The id is taken, and the policy refuses.
    Taken {
        /// The latest execution.
        execution_id: ExecutionId,
        /// Its status.
        status: StatusKind,
    },
}
