//! The end of an execution, by the code or from outside, and that nothing comes
//! after it.

use durable_core::{
    CursorError, Difference, DropReason, Ending, Event, EventKind, HistoryFault, OpPoll,
};

use super::driver::{Driver, everywhere};
use super::events::{
    at, cancel_requested, completed, continued, failure, gave_up, raised, returned, scheduled,
    started, terminated, timer_created, value,
};
use super::past::Past;
use super::shown::json;

#[test]
fn each_way_to_return_is_recorded_and_found_again() {
    let endings: [(fn() -> Ending, Event); 3] = [
        (|| Ending::Completed { output: "1".into() }, returned("1")),
        (
            || Ending::Failed {
                failure: failure("no"),
            },
            gave_up(failure("no")),
        ),
        (
            || Ending::ContinuedAsNew {
                input: "8".into(),
                version: None,
            },
            continued("8"),
        ),
    ];
    for (ending, event) in endings {
        everywhere(|code| {
            code.cursor.finish(ending());
            assert!(!code.cursor.has_ended());
            code.flush();
            assert!(code.cursor.has_ended());
            code.has_stored([event.clone()]);
        });
    }
}

#[test]
fn the_first_end_counts() {
    let mut code = Driver::live();
    code.returns("1");
    code.returns("2");
    code.flush();
    code.has_stored([returned("1")]);
    code.done();
}

#[test]
fn nothing_is_accepted_after_the_end() {
    let mut code = Driver::live();
    let a = code.activity("a", "1");
    let (promise, _) = code.promise("p");
    code.flush();
    code.returns("1");
    code.flush();
    for late in [
        completed(2, "1"),
        raised("e", "1", "m1"),
        cancel_requested("late"),
        started(),
        terminated(),
    ] {
        code.ignores(late, DropReason::Ended);
    }
    // The root is dropped: its futures are closed, and may be polled for all we care.
    code.drop(a);
    code.polls(promise);
    code.flush();
    code.done();
}

#[test]
fn a_command_after_the_end_is_a_bug_of_the_driver() {
    let mut code = Driver::live();
    code.returns("1");
    code.flush();
    code.activity("late", "1");
    let error = code.cursor.flush().unwrap_err();
    assert_eq!(
        error.to_string(),
        "`Cursor::flush` was called outside of an execution"
    );
    assert_eq!(code.appended(), []);
}

#[test]
fn a_history_that_goes_on_after_its_end_is_corrupt() {
    for (end, kind) in [
        (returned("1"), EventKind::OrchestrationCompleted),
        (continued("8"), EventKind::OrchestrationContinuedAsNew),
        (terminated(), EventKind::OrchestrationTerminated),
    ] {
        for late in [scheduled("a", "1"), raised("e", "1", "m1"), terminated()] {
            let past = Past::of([end.clone(), late]);
            let fault = HistoryFault::AfterTerminal { terminal: kind };
            let corruption = past.clone().history().validate().unwrap_err();
            assert_eq!(corruption.fault, fault);
            let mut code = Driver::unstarted(past.entries(), usize::MAX);
            let error = code.advance().unwrap_err();
            assert_eq!(error, CursorError::Corrupt(Box::new(corruption)));
        }
    }
}

#[test]
fn another_end_is_refused() {
    let past = || Past::of([returned(r#"{"a":1}"#)]);
    let mut code = Driver::after(past());
    code.returns(r#"{ "a": 1 }"#);
    code.flush();
    code.done();

    let mut code = Driver::after(past());
    code.returns("2");
    code.is_refused_at(2, Difference::Ending);

    let mut code = Driver::after(past());
    code.cursor.finish(Ending::Failed {
        failure: failure("no"),
    });
    code.is_refused_at(2, Difference::Kind);
}

#[test]
fn every_part_of_an_end_is_compared() {
    let no = || failure("no");
    let past = || Past::of([gave_up(no().with_details("1"))]);
    for other in [
        failure("nope").with_details("1"),
        no().with_details("2"),
        no(),
        no().with_details("1").not_retryable(),
        durable_core::Failure::application("other", "no").with_details("1"),
    ] {
        let mut code = Driver::after(past());
        code.cursor.finish(Ending::Failed { failure: other });
        code.is_refused_at(2, Difference::Ending);
    }
    for (input, version) in [("9", None), ("8", Some("1.0.0".into()))] {
        let mut code = Driver::after(Past::of([continued("8")]));
        let input = input.into();
        code.cursor
            .finish(Ending::ContinuedAsNew { input, version });
        code.is_refused_at(2, Difference::Ending);
    }
}

#[test]
fn a_termination_between_two_steps_ends_the_execution() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        code.flush();
        code.rests();
        code.is_terminated(terminated());
        code.polls(a);
        code.drop(a);
        code.flush();
        code.has_stored([scheduled("a", "1"), terminated()]);
    });
}

#[test]
fn a_termination_within_a_step_ends_the_execution_where_it_stood() {
    // Live: the poll was not flushed, for the code panicked in it.
    let step = |code: &mut Driver| {
        let a = code.activity("a", "1");
        code.flush();
        code.input(completed(2, "1"));
        code.takes(a, value("1"));
        code.activity("b", "1");
        code.flush();
        // A poll of its own: the root woke itself.
        code.timer(5_000);
    };
    let mut live = Driver::live();
    step(&mut live);
    let _ = live.cursor.deliver(terminated(), 2_000).unwrap();
    assert!(live.cursor.has_ended());
    let appended = live.appended();
    assert_eq!(appended.len(), 1);
    assert_eq!(json(&appended[0].event), json(&at(5, &terminated())));
    live.flush();

    // In replay, code that does not panic is cut off at the same point.
    let past = Past::of([
        scheduled("a", "1"),
        completed(2, "1"),
        scheduled("b", "1"),
        terminated(),
    ]);
    let mut again = Driver::after(past);
    step(&mut again);
    again.flush();
    again.rests();
    again.is_terminated(terminated());
    again.done();
}

#[test]
fn a_termination_among_the_outputs_of_a_poll_cuts_off_the_rest() {
    let past = Past::of([scheduled("a", "1"), terminated()]);
    let mut code = Driver::after(past);
    let b = code.activity("b", "1");
    code.activity("a", "1");
    code.returns("1");
    code.flush();
    code.rests();
    code.drop(b);
    code.is_terminated(terminated());
    code.done();
}

#[test]
fn a_termination_does_not_excuse_what_was_recorded_before_it() {
    let past = || Past::of([scheduled("a", "1"), timer_created(5_000), terminated()]);
    let mut code = Driver::after(past());
    code.activity("a", "2");
    code.is_refused_at(2, Difference::Input);

    let mut code = Driver::after(past());
    code.activity("a", "1");
    code.flush();
    code.misses(3);
}

#[test]
fn values_that_wait_at_a_termination_are_not_granted() {
    let past = Past::of([scheduled("a", "1"), completed(2, "1"), terminated()]);
    let mut code = Driver::after(past);
    let a = code.activity("a", "1");
    code.flush();
    code.input(completed(2, "1"));
    code.rests();
    assert_eq!(code.cursor.poll(a), OpPoll::Pending);
    code.is_terminated(terminated());
    code.done();
}
