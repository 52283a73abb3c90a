//! A driver that calls out of turn: an error that names the call, or nothing, but
//! never a panic and never a history that cannot be replayed.

use durable_core::{Advance, CursorError, Delivery, DropReason, Event, OpPoll};

use super::driver::Driver;
use super::events::{completed, ok, raised, scheduled, started, terminated, value};
use super::past::Past;

fn out_of_turn<T: std::fmt::Debug>(answer: Result<T, CursorError>, sentence: &str) {
    let error = answer.unwrap_err();
    assert!(matches!(error, CursorError::OutOfTurn { .. }));
    assert_eq!(error.to_string(), sentence);
    assert!(std::error::Error::source(&error).is_none());
}

#[test]
fn keys_of_operations_that_are_gone_do_nothing() {
    let mut code = Driver::live();
    let taken = code.activity("a", "1");
    let dropped = code.activity("b", "1");
    code.flush();
    code.drop(dropped);
    code.flush();
    code.input(completed(2, "1"));
    code.takes(taken, value("1"));
    code.flush();
    // Other operations have their slots by now.
    let run = code.run("r");
    let open = code.activity("c", "1");
    assert!([run, open].iter().any(|key| key.slot() == taken.slot()));
    for gone in [taken, dropped] {
        assert!(![run, open].contains(&gone));
        code.polls(gone);
        code.drop(gone);
        code.drop(gone);
        code.cursor.complete_run(gone, ok("1"));
    }
    code.flush();
    code.executes(run, ok("1"));
    code.flush();
    assert_eq!(code.cursor.open_operations(), 1);
    assert_eq!(code.events_from(6).len(), 2);
    code.done();
}

#[test]
fn an_activity_cannot_be_completed_as_a_run() {
    let mut code = Driver::live();
    let a = code.activity("a", "1");
    code.flush();
    code.cursor.complete_run(a, ok("1"));
    code.flush();
    code.has_stored([scheduled("a", "1")]);
    code.done();
}

#[test]
fn two_grants_for_one_poll_are_refused() {
    let mut code = Driver::live();
    let runs = [code.run("a"), code.run("b")];
    code.flush();
    assert_eq!(code.cursor.grant().unwrap().unwrap().key, runs[0]);
    let sentence = "`Cursor::grant` was called before the poll was flushed";
    out_of_turn(code.cursor.grant(), sentence);
}

#[test]
fn a_grant_before_the_flush_is_refused() {
    let mut code = Driver::live();
    code.run("a");
    let sentence = "`Cursor::grant` was called before the poll was flushed";
    out_of_turn(code.cursor.grant(), sentence);
}

/// All the ways in which a step is not over.
fn unfinished_steps(history: &Past) -> Vec<Driver> {
    let step = |go: fn(&mut Driver)| {
        let mut code = Driver::after(history.clone());
        go(&mut code);
        code
    };
    vec![
        // Not flushed.
        step(|code| {
            code.activity("a", "1");
        }),
        // Not granted.
        step(|code| {
            code.run("a");
            code.flush();
        }),
        // Not polled.
        step(|code| {
            code.run("a");
            code.flush();
            assert!(code.cursor.grant().unwrap().is_some());
        }),
    ]
}

#[test]
fn an_input_within_a_step_is_refused() {
    for mut code in unfinished_steps(&Past::started()) {
        let sentence = "`Cursor::deliver` was called before the step was over";
        let event = raised("e", "1", "m1");
        out_of_turn(code.cursor.deliver(event, 2_000), sentence);
    }
    let mut code = Driver::live();
    let run = code.run("a");
    code.flush();
    assert!(code.cursor.grant().unwrap().is_some());
    assert_eq!(code.cursor.poll(run), OpPoll::Execute);
    code.flush();
    let sentence = "`Cursor::advance` was called before the step was over";
    out_of_turn(code.cursor.advance(), sentence);
}

#[test]
fn the_next_recorded_input_within_a_step_is_refused() {
    for mut code in unfinished_steps(&Past::of([raised("e", "1", "m1")])) {
        let sentence = "`Cursor::advance` was called before the step was over";
        out_of_turn(code.cursor.advance(), sentence);
    }
}

#[test]
fn an_input_that_is_dropped_or_imposed_does_not_wait_for_the_step() {
    for mut code in unfinished_steps(&Past::started()) {
        let late = code.cursor.deliver(completed(9, "1"), 2_000);
        assert_eq!(late, Ok(Delivery::Dropped(DropReason::NotOpen)));
        let end = code.cursor.deliver(terminated(), 2_000);
        assert_eq!(end, Ok(Delivery::Accepted));
        assert_eq!(code.cursor.advance(), Ok(Advance::Ended));
        assert_eq!(code.cursor.take_appended().len(), 1);
    }
}

#[test]
fn a_new_input_before_the_end_of_the_history_is_refused() {
    let sentence = "`Cursor::deliver` was called before the history was replayed";
    let mut code = Driver::after(Past::of([raised("e", "1", "m1")]));
    out_of_turn(code.cursor.deliver(raised("e", "2", "m2"), 2_000), sentence);
    // Also when nothing was said about a history at all.
    let mut code = Driver::unstarted(Vec::new(), 1);
    out_of_turn(code.cursor.deliver(started(), 2_000), sentence);
}

#[test]
fn an_output_is_no_input() {
    let sentence = "`Cursor::deliver` was called with an event that is no input";
    for event in [scheduled("a", "1"), super::events::returned("1")] {
        let mut code = Driver::live();
        out_of_turn(code.cursor.deliver(event, 2_000), sentence);
    }
}

#[test]
fn an_input_before_the_start_is_refused() {
    let sentence = "`Cursor::deliver` was called before the execution was started";
    for event in [raised("e", "1", "m1"), terminated()] {
        let mut code = Driver::unstarted(Vec::new(), 1);
        assert_eq!(code.advance(), Ok(Advance::Live));
        out_of_turn(code.cursor.deliver(event, 2_000), sentence);
    }
}

#[test]
fn a_second_start_is_dropped() {
    let mut code = Driver::live();
    code.ignores(started(), DropReason::AlreadyStarted);
    code.done();
}

#[test]
fn an_entry_after_the_end_of_the_history_is_refused() {
    let mut code = Driver::live();
    code.activity("a", "1");
    code.flush();
    let entry = Past::of([scheduled("a", "1")]).entries().remove(1);
    let sentence = "`Cursor::feed` was called after the end of the history";
    out_of_turn(code.cursor.feed(entry), sentence);
}

#[test]
fn commands_before_the_start_are_refused() {
    let mut code = Driver::unstarted(Vec::new(), 1);
    code.activity("a", "1");
    let sentence = "`Cursor::flush` was called outside of an execution";
    out_of_turn(code.cursor.flush(), sentence);
}

#[test]
fn the_order_of_calls_is_free_where_nothing_happens() {
    let mut code = Driver::unstarted(Vec::new(), 1);
    assert_eq!(code.cursor.grant(), Ok(None));
    assert_eq!(code.cursor.flush(), Ok(()));
    assert_eq!(code.cursor.advance(), Ok(Advance::NeedsHistory));
    code.cursor.end_of_history();
    code.cursor.end_of_history();
    assert_eq!(code.cursor.advance(), Ok(Advance::Live));
    assert_eq!(code.cursor.advance(), Ok(Advance::Live));
    assert_eq!(code.cursor.flush(), Ok(()));
    assert_eq!(code.cursor.grant(), Ok(None));
    assert!(matches!(
        code.cursor.deliver(started(), 1),
        Ok(Delivery::Accepted)
    ));
    let appended = code.appended();
    assert!(matches!(
        appended[0].event,
        Event::OrchestrationStarted { .. }
    ));
    assert_eq!(code.appended(), []);
}
