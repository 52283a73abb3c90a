//! Bytes that were written once are read for ever.
//!
//! `tests/golden` holds entries of every kind and revision: `….hex` are the bytes,
//! `….json` the entry. They are added and never changed. A new kind or a new
//! revision needs its own: add a sample to `tests/support/samples.rs` and run
//!
//! ```text
//! DURABLE_WRITE_GOLDEN=1 cargo test -p durable-core --test codec_golden
//! ```
//!
//! which writes the files that are missing and touches no other. If one of these
//! tests fails without such a change, what is wrong is the codec, not the file.
#![cfg(test)]

mod support;

use std::collections::BTreeSet;

use durable_core::{EventKind, HistoryEntry, decode_entry, encode_entry};

use support::golden::{Golden, current_revision, goldens, name_of, names_with};
use support::samples::samples;

const HOW_TO_ADD: &str = "see the first lines of tests/codec_golden.rs";

#[test]
fn every_kind_has_a_golden_file_of_its_current_revision() {
    let samples = samples();
    for kind in EventKind::ALL {
        let mut of_kind = samples
            .iter()
            .filter(|sample| sample.entry.event.kind() == *kind);
        let Some(sample) = of_kind.next() else {
            panic!("{kind} has no sample: {HOW_TO_ADD}");
        };
        let revision = current_revision(&sample.entry);
        let has_golden = goldens()
            .values()
            .any(|golden| golden.kind == kind.name() && golden.revision == revision);
        assert!(
            has_golden,
            "{kind} has no golden file of revision {revision}: {HOW_TO_ADD}"
        );
    }
}

#[test]
fn every_sample_has_a_golden_file() {
    for sample in samples() {
        let name = name_of(&sample);
        assert!(
            goldens().contains_key(&name),
            "{name}.hex is missing: {HOW_TO_ADD}"
        );
    }
}

#[test]
fn every_earlier_revision_has_a_golden_file() {
    for golden in goldens().values() {
        for revision in 1..golden.revision {
            let kept = goldens()
                .values()
                .any(|other| other.kind == golden.kind && other.revision == revision);
            assert!(
                kept,
                "{} has lost its golden files of revision {revision}",
                golden.kind
            );
        }
    }
}

#[test]
fn golden_bytes_and_golden_json_come_in_pairs() {
    let bytes: BTreeSet<String> = goldens().keys().cloned().collect();
    let json: BTreeSet<String> = names_with("json").collect();
    assert_eq!(bytes, json);
}

#[test]
fn golden_bytes_decode_to_the_entry_beside_them() {
    for (name, golden) in goldens() {
        let decoded = decode_entry(&golden.bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = entry(name, golden);
        assert_eq!(decoded, expected, "{name}: {}", golden.json);
        assert_eq!(decoded.event.kind().name(), golden.kind, "{name}");
    }
}

#[test]
fn entries_of_the_current_revision_encode_to_the_golden_bytes() {
    for (name, golden) in goldens() {
        let entry = entry(name, golden);
        if golden.revision == current_revision(&entry) {
            assert_eq!(encode_entry(&entry).as_ref(), Ok(&golden.bytes), "{name}");
        }
    }
}

#[test]
fn entries_of_the_current_revision_are_exported_as_the_golden_json() {
    for (name, golden) in goldens() {
        let entry = entry(name, golden);
        if golden.revision == current_revision(&entry) {
            let exported = serde_json::to_string_pretty(&entry).unwrap();
            assert_eq!(exported, golden.json.trim_end(), "{name}");
        }
    }
}

fn entry(name: &str, golden: &Golden) -> HistoryEntry {
    serde_json::from_str(&golden.json).unwrap_or_else(|error| panic!("{name}.json: {error}"))
}
