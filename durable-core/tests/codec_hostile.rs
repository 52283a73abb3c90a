//! Bytes with a right checksum that no codec of this project has written: each is a
//! typed error that says what is wrong, never a panic and never another event.
#![cfg(test)]

mod support;

use durable_core::{
    DecodeError, Event, EventId, EventKind, Failure, MAX_ENTRY_BYTES, PayloadFault, decode_entry,
    encode_entry,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use support::envelope::Envelope;
use support::golden::goldens;
use support::samples::{BUILT_IN_FAILURE_KINDS, samples};
use support::strategy::any_entry;
use support::text::json;

/// bincode's mark before an integer of eight bytes.
const EIGHT_BYTES: u8 = 253;

fn sealed(kind: EventKind, payload: &[u8]) -> Vec<u8> {
    Envelope::new(kind, 1, payload).seal()
}

fn fault(kind: EventKind, payload: &[u8]) -> PayloadFault {
    match decode_entry(&sealed(kind, payload)) {
        Err(DecodeError::InvalidPayload { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_header_of_another_format_is_named() {
    let good = Envelope::new(EventKind::TimerCancelled, 1, [2, 0, 1]);
    assert!(decode_entry(&good.seal()).is_ok());

    let magic = Envelope {
        magic: *b"PK",
        ..good.clone()
    };
    assert_eq!(
        decode_entry(&magic.seal()),
        Err(DecodeError::UnknownMagic {
            expected: *b"DH",
            found: *b"PK"
        })
    );
    for found in (0..=u8::MAX).filter(|version| *version != 1) {
        let format = Envelope {
            format_version: found,
            ..good.clone()
        };
        assert_eq!(
            decode_entry(&format.seal()),
            Err(DecodeError::UnknownFormat { expected: 1, found })
        );
    }
    for flags in 1..=u8::MAX {
        let flagged = Envelope {
            flags,
            ..good.clone()
        };
        assert_eq!(
            decode_entry(&flagged.seal()),
            Err(DecodeError::UnknownFlags { flags })
        );
    }
}

#[test]
fn kinds_and_revisions_of_a_newer_release_are_named() {
    for number in (0..=u16::MAX).filter(|number| EventKind::from_number(*number).is_none()) {
        let unknown = Envelope {
            kind: number,
            ..Envelope::new(EventKind::TimerCancelled, 1, [2, 0, 1])
        };
        assert_eq!(
            decode_entry(&unknown.seal()),
            Err(DecodeError::UnknownKind { number })
        );
    }
    for sample in samples() {
        let kind = sample.entry.event.kind();
        let current = Envelope::take_apart(&encode_entry(&sample.entry).unwrap());
        let newest = current.revision;
        for found in [0, newest + 1, u8::MAX] {
            let other = Envelope {
                revision: found,
                ..current.clone()
            };
            assert_eq!(
                decode_entry(&other.seal()),
                Err(DecodeError::UnknownRevision {
                    kind,
                    newest,
                    found
                })
            );
        }
    }
}

#[test]
fn every_shortened_and_every_lengthened_payload_is_refused() {
    for (name, golden) in goldens() {
        let envelope = Envelope::take_apart(&golden.bytes);
        let length = envelope.payload.len();
        for shorter in 0..length {
            let mut cut = envelope.clone();
            cut.payload.truncate(shorter);
            let decoded = decode_entry(&cut.seal());
            assert!(
                matches!(
                    decoded,
                    Err(DecodeError::InvalidPayload {
                        fault: PayloadFault::EndsEarly,
                        ..
                    })
                ),
                "{name} cut to {shorter}: {decoded:?}"
            );
        }
        for more in 0..=u8::MAX {
            let mut extended = envelope.clone();
            extended.payload.push(more);
            let decoded = decode_entry(&extended.seal());
            assert!(
                matches!(
                    decoded,
                    Err(DecodeError::InvalidPayload {
                        fault: PayloadFault::TrailingBytes { expected, found },
                        ..
                    }) if (expected, found) == (length, length + 1)
                ),
                "{name} and {more}: {decoded:?}"
            );
        }
    }
}

#[test]
fn a_payload_of_one_kind_is_not_read_past_its_end_as_another() {
    for sample in samples() {
        let envelope = Envelope::take_apart(&encode_entry(&sample.entry).unwrap());
        for kind in EventKind::ALL {
            let relabelled = Envelope {
                kind: kind.number(),
                ..envelope.clone()
            };
            if let Ok(entry) = decode_entry(&relabelled.seal()) {
                assert_eq!(entry.event.kind(), *kind);
                assert_eq!(entry.event_id(), sample.entry.event_id());
            }
        }
    }
}

#[test]
fn an_event_needs_a_position() {
    assert_eq!(
        fault(EventKind::TimerCancelled, &[0, 0, 1]),
        PayloadFault::UnassignedEventId
    );
}

#[test]
fn text_must_be_text() {
    for not_text in [[0xff, 0xfe], [0xc0, 0x80], [0xed, 0xa0]] {
        let payload = [&[2, 0, 2], not_text.as_slice()].concat();
        assert_eq!(
            fault(EventKind::StateCleared, &payload),
            PayloadFault::InvalidText
        );
    }
}

#[test]
fn tags_must_be_known() {
    for tag in 2..=u8::MAX {
        let version = [2, 0, 0, tag];
        assert_eq!(
            fault(EventKind::OrchestrationContinuedAsNew, &version),
            PayloadFault::InvalidTag
        );
        let retryable = [2, 0, 2, 0, 0, 0, tag];
        assert_eq!(
            fault(EventKind::OrchestrationFailed, &retryable),
            PayloadFault::InvalidTag
        );
    }
    for outcome in 2..=250 {
        assert_eq!(
            fault(EventKind::OperationCompleted, &[2, 0, 0, outcome, 0]),
            PayloadFault::InvalidTag
        );
    }
}

#[test]
fn integers_must_fit() {
    let max_attempts = [&[2, 0, 0, 0, 1, 0, EIGHT_BYTES], [0xff; 8].as_slice()].concat();
    assert_eq!(
        fault(EventKind::ActivityScheduled, &max_attempts),
        PayloadFault::InvalidInteger
    );
    for reserved in [254, 255] {
        assert_eq!(
            fault(EventKind::TimerCancelled, &[2, 0, reserved]),
            PayloadFault::InvalidInteger
        );
    }
}

#[test]
fn failure_kinds_must_be_known_and_named_if_they_are_the_users() {
    let mut known = Vec::new();
    for code in 0..=250 {
        let payload = [2, 0, code, 0, 0, 0, 0];
        match decode_entry(&sealed(EventKind::OrchestrationFailed, &payload)) {
            Ok(entry) => known.push(entry.event),
            Err(_) => assert_eq!(
                fault(EventKind::OrchestrationFailed, &payload),
                PayloadFault::UnknownFailureKind { code: code.into() }
            ),
        }
    }
    let expected = BUILT_IN_FAILURE_KINDS
        .iter()
        .map(|kind| Event::OrchestrationFailed {
            event_id: EventId::new(2),
            failure: Failure::new(kind.clone(), "").not_retryable(),
        });
    assert_eq!(known, expected.collect::<Vec<_>>());

    let application_without_a_name = [2, 0, 1, 0, 0, 0, 0];
    assert_eq!(
        fault(EventKind::OrchestrationFailed, &application_without_a_name),
        PayloadFault::UnknownFailureKind { code: 1 }
    );
    let timeout_with_a_name = [2, 0, 2, 1, 0, 0, 0, 0];
    assert_eq!(
        fault(EventKind::OrchestrationFailed, &timeout_with_a_name),
        PayloadFault::UnknownFailureKind { code: 2 }
    );
}

#[test]
fn lengths_that_are_not_there_are_refused() {
    let lengths = [
        1,
        1 << 20,
        MAX_ENTRY_BYTES as u64,
        1 << 40,
        u64::MAX / 2,
        u64::MAX - 1,
        u64::MAX,
    ];
    for length in lengths {
        let claim = [&[EIGHT_BYTES], length.to_le_bytes().as_slice()].concat();
        let text = [&[2, 0], claim.as_slice()].concat();
        assert_eq!(
            fault(EventKind::StateCleared, &text),
            PayloadFault::EndsEarly
        );
        let list = [&[1, 0, 0, 0, 0, 0, 1], claim.as_slice()].concat();
        assert_eq!(
            fault(EventKind::OrchestrationStarted, &list),
            PayloadFault::EndsEarly
        );
    }
}

#[test]
fn every_error_says_what_to_do_in_one_sentence() {
    let unknown = Envelope {
        kind: 31_000,
        ..Envelope::new(EventKind::TimerCancelled, 1, [2, 0, 1])
    };
    assert_eq!(
        decode_entry(&unknown.seal()).unwrap_err().to_string(),
        "the entry is of event kind 31000, which this release does not know: upgrade this node"
    );
    assert_eq!(
        decode_entry(&sealed(EventKind::TimerCancelled, &[2, 0, 1, 9]))
            .unwrap_err()
            .to_string(),
        "the payload of the TimerCancelled is not one of revision 1: \
         its fields take 3 bytes and it has 4"
    );
}

proptest! {
    #[test]
    fn any_payload_is_read_or_refused(
        kind in select(EventKind::ALL),
        payload in vec(any::<u8>(), 0..300),
    ) {
        assert_stable(&sealed(kind, &payload))?;
    }

    /// Small bytes are lengths and tags, so this goes deeper than random bytes do.
    #[test]
    fn any_payload_of_small_bytes_is_read_or_refused(
        kind in select(EventKind::ALL),
        payload in vec(0_u8..4, 0..80),
    ) {
        assert_stable(&sealed(kind, &payload))?;
    }

    #[test]
    fn any_change_of_a_good_payload_is_read_or_refused(
        entry in any_entry(),
        changes in vec((any::<Index>(), any::<u8>()), 1..4),
    ) {
        let mut envelope = Envelope::take_apart(&encode_entry(&entry).unwrap());
        for (at, byte) in changes {
            let at = at.index(envelope.payload.len());
            envelope.payload[at] = byte;
        }
        assert_stable(&envelope.seal())?;
    }
}

/// Bytes are refused, or they are an entry that can be written and read again.
fn assert_stable(bytes: &[u8]) -> Result<(), TestCaseError> {
    if let Ok(entry) = decode_entry(bytes) {
        let again = encode_entry(&entry).unwrap();
        let decoded = decode_entry(&again);
        prop_assert_eq!(decoded.as_ref(), Ok(&entry), "{}", json(&entry));
    }
    Ok(())
}
