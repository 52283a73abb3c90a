//! Entries that do not follow one another as they must, and the times at which
//! entries are recorded.

use durable_core::{
    Corruption, CursorError, Delivery, Event, EventId, EventKind, ExecutionId, HistoryFault,
    Outcome, SourceFault,
};

use super::driver::{Driver, everywhere};
use super::events::{
    INSTANCE, activity_cancelled, completed, fired, raised, scheduled, started, terminated,
    timer_cancelled, timer_created,
};
use super::past::Past;

/// Both the cursor and the validation of the whole say so.
fn is_corrupt(past: &Past, event_id: u64, kind: EventKind, fault: HistoryFault) {
    let (execution_id, event_id) = (ExecutionId::FIRST, EventId::new(event_id));
    let expected = Corruption::new(INSTANCE.into(), execution_id, event_id, kind, fault);
    assert_eq!(past.clone().history().validate(), Err(expected.clone()));
    for page in [1, 2, usize::MAX] {
        let mut code = Driver::unstarted(past.clone().entries(), page);
        let error = loop {
            match code.advance() {
                Ok(durable_core::Advance::Started(_)) => {
                    code.timer(2_000);
                    code.flush();
                }
                Ok(durable_core::Advance::Input) => {
                    let _ = code.cursor.grant().unwrap();
                    code.flush();
                }
                Ok(other) => panic!("{other:?}"),
                Err(error) => break error,
            }
        };
        assert_eq!(error, CursorError::Corrupt(Box::new(expected.clone())));
    }
}

fn wrong_position(expected: u64) -> HistoryFault {
    HistoryFault::WrongPosition {
        expected: EventId::new(expected),
    }
}

#[test]
fn the_first_event_is_event_one() {
    for position in [0, 2, 7] {
        let past = Past::empty().and_at(position, &started());
        is_corrupt(
            &past,
            position,
            EventKind::OrchestrationStarted,
            wrong_position(1),
        );
    }
}

#[test]
fn the_first_event_is_the_start() {
    let past = Past::empty().and(timer_created(2_000));
    is_corrupt(&past, 1, EventKind::TimerCreated, HistoryFault::NotStarted);
    let past = Past::empty().and(terminated());
    is_corrupt(
        &past,
        1,
        EventKind::OrchestrationTerminated,
        HistoryFault::NotStarted,
    );
}

#[test]
fn an_execution_starts_only_once() {
    let past = Past::of([timer_created(2_000), started()]);
    is_corrupt(
        &past,
        3,
        EventKind::OrchestrationStarted,
        HistoryFault::StartedAgain,
    );
}

#[test]
fn positions_have_no_gaps_and_no_repetitions() {
    for wrong in [0, 1, 2, 4, 5, u64::MAX] {
        let past = Past::of([timer_created(2_000)])
            .at_ms(2_000)
            .and_at(wrong, &fired(2, 2_000));
        is_corrupt(&past, wrong, EventKind::TimerFired, wrong_position(3));
    }
}

#[test]
fn times_never_go_back() {
    let past = Past::of([timer_created(2_000)])
        .at_ms(999)
        .and(raised("e", "1", "m1"));
    let fault = HistoryFault::TimeWentBack {
        recorded_at_ms: 999,
        previous_ms: 1_000,
    };
    is_corrupt(&past, 3, EventKind::ExternalEvent, fault);
}

#[test]
fn a_timer_is_not_recorded_before_it_was_due() {
    let past = Past::of([timer_created(2_000)])
        .at_ms(1_999)
        .and(fired(2, 2_000));
    let fault = HistoryFault::FiredEarly {
        recorded_at_ms: 1_999,
        fire_at_ms: 2_000,
    };
    is_corrupt(&past, 3, EventKind::TimerFired, fault);
}

#[test]
fn the_whole_history_is_told_what_the_cursor_cannot_remember() {
    let bad_source = |events: Vec<Event>, source: u64, expected: EventKind, found: SourceFault| {
        let corruption = Past::of(events.clone()).history().validate().unwrap_err();
        assert_eq!(corruption.event_id, EventId::new(events.len() as u64 + 1));
        let source_event_id = EventId::new(source);
        assert_eq!(
            corruption.fault,
            HistoryFault::BadSource {
                source_event_id,
                expected,
                found,
            }
        );
    };
    let activity = EventKind::ActivityScheduled;
    let started = SourceFault::OtherKind(EventKind::OrchestrationStarted);
    bad_source(vec![completed(1, "1")], 1, activity, started);
    bad_source(
        vec![completed(2, "1")],
        2,
        activity,
        SourceFault::NoSuchEvent,
    );
    let done = vec![scheduled("a", "1"), completed(2, "1")];
    let and = |mut events: Vec<Event>, event| {
        events.push(event);
        events
    };
    let twice = SourceFault::AlreadyCompleted;
    bad_source(and(done.clone(), completed(2, "2")), 2, activity, twice);
    bad_source(and(done, activity_cancelled(2)), 2, activity, twice);
    let cancelled = vec![scheduled("a", "1"), activity_cancelled(2)];
    let late = and(cancelled.clone(), completed(2, "1"));
    assert_eq!(Past::of(late).history().validate(), Ok(()));
    let again = SourceFault::AlreadyCancelled;
    bad_source(and(cancelled, activity_cancelled(2)), 2, activity, again);
    let kind = SourceFault::OtherKind(activity);
    let wrong = vec![scheduled("a", "1"), timer_cancelled(2)];
    bad_source(wrong, 2, EventKind::TimerCreated, kind);
}

#[test]
fn an_input_is_recorded_at_the_time_of_the_store_and_its_outputs_with_it() {
    let mut code = Driver::unstarted(Vec::new(), 1);
    assert!(code.advance().is_ok());
    let mut deliver = |event, now_ms| {
        let delivery = code.cursor.deliver(event, now_ms).unwrap();
        assert_eq!(delivery, Delivery::Accepted);
        let seen_ms = code.cursor.now_ms();
        code.timer(4_000);
        code.cursor.flush().unwrap();
        let appended = code.cursor.take_appended();
        let times = appended
            .iter()
            .map(|appended| appended.entry.recorded_at_ms);
        let times: Vec<u64> = times.collect();
        assert_eq!(times, [seen_ms, seen_ms]);
        seen_ms
    };
    assert_eq!(deliver(started(), 1_000), 1_000);
    assert_eq!(deliver(raised("e", "1", "m1"), 1_500), 1_500);
    // The clock of the store went back.
    assert_eq!(deliver(raised("e", "1", "m2"), 1_200), 1_500);
    // A timer fires by another clock.
    assert_eq!(deliver(fired(2, 4_000), 3_999), 4_000);
    assert!(code.cursor.grant().unwrap().is_some());
    code.cursor.flush().unwrap();
    assert_eq!(code.cursor.now_ms(), 4_000);
    // What is imposed is no input: the code does not see its time.
    let _ = code.cursor.deliver(terminated(), 9_000).unwrap();
    assert_eq!(code.cursor.take_appended()[0].entry.recorded_at_ms, 9_000);
    assert_eq!(code.cursor.now_ms(), 4_000);
}

#[test]
fn the_code_sees_the_recorded_time_of_the_latest_input() {
    let past = Past::of([timer_created(2_000), timer_created(3_000)])
        .at_ms(2_500)
        .and(fired(2, 2_000));
    let mut code = Driver::after(past);
    assert_eq!(code.cursor.now_ms(), 1_000);
    let first = code.timer(2_000);
    let second = code.timer(3_000);
    code.flush();
    code.input(fired(2, 2_000));
    assert_eq!(code.cursor.now_ms(), 2_500);
    code.takes(first, Outcome::Fired);
    code.flush();
    // A new input is not recorded before the latest one.
    code.input(fired(3, 3_000));
    assert_eq!(code.cursor.now_ms(), 3_000);
    code.takes(second, Outcome::Fired);
    code.flush();
    code.done();
}

#[test]
fn replay_shows_the_times_that_were_shown_then() {
    everywhere(|code| {
        assert_eq!(code.cursor.now_ms(), 1_000);
        let a = code.activity("a", "1");
        code.flush();
        code.input(completed(2, "1"));
        assert_eq!(code.cursor.now_ms(), 1_010);
        code.takes(a, super::events::value("1"));
        code.flush();
        code.input(raised("e", "1", "m1"));
        assert_eq!(code.cursor.now_ms(), 1_020);
    });
}
