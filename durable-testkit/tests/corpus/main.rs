//! Histories of the examples, checked in and replayed: a change that breaks replay
//! is seen here.
//!
//! `DURABLE_CORPUS=write cargo test -p durable-testkit --test corpus` records the
//! histories that are missing under `durable-testkit/corpus`, and only those. A file
//! that is there stays as it is for ever: it stands for an instance that was running
//! when the code was changed. If it no longer replays, mend the code.
#![cfg(test)]

mod examples;
mod outdated;
mod record;

use std::path::PathBuf;

use durable_core::EventKind;
use durable_testkit::{ReplayOutcome, ReplayTester, read_histories, write_histories};

use record::{RECORDINGS, Recording};

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn file(recording: &Recording) -> PathBuf {
    corpus().join(format!("{}.json", recording.name))
}

/// Records what is missing, if that is asked for.
fn write_missing() {
    if std::env::var_os("DURABLE_CORPUS").is_none_or(|mode| mode != "write") {
        return;
    }
    for recording in RECORDINGS {
        if !file(recording).exists() {
            write_histories(file(recording), &record::record(recording)).unwrap();
        }
    }
    let path = corpus().join(outdated::FILE);
    if !path.exists() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_histories(path, &outdated::record()).unwrap();
    }
}

#[test]
fn every_history_replays_exactly() {
    write_missing();
    let report = ReplayTester::new(examples::registry())
        .folder(corpus())
        .run();
    for entry in &report.replays {
        assert_eq!(entry.outcome, ReplayOutcome::Ok, "{entry}");
    }
}

#[test]
fn every_example_has_its_histories_and_every_kind_of_story_is_told() {
    write_missing();
    let mut kinds = Vec::new();
    for recording in RECORDINGS {
        let histories = read_histories(file(recording)).unwrap();
        assert!(!histories.is_empty(), "{}", recording.name);
        for history in &histories {
            assert_eq!(history.validate(), Ok(()), "{}", recording.name);
            kinds.extend(history.entries.iter().map(|entry| entry.event.kind()));
        }
    }
    // What only instances that are told to stop at once have.
    let untold = [EventKind::OrchestrationTerminated];
    for kind in EventKind::ALL {
        assert_eq!(kinds.contains(kind), !untold.contains(kind), "{kind}");
    }
}

#[test]
fn an_example_still_does_what_it_did_when_it_was_recorded() {
    for recording in RECORDINGS {
        let recorded = read_histories(file(recording)).unwrap();
        let kinds = |histories: &[durable_core::History]| -> Vec<Vec<EventKind>> {
            let kinds_of = |history: &durable_core::History| {
                history
                    .entries
                    .iter()
                    .map(|entry| entry.event.kind())
                    .collect()
            };
            histories.iter().map(kinds_of).collect()
        };
        if recording.is_current {
            let now = record::record(recording);
            assert_eq!(kinds(&now), kinds(&recorded), "{}", recording.name);
        }
    }
}

#[test]
fn a_history_of_code_that_was_changed_fails_with_an_exact_report() {
    write_missing();
    let path = corpus().join(outdated::FILE);
    let report = ReplayTester::new(outdated::new_registry())
        .file(&path)
        .run();
    let text = report
        .to_string()
        .replace(path.to_str().unwrap(), outdated::FILE);
    assert_eq!(text, outdated::REPORT);
    ReplayTester::new(outdated::old_registry())
        .file(&path)
        .run()
        .assert_ok();
}
