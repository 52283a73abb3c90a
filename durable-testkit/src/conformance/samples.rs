//! One of everything: events and messages of every kind, and names that are hard
//! to store.

use std::time::Duration;

use durable_core::provider::{Message, MessageBody, StartInstance};
use durable_core::{
    ActivityOptions, AttributeValue, Attributes, Carried, Event, EventId, EventKind, ExecutionId,
    Failure, FailureKind, HistoryEntry, Parent, PromiseToken, RetryPolicy, TraceParent,
    UnreadEvent,
};

/// Names that end up in keys, statements, patterns and paths.
pub(crate) const AWKWARD_NAMES: &[&str] = &[
    " ",
    "a b",
    "'; DROP TABLE instances; --",
    "\"quoted\"",
    "back\\slash",
    "{braces}",
    "{a}:b",
    "a:b",
    "a::b",
    "a/b",
    "../../etc/passwd",
    "%",
    "_",
    "a%",
    "a_",
    "*",
    "a*",
    "[a-z]?",
    "\0",
    "a\0b",
    "line\nbreak",
    "tab\tstop",
    "\r\n",
    "ä",
    "a\u{308}",
    "注文-7",
    "🚚",
    "\u{202e}left",
    "\u{feff}bom",
    "A",
    "a",
    "null",
    "0",
    "-1",
];

fn failure() -> Failure {
    let kind = FailureKind::Application("card_declined".into());
    Failure::new(kind, "the bank said \"no\"")
        .with_details("{\"code\":51}")
        .not_retryable()
}

/// Options that differ from the defaults in everything.
pub(crate) fn options() -> ActivityOptions {
    let mut options = ActivityOptions::default()
        .queue("gpu")
        .attempt_timeout(Duration::from_secs(30))
        .total_timeout(Duration::from_millis(u64::MAX))
        .retry(RetryPolicy::attempts(5));
    options.trace_parent = trace_parent();
    options
}

fn trace_parent() -> Option<TraceParent> {
    TraceParent::new(u128::MAX - 1, 1, 1)
}

fn parent() -> Parent {
    Parent::new("parent".into(), ExecutionId::new(3), EventId::new(4))
}

/// An entry of every kind, from event 1 on. As a history it makes no sense.
pub(crate) fn entries_of_every_kind(now_ms: u64) -> Vec<HistoryEntry> {
    let kinds = EventKind::ALL.iter();
    let events = kinds
        .zip(1..)
        .filter_map(|(kind, position)| event(*kind, EventId::new(position)));
    events
        .zip(now_ms..)
        .map(|(event, recorded_at_ms)| HistoryEntry::new(recorded_at_ms, event))
        .collect()
}

fn event(kind: EventKind, event_id: EventId) -> Option<Event> {
    let source_event_id = EventId::new(2);
    let execution_id = ExecutionId::new(7);
    Some(match kind {
        EventKind::OrchestrationStarted => Event::OrchestrationStarted {
            event_id,
            name: "fulfil".into(),
            version: "1.0.0-rc.1".into(),
            input: "{\"order\":7}".into(),
            parent: Some(parent()),
            carried: carried().unless_empty(),
        },
        EventKind::ActivityScheduled => Event::ActivityScheduled {
            event_id,
            name: "charge".into(),
            input: "".into(),
            execution_id,
            options: options(),
        },
        EventKind::ActivityCompleted => Event::ActivityCompleted {
            event_id,
            source_event_id,
            result: "42".into(),
        },
        EventKind::ActivityFailed => Event::ActivityFailed {
            event_id,
            source_event_id,
            failure: failure(),
        },
        EventKind::ActivityCancelRequested => Event::ActivityCancelRequested {
            event_id,
            source_event_id,
        },
        EventKind::TimerCreated => Event::TimerCreated {
            event_id,
            fire_at_ms: u64::MAX,
            execution_id,
        },
        EventKind::TimerFired => Event::TimerFired {
            event_id,
            source_event_id,
            fire_at_ms: 1_700_000_000_000,
        },
        EventKind::TimerCancelled => Event::TimerCancelled {
            event_id,
            source_event_id,
        },
        EventKind::ExternalSubscribed => Event::ExternalSubscribed {
            event_id,
            name: "approval".into(),
        },
        EventKind::ExternalEventsSubscribed => Event::ExternalEventsSubscribed {
            event_id,
            name: "approval".into(),
        },
        EventKind::ExternalEvent => Event::ExternalEvent {
            event_id,
            name: "approval".into(),
            data: "true".into(),
            message_id: "approval-1".into(),
        },
        EventKind::SubOrchestrationScheduled => Event::SubOrchestrationScheduled {
            event_id,
            name: "ship".into(),
            version: Some("2.0.0".into()),
            instance: "ship-7".into(),
            input: "7".into(),
            execution_id,
        },
        EventKind::SubOrchestrationCompleted => Event::SubOrchestrationCompleted {
            event_id,
            source_event_id,
            result: "\"ok\"".into(),
        },
        EventKind::SubOrchestrationFailed => Event::SubOrchestrationFailed {
            event_id,
            source_event_id,
            failure: failure(),
        },
        EventKind::SubOrchestrationCancelRequested => Event::SubOrchestrationCancelRequested {
            event_id,
            source_event_id,
        },
        EventKind::OrchestrationChained => Event::OrchestrationChained {
            event_id,
            name: "report".into(),
            version: None,
            instance: "report-7".into(),
            input: "null".into(),
        },
        _ => return later_event(kind, event_id),
    })
}

fn later_event(kind: EventKind, event_id: EventId) -> Option<Event> {
    let source_event_id = EventId::new(19);
    Some(match kind {
        EventKind::OperationCompleted => Event::OperationCompleted {
            event_id,
            name: "draw".into(),
            result: Err(failure()),
        },
        EventKind::StateSet => Event::StateSet {
            event_id,
            key: "total".into(),
            value: "12.50".into(),
        },
        EventKind::StateCleared => Event::StateCleared {
            event_id,
            key: "total".into(),
        },
        EventKind::PromiseCreated => Event::PromiseCreated {
            event_id,
            name: "signature".into(),
            number: 9_007_199_254_740_993,
        },
        EventKind::PromiseResolved => Event::PromiseResolved {
            event_id,
            source_event_id,
            value: "[]".into(),
        },
        EventKind::PromiseRejected => Event::PromiseRejected {
            event_id,
            source_event_id,
            failure: failure(),
        },
        EventKind::ExternalEventSent => Event::ExternalEventSent {
            event_id,
            target: "other".into(),
            name: "approval".into(),
            data: "{}".into(),
        },
        EventKind::PromiseResolutionSent => Event::PromiseResolutionSent {
            event_id,
            target: PromiseToken::new("orders/7".into(), ExecutionId::FIRST, 0),
            resolution: Ok("1".into()),
        },
        EventKind::CustomStatusSet => Event::CustomStatusSet {
            event_id,
            status: "\"packing\"".into(),
        },
        EventKind::CustomStatusCleared => Event::CustomStatusCleared { event_id },
        EventKind::AttributeSet => Event::AttributeSet {
            event_id,
            name: "customer".into(),
            value: "c-17".into(),
        },
        EventKind::AttributeCleared => Event::AttributeCleared {
            event_id,
            name: "customer".into(),
        },
        EventKind::PatchMarked => Event::PatchMarked {
            event_id,
            patch_id: "new-tax".into(),
        },
        EventKind::OrchestrationCancelRequested => Event::OrchestrationCancelRequested {
            event_id,
            reason: "changed my mind".into(),
        },
        EventKind::OrchestrationCompleted => Event::OrchestrationCompleted {
            event_id,
            output: "\"done\"".into(),
        },
        EventKind::OrchestrationFailed => Event::OrchestrationFailed {
            event_id,
            failure: failure(),
        },
        EventKind::OrchestrationContinuedAsNew => Event::OrchestrationContinuedAsNew {
            event_id,
            input: "8".into(),
            version: Some("3.0.0".into()),
        },
        EventKind::OrchestrationTerminated => Event::OrchestrationTerminated {
            event_id,
            failure: Failure::new(FailureKind::Terminated, "by hand"),
        },
        _ => return None,
    })
}

fn carried() -> Carried {
    let unread = UnreadEvent::new("approval".into(), "true".into(), "m1".into());
    let mut carried = Carried::default();
    carried.state = vec![("total".into(), "12".into())];
    carried.custom_status = Some("1".into());
    carried.attributes = attributes();
    carried.unread_events = vec![unread];
    carried.read_message_ids = vec!["m0".into()];
    carried.cancel_reason = Some("late".into());
    carried.trace_parent = trace_parent();
    carried
}

/// A message of every kind but a start.
pub(crate) fn messages_of_every_kind() -> Vec<Message> {
    let execution_id = ExecutionId::new(9_007_199_254_740_993);
    let source_event_id = EventId::new(2);
    let bodies = [
        MessageBody::ActivityFinished {
            execution_id,
            source_event_id,
            result: Ok("42".into()),
        },
        MessageBody::ActivityFinished {
            execution_id,
            source_event_id,
            result: Err(failure()),
        },
        MessageBody::TimerFired {
            execution_id,
            source_event_id,
            fire_at_ms: u64::MAX,
        },
        MessageBody::SubOrchestrationFinished {
            execution_id,
            source_event_id,
            result: Ok("".into()),
        },
        MessageBody::ExternalRaised {
            name: "approval".into(),
            data: "{\"by\":\"ann\"}".into(),
        },
        MessageBody::PromiseSettled {
            execution_id,
            number: 0,
            resolution: Err(failure()),
        },
        MessageBody::Cancel {
            reason: "late".into(),
        },
        MessageBody::Terminate { failure: failure() },
    ];
    bodies
        .into_iter()
        .zip(1..)
        .map(|(body, number)| Message {
            message_id: format!("kind-{number}").into(),
            body,
        })
        .collect()
}

/// A start that says everything that a start can say.
pub(crate) fn full_start() -> Message {
    let mut start = StartInstance::new("ship".into(), "[7]".into())
        .version("2.0.0".into())
        .parent(parent())
        .attributes(attributes());
    start.trace_parent = trace_parent();
    Message {
        message_id: "full-start".into(),
        body: MessageBody::Start(start),
    }
}

/// An attribute of every type, with the values that a store is likely to mix up.
pub(crate) fn attributes() -> Attributes {
    let mut attributes = Attributes::new();
    attributes.set("customer", "c-17 «\0»");
    attributes.set("empty", "");
    attributes.set("amount", i64::MIN);
    attributes.set("one", 1_i64);
    attributes.set("due", AttributeValue::Time(1));
    attributes.set("paid", true);
    attributes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_an_entry_of_every_kind() {
        let kinds: Vec<EventKind> = entries_of_every_kind(1)
            .iter()
            .map(|entry| entry.event.kind())
            .collect();
        assert_eq!(kinds, EventKind::ALL);
    }
}
