//! What is encoded decodes again to the same entry, up to the largest.
#![cfg(test)]

mod support;

use durable_core::{
    DecodeError, EncodeError, Event, EventId, EventKind, HistoryEntry, MAX_ENTRY_BYTES,
    decode_entry, encode_entry, encode_entry_into,
};
use proptest::collection::vec;
use proptest::prelude::*;

use support::envelope::Envelope;
use support::samples::samples;
use support::strategy::{any_entry, any_event_of, any_number};
use support::text::json;

proptest! {
    #[test]
    fn any_entry_survives(entry in any_entry()) {
        let bytes = encode_entry(&entry).unwrap();
        let decoded = decode_entry(&bytes);
            prop_assert_eq!(decoded.as_ref(), Ok(&entry), "{}", json(&entry));
    }

    #[test]
    fn entries_are_appended_one_after_the_other(entries in vec(any_entry(), 0..4)) {
        let mut out = Vec::new();
        let mut expected = Vec::new();
        for entry in &entries {
            encode_entry_into(entry, &mut out).unwrap();
            expected.extend(encode_entry(entry).unwrap());
        }
        prop_assert_eq!(out, expected);
    }

    #[test]
    fn the_envelope_is_what_the_description_says(entry in any_entry()) {
        let bytes = encode_entry(&entry).unwrap();
        let envelope = Envelope::take_apart(&bytes);
        prop_assert_eq!(&envelope.magic, b"DH");
        prop_assert_eq!(envelope.format_version, 1);
        prop_assert_eq!(envelope.kind, entry.event.kind().number());
        prop_assert_eq!(envelope.flags, 0);
        prop_assert_eq!(envelope.seal(), bytes);
    }
}

#[test]
fn events_of_every_kind_survive() {
    for kind in EventKind::ALL {
        let config = ProptestConfig::with_cases(40);
        proptest!(config, |(recorded_at_ms in any_number(), event in any_event_of(*kind))| {
            prop_assert_eq!(event.kind(), *kind);
            let entry = HistoryEntry::new(recorded_at_ms, event);
            let bytes = encode_entry(&entry).unwrap();
            let decoded = decode_entry(&bytes);
            prop_assert_eq!(decoded.as_ref(), Ok(&entry), "{}", json(&entry));
        });
    }
}

#[test]
fn an_event_without_a_position_is_not_encoded() {
    let entry = HistoryEntry::new(
        1,
        Event::TimerCancelled {
            event_id: EventId::UNASSIGNED,
            source_event_id: EventId::new(2),
        },
    );
    let mut out = vec![7];
    assert_eq!(
        encode_entry_into(&entry, &mut out),
        Err(EncodeError::UnassignedEventId {
            kind: EventKind::TimerCancelled
        })
    );
    assert_eq!(out, [7]);
}

#[test]
fn the_largest_entry_survives_and_one_byte_more_is_refused() {
    let completed = |output: String| {
        HistoryEntry::new(
            1,
            Event::OrchestrationCompleted {
                event_id: EventId::new(2),
                output: output.into(),
            },
        )
    };
    // Envelope, event id and recorded time, and the length of so long a text.
    let around_the_text = 15 + 2 + 5;
    let longest = MAX_ENTRY_BYTES - around_the_text;

    let entry = completed("x".repeat(longest));
    let bytes = encode_entry(&entry).unwrap();
    assert_eq!(bytes.len(), MAX_ENTRY_BYTES);
    assert_eq!(bytes.capacity(), MAX_ENTRY_BYTES);
    assert!(decode_entry(&bytes) == Ok(entry));

    let too_large = completed("x".repeat(longest + 1));
    let mut out = vec![7];
    assert_eq!(
        encode_entry_into(&too_large, &mut out),
        Err(EncodeError::EntryTooLarge {
            kind: EventKind::OrchestrationCompleted,
            bytes: MAX_ENTRY_BYTES + 1,
            max_bytes: MAX_ENTRY_BYTES,
        })
    );
    assert_eq!(out, [7]);
}

#[test]
fn more_bytes_than_an_entry_can_have_are_refused_unseen() {
    let bytes = vec![0; MAX_ENTRY_BYTES + 1];
    assert_eq!(
        decode_entry(&bytes),
        Err(DecodeError::TooLong {
            bytes: MAX_ENTRY_BYTES + 1,
            max_bytes: MAX_ENTRY_BYTES,
        })
    );
}

#[test]
fn an_entry_is_shorter_than_its_json() {
    for sample in samples() {
        let json = serde_json::to_string(&sample.entry).unwrap();
        let bytes = encode_entry(&sample.entry).unwrap();
        assert!(bytes.len() < json.len(), "{json}");
    }
}
