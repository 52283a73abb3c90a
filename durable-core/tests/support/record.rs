//! Records of every kind: samples for the golden files, and strategies.

use durable_core::provider::{InstanceStatus, Message, MessageBody, StartInstance};
use durable_core::{
    DecodeError, EncodeError, EventId, ExecutionId, Failure, FailureKind, Parent, TraceParent,
    decode_failure, decode_message, decode_status, encode_failure, encode_message, encode_status,
};
use proptest::option::of;
use proptest::prelude::*;
use serde::de::DeserializeOwned;

use super::strategy::{
    any_execution, any_failure, any_number, any_outcome, any_parent, any_source, any_trace_parent,
    text,
};
use super::text::any_text;

/// Any record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    Message(Message),
    Status(InstanceStatus),
    Failure(Failure),
}

/// The sorts of record: each has a decoder of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Message,
    Status,
    Failure,
}

impl Sort {
    pub(crate) const ALL: [Self; 3] = [Self::Message, Self::Status, Self::Failure];

    pub(crate) fn decode(self, bytes: &[u8]) -> Result<Record, DecodeError> {
        match self {
            Self::Message => decode_message(bytes).map(Record::Message),
            Self::Status => decode_status(bytes).map(Record::Status),
            Self::Failure => decode_failure(bytes).map(Record::Failure),
        }
    }

    /// Reads the JSON of a record.
    pub(crate) fn record_of(self, json: &str) -> Record {
        fn read<T: DeserializeOwned>(json: &str) -> T {
            serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
        }
        match self {
            Self::Message => Record::Message(read(json)),
            Self::Status => Record::Status(read(json)),
            Self::Failure => Record::Failure(read(json)),
        }
    }
}

impl Record {
    pub(crate) fn sort(&self) -> Sort {
        match self {
            Self::Message(_) => Sort::Message,
            Self::Status(_) => Sort::Status,
            Self::Failure(_) => Sort::Failure,
        }
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        match self {
            Self::Message(message) => encode_message(message),
            Self::Status(status) => encode_status(status),
            Self::Failure(failure) => encode_failure(failure),
        }
    }

    pub(crate) fn to_json(&self) -> String {
        match self {
            Self::Message(message) => serde_json::to_string_pretty(message),
            Self::Status(status) => serde_json::to_string_pretty(status),
            Self::Failure(failure) => serde_json::to_string_pretty(failure),
        }
        .expect("records are JSON")
    }
}

fn declined() -> Failure {
    Failure::application("card_declined", "the bank said no: «无余额»")
        .with_details(r#"{"code":51}"#)
        .not_retryable()
}

fn message(id: &str, body: MessageBody) -> Record {
    Record::Message(Message {
        message_id: id.into(),
        body,
    })
}

/// One record or more of every kind, each with the name of its golden file.
pub(crate) fn samples() -> Vec<(&'static str, Record)> {
    let mut samples = messages();
    samples.extend(statuses());
    samples.push(("failure.plain", Record::Failure(Failure::cancelled("late"))));
    samples.push(("failure.full", Record::Failure(declined())));
    samples
}

fn messages() -> Vec<(&'static str, Record)> {
    let (execution_id, source_event_id) = (ExecutionId::new(3), EventId::new(300));
    let start = |version: Option<&str>, parent| {
        let mut start = StartInstance::new("fulfil".into(), r#"{"order":7}"#.into());
        start.version = version.map(Into::into);
        // A child of something that was traced.
        start.trace_parent = parent
            .as_ref()
            .and_then(|_| TraceParent::new(1 << 120, 7, 1));
        start.parent = parent;
        start.attributes.set("customer", "c-17 «ß»");
        MessageBody::Start(start)
    };
    let parent = Parent::new("order-7".into(), execution_id, source_event_id);
    let activity = |result| MessageBody::ActivityFinished {
        execution_id,
        source_event_id,
        result,
    };
    let child = |result| MessageBody::SubOrchestrationFinished {
        execution_id,
        source_event_id,
        result,
    };
    let promise = |resolution| MessageBody::PromiseSettled {
        execution_id,
        number: 4,
        resolution,
    };
    let timer = MessageBody::TimerFired {
        execution_id,
        source_event_id,
        fire_at_ms: 1_767_225_600_000,
    };
    let raised = MessageBody::ExternalRaised {
        name: "approval".into(),
        data: "true".into(),
    };
    let cancel = MessageBody::Cancel {
        reason: "the customer left".into(),
    };
    let terminate = |failure| MessageBody::Terminate { failure };
    let paid = Failure::new(FailureKind::Terminated, "déjà payé");
    vec![
        ("message.start", message("s-1", start(None, None))),
        (
            "message.start.child",
            message("order-7/3/300", start(Some("1.4.0"), Some(parent))),
        ),
        (
            "message.activity.completed",
            message("activity/3/300", activity(Ok("42".into()))),
        ),
        (
            "message.activity.failed",
            message("activity/3/300", activity(Err(declined()))),
        ),
        ("message.timer", message("timer/3/300", timer)),
        (
            "message.child.completed",
            message("c", child(Ok("42".into()))),
        ),
        ("message.child.failed", message("c", child(Err(declined())))),
        ("message.event", message("m-1", raised)),
        (
            "message.promise.resolved",
            message("p", promise(Ok("null".into()))),
        ),
        (
            "message.promise.rejected",
            message("p", promise(Err(declined()))),
        ),
        ("message.cancel", message("c", cancel)),
        ("message.terminate", message("t", terminate(paid))),
        (
            "message.terminate.full",
            message("t", terminate(declined())),
        ),
    ]
}

fn statuses() -> Vec<(&'static str, Record)> {
    let panicked = Failure::new(FailureKind::Panicked, "index out of bounds");
    vec![
        ("status.pending", Record::Status(InstanceStatus::Pending)),
        ("status.running", Record::Status(InstanceStatus::Running)),
        (
            "status.suspended",
            Record::Status(InstanceStatus::Suspended { failure: panicked }),
        ),
        (
            "status.completed",
            Record::Status(InstanceStatus::Completed {
                output: r#"{"paid":true}"#.into(),
            }),
        ),
        (
            "status.failed",
            Record::Status(InstanceStatus::Failed {
                failure: declined(),
            }),
        ),
        (
            "status.terminated",
            Record::Status(InstanceStatus::Terminated {
                failure: Failure::new(FailureKind::Terminated, "by hand"),
            }),
        ),
    ]
}

/// Any record.
pub(crate) fn any_record() -> impl Strategy<Value = Record> {
    prop_oneof![
        4 => any_message().prop_map(Record::Message).boxed(),
        1 => any_status().prop_map(Record::Status).boxed(),
        1 => any_failure().prop_map(Record::Failure).boxed(),
    ]
}

fn any_message() -> impl Strategy<Value = Message> {
    (text(), any_body()).prop_map(|(message_id, body)| Message { message_id, body })
}

fn any_body() -> impl Strategy<Value = MessageBody> {
    let place = || (any_execution(), any_source());
    let start = (
        text(),
        of(text()),
        text(),
        of(any_parent()),
        of(any_trace_parent()),
    )
        .prop_map(|(name, version, input, parent, trace_parent)| {
            let mut start = StartInstance::new(name, input);
            start.version = version;
            start.parent = parent;
            start.trace_parent = trace_parent;
            MessageBody::Start(start)
        });
    let activity =
        (place(), any_outcome()).prop_map(|((execution_id, source_event_id), result)| {
            MessageBody::ActivityFinished {
                execution_id,
                source_event_id,
                result,
            }
        });
    let timer =
        (place(), any_number()).prop_map(|((execution_id, source_event_id), fire_at_ms)| {
            MessageBody::TimerFired {
                execution_id,
                source_event_id,
                fire_at_ms,
            }
        });
    let child = (place(), any_outcome()).prop_map(|((execution_id, source_event_id), result)| {
        MessageBody::SubOrchestrationFinished {
            execution_id,
            source_event_id,
            result,
        }
    });
    let raised =
        (text(), text()).prop_map(|(name, data)| MessageBody::ExternalRaised { name, data });
    let promise = (any_execution(), any_number(), any_outcome()).prop_map(
        |(execution_id, number, resolution)| MessageBody::PromiseSettled {
            execution_id,
            number,
            resolution,
        },
    );
    prop_oneof![
        start.boxed(),
        activity.boxed(),
        timer.boxed(),
        child.boxed(),
        raised.boxed(),
        promise.boxed(),
        any_text()
            .prop_map(|reason| MessageBody::Cancel { reason })
            .boxed(),
        any_failure()
            .prop_map(|failure| MessageBody::Terminate { failure })
            .boxed(),
    ]
}

fn any_status() -> impl Strategy<Value = InstanceStatus> {
    let suspended = any_failure().prop_map(|failure| InstanceStatus::Suspended { failure });
    let completed = text().prop_map(|output| InstanceStatus::Completed { output });
    let failed = any_failure().prop_map(|failure| InstanceStatus::Failed { failure });
    let terminated = any_failure().prop_map(|failure| InstanceStatus::Terminated { failure });
    prop_oneof![
        Just(InstanceStatus::Pending),
        Just(InstanceStatus::Running),
        suspended.boxed(),
        completed.boxed(),
        failed.boxed(),
        terminated.boxed(),
    ]
}
