//! What some events carry besides plain fields.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::attribute::Attributes;
use crate::id::{EventId, ExecutionId};
use crate::text::{InstanceId, MessageId, Name, Payload};
use crate::trace::TraceParent;

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
    /// The custom status.
    pub custom_status: Option<Payload>,
    /// The attributes; in a first execution those that the instance was started with.
    #[serde(default)]
    pub attributes: Attributes,
    /// External events that were delivered but not read, oldest first.
    pub unread_events: Vec<UnreadEvent>,
    /// Ids of the latest external events that were read, oldest first: a message
    /// that is sent again across continue-as-new is still recognised.
    pub read_message_ids: Vec<MessageId>,
    /// The reason of a cancellation that was requested before.
    pub cancel_reason: Option<String>,
    /// The trace that the instance was started for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_parent: Option<TraceParent>,
}

impl Carried {
    /// What an instance that is started with these attributes and for this trace begins with.
    pub fn of_start(
        attributes: Attributes,
        trace_parent: Option<TraceParent>,
    ) -> Option<Box<Self>> {
        let begins_with = Self {
            attributes,
            trace_parent,
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
