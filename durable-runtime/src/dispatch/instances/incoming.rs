//! What reaches an instance: messages of its inbox, and results of activities that ran
//! on this node.

use durable_core::provider::{
    InboxMessage, Message, MessageBody, StartInstance, WorkKey, WorkLease, WorkResult,
    WorkSettlement,
};
use durable_core::{EarlierAttempts, Event, Failure, MessageId, Payload, Requester};

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
    fn message(&self) -> Option<&Message> {
        match self {
            Self::Message(delivered) => Some(&delivered.message),
            Self::Unreadable(unreadable) => Some(&unreadable.delivered.message),
            Self::Result(_) | Self::Settled(_) => None,
        }
    }

    /// What the message says, if it is one.
    pub(crate) fn body(&self) -> Option<&MessageBody> {
        self.message().map(|message| &message.body)
    }

    /// The request, if it is one.
    pub(crate) fn request(&self) -> Option<OwedAnswer> {
        OwedAnswer::of_message(self.message()?)
    }

    /// The start, if it is one.
    pub(crate) fn start(&self) -> Option<&StartInstance> {
        match self.body()? {
            MessageBody::Start(start) => Some(start),
            _ => None,
        }
    }

    /// What the instance is to be terminated with, if this is a hard stop.
    pub(crate) fn termination(&self) -> Option<&Failure> {
        match self.body()? {
            MessageBody::Terminate { failure } => Some(failure),
            _ => None,
        }
    }
}

/// A request that has no answer yet.
#[derive(Debug, Clone)]
pub(crate) struct OwedAnswer {
    /// The id of the request.
    pub(crate) message_id: MessageId,
    /// The orchestration that waits for the answer; `None` is a client.
    pub(crate) requester: Option<Requester>,
}

impl OwedAnswer {
    /// What is owed for a message, if it is a request.
    pub(crate) fn of_message(message: &Message) -> Option<Self> {
        match &message.body {
            MessageBody::Requested { requester, .. } => Some(Self {
                message_id: message.message_id.clone(),
                requester: requester.clone(),
            }),
            _ => None,
        }
    }

    /// What is owed for an input, if it is a request.
    pub(crate) fn of_event(event: &Event) -> Option<Self> {
        match event {
            Event::RequestReceived {
                message_id,
                requester,
                ..
            } => Some(Self {
                message_id: message_id.clone(),
                requester: requester.clone(),
            }),
            _ => None,
        }
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
    pub(crate) earlier_attempts: EarlierAttempts,
}

impl LocalResult {
    /// The result on its way to the store.
    pub(crate) fn into_settlement(self) -> WorkSettlement {
        let result = WorkResult::Finished(self.result);
        WorkSettlement::new(self.lease, result).after(self.earlier_attempts)
    }
}
