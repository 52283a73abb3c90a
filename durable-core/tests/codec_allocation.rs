//! Memory: encoding takes one allocation, decoding one for each text, and hostile
//! bytes get no more than a small multiple of their own length.
#![cfg(test)]

mod support;

use allocation_counter::{AllocationInfo, measure};
use durable_core::{
    ActivityOptions, Event, EventId, EventKind, ExecutionId, HistoryEntry, decode_entry,
    encode_entry, encode_entry_into,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use support::envelope::Envelope;
use support::samples::samples;

/// The most that one byte can become: an empty text in a list, which is one byte,
/// takes two words in the list, two in its shared form, and the list up to three
/// times its length while it grows.
const BYTES_PER_BYTE: u64 = 64;

/// What an error may take, and a first small list.
const BYTES_FOR_ANY: u64 = 512;

/// An `OrchestrationStarted` without text and parent, up to the lists of what it carries.
const START: [u8; 7] = [1, 0, 0, 0, 0, 0, 1];

fn activity() -> HistoryEntry {
    HistoryEntry::new(
        1_767_225_600_000,
        Event::ActivityScheduled {
            event_id: EventId::new(2),
            name: "charge".into(),
            input: "x".repeat(5_000).into(),
            execution_id: ExecutionId::FIRST,
            options: ActivityOptions::default(),
        },
    )
}

#[test]
fn encoding_takes_one_allocation_of_the_right_size() {
    let entry = activity();
    let length = encode_entry(&entry).unwrap().len();
    let used = measure(|| drop(encode_entry(&entry)));
    assert_eq!(used.count_total, 1);
    assert_eq!(used.bytes_total, length as u64);
}

#[test]
fn encoding_into_a_buffer_that_has_room_takes_none() {
    let entry = activity();
    let mut out = encode_entry(&entry).unwrap();
    out.clear();
    let used = measure(|| encode_entry_into(&entry, &mut out).unwrap());
    assert_eq!(used.count_total, 0);
}

#[test]
fn decoding_takes_one_allocation_for_each_text() {
    let bytes = encode_entry(&activity()).unwrap();
    let used = measure(|| drop(decode_entry(&bytes)));
    assert_eq!(used.count_total, 2);
    assert!(used.bytes_total < bytes.len() as u64 + 50);
}

#[test]
fn damaged_bytes_take_nothing() {
    let mut bytes = encode_entry(&activity()).unwrap();
    bytes[40] ^= 1;
    let used = measure(|| drop(decode_entry(&bytes)));
    assert_eq!(used.count_total, 0);
}

#[test]
fn lengths_that_are_only_claimed_take_nothing_of_note() {
    for length in [1 << 16, 1 << 25, 1 << 26, 1_u64 << 40, u64::MAX] {
        let claim = [&[253], length.to_le_bytes().as_slice()].concat();
        let text = [&[2, 0], claim.as_slice()].concat();
        assert_bounded(&Envelope::new(EventKind::StateCleared, 1, text).seal());

        // The lists of a start, each behind those before it that are empty.
        let lists = [
            [].as_slice(),
            &[0, 0],
            &[0, 0, 0],
            &[0, 0, 0, 0, 0],
            &[0, 0, 0, 0, 0, 0],
            &[0, 0, 0, 0, 0, 0, 0],
        ];
        for empty in lists {
            let list = [&START, empty, claim.as_slice()].concat();
            assert_bounded(&Envelope::new(EventKind::OrchestrationStarted, 1, list).seal());
        }
    }
}

#[test]
fn the_worst_lists_are_bounded() {
    // What stands before each list of a start, how many texts each item has, and how
    // many bytes stand after it.
    let lists = [
        ([].as_slice(), 2, 7),
        (&[0, 0], 3, 5),
        (&[0, 0, 0], 1, 4),
        // A name, the sort of a value, and a text.
        (&[0, 0, 0, 0, 0], 3, 2),
        // Three texts and no requester.
        (&[0, 0, 0, 0, 0, 0], 4, 1),
        (&[0, 0, 0, 0, 0, 0, 0], 1, 0),
    ];
    for count in [100_u64, 1_000, 5_000, 40_000] {
        let length = [&[253], count.to_le_bytes().as_slice()].concat();
        for (before, texts, after) in lists {
            let empty_texts = vec![0; count as usize * texts + after];
            let payload = [&START, before, &length, &empty_texts].concat();
            let whole = Envelope::new(EventKind::OrchestrationStarted, 1, payload.as_slice());
            assert!(decode_entry(&whole.seal()).is_ok());
            assert_bounded(&whole.seal());

            let cut = &payload[..payload.len() - after - 1];
            assert_bounded(&Envelope::new(EventKind::OrchestrationStarted, 1, cut).seal());
        }
    }
}

proptest! {
    #[test]
    fn hostile_payloads_are_bounded(
        kind in select(EventKind::ALL),
        payload in vec(prop_oneof![0_u8..4, any::<u8>()], 0..200),
    ) {
        assert_bounded(&Envelope::new(kind, 1, payload).seal());
    }

    /// Every length, tag and text of a good payload becomes a large number.
    #[test]
    fn claims_within_good_payloads_are_bounded(
        sample in select(samples()),
        number in any::<u64>(),
    ) {
        let good = Envelope::take_apart(&encode_entry(&sample.entry).unwrap());
        for at in 0..good.payload.len() {
            let mut hostile = good.clone();
            let claim = [&[253], number.to_le_bytes().as_slice()].concat();
            hostile.payload.splice(at..=at, claim);
            assert_bounded(&hostile.seal());
        }
    }
}

#[track_caller]
fn assert_bounded(bytes: &[u8]) -> AllocationInfo {
    let used = measure(|| drop(decode_entry(bytes)));
    let most = bytes.len() as u64 * BYTES_PER_BYTE + BYTES_FOR_ANY;
    assert!(used.bytes_max <= most, "{used:?} for {} bytes", bytes.len());
    assert_eq!(used.bytes_current, 0);
    used
}
