//! Short names for events without a position, as the code emits them and as they
//! come in, and for what operations come to.

use durable_core::{
    ActivityOptions, Carried, Event, EventId, ExecutionId, Failure, FailureKind, Outcome, Payload,
    PromiseToken,
};

/// The instance that every test is about.
pub(crate) const INSTANCE: &str = "order-7";

const NONE: EventId = EventId::UNASSIGNED;

fn id(number: u64) -> EventId {
    EventId::new(number)
}

/// The same event at this position.
pub(crate) fn at(position: u64, event: &Event) -> Event {
    let mut json = serde_json::to_value(event).unwrap();
    json["event_id"] = position.into();
    serde_json::from_value(json).unwrap()
}

pub(crate) fn started() -> Event {
    started_with(Carried::default())
}

pub(crate) fn started_with(carried: Carried) -> Event {
    Event::OrchestrationStarted {
        event_id: NONE,
        name: "fulfil".into(),
        version: "1.0.0".into(),
        input: "7".into(),
        parent: None,
        carried: carried.unless_empty(),
    }
}

pub(crate) fn scheduled(name: &str, input: &str) -> Event {
    Event::ActivityScheduled {
        event_id: NONE,
        name: name.into(),
        input: input.into(),
        execution_id: ExecutionId::FIRST,
        options: ActivityOptions::default(),
    }
}

pub(crate) fn completed(source: u64, result: &str) -> Event {
    Event::ActivityCompleted {
        event_id: NONE,
        source_event_id: id(source),
        result: result.into(),
    }
}

pub(crate) fn failed(source: u64, message: &str) -> Event {
    Event::ActivityFailed {
        event_id: NONE,
        source_event_id: id(source),
        failure: failure(message),
    }
}

pub(crate) fn activity_cancelled(source: u64) -> Event {
    Event::ActivityCancelRequested {
        event_id: NONE,
        source_event_id: id(source),
    }
}

pub(crate) fn timer_created(fire_at_ms: u64) -> Event {
    Event::TimerCreated {
        event_id: NONE,
        fire_at_ms,
        execution_id: ExecutionId::FIRST,
    }
}

pub(crate) fn fired(source: u64, fire_at_ms: u64) -> Event {
    Event::TimerFired {
        event_id: NONE,
        source_event_id: id(source),
        fire_at_ms,
    }
}

pub(crate) fn timer_cancelled(source: u64) -> Event {
    Event::TimerCancelled {
        event_id: NONE,
        source_event_id: id(source),
    }
}

pub(crate) fn subscribed(name: &str) -> Event {
    Event::ExternalSubscribed {
        event_id: NONE,
        name: name.into(),
    }
}

pub(crate) fn listens(name: &str) -> Event {
    Event::ExternalEventsSubscribed {
        event_id: EventId::UNASSIGNED,
        name: name.into(),
    }
}

pub(crate) fn raised(name: &str, data: &str, message_id: &str) -> Event {
    Event::ExternalEvent {
        event_id: NONE,
        name: name.into(),
        data: data.into(),
        message_id: message_id.into(),
    }
}

pub(crate) fn child_scheduled(name: &str, instance: &str, input: &str) -> Event {
    Event::SubOrchestrationScheduled {
        event_id: NONE,
        name: name.into(),
        version: None,
        instance: instance.into(),
        input: input.into(),
        execution_id: ExecutionId::FIRST,
    }
}

pub(crate) fn child_completed(source: u64, result: &str) -> Event {
    Event::SubOrchestrationCompleted {
        event_id: NONE,
        source_event_id: id(source),
        result: result.into(),
    }
}

pub(crate) fn child_failed(source: u64, message: &str) -> Event {
    Event::SubOrchestrationFailed {
        event_id: NONE,
        source_event_id: id(source),
        failure: failure(message),
    }
}

pub(crate) fn child_cancelled(source: u64) -> Event {
    Event::SubOrchestrationCancelRequested {
        event_id: NONE,
        source_event_id: id(source),
    }
}

pub(crate) fn chained(name: &str, instance: &str, input: &str) -> Event {
    Event::OrchestrationChained {
        event_id: NONE,
        name: name.into(),
        version: None,
        instance: instance.into(),
        input: input.into(),
        options: None,
    }
}

pub(crate) fn operation(name: &str, result: Result<Payload, Failure>) -> Event {
    Event::OperationCompleted {
        event_id: NONE,
        name: name.into(),
        result,
    }
}

pub(crate) fn state_set(key: &str, value: &str) -> Event {
    Event::StateSet {
        event_id: NONE,
        key: key.into(),
        value: value.into(),
    }
}

pub(crate) fn state_cleared(key: &str) -> Event {
    Event::StateCleared {
        event_id: NONE,
        key: key.into(),
    }
}

pub(crate) fn promise_created(name: &str, number: u64) -> Event {
    Event::PromiseCreated {
        event_id: NONE,
        name: name.into(),
        number,
    }
}

pub(crate) fn resolved(source: u64, value: &str) -> Event {
    Event::PromiseResolved {
        event_id: NONE,
        source_event_id: id(source),
        value: value.into(),
    }
}

pub(crate) fn rejected(source: u64, message: &str) -> Event {
    Event::PromiseRejected {
        event_id: NONE,
        source_event_id: id(source),
        failure: failure(message),
    }
}

pub(crate) fn event_sent(target: &str, name: &str, data: &str) -> Event {
    Event::ExternalEventSent {
        event_id: NONE,
        target: target.into(),
        name: name.into(),
        data: data.into(),
        awaits_receipt: false,
    }
}

pub(crate) fn event_sent_with_receipt(target: &str, name: &str, data: &str) -> Event {
    Event::ExternalEventSent {
        event_id: NONE,
        target: target.into(),
        name: name.into(),
        data: data.into(),
        awaits_receipt: true,
    }
}

pub(crate) fn event_delivered(source: u64) -> Event {
    Event::ExternalEventDelivered {
        event_id: NONE,
        source_event_id: id(source),
    }
}

pub(crate) fn event_undeliverable(source: u64, message: &str) -> Event {
    Event::ExternalEventUndeliverable {
        event_id: NONE,
        source_event_id: id(source),
        failure: failure(message),
    }
}

pub(crate) fn resolution_sent(target: &str, resolution: Result<Payload, Failure>) -> Event {
    Event::PromiseResolutionSent {
        event_id: NONE,
        target: token(target),
        resolution,
    }
}

pub(crate) fn status_set(status: &str) -> Event {
    Event::CustomStatusSet {
        event_id: NONE,
        status: status.into(),
    }
}

pub(crate) fn attribute_set(name: &str, value: &str) -> Event {
    Event::AttributeSet {
        event_id: NONE,
        name: name.into(),
        value: value.into(),
    }
}

pub(crate) fn attribute_cleared(name: &str) -> Event {
    Event::AttributeCleared {
        event_id: NONE,
        name: name.into(),
    }
}

pub(crate) fn patch_marked(patch_id: &str) -> Event {
    Event::PatchMarked {
        event_id: NONE,
        patch_id: patch_id.into(),
    }
}

pub(crate) fn cancel_requested(reason: &str) -> Event {
    Event::OrchestrationCancelRequested {
        event_id: NONE,
        reason: reason.into(),
    }
}

pub(crate) fn returned(output: &str) -> Event {
    Event::OrchestrationCompleted {
        event_id: NONE,
        output: output.into(),
    }
}

pub(crate) fn gave_up(failure: Failure) -> Event {
    Event::OrchestrationFailed {
        event_id: NONE,
        failure,
    }
}

pub(crate) fn continued(input: &str) -> Event {
    Event::OrchestrationContinuedAsNew {
        event_id: NONE,
        input: input.into(),
        version: None,
    }
}

pub(crate) fn terminated() -> Event {
    Event::OrchestrationTerminated {
        event_id: NONE,
        failure: Failure::new(FailureKind::Terminated, "by hand"),
    }
}

pub(crate) fn failure(message: &str) -> Failure {
    Failure::application("declined", message)
}

pub(crate) fn token(text: &str) -> PromiseToken {
    text.parse().unwrap()
}

pub(crate) fn ok(value: &str) -> Result<Payload, Failure> {
    Ok(value.into())
}

pub(crate) fn value(text: &str) -> Outcome {
    Outcome::Value(text.into())
}

pub(crate) fn failure_of(message: &str) -> Outcome {
    Outcome::Failed(Box::new(failure(message)))
}

pub(crate) fn cancelled(reason: &str) -> Outcome {
    Outcome::Failed(Box::new(Failure::cancelled(reason)))
}
