//! What holds for every orchestration and every order of what comes in.

use std::fmt::Debug;

use durable_core::{CursorError, Event, EventId, HistoryEntry};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use super::past::history;
use super::program::{Machine, Seen, any_program};
use super::shown::json;
use super::world::{Recording, any_happenings, go_on, run};

const CASES: u32 = 512;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn a_history_that_was_written_is_valid_and_so_is_every_prefix(
        program in any_program(true),
        happenings in any_happenings(),
    ) {
        let mut written = history(run(&program, &happenings).entries);
        for (entry, position) in written.entries.iter().zip(1..) {
            prop_assert_eq!(entry.event_id(), EventId::new(position));
        }
        while !written.entries.is_empty() {
            prop_assert_eq!(written.validate(), Ok(()));
            let shorter = written.entries.len() * 3 / 4;
            written.entries.truncate(shorter);
        }
    }

    #[test]
    fn a_replay_sees_what_was_seen_and_appends_nothing(
        program in prop_oneof![any_program(true), any_program(false)],
        happenings in any_happenings(),
        page in 1_usize..40,
    ) {
        let live = run(&program, &happenings);
        let mut again = Machine::new(&program);
        again.replay(&live.entries, page).map_err(|error| refused(&error))?;
        saw_the_same(&again.seen, &live)?;
        same(&lines(&again.appended), &[])?;
        prop_assert!(!again.cursor.is_replaying());
    }

    #[test]
    fn a_replay_that_does_each_poll_in_another_order_sees_the_same(
        program in any_program(false),
        happenings in any_happenings(),
        seed in any::<u64>(),
    ) {
        let live = run(&program, &happenings);
        let mut again = Machine::new(&program).shuffled(seed);
        again.replay(&live.entries, usize::MAX).map_err(|error| refused(&error))?;
        saw_the_same(&again.seen, &live)?;
        same(&lines(&again.appended), &[])?;
    }

    #[test]
    fn an_execution_that_is_taken_up_after_any_poll_writes_the_same_history(
        program in prop_oneof![any_program(true), any_program(false)],
        happenings in any_happenings(),
        cuts in vec(any::<Index>(), 4),
    ) {
        let live = run(&program, &happenings);
        for cut in cuts {
            let (length, happened) = *cut.get(&live.flushes);
            let mut again = Machine::new(&program);
            let recorded = &live.entries[..length];
            again.replay(recorded, 7).map_err(|error| refused(&error))?;
            go_on(&mut again, recorded, &happenings, happened);
            same(&lines(&again.appended), &lines(&live.entries[length..]))?;
            saw_the_same(&again.seen, &live)?;
        }
    }

    #[test]
    fn whatever_is_compared_is_refused_at_its_event_when_it_differs(
        program in prop_oneof![any_program(true), any_program(false)],
        happenings in any_happenings(),
        which in any::<Index>(),
        field in any::<Index>(),
    ) {
        let live = run(&program, &happenings);
        let commands: Vec<usize> = (0..live.entries.len())
            .filter(|at| !compared_fields(&live.entries[*at].event).is_empty())
            .collect();
        prop_assume!(!commands.is_empty());
        let at = *which.get(&commands);
        let field = *field.get(compared_fields(&live.entries[at].event));
        let mut entries = live.entries;
        entries[at].event = altered(&entries[at].event, field);
        let error = Machine::new(&program).replay(&entries, 3).unwrap_err();
        let CursorError::Violation(violation) = error else {
            return Err(refused(&error));
        };
        prop_assert_eq!(violation.event_id, entries[at].event_id(), "{}", violation);
    }
}

/// All of it; but where an execution was ended from outside, replay does not run
/// the step before, of which nothing was recorded.
fn saw_the_same(again: &[Seen], live: &Recording) -> Result<(), TestCaseError> {
    let is_terminated = live
        .entries
        .last()
        .is_some_and(|entry| entry.event.is_forced());
    let expected = match is_terminated {
        true => &live.seen[..again.len()],
        false => &live.seen,
    };
    same(again, expected)
}

fn refused(error: &CursorError) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

/// Entries as text that shows their payloads.
fn lines(entries: &[HistoryEntry]) -> Vec<String> {
    entries.iter().map(json).collect()
}

/// Tells the first difference, not all of both.
fn same<T: PartialEq + Debug>(found: &[T], expected: &[T]) -> Result<(), TestCaseError> {
    for (found, expected) in found.iter().zip(expected) {
        prop_assert_eq!(found, expected);
    }
    prop_assert_eq!(found.len(), expected.len());
    Ok(())
}

/// The fields of an output that replay compares, as they are called in JSON.
fn compared_fields(event: &Event) -> &'static [&'static str] {
    match event {
        Event::ActivityScheduled { .. } => &["name", "input"],
        Event::SubOrchestrationScheduled { .. } | Event::OrchestrationChained { .. } => {
            &["name", "instance", "input"]
        }
        Event::ExternalSubscribed { .. }
        | Event::ExternalEventsSubscribed { .. }
        | Event::OperationCompleted { .. } => &["name"],
        Event::StateSet { .. } | Event::StateCleared { .. } => &["key"],
        Event::PromiseCreated { .. } => &["name", "number"],
        Event::ExternalEventSent { .. } => &["target", "name", "awaits_receipt"],
        Event::PromiseResolutionSent { .. } => &["target"],
        Event::PatchMarked { .. } => &["patch_id"],
        Event::TimerCancelled { .. }
        | Event::ActivityCancelRequested { .. }
        | Event::SubOrchestrationCancelRequested { .. } => &["source_event_id"],
        Event::OrchestrationCompleted { .. } => &["output"],
        Event::OrchestrationFailed { .. } => &["failure"],
        Event::OrchestrationContinuedAsNew { .. } => &["input", "version"],
        _ => &[],
    }
}

fn altered(event: &Event, field: &str) -> Event {
    let mut json = serde_json::to_value(event).unwrap();
    let value = &mut json[field];
    *value = match &*value {
        Value::String(text) => Value::from(format!("~{text}")),
        Value::Number(number) => Value::from(number.as_u64().unwrap() + 1_000),
        Value::Null => Value::from("2.0.0"),
        Value::Bool(truth) => Value::from(!truth),
        failure => {
            let mut failure = failure.clone();
            failure["message"] = Value::from("another");
            failure
        }
    };
    let altered = serde_json::from_value(json).unwrap();
    assert_ne!(*event, altered);
    altered
}
