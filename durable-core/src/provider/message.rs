//! Messages: everything that reaches an instance from outside goes through its
//! inbox, in order, and leaves it in the commit that consumed it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::error::ProviderError;
use super::receipt::ReceiptRequest;
use super::start::{IdReuse, StartInstance};
use super::work::SourceEvent;
use crate::failure::Failure;
use crate::id::{EventId, ExecutionId};
use crate::text::{InstanceId, MessageId, Name, Payload};

/// The place of a message in an instance's inbox; it only rises.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct InboxSeq(pub u64);

/// A message in an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxMessage {
    /// Its place.
    pub seq: InboxSeq,
    /// What it says.
    pub message: Message,
}

/// What an instance is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The sender's id of it. While a message with this id is in the inbox, a
    /// second one changes nothing.
    pub message_id: MessageId,
    /// What it says.
    pub body: MessageBody,
}

impl Message {
    /// A message with this id.
    pub const fn new(message_id: MessageId, body: MessageBody) -> Self {
        Self { message_id, body }
    }

    /// What an instance is told when a timer of it is due: a timer that is named by the first
    /// event of an execution is the deadline of the instance. The id follows from the timer, so
    /// that the message can be in the inbox only once.
    ///
    /// ```
    /// use durable_core::provider::{Message, MessageBody, SourceEvent};
    /// use durable_core::{EventId, ExecutionId};
    ///
    /// let deadline = SourceEvent::new(ExecutionId::FIRST, EventId::FIRST);
    /// let message = Message::timer_fired(deadline, 6_000);
    /// assert_eq!(message.body, MessageBody::DeadlinePassed { deadline_ms: 6_000 });
    /// assert_eq!(message.message_id.as_str(), "timer/1/1");
    /// ```
    pub fn timer_fired(timer: SourceEvent, fire_at_ms: u64) -> Self {
        let SourceEvent {
            execution_id,
            event_id,
        } = timer;
        let body = match event_id {
            EventId::FIRST => MessageBody::DeadlinePassed {
                deadline_ms: fire_at_ms,
            },
            _ => MessageBody::TimerFired {
                execution_id,
                source_event_id: event_id,
                fire_at_ms,
            },
        };
        let id = format!("timer/{execution_id}/{event_id}");
        Self::new(MessageId::from(id), body)
    }
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum MessageBody {
    /// Begin. It creates the instance if there is none.
    Start(StartInstance),
    /// An activity ended.
    ActivityFinished {
        /// The execution that called it.
        execution_id: ExecutionId,
        /// Its `ActivityScheduled`.
        source_event_id: EventId,
        /// What it returned.
        result: Result<Payload, Failure>,
    },
    /// A timer, or the deadline of an activity, is due.
    TimerFired {
        /// The execution that set it.
        execution_id: ExecutionId,
        /// Its `TimerCreated`, or the `ActivityScheduled` whose total timeout has passed.
        source_event_id: EventId,
        /// When it was due.
        fire_at_ms: u64,
    },
    /// A sub-orchestration ended, or could not be started.
    SubOrchestrationFinished {
        /// The parent's execution.
        execution_id: ExecutionId,
        /// The parent's `SubOrchestrationScheduled`.
        source_event_id: EventId,
        /// What it returned.
        result: Result<Payload, Failure>,
    },
    /// A client or another instance raised an event.
    ExternalRaised {
        /// Its name.
        name: Name,
        /// What it carries.
        data: Payload,
    },
    /// A client or another instance resolved or rejected a promise.
    PromiseSettled {
        /// The execution that created it.
        execution_id: ExecutionId,
        /// Which promise of that execution.
        number: u64,
        /// The value, or why there is none.
        resolution: Result<Payload, Failure>,
    },
    /// A message that the instance sent was delivered, or had no receiver.
    Receipt {
        /// The execution that sent it.
        execution_id: ExecutionId,
        /// The event that sent it.
        source_event_id: EventId,
        /// The receiver.
        target: InstanceId,
        /// What became of it.
        outcome: SendOutcome,
    },
    /// Please stop.
    Cancel {
        /// Why.
        reason: String,
    },
    /// Stop now.
    Terminate {
        /// What the instance ends with.
        failure: Failure,
    },
    /// Stop now: the deadline of the instance has passed.
    DeadlinePassed {
        /// When it was.
        deadline_ms: u64,
    },
}

impl MessageBody {
    /// Whether it ends an instance at once, which needs no code for that.
    pub const fn is_hard_stop(&self) -> bool {
        matches!(self, Self::Terminate { .. } | Self::DeadlinePassed { .. })
    }

    /// Whether an instance that has not begun hears of it at once, also if its start is delayed.
    pub const fn ends_delay(&self) -> bool {
        self.is_hard_stop() || matches!(self, Self::Cancel { .. })
    }
}

/// A part of an inbox.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct InboxPage {
    /// The messages, in order.
    pub messages: Vec<InboxMessage>,
    /// Whether there were more when the page was read.
    pub has_more: bool,
}

/// A message on its way to another instance.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutgoingMessage {
    /// The receiver.
    pub target: InstanceId,
    /// What it is told.
    pub message: Message,
    /// What the sender wants to be told, if it is a turn.
    pub receipt: Option<ReceiptRequest>,
    /// What a taken id means to a `Start` of a turn.
    pub reuse: IdReuse,
}

impl OutgoingMessage {
    /// A message to this instance, without a receipt.
    pub const fn new(target: InstanceId, message: Message) -> Self {
        Self {
            target,
            message,
            receipt: None,
            reuse: IdReuse::Refuse,
        }
    }

    /// Checks that a client may send it.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Invalid`] for a `Start`, which is for
    /// [`Provider::start`](super::Provider::start), and for a message with a receipt, which is
    /// for a turn.
    pub fn check_sent_by_client(&self) -> Result<(), ProviderError> {
        let target = &self.target;
        let reason = if matches!(self.message.body, MessageBody::Start(_)) {
            format!("a start for `{target}` is sent as a message")
        } else if self.receipt.is_some() {
            format!("a client asks for a receipt for a message to `{target}`")
        } else {
            return Ok(());
        };
        Err(ProviderError::Invalid { reason })
    }

    /// Says what a taken id means to a `Start`.
    #[must_use]
    pub const fn reuse(mut self, reuse: IdReuse) -> Self {
        self.reuse = reuse;
        self
    }

    /// Asks for a receipt.
    #[must_use]
    pub const fn receipt(mut self, receipt: ReceiptRequest) -> Self {
        self.receipt = Some(receipt);
        self
    }
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[must_use]
pub enum SendOutcome {
    /// It is in the inbox, now or from an earlier attempt with the same id.
    Accepted,
    /// There is no such instance.
    UnknownInstance,
    /// The instance has ended.
    InstanceEnded,
}
