//! What reaches an instance: messages of its inbox, and results of activities that ran
//! on this node.

use durable_core::provider::{InboxMessage, MessageBody, StartInstance, WorkKey, WorkLease};
use durable_core::{Failure, Payload};

use super::interpret::deadline_passed;
use crate::payload_codec::{ActiveCodec, PayloadCodecError};

/// Something that reached an instance.
#[derive(Debug, Clone)]
pub(crate) enum Incoming {
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

impl Incoming {
    /// A message as the store gave it.
    pub(crate) async fn of(mut delivered: InboxMessage, codec: &ActiveCodec) -> Self {
        match codec.decode(&mut delivered.message).await {
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

    /// The start, if it is one.
    pub(crate) fn start(&self) -> Option<&StartInstance> {
        match self.body()? {
            MessageBody::Start(start) => Some(start),
            _ => None,
        }
    }

    /// What the instance is to be terminated with, if this is a hard stop.
    pub(crate) fn termination(&self) -> Option<Failure> {
        match self.body()? {
            MessageBody::Terminate { failure } => Some(failure.clone()),
            MessageBody::DeadlinePassed { deadline_ms } => Some(deadline_passed(*deadline_ms)),
            _ => None,
        }
    }

    /// Whether this is a hard stop.
    pub(crate) fn is_hard_stop(&self) -> bool {
        self.body().is_some_and(MessageBody::is_hard_stop)
    }
}

/// A message that this node cannot decode, and why.
#[derive(Debug, Clone)]
pub(crate) struct UnreadableMessage {
    pub(crate) delivered: InboxMessage,
    pub(crate) error: PayloadCodecError,
}

/// The result of an activity that travels in memory. Until it is committed this
/// session keeps the lease of the work item.
#[derive(Debug, Clone)]
pub(crate) struct LocalResult {
    pub(crate) lease: WorkLease,
    pub(crate) result: Result<Payload, Failure>,
}
