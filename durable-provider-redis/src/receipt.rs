//! Receipts: what scripts need to tell the sender of a message what became of it.
//!
//! Scripts make no messages, so they are given those of all outcomes.

use durable_core::provider::{
    OutgoingMessage, ProviderError, ReceiptRequest, ReceiptWhen, SendOutcome, SourceEvent,
};
use durable_core::{EventId, ExecutionId, InstanceId};

use crate::codec::message_bytes;
use crate::script::Args;

/// A receipt that a sender wants for a message to a receiver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestedReceipt<'a> {
    sender: &'a InstanceId,
    receiver: &'a InstanceId,
    request: ReceiptRequest,
}

impl<'a> RequestedReceipt<'a> {
    /// The receipt that the sender of a message wants, if it does.
    pub(crate) fn of(sender: &'a InstanceId, outgoing: &'a OutgoingMessage) -> Option<Self> {
        Some(Self {
            sender,
            receiver: &outgoing.target,
            request: outgoing.receipt?,
        })
    }

    /// The sender, the id of the receipt, and its bytes for each outcome.
    pub(crate) fn push(self, args: &mut Args) -> Result<(), ProviderError> {
        let bytes_of = |outcome| {
            let message = self.request.message(self.receiver, outcome);
            message.as_ref().map(message_bytes).transpose()
        };
        let unknown = self
            .request
            .message(self.receiver, SendOutcome::UnknownInstance);
        let id = unknown.map(|message| message.message_id);
        args.push(self.sender.as_str())
            .push(id.as_ref().map_or("", |id| id.as_str()))
            .optional(bytes_of(SendOutcome::Accepted)?)
            .optional(bytes_of(SendOutcome::UnknownInstance)?)
            .optional(bytes_of(SendOutcome::InstanceEnded)?);
        Ok(())
    }

    /// As an outbox keeps it: `when:execution:event:sender`.
    pub(crate) fn to_text(self) -> String {
        let SourceEvent {
            execution_id,
            event_id,
        } = self.request.source;
        let when = match self.request.when {
            ReceiptWhen::Always => "always",
            ReceiptWhen::Undeliverable => "undeliverable",
        };
        format!("{when}:{execution_id}:{event_id}:{}", self.sender)
    }
}

/// The sender and what it wants, as an outbox keeps it.
pub(crate) fn from_text(text: &str) -> Option<(InstanceId, ReceiptRequest)> {
    let mut parts = text.splitn(4, ':');
    let when = parts.next()?;
    let execution_id = ExecutionId::new(parts.next()?.parse().ok()?);
    let event_id = EventId::new(parts.next()?.parse().ok()?);
    let source = SourceEvent::new(execution_id, event_id);
    let request = match when {
        "always" => ReceiptRequest::always(source),
        "undeliverable" => ReceiptRequest::if_undeliverable(source),
        _ => return None,
    };
    Some((InstanceId::from(parts.next()?), request))
}

#[cfg(test)]
mod tests {
    use durable_core::provider::{Message, MessageBody};

    use super::*;

    #[test]
    fn what_an_outbox_keeps_of_a_receipt_is_read_again() {
        let source = SourceEvent::new(ExecutionId::new(3), EventId::new(17));
        let sender = InstanceId::from("a:b:");
        for request in [
            ReceiptRequest::always(source),
            ReceiptRequest::if_undeliverable(source),
        ] {
            let reason = String::new();
            let message = Message::new("m".into(), MessageBody::Cancel { reason });
            let outgoing = OutgoingMessage::new("b".into(), message).receipt(request);
            let requested = RequestedReceipt::of(&sender, &outgoing);
            let text = requested.map(RequestedReceipt::to_text).unwrap();
            assert_eq!(from_text(&text), Some((sender.clone(), request)));
        }
        for bad in [
            "",
            "always",
            "always:1:2",
            "never:1:2:a",
            "always:x:2:a",
            "always:1:y:a",
        ] {
            assert_eq!(from_text(bad), None, "{bad}");
        }
    }
}
