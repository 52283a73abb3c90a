//! What is made from the table of events: the texts that a payload codec changes, the
//! line for people, the command that is recorded.
#![cfg(test)]

mod support;

use std::collections::BTreeMap;

use durable_core::{
    ActivityOptions, Event, EventClass, EventId, EventKind, ExecutionId, Name, Payload,
    VisitPayloads,
};
use proptest::prelude::*;

use support::samples::samples;
use support::strategy::any_event;

fn texts(event: &Event) -> Vec<String> {
    let mut event = event.clone();
    let mut payloads = Vec::new();
    event.visit(&mut payloads);
    let texts = payloads.iter().map(|payload| payload.as_str().to_owned());
    texts.collect()
}

/// Changes each text, after all of them have been collected.
fn change(event: &mut Event, change: impl Fn(&str) -> String) {
    let mut payloads = Vec::new();
    event.visit(&mut payloads);
    for payload in payloads {
        let changed = change(payload.as_str());
        payload.set(changed);
    }
}

#[test]
fn the_texts_of_each_kind_are_visited_in_the_order_of_its_fields() {
    let all: BTreeMap<String, Vec<String>> = samples()
        .into_iter()
        .map(|sample| {
            let event = sample.entry.event;
            let variant = sample.variant.unwrap_or_default();
            (format!("{} {variant}", event.kind()), texts(&event))
        })
        .collect();
    let of = |name: &str| all[name].iter().map(String::as_str).collect::<Vec<_>>();
    let declined = [
        "the bank said no: «无余额»",
        r#"{"code":51,"bank":"Crédit"}"#,
    ];
    assert_eq!(of("OrchestrationStarted plain"), [""]);
    assert_eq!(
        of("OrchestrationStarted continued"),
        [
            "[1,2]",
            "true",
            r#"["ä","\u0000"]"#,
            r#"{"sku":"é"}"#,
            "null",
            r#""packing""#,
            "the customer left",
        ]
    );
    assert_eq!(of("ActivityFailed "), declined);
    assert_eq!(of("OperationCompleted err"), declined);
    assert_eq!(
        of("OrchestrationCancelRequested "),
        ["stock is gone\n— the shop"]
    );
    for silent in [
        "ActivityCancelRequested ",
        "TimerCreated ",
        "TimerFired ",
        "TimerCancelled ",
        "ExternalSubscribed ",
        "ExternalEventsSubscribed ",
        "SubOrchestrationCancelRequested ",
        "StateCleared ",
        "PromiseCreated ",
        "PatchMarked ",
    ] {
        assert_eq!(of(silent), [""; 0], "{silent}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_codec_changed_it_can_change_back(event in any_event()) {
        let mut changed = event.clone();
        change(&mut changed, |text| format!("<{text}>"));
        let expected: Vec<_> = texts(&event).iter().map(|text| format!("<{text}>")).collect();
        prop_assert_eq!(texts(&changed), expected);
        prop_assert_eq!(changed.kind(), event.kind());
        prop_assert_eq!(changed.source_event_id(), event.source_event_id());
        change(&mut changed, |text| text[1..text.len() - 1].to_owned());
        prop_assert!(changed == event);
    }

    #[test]
    fn no_payload_is_shown_to_people(event in any_event()) {
        let mut changed = event.clone();
        change(&mut changed, |text| format!("{text} secret"));
        if event.kind() != EventKind::OrchestrationCancelRequested {
            prop_assert_eq!(changed.to_string(), event.to_string());
        }
    }
}

#[test]
fn a_line_says_the_name_before_everything_else() {
    let lines: BTreeMap<String, String> = samples()
        .into_iter()
        .map(|sample| {
            let event = sample.entry.event;
            let variant = sample.variant.unwrap_or_default();
            (format!("{} {variant}", event.kind()), event.to_string())
        })
        .collect();
    for (sample, line) in [
        (
            "OrchestrationStarted plain",
            "OrchestrationStarted `fulfil` 1.0.0",
        ),
        (
            "ExternalEventSent ",
            "ExternalEventSent `reserve` to `warehouse/Łódź`",
        ),
        (
            "ExternalEventSent receipt",
            "ExternalEventSent `reserve` to `warehouse/Łódź` with a receipt",
        ),
        (
            "SubOrchestrationScheduled version",
            "SubOrchestrationScheduled `ship` 1.2.0 as `順番 7`",
        ),
        ("TimerCancelled ", "TimerCancelled of event 249"),
        (
            "ActivityFailed ",
            "ActivityFailed (card_declined) of event 65535",
        ),
    ] {
        assert_eq!(lines[sample], line);
    }
}

#[test]
fn a_kind_names_its_source_exactly_if_its_events_do() {
    for sample in samples() {
        let event = sample.entry.event;
        assert_eq!(
            event.source_event_id().is_some(),
            event.kind().source_kind().is_some(),
            "{event}"
        );
    }
}

#[test]
fn only_outputs_are_commands_and_cancellations_are_none() {
    for kind in EventKind::ALL {
        let is_command = kind.class() == EventClass::Output && kind.source_kind().is_none();
        assert_eq!(kind.command_kind().is_some(), is_command, "{kind}");
    }
}

#[test]
fn debug_shows_how_long_payloads_are_and_not_what_they_say() {
    let failure = durable_core::Failure::application("declined", "no").with_details("\"secret\"");
    assert_eq!(
        format!("{failure:?}"),
        "Failure { kind: Application(\"declined\"), message: \"no\", \
         details: Some(Payload(8 bytes)), retryable: true }"
    );
    let event = Event::StateSet {
        event_id: EventId::new(2),
        key: "cart".into(),
        value: "\"secret\"".into(),
    };
    assert_eq!(
        format!("{event:?}"),
        "StateSet { event_id: EventId(2), key: \"cart\", value: Payload(8 bytes) }"
    );
}

/// Every event moves through the cursor several times, and the rare large field is boxed.
#[test]
fn an_event_in_memory_is_no_larger_than_an_activity_call() {
    let call = size_of::<(EventId, Name, Payload, ExecutionId, ActivityOptions)>();
    assert!(size_of::<Event>() <= call + 8, "{}", size_of::<Event>());
}
