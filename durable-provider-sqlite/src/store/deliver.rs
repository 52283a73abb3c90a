//! The messages of a turn, into the inboxes of their receivers, and what their sender is told.

use durable_core::provider::{IdReuse, Message, MessageBody, OutgoingMessage, SendOutcome};

use super::Store;
use super::instance::Instance;
use crate::codec::message_bytes;
use crate::error::Step;
use crate::turn::{OutgoingBytes, StartRequest};

impl Store<'_, '_> {
    /// Tells another instance, or this one, something; tells this one what became of it, if it
    /// asked. The caller stores its place.
    pub(super) fn deliver(
        &mut self,
        own: &mut Instance,
        outgoing: &OutgoingMessage,
        bytes: &[u8],
    ) -> Step<()> {
        let outcome = self.put_into_inbox(own, outgoing, bytes)?;
        let receipt = outgoing.receipt.as_ref();
        let receipt = receipt.and_then(|receipt| receipt.message(&outgoing.target, outcome));
        if let Some(receipt) = receipt
            && !own.status.is_ended()
        {
            let bytes = message_bytes(&receipt)?;
            self.put_outgoing(own, OutgoingBytes::of(&receipt, &bytes))?;
        }
        Ok(())
    }

    fn put_into_inbox(
        &mut self,
        own: &mut Instance,
        outgoing: &OutgoingMessage,
        bytes: &[u8],
    ) -> Step<SendOutcome> {
        let OutgoingMessage {
            target, message, ..
        } = outgoing;
        let drops = |receiver: &Instance| outgoing.receipt.is_some() && receiver.status.is_ended();
        let is_start = matches!(message.body, MessageBody::Start(_));
        let restarts = |receiver: &Instance| {
            is_start && outgoing.reuse == IdReuse::RestartEnded && receiver.status.is_ended()
        };
        let takes = |receiver: &Instance| {
            is_start && outgoing.reuse != IdReuse::Refuse && !receiver.status.is_ended()
        };
        match self.find(target)? {
            Some(found) if found.key == own.key => {
                if drops(own) {
                    return Ok(SendOutcome::InstanceEnded);
                }
                self.put_outgoing(own, OutgoingBytes::of(message, bytes))?;
            }
            Some(found) if drops(&found) => return Ok(SendOutcome::InstanceEnded),
            Some(found) if restarts(&found) => {
                if let Some(start) = StartRequest::of(message, bytes) {
                    self.begin_execution(target, Some(found), start)?;
                }
            }
            Some(mut found) if takes(&found) => self.put_messages_of(&mut found, message)?,
            Some(mut found) => {
                if self.put_outgoing(&mut found, OutgoingBytes::of(message, bytes))? {
                    self.save_place(&found)?;
                }
            }
            None => match StartRequest::of(message, bytes) {
                Some(start) => {
                    self.begin_execution(target, None, start)?;
                }
                None => return Ok(SendOutcome::UnknownInstance),
            },
        }
        Ok(SendOutcome::Accepted)
    }

    /// Gives an instance that runs what a start brings.
    fn put_messages_of(&mut self, instance: &mut Instance, start: &Message) -> Step<()> {
        let MessageBody::Start(start) = &start.body else {
            return Ok(());
        };
        let mut has_moved = false;
        for message in start.messages() {
            let bytes = message_bytes(&message)?;
            has_moved |= self.put_outgoing(instance, OutgoingBytes::of(&message, &bytes))?;
        }
        if has_moved {
            self.save_place(instance)?;
        }
        Ok(())
    }
}
