//! Messages that tests send again and again.

use durable_core::provider::{Message, MessageBody, StartInstance, StartOutcome, WakeSeq};
use durable_core::{MessageId, Payload};

/// A start of the orchestration `fulfil`, in its newest version.
///
/// ```
/// use durable_core::provider::MessageBody;
///
/// let message = durable_testkit::start_message("start-1");
/// assert!(matches!(message.body, MessageBody::Start(start) if start.name == "fulfil"));
/// ```
pub fn start_message(message_id: impl Into<MessageId>) -> Message {
    let start = StartInstance::new("fulfil".into(), "{}".into());
    Message::new(message_id.into(), MessageBody::Start(start))
}

/// An external event `approval` that carries its own message id.
///
/// ```
/// assert_eq!(durable_testkit::event_message("m1").message_id, "m1");
/// ```
pub fn event_message(message_id: impl Into<MessageId>) -> Message {
    let message_id = message_id.into();
    Message {
        body: MessageBody::ExternalRaised {
            name: "approval".into(),
            data: Payload::from(message_id.as_str()),
        },
        message_id,
    }
}

/// A request `add` of a client that carries its own message id.
///
/// ```
/// assert_eq!(durable_testkit::request_message("r1").message_id, "r1");
/// ```
pub fn request_message(message_id: impl Into<MessageId>) -> Message {
    let message_id = message_id.into();
    Message {
        body: MessageBody::Requested {
            name: "add".into(),
            input: Payload::from(message_id.as_str()),
            requester: None,
        },
        message_id,
    }
}

/// What became of a start, as it is compared: each provider counts in its own way what
/// was seen, but they give it to the same starts.
pub(crate) fn comparable(outcome: StartOutcome) -> StartOutcome {
    match outcome {
        StartOutcome::Started { execution_id, seen } => StartOutcome::Started {
            execution_id,
            seen: seen.map(|_| WakeSeq::default()),
        },
        other => other,
    }
}
