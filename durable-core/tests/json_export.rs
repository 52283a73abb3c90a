//! Histories as JSON, for export and import: nothing is lost on the way, and what
//! is no history is refused.
#![cfg(test)]

mod support;

use durable_core::{EarlierAttempts, Event, EventId, ExecutionId, History, HistoryEntry};
use proptest::prelude::*;
use serde_json::{Value, json};

use support::samples::samples;
use support::strategy::{any_entry, any_history};
use support::text::NASTY;

proptest! {
    #[test]
    fn any_entry_survives(entry in any_entry()) {
        let text = serde_json::to_string(&entry).unwrap();
        let read: HistoryEntry = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read, entry);
    }

    #[test]
    fn any_history_survives(history in any_history()) {
        let text = serde_json::to_string_pretty(&history).unwrap();
        let read: History = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read, history);
    }

    #[test]
    fn any_history_survives_a_tool_that_reads_and_writes_it(history in any_history()) {
        let value: Value = serde_json::from_str(&serde_json::to_string(&history).unwrap()).unwrap();
        let read: History = serde_json::from_str(&value.to_string()).unwrap();
        prop_assert_eq!(read, history);
    }
}

#[test]
fn a_history_of_every_kind_survives() {
    let history = History::new(
        "orders/7 \u{1f6d2}".into(),
        ExecutionId::new(u64::MAX),
        samples().into_iter().map(|sample| sample.entry).collect(),
    );
    let text = serde_json::to_string(&history).unwrap();
    assert_eq!(serde_json::from_str::<History>(&text).unwrap(), history);
}

#[test]
fn the_largest_numbers_survive() {
    let entry = HistoryEntry::new(
        u64::MAX,
        Event::TimerFired {
            event_id: EventId::new(u64::MAX),
            source_event_id: EventId::new(u64::MAX - 1),
            fire_at_ms: (1 << 53) + 1,
        },
    );
    assert_eq!(
        serde_json::to_value(&entry).unwrap(),
        json!({
            "recorded_at_ms": 18_446_744_073_709_551_615_u64,
            "event": {
                "type": "TimerFired",
                "event_id": 18_446_744_073_709_551_615_u64,
                "source_event_id": 18_446_744_073_709_551_614_u64,
                "fire_at_ms": 9_007_199_254_740_993_u64,
            },
        })
    );
    let text = serde_json::to_string(&entry).unwrap();
    assert_eq!(serde_json::from_str::<HistoryEntry>(&text).unwrap(), entry);
}

#[test]
fn json_within_json_within_text_survives() {
    for text in NASTY {
        let inner = json!({ "text": text }).to_string();
        let payload = json!({ "inner": inner, "list": [inner] }).to_string();
        let entry = HistoryEntry::new(
            0,
            Event::StateSet {
                event_id: EventId::new(2),
                key: (*text).into(),
                value: payload.as_str().into(),
            },
        );
        let exported = serde_json::to_string(&entry).unwrap();
        assert_eq!(
            serde_json::from_str::<HistoryEntry>(&exported).unwrap(),
            entry
        );
        let value: Value = serde_json::from_str(&exported).unwrap();
        assert_eq!(value["event"]["value"], payload);
    }
}

#[test]
fn the_order_of_fields_does_not_matter() {
    let text = r#"{
        "event": { "result": "1", "source_event_id": 2, "event_id": 3, "type": "ActivityCompleted" },
        "recorded_at_ms": 5
    }"#;
    let read: HistoryEntry = serde_json::from_str(text).unwrap();
    let expected = HistoryEntry::new(
        5,
        Event::ActivityCompleted {
            event_id: EventId::new(3),
            source_event_id: EventId::new(2),
            result: "1".into(),
            earlier_attempts: EarlierAttempts::NONE,
        },
    );
    assert_eq!(read, expected);
}

#[test]
fn what_is_no_entry_is_refused() {
    let good = json!({
        "recorded_at_ms": 5,
        "event": { "type": "PromiseCreated", "event_id": 3, "name": "n", "number": 0 },
    });
    assert!(serde_json::from_value::<HistoryEntry>(good.clone()).is_ok());

    let wrong = [
        ("/event/type", json!("PromiseForgotten")),
        ("/event/type", json!(19)),
        ("/event/event_id", json!(-1)),
        ("/event/event_id", json!(1.5)),
        ("/event/event_id", json!("3")),
        ("/event/number", Value::Null),
        ("/event/name", json!(["n"])),
        ("/recorded_at_ms", json!(1e30)),
        ("/event", json!([])),
    ];
    for (field, value) in wrong {
        let mut bad = good.clone();
        *bad.pointer_mut(field).unwrap() = value;
        let read = serde_json::from_value::<HistoryEntry>(bad.clone());
        assert!(read.is_err(), "{bad}");
    }
    for missing in ["type", "event_id", "name", "number"] {
        let mut bad = good.clone();
        bad["event"].as_object_mut().unwrap().remove(missing);
        let read = serde_json::from_value::<HistoryEntry>(bad.clone());
        assert!(read.is_err(), "{bad}");
    }
}

#[test]
fn a_token_in_json_is_the_text_that_clients_use() {
    let text = r#"{
        "recorded_at_ms": 5,
        "event": {
            "type": "PromiseResolutionSent", "event_id": 3,
            "target": "orders/7/256/Promise(3)", "resolution": { "Ok": "1" }
        }
    }"#;
    let read: HistoryEntry = serde_json::from_str(text).unwrap();
    let Event::PromiseResolutionSent { target, .. } = &read.event else {
        panic!("{read:?}");
    };
    assert_eq!(target.instance, "orders/7");
    assert_eq!(target.number, 3);
    let forged = text.replace("Promise(3)", "Promise(03)");
    assert!(serde_json::from_str::<HistoryEntry>(&forged).is_err());
}
