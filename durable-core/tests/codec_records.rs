//! The other records of a store (messages, work items, statuses, failures) are held
//! to the same rules as history entries: read for ever, damage noticed, hostile bytes
//! refused.
//!
//! `tests/golden/record` holds one file or more of every kind, added and never
//! changed. A new kind or revision needs its own: add a sample to
//! `tests/support/record.rs` and run
//!
//! ```text
//! DURABLE_WRITE_GOLDEN=1 cargo test -p durable-core --test codec_records
//! ```
#![cfg(test)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use allocation_counter::measure;
use durable_core::{
    DecodeError, EncodeError, EventKind, MAX_ENTRY_BYTES, PayloadFault, RecordKind, decode_entry,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use support::envelope::Envelope;
use support::golden::{from_hex, to_hex, write_new};
use support::record::{Record, Sort, any_record, samples};

/// The bytes and the JSON of a golden file.
struct Golden {
    sort: Sort,
    bytes: Vec<u8>,
    json: String,
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/record")
}

fn goldens() -> &'static BTreeMap<String, Golden> {
    static GOLDENS: LazyLock<BTreeMap<String, Golden>> = LazyLock::new(|| {
        if std::env::var_os("DURABLE_WRITE_GOLDEN").is_some_and(|value| value == "1") {
            for (name, record) in samples() {
                let path = directory().join(file_name(name, &record));
                let hex = to_hex(&record.encode().unwrap());
                write_new(&path.with_extension("hex"), &hex);
                let json = format!("{}\n", record.to_json());
                write_new(&path.with_extension("json"), &json);
            }
        }
        let files = fs::read_dir(directory()).expect("tests/golden/record can be read");
        files
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "hex"))
            .map(|path| {
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                let golden = Golden {
                    sort: sort_of(&name),
                    bytes: from_hex(&fs::read_to_string(&path).unwrap()).expect("hexadecimal"),
                    json: fs::read_to_string(path.with_extension("json")).unwrap(),
                };
                (name, golden)
            })
            .collect()
    });
    &GOLDENS
}

/// `<name>.r<revision>`, and a last part that `with_extension` replaces.
fn file_name(name: &str, record: &Record) -> String {
    format!("{name}{}.hex", revision_of(record))
}

/// How the names of golden files of the revision end that is written today.
fn revision_of(record: &Record) -> String {
    let revision = Envelope::take_apart(&record.encode().unwrap()).revision;
    format!(".r{revision}")
}

/// The newest revision of a kind that has a golden file.
fn newest_revision(kind: u16) -> u8 {
    let envelopes = goldens()
        .values()
        .map(|golden| Envelope::take_apart(&golden.bytes));
    let revisions = envelopes.filter(|envelope| envelope.kind == kind);
    revisions.map(|envelope| envelope.revision).max().unwrap()
}

fn sort_of(name: &str) -> Sort {
    match name.split('.').next() {
        Some("message") => Sort::Message,
        Some("status") => Sort::Status,
        Some("failure") => Sort::Failure,
        Some("answer") => Sort::Answer,
        _ => panic!("{name} does not say what it is"),
    }
}

#[test]
fn every_kind_and_every_sample_has_a_golden_file() {
    let numbers: BTreeSet<u16> = goldens()
        .values()
        .map(|golden| Envelope::take_apart(&golden.bytes).kind)
        .collect();
    for kind in RecordKind::ALL {
        assert!(numbers.contains(&kind.number()), "{kind} has none");
    }
    for (name, record) in samples() {
        let file = file_name(name, &record);
        let name = file.trim_end_matches(".hex");
        assert!(goldens().contains_key(name), "{name} is missing");
    }
}

#[test]
fn every_earlier_revision_has_a_golden_file() {
    let kept: BTreeSet<(u16, u8)> = goldens()
        .values()
        .map(|golden| Envelope::take_apart(&golden.bytes))
        .map(|envelope| (envelope.kind, envelope.revision))
        .collect();
    for kind in RecordKind::ALL {
        for revision in 1..=newest_revision(kind.number()) {
            assert!(
                kept.contains(&(kind.number(), revision)),
                "{kind}, {revision}"
            );
        }
    }
}

#[test]
fn golden_bytes_decode_to_the_record_beside_them() {
    for (name, golden) in goldens() {
        let record = golden.sort.record_of(&golden.json);
        let decoded = golden.sort.decode(&golden.bytes);
        assert_eq!(decoded, Ok(record), "{name}");
    }
}

#[test]
fn records_of_the_current_revision_encode_to_the_golden_bytes_and_json() {
    for (name, golden) in goldens() {
        let record = golden.sort.record_of(&golden.json);
        if !name.ends_with(&revision_of(&record)) {
            continue;
        }
        assert_eq!(record.encode().as_ref(), Ok(&golden.bytes), "{name}");
        assert_eq!(record.to_json(), golden.json.trim_end(), "{name}");
    }
}

#[test]
fn kinds_have_numbers_of_their_own_that_never_meet_those_of_events() {
    let numbers: BTreeSet<u16> = RecordKind::ALL.iter().map(|kind| kind.number()).collect();
    assert_eq!(numbers.len(), RecordKind::ALL.len());
    assert!(numbers.iter().all(|number| *number >= 256));
    assert!(EventKind::ALL.iter().all(|kind| kind.number() < 256));
    for kind in RecordKind::ALL {
        assert_eq!(RecordKind::from_number(kind.number()), Some(*kind));
    }
}

#[test]
fn a_record_is_read_as_nothing_else() {
    for (name, golden) in goldens() {
        for sort in Sort::ALL.into_iter().filter(|sort| *sort != golden.sort) {
            let decoded = sort.decode(&golden.bytes);
            let is_refused = matches!(decoded, Err(DecodeError::UnknownRecord { .. }));
            assert!(is_refused, "{name} as {sort:?}: {decoded:?}");
        }
        let as_entry = decode_entry(&golden.bytes);
        assert!(
            matches!(as_entry, Err(DecodeError::UnknownKind { .. })),
            "{name}"
        );
    }
}

#[test]
fn every_flipped_bit_truncation_and_extension_is_noticed() {
    for (name, golden) in goldens() {
        let mut bytes = golden.bytes.clone();
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_damage(golden.sort, &bytes, &format!("{name}, bit {bit}"));
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for length in 0..bytes.len() {
            assert_damage(golden.sort, &bytes[..length], name);
            assert_damage(golden.sort, &bytes[length + 1..], name);
        }
        for byte in 0..=u8::MAX {
            assert_damage(golden.sort, &[bytes.as_slice(), &[byte]].concat(), name);
        }
    }
}

#[track_caller]
fn assert_damage(sort: Sort, bytes: &[u8], what: &str) {
    let decoded = sort.decode(bytes);
    assert!(
        matches!(
            decoded,
            Err(DecodeError::TooShort { .. }
                | DecodeError::LengthMismatch { .. }
                | DecodeError::ChecksumMismatch { .. })
        ),
        "{what}: {decoded:?}"
    );
}

#[test]
fn kinds_and_revisions_of_a_newer_release_are_named() {
    for (name, golden) in goldens() {
        let envelope = Envelope::take_apart(&golden.bytes);
        let kind = RecordKind::from_number(envelope.kind).unwrap();
        let unknown = Envelope {
            kind: 31_000,
            ..envelope.clone()
        };
        let error = golden.sort.decode(&unknown.seal()).unwrap_err();
        assert!(
            matches!(error, DecodeError::UnknownRecord { number: 31_000, .. }),
            "{name}: {error}"
        );
        let newest = newest_revision(envelope.kind);
        for found in [0, newest + 1, u8::MAX] {
            let newer = Envelope {
                revision: found,
                ..envelope.clone()
            };
            assert_eq!(
                golden.sort.decode(&newer.seal()),
                Err(DecodeError::UnknownRecordRevision {
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
            assert_eq!(fault(golden.sort, &cut), PayloadFault::EndsEarly, "{name}");
        }
        let mut longer = envelope.clone();
        longer.payload.push(0);
        let expected = PayloadFault::TrailingBytes {
            expected: length,
            found: length + 1,
        };
        assert_eq!(fault(golden.sort, &longer), expected, "{name}");
    }
}

fn fault(sort: Sort, envelope: &Envelope) -> PayloadFault {
    match sort.decode(&envelope.seal()) {
        Err(DecodeError::InvalidRecord { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_byte_too_many_is_refused() {
    let status = |length| {
        Record::Status(durable_core::provider::InstanceStatus::Completed {
            output: "x".repeat(length).into(),
        })
    };
    // Envelope, and the length of so long a text.
    let longest = MAX_ENTRY_BYTES - 15 - 5;
    let bytes = status(longest).encode().unwrap();
    assert_eq!(
        (bytes.len(), bytes.capacity()),
        (MAX_ENTRY_BYTES, MAX_ENTRY_BYTES)
    );
    assert_eq!(
        status(longest + 1).encode(),
        Err(EncodeError::RecordTooLarge {
            kind: RecordKind::CompletedStatus,
            bytes: MAX_ENTRY_BYTES + 1,
            max_bytes: MAX_ENTRY_BYTES,
        })
    );
}

proptest! {
    #[test]
    fn any_record_survives(record in any_record()) {
        let bytes = record.encode().unwrap();
        prop_assert_eq!(record.sort().decode(&bytes), Ok(record));
    }

    #[test]
    fn any_payload_is_read_or_refused(
        kind in select(RecordKind::ALL),
        revision in 1_u8..=2,
        payload in vec(prop_oneof![0_u8..4, any::<u8>()], 0..200),
    ) {
        let envelope = Envelope {
            kind: kind.number(),
            ..Envelope::new(EventKind::TimerFired, revision, payload)
        };
        assert_stable_and_bounded(&envelope.seal())?;
    }

    #[test]
    fn any_change_of_a_good_payload_is_read_or_refused(
        record in any_record(),
        changes in vec((any::<Index>(), any::<u8>()), 1..4),
    ) {
        let mut envelope = Envelope::take_apart(&record.encode().unwrap());
        for (at, byte) in changes {
            if !envelope.payload.is_empty() {
                let at = at.index(envelope.payload.len());
                envelope.payload[at] = byte;
            }
        }
        assert_stable_and_bounded(&envelope.seal())?;
    }

    #[test]
    fn claims_within_good_payloads_are_bounded(sample in select(samples()), number in any::<u64>()) {
        let good = Envelope::take_apart(&sample.1.encode().unwrap());
        for at in 0..good.payload.len() {
            let mut hostile = good.clone();
            let claim = [&[253], number.to_le_bytes().as_slice()].concat();
            hostile.payload.splice(at..=at, claim);
            assert_stable_and_bounded(&hostile.seal())?;
        }
    }
}

/// Bytes are refused, or they are a record that can be written and read again; either
/// way they take no more memory than a small multiple of their length.
fn assert_stable_and_bounded(bytes: &[u8]) -> Result<(), TestCaseError> {
    for sort in Sort::ALL {
        let used = measure(|| drop(sort.decode(bytes)));
        prop_assert!(
            used.bytes_max <= bytes.len() as u64 * 64 + 512,
            "{:?}",
            used
        );
        if let Ok(record) = sort.decode(bytes) {
            let again = record.encode().unwrap();
            prop_assert_eq!(sort.decode(&again), Ok(record));
        }
    }
    Ok(())
}
