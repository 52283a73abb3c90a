//! Starting instances.

use alloc::boxed::Box;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::attribute::Attributes;
use crate::event::{Carried, Parent, UnreadEvent};
use crate::id::{EventId, ExecutionId};
use crate::text::{Name, Payload, Version};

use super::message::{Message, MessageBody};
use super::query::StatusKind;
use super::wake::WakeSeq;
use super::work::SourceEvent;

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
    /// Events that it has not read when it begins. An instance that runs and is taken as it
    /// is gets them as messages.
    pub events: Vec<UnreadEvent>,
    /// It begins at this time by the store's clock, and not before; `None` is at once.
    pub begins_at_ms: Option<u64>,
    /// The store ends it if it has not ended at this time by the store's clock.
    pub deadline_ms: Option<u64>,
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
            events: Vec::new(),
            begins_at_ms: None,
            deadline_ms: None,
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

    /// Gives the instance an event to read when it begins.
    #[must_use]
    pub fn event(mut self, event: UnreadEvent) -> Self {
        self.events.push(event);
        self
    }

    /// Has it begin at this time by the store's clock.
    #[must_use]
    pub const fn begins_at_ms(mut self, begins_at_ms: u64) -> Self {
        self.begins_at_ms = Some(begins_at_ms);
        self
    }

    /// Has the store end it if it has not ended at this time by the store's clock.
    #[must_use]
    pub const fn deadline_ms(mut self, deadline_ms: u64) -> Self {
        self.deadline_ms = Some(deadline_ms);
        self
    }

    /// What an instance gets that runs and is taken as it is.
    ///
    /// ```
    /// use durable_core::UnreadEvent;
    /// use durable_core::provider::StartInstance;
    ///
    /// let news = UnreadEvent::new("news".into(), "1".into(), "m1".into());
    /// let start = StartInstance::new("fulfil".into(), "7".into()).event(news);
    /// assert_eq!(start.messages().count(), 1);
    /// ```
    pub fn messages(&self) -> impl Iterator<Item = Message> + '_ {
        self.events.iter().map(|event| {
            let body = MessageBody::ExternalRaised {
                name: event.name.clone(),
                data: event.data.clone(),
            };
            Message::new(event.message_id.clone(), body)
        })
    }

    /// The timer that ends the instance, and when it is due: it is named by the first event of
    /// the execution that the instance begins with, and outlives continue-as-new.
    pub fn deadline(&self, execution_id: ExecutionId) -> Option<(SourceEvent, u64)> {
        let timer = SourceEvent::new(execution_id, EventId::FIRST);
        self.deadline_ms.map(|deadline_ms| (timer, deadline_ms))
    }

    /// What the execution begins with.
    pub fn carried(&self) -> Option<Box<Carried>> {
        let carried = Carried {
            attributes: self.attributes.clone(),
            unread_events: self.events.clone(),
            ..Carried::default()
        };
        carried.unless_empty()
    }

    /// Tells this parent the result.
    #[must_use]
    pub fn parent(mut self, parent: Parent) -> Self {
        self.parent = Some(parent);
        self
    }
}

/// What to do when the instance id is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
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
