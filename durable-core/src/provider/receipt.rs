//! Receipts: the store tells an instance what became of a message that it sent.

use alloc::format;

use super::message::{Message, MessageBody, SendOutcome};
use super::work::SourceEvent;
use crate::failure::{Failure, FailureKind};
use crate::text::{InstanceId, MessageId};

/// Asks the store to tell the sender of a message what became of it.
///
/// The store that finds that the receiver is there, does not exist or has ended puts the
/// [`message`](Self::message) of the receipt into the sender's inbox, in the same commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ReceiptRequest {
    /// The event of the sender that sent the message.
    pub source: SourceEvent,
    /// When there is a receipt.
    pub when: ReceiptWhen,
}

/// When there is a receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReceiptWhen {
    /// In any case.
    Always,
    /// Only if the message has no receiver.
    Undeliverable,
}

impl ReceiptRequest {
    /// Asks for a receipt for the message that this event sent, in any case.
    pub const fn always(source: SourceEvent) -> Self {
        let when = ReceiptWhen::Always;
        Self { source, when }
    }

    /// Asks for a receipt for the message that this event sent, if it has no receiver.
    pub const fn if_undeliverable(source: SourceEvent) -> Self {
        let when = ReceiptWhen::Undeliverable;
        Self { source, when }
    }

    /// What the sender of a message to this instance is told; `None` if it did not ask for
    /// a receipt in this case.
    ///
    /// The id of the receipt follows from the event that sent the message, so that it can be
    /// in the inbox only once.
    ///
    /// ```
    /// use durable_core::provider::{ReceiptRequest, SendOutcome, SourceEvent};
    /// use durable_core::{EventId, ExecutionId};
    ///
    /// let source = SourceEvent::new(ExecutionId::FIRST, EventId::new(7));
    /// let request = ReceiptRequest::if_undeliverable(source);
    /// let target = "order-7".into();
    /// assert_eq!(request.message(&target, SendOutcome::Accepted), None);
    /// let receipt = request.message(&target, SendOutcome::UnknownInstance).unwrap();
    /// assert_eq!(receipt.message_id.as_str(), "receipt/1/7");
    /// ```
    pub fn message(&self, target: &InstanceId, outcome: SendOutcome) -> Option<Message> {
        if self.when == ReceiptWhen::Undeliverable && outcome == SendOutcome::Accepted {
            return None;
        }
        let SourceEvent {
            execution_id,
            event_id,
        } = self.source;
        let body = MessageBody::Receipt {
            execution_id,
            source_event_id: event_id,
            target: target.clone(),
            outcome,
        };
        let id = format!("receipt/{execution_id}/{event_id}");
        Some(Message::new(MessageId::from(id), body))
    }
}

impl SendOutcome {
    /// What kept a message from this receiver; `None` if it was accepted.
    ///
    /// ```
    /// use durable_core::FailureKind;
    /// use durable_core::provider::SendOutcome;
    ///
    /// let target = "order-7".into();
    /// assert_eq!(SendOutcome::Accepted.failure(&target), None);
    /// let failure = SendOutcome::InstanceEnded.failure(&target).unwrap();
    /// assert_eq!(failure.kind, FailureKind::InstanceEnded);
    /// assert_eq!(failure.message, "the instance `order-7` has ended");
    /// ```
    pub fn failure(self, target: &InstanceId) -> Option<Failure> {
        match self {
            Self::Accepted => None,
            Self::UnknownInstance => Some(Failure::new(
                FailureKind::UnknownInstance,
                format!("there is no instance with the id `{target}`"),
            )),
            Self::InstanceEnded => Some(Failure::new(
                FailureKind::InstanceEnded,
                format!("the instance `{target}` has ended"),
            )),
        }
    }
}
