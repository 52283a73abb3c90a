//! A turn: messages in, one commit out.
//!
//! Each message is one step: it is appended as an input, the code runs to its
//! rest, its outputs are appended, and only then the next message is taken. What
//! a step emitted becomes part of the commit when the step is whole; a step that
//! fails leaves nothing.

mod batch;
mod fresh;
mod live;
mod messages;
mod past;

use durable_core::provider::{InboxMessage, MessageBody, WorkKey, WorkLease};
use durable_core::{Failure, Payload};

use crate::coding::{Coding, PayloadCodecError};

pub(crate) use batch::{Batch, Header, Tail};
pub(crate) use live::Live;
pub(crate) use past::Past;

/// Something that reached an instance.
#[derive(Debug, Clone)]
pub(crate) enum Arrival {
    /// A message from the inbox.
    Message(InboxMessage),
    /// A message from the inbox that this node cannot decode.
    Unreadable(Box<UnreadableMessage>),
    /// The result of an activity that ran on this node.
    Result(LocalResult),
    /// An activity that ran on this node gave its result, or its retry, to the
    /// store.
    Settled(WorkKey),
}

impl Arrival {
    /// A message as the store gave it.
    pub(crate) fn of(mut delivered: InboxMessage, coding: &Coding) -> Self {
        match coding.decode(&mut delivered.message) {
            Ok(()) => Self::Message(delivered),
            // A hard stop needs no reason.
            Err(_) if matches!(delivered.message.body, MessageBody::Terminate { .. }) => {
                Self::Message(delivered)
            }
            Err(error) => Self::Unreadable(Box::new(UnreadableMessage { delivered, error })),
        }
    }

    /// The message, if it is one.
    pub(crate) fn body(&self) -> Option<&MessageBody> {
        match self {
            Self::Message(delivered) => Some(&delivered.message.body),
            Self::Unreadable(unreadable) => Some(&unreadable.delivered.message.body),
            Self::Result(_) | Self::Settled(_) => None,
        }
    }
}

/// A message that this node cannot decode, and why.
#[derive(Debug, Clone)]
pub(crate) struct UnreadableMessage {
    pub(crate) delivered: InboxMessage,
    pub(crate) error: PayloadCodecError,
}

/// The result of an activity that travels in memory. Until it is committed its
/// work item stays in this session's hands.
#[derive(Debug, Clone)]
pub(crate) struct LocalResult {
    pub(crate) lease: WorkLease,
    pub(crate) result: Result<Payload, Failure>,
}
