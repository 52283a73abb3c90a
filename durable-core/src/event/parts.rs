//! What some events carry besides plain fields.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::attribute::Attributes;
use crate::id::{EventId, ExecutionId};
use crate::text::{InstanceId, MessageId, Name, Payload};

/// The parent of a sub-orchestration: the answer goes to this scheduling event of
/// this execution, and to no later one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Parent {
    /// The parent's instance.
    pub instance: InstanceId,
    /// The parent's execution.
    pub execution_id: ExecutionId,
    /// The parent's `SubOrchestrationScheduled`.
    pub event_id: EventId,
}

impl Parent {
    /// The parent whose event scheduled the child.
    pub const fn new(instance: InstanceId, execution_id: ExecutionId, event_id: EventId) -> Self {
        Self {
            instance,
            execution_id,
            event_id,
        }
    }
}

/// The attempts of an activity before the one that ended it.
///
/// The node that ran the last attempt says it. An activity that ended without one, such as by
/// its total timeout, has [`NONE`](Self::NONE).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EarlierAttempts {
    /// How many failed and were retried.
    pub failed: u32,
    /// How many ended with the process that ran them.
    pub crashed: u32,
}

impl EarlierAttempts {
    /// The first attempt was the last.
    pub const NONE: Self = Self::new(0, 0);

    /// So many failed, and so many crashed.
    pub const fn new(failed: u32, crashed: u32) -> Self {
        Self { failed, crashed }
    }

    /// Whether there were none.
    pub const fn is_none(&self) -> bool {
        self.total() == 0
    }

    /// How many there were.
    pub const fn total(self) -> u32 {
        self.failed.saturating_add(self.crashed)
    }
}

/// The orchestration that waits for the answer to a request: it goes to this event of this
/// execution, and to no later one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Requester {
    /// The requester's instance.
    pub instance: InstanceId,
    /// The requester's execution.
    pub execution_id: ExecutionId,
    /// The requester's `RequestSent`.
    pub event_id: EventId,
}

impl Requester {
    /// The orchestration whose event made the request.
    pub const fn new(instance: InstanceId, execution_id: ExecutionId, event_id: EventId) -> Self {
        Self {
            instance,
            execution_id,
            event_id,
        }
    }
}

/// What one execution hands to the next through continue-as-new.
///
/// ```
/// use durable_core::Carried;
///
/// assert!(Carried::default().state.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Carried {
    /// The state, sorted by key.
    pub state: Vec<(Name, Payload)>,
    /// The views, sorted by name; the custom status is among them.
    #[serde(default)]
    pub views: Vec<(Name, Payload)>,
    /// The attributes; in a first execution those that the instance was started with.
    #[serde(default)]
    pub attributes: Attributes,
    /// External events that were delivered but not read, oldest first.
    pub unread_events: Vec<UnreadEvent>,
    /// Ids of the latest external events that were read, oldest first: a message
    /// that is sent again across continue-as-new is still recognised.
    pub read_message_ids: Vec<MessageId>,
    /// Requests that were delivered and that the code has not taken, oldest first.
    #[serde(default)]
    pub unread_requests: Vec<UnreadRequest>,
    /// Ids of the latest requests that were answered, oldest first: one that is sent again
    /// across continue-as-new is still recognised.
    #[serde(default)]
    pub answered_request_ids: Vec<MessageId>,
    /// The reason of a cancellation that was requested before.
    pub cancel_reason: Option<String>,
}

impl Carried {
    /// What an instance that is started with these attributes begins with.
    pub fn of_start(attributes: Attributes) -> Option<Box<Self>> {
        let begins_with = Self {
            attributes,
            ..Self::default()
        };
        begins_with.unless_empty()
    }

    /// As the start of the next execution has it: `None` if nothing is handed over.
    pub fn unless_empty(self) -> Option<Box<Self>> {
        (!self.is_empty()).then(|| Box::new(self))
    }

    /// Whether nothing is handed over.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// An external event that the code has not read yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnreadEvent {
    /// The name it was raised with.
    pub name: Name,
    /// What it carries.
    pub data: Payload,
    /// The sender's id of it.
    pub message_id: MessageId,
}

impl UnreadEvent {
    /// An event that was raised with this name.
    pub const fn new(name: Name, data: Payload, message_id: MessageId) -> Self {
        Self {
            name,
            data,
            message_id,
        }
    }
}

/// A request that the code has not taken yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnreadRequest {
    /// The request.
    pub name: Name,
    /// What it carries.
    pub input: Payload,
    /// The requester's id of it.
    pub message_id: MessageId,
    /// The orchestration that waits for the answer; `None` is a client.
    pub requester: Option<Requester>,
}

impl UnreadRequest {
    /// A request of a client.
    pub const fn new(name: Name, input: Payload, message_id: MessageId) -> Self {
        Self {
            name,
            input,
            message_id,
            requester: None,
        }
    }

    /// The orchestration that waits for the answer.
    #[must_use]
    pub fn requester(mut self, requester: Requester) -> Self {
        self.requester = Some(requester);
        self
    }
}
