//! What people read: one sentence that says where and why, without the payloads,
//! which may be secret.

use durable_core::{
    Corruption, CursorError, Difference, EventId, EventKind, ExecutionId, HistoryFault, SourceFault,
};

use super::driver::Driver;
use super::events::{
    child_scheduled, completed, event_sent, failure, gave_up, operation, raised, returned,
    scheduled, state_set, view_published,
};
use super::past::Past;

#[test]
fn a_renamed_activity_reads_as_a_sentence() {
    let mut code = Driver::after(Past::of([scheduled("charge", "1"), scheduled("ship", "1")]));
    code.activity("charge", "1");
    code.activity("send", "1");
    assert_eq!(
        code.is_refused_at(3, Difference::Name).to_string(),
        "determinism violation in instance `order-7`, execution 1, at event 3, Activity(1): \
         the history has ActivityScheduled `ship`, the code did ActivityScheduled `send` \
         (the name differs). Hint: was a call added or renamed since this instance started? Guard \
         an added call with `patched`, and keep the old name of a renamed one for running instances"
    );
}

#[test]
fn a_call_that_is_gone_reads_as_a_sentence() {
    let mut code = Driver::after(Past::of([scheduled("charge", "1")]));
    assert_eq!(
        code.misses(2).to_string(),
        "determinism violation in instance `order-7`, execution 1, at event 2, Activity(0): \
         the history has ActivityScheduled `charge`, the code did nothing \
         (the code no longer does this). Hint: was a call removed, or does a condition depend \
         on something that is not recorded? Guard the change with `patched`, or register it as \
         a new version"
    );
}

#[test]
fn a_call_too_many_reads_as_a_sentence() {
    let past = Past::of([scheduled("a", "1"), raised("e", "1", "m1")]);
    let mut code = Driver::after(past);
    code.activity("a", "1");
    code.child("c", None, "1");
    assert_eq!(
        code.is_refused_at(3, Difference::CommandWhereInput)
            .to_string(),
        "determinism violation in instance `order-7`, execution 1, at event 3, \
         SubOrchestration(0): the history has ExternalEvent `e`, the code did \
         SubOrchestrationScheduled `c` (the code did more before this input than it did then). \
         Hint: was a call added since this instance started? Guard it with `patched`, or register \
         the change as a new version"
    );
}

#[test]
fn a_violation_without_its_kind_is_the_rest_of_the_sentence() {
    let mut code = Driver::after(Past::of([scheduled("charge", "1")]));
    code.activity("send", "1");
    let violation = code.is_refused_at(2, Difference::Name);
    let rest = violation.without_kind().to_string();
    assert!(rest.starts_with("in instance `order-7`, "), "{rest}");
    let whole = format!("determinism violation {rest}");
    assert_eq!(violation.to_string(), whole);
}

#[test]
fn a_call_that_the_history_has_later_reads_as_a_sentence() {
    let past = [
        scheduled("charge", "1"),
        completed(2, "1"),
        scheduled("ship", "1"),
    ];
    let mut code = Driver::after(Past::of(past));
    code.activity("ship", "1");
    let sentence = code.is_refused_at(2, Difference::Name).to_string();
    assert!(
        sentence.ends_with(
            "Hint: the history has this later, at event 4: was a call before it removed, or were \
             two calls swapped, since this instance started? Guard the change with `patched`, or \
             register it as a new version"
        ),
        "{sentence}"
    );
}

#[test]
fn an_early_end_reads_as_a_sentence() {
    let mut code = Driver::after(Past::of([child_scheduled("c", "c-1", "1")]));
    code.returns("1");
    let sentence = code.is_refused_at(2, Difference::Kind).to_string();
    assert!(
        sentence.contains(
            "at event 2, SubOrchestration(0): the history has SubOrchestrationScheduled `c` as \
             `c-1`, the code did OrchestrationCompleted (the kind differs)"
        ),
        "{sentence}"
    );
}

#[test]
fn an_unknown_source_reads_as_a_sentence() {
    let corruption = Past::of([completed(42, "1")]).history().validate();
    assert_eq!(
        corruption.unwrap_err().to_string(),
        "the history of instance `order-7`, execution 1, is corrupt at event 2 \
         (ActivityCompleted): it names event 42 as its ActivityScheduled, but there is no such \
         event before it"
    );
}

#[test]
fn every_fault_reads_as_a_sentence() {
    let source = |found| HistoryFault::BadSource {
        source_event_id: EventId::new(2),
        expected: EventKind::TimerCreated,
        found,
    };
    let faults = [
        (
            HistoryFault::NotStarted,
            "a history begins with OrchestrationStarted",
        ),
        (HistoryFault::StartedAgain, "an execution starts only once"),
        (
            HistoryFault::WrongPosition {
                expected: EventId::new(4),
            },
            "event 4 belongs here",
        ),
        (
            HistoryFault::TimeWentBack {
                recorded_at_ms: 1,
                previous_ms: 2,
            },
            "it was recorded at 1 ms, the event before it at 2 ms",
        ),
        (
            HistoryFault::FiredEarly {
                recorded_at_ms: 1,
                fire_at_ms: 2,
            },
            "it was recorded at 1 ms but due at 2 ms",
        ),
        (
            HistoryFault::AfterTerminal {
                terminal: EventKind::OrchestrationFailed,
            },
            "the execution had ended with OrchestrationFailed",
        ),
        (
            source(SourceFault::OtherKind(EventKind::StateSet)),
            "it names event 2 as its TimerCreated, but that is a StateSet",
        ),
        (
            source(SourceFault::AlreadyCompleted),
            "it names event 2 as its TimerCreated, but that was completed before",
        ),
        (
            source(SourceFault::AlreadyCancelled),
            "it names event 2 as its TimerCreated, but that was cancelled before",
        ),
        (
            source(SourceFault::NotOpen),
            "it names event 2 as its TimerCreated, but that was never scheduled or was \
             completed before",
        ),
    ];
    for (fault, expected) in faults {
        let corruption = Corruption::new(
            "order-7".into(),
            ExecutionId::new(3),
            EventId::new(5),
            EventKind::TimerFired,
            fault,
        );
        let sentence = format!(
            "the history of instance `order-7`, execution 3, is corrupt at event 5 \
             (TimerFired): {expected}"
        );
        assert_eq!(corruption.to_string(), sentence);
        let error = CursorError::Corrupt(Box::new(corruption));
        assert_eq!(error.to_string(), sentence);
        let source = std::error::Error::source(&error).unwrap();
        assert_eq!(source.to_string(), sentence);
    }
}

#[test]
fn no_payload_leaks_into_a_sentence() {
    const SECRET: &str = "\"4111-1111\"";
    const OTHER: &str = "\"4222-2222\"";
    let secret_failure = || failure(SECRET).with_details(SECRET);
    let recorded = [
        scheduled("a", SECRET),
        child_scheduled("c", "c-1", SECRET),
        state_set("k", SECRET),
        view_published("cart", SECRET),
        event_sent("o", "n", SECRET),
        operation("r", Ok(SECRET.into())),
        operation("r", Err(secret_failure())),
        returned(SECRET),
        gave_up(secret_failure()),
        raised("e", SECRET, "m1"),
    ];
    for event in recorded {
        let mut code = Driver::after(Past::of([event]));
        code.activity("a", OTHER);
        code.child("c", Some("c-1"), OTHER);
        code.set("other", OTHER);
        code.send("other", "n", OTHER);
        code.returns(OTHER);
        let error = code.cursor.flush().unwrap_err();
        let sentence = error.to_string();
        assert!(sentence.starts_with("determinism violation"), "{sentence}");
        assert!(!sentence.contains("4111"), "{sentence}");
        assert!(!sentence.contains("4222"), "{sentence}");
        assert!(std::error::Error::source(&error).is_some());
    }
}

#[test]
fn every_difference_has_words_of_its_own() {
    let all = [
        Difference::Kind,
        Difference::Name,
        Difference::Input,
        Difference::Instance,
        Difference::Key,
        Difference::Number,
        Difference::Target,
        Difference::Source,
        Difference::Patch,
        Difference::Ending,
        Difference::CommandWhereInput,
        Difference::CommandMissing,
    ];
    let mut words: Vec<String> = all.iter().map(ToString::to_string).collect();
    words.sort();
    words.dedup();
    assert_eq!(words.len(), all.len());
}
