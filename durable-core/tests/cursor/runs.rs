//! Recorded side effects: executed once, looked up ever after.

use durable_core::{Difference, OpPoll, Outcome};

use super::driver::{Driver, everywhere};
use super::events::{
    completed, failure, failure_of, ok, operation, raised, scheduled, terminated, value,
};
use super::past::Past;

#[test]
fn a_run_is_executed_live_and_taken_from_the_history_in_replay() {
    everywhere(|code| {
        let run = code.run("now");
        code.flush();
        code.executes(run, ok("7"));
        code.flush();
        code.rests();
        code.has_stored([operation("now", ok("7"))]);
    });
}

#[test]
fn a_run_that_failed_fails_again() {
    everywhere(|code| {
        let run = code.run("now");
        code.flush();
        code.executes(run, Err(failure("no clock")));
        code.flush();
        code.has_stored([operation("now", Err(failure("no clock")))]);
    });
    let mut code = Driver::after(Past::of([operation("now", Err(failure("no clock")))]));
    let run = code.run("now");
    code.flush();
    code.takes(run, failure_of("no clock"));
    code.flush();
    code.done();
}

#[test]
fn replay_takes_the_recorded_result_and_never_executes() {
    let mut code = Driver::after(Past::of([
        operation("now", ok("7")),
        operation("now", ok("8")),
    ]));
    for recorded in ["7", "8"] {
        let run = code.run("now");
        code.flush();
        code.takes(run, value(recorded));
        code.flush();
    }
    code.done();
}

#[test]
fn code_after_a_run_goes_on_in_the_same_poll() {
    everywhere(|code| {
        let run = code.run("now");
        code.flush();
        code.executes(run, ok("7"));
        let a = code.activity("a", "7");
        code.set("k", "7");
        code.flush();
        code.input(completed(3, "1"));
        code.takes(a, value("1"));
        code.flush();
    });
}

#[test]
fn a_run_may_take_several_polls_and_nothing_else_is_granted_meanwhile() {
    let mut code = Driver::live();
    let first = code.run("first");
    let second = code.run("second");
    code.flush();
    assert!(code.cursor.grant().unwrap().unwrap().executes);
    for _ in 0..3 {
        assert_eq!(code.cursor.poll(first), OpPoll::Execute);
        assert!(code.cursor.is_running());
        code.polls(second);
        code.flush();
        code.rests();
    }
    code.cursor.complete_run(first, ok("1"));
    assert!(!code.cursor.is_running());
    code.flush();
    code.executes(second, ok("2"));
    code.flush();
    code.has_stored([operation("first", ok("1")), operation("second", ok("2"))]);
    code.done();
}

#[test]
fn runs_of_one_poll_execute_one_at_a_time_in_the_order_of_their_names() {
    for names in [["a", "b", "c"], ["c", "a", "b"]] {
        everywhere(|code| {
            let mut runs = names.map(|name| (name, code.run(name)));
            code.flush();
            runs.sort_by_key(|(name, _)| *name);
            for (name, run) in runs {
                code.executes(run, ok(&format!("\"{name}\"")));
                code.flush();
            }
        });
    }
}

#[test]
fn runs_of_one_name_in_one_poll_execute_in_the_order_of_their_creation() {
    everywhere(|code| {
        let runs = [code.run("now"), code.run("now"), code.run("now")];
        code.flush();
        for (number, run) in runs.into_iter().enumerate() {
            code.executes(run, ok(&number.to_string()));
            code.flush();
        }
    });
}

#[test]
fn runs_of_two_polls_execute_in_the_order_of_the_polls() {
    everywhere(|code| {
        let b = code.run("b");
        code.flush();
        let a = code.run("a");
        code.flush();
        code.executes(b, ok("1"));
        code.flush();
        code.executes(a, ok("2"));
        code.flush();
    });
}

#[test]
fn runs_created_in_another_order_still_get_their_own_results() {
    let past = Past::of([operation("a", ok("\"a\"")), operation("b", ok("\"b\""))]);
    let mut code = Driver::after(past);
    let b = code.run("b");
    let a = code.run("a");
    code.flush();
    code.takes(a, value("\"a\""));
    code.flush();
    code.takes(b, value("\"b\""));
    code.flush();
    code.done();
}

#[test]
fn a_run_whose_grant_lapses_is_executed_when_it_is_polled_again() {
    everywhere(|code| {
        let run = code.run("later");
        let a = code.activity("a", "1");
        code.flush();
        code.run_lapses(run);
        code.rests();
        code.input(completed(2, "1"));
        code.takes(a, value("1"));
        code.polls(run);
        code.flush();
        code.executes(run, ok("7"));
        code.flush();
    });
}

#[test]
fn a_run_whose_grant_lapses_does_not_hold_up_the_next() {
    everywhere(|code| {
        let lapses = code.run("a");
        let goes_on = code.run("b");
        code.flush();
        code.run_lapses(lapses);
        code.executes(goes_on, ok("2"));
        let a = code.activity("a", "1");
        code.flush();
        code.rests();
        code.input(completed(3, "1"));
        code.takes(a, value("1"));
        code.flush();
        code.polls(lapses);
        code.flush();
        code.executes(lapses, ok("1"));
        code.flush();
    });
}

#[test]
fn a_run_that_is_never_polled_again_is_never_executed() {
    everywhere(|code| {
        let run = code.run("never");
        let a = code.activity("a", "1");
        code.flush();
        code.run_lapses(run);
        code.input(completed(2, "1"));
        code.takes(a, value("1"));
        code.drop(run);
        code.returns("1");
        code.flush();
        assert_eq!(code.events_from(5), []);
    });
}

#[test]
fn runs_and_values_are_granted_in_the_order_of_arrival() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        let e = code.external("e");
        code.flush();
        code.input(raised("e", "1", "m1"));
        code.lapses(e);
        code.input(completed(2, "1"));
        code.takes(a, value("1"));
        let run = code.run("now");
        code.polls(e);
        code.flush();
        // The event arrived before the run was called.
        code.takes(e, value("1"));
        code.flush();
        code.executes(run, ok("7"));
        code.flush();
    });
}

#[test]
fn a_run_goes_before_an_event_that_its_own_poll_subscribed_to() {
    for run_first in [false, true] {
        everywhere(|code| {
            let a = code.activity("a", "1");
            code.flush();
            code.input(raised("e", "1", "m1"));
            code.input(completed(2, "1"));
            code.takes(a, value("1"));
            let (run, e) = if run_first {
                let run = code.run("now");
                (run, code.external("e"))
            } else {
                let e = code.external("e");
                (code.run("now"), e)
            };
            code.flush();
            code.executes(run, ok("7"));
            code.flush();
            code.takes(e, value("1"));
            code.flush();
        });
    }
}

#[test]
fn a_run_that_the_history_does_not_have_is_refused() {
    // Where an input follows.
    let mut code = Driver::after(Past::of([scheduled("a", "1"), completed(2, "1")]));
    code.activity("a", "1");
    let run = code.run("now");
    code.flush();
    assert!(!code.cursor.grant().unwrap().unwrap().executes);
    code.polls(run);
    let violation = code.is_refused_at(3, Difference::CommandWhereInput);
    assert_eq!(violation.command_id.unwrap().to_string(), "Run(0)");

    // Where another command follows, of the same poll or of another.
    let past = || Past::of([scheduled("a", "1"), scheduled("b", "1"), completed(2, "1")]);
    let mut code = Driver::after(past());
    let run = code.run("now");
    code.flush();
    assert!(!code.cursor.grant().unwrap().unwrap().executes);
    code.polls(run);
    code.is_refused_at(2, Difference::Kind);

    let mut code = Driver::after(past());
    let run = code.run("now");
    code.flush();
    assert!(!code.cursor.grant().unwrap().unwrap().executes);
    code.activity("a", "1");
    code.polls(run);
    code.is_refused_at(3, Difference::Kind);

    // Where the history ends.
    let mut code = Driver::after(Past::of([scheduled("a", "1")]));
    let run = code.run("now");
    code.flush();
    assert!(!code.cursor.grant().unwrap().unwrap().executes);
    code.activity("a", "1");
    code.polls(run);
    code.is_refused_at(2, Difference::Kind);
}

#[test]
fn a_run_of_another_name_is_refused() {
    let mut code = Driver::after(Past::of([scheduled("a", "1"), operation("then", ok("7"))]));
    code.activity("a", "1");
    let run = code.run("now");
    code.flush();
    assert!(!code.cursor.grant().unwrap().unwrap().executes);
    code.polls(run);
    let violation = code.is_refused_at(3, Difference::Name);
    assert_eq!(violation.command_id.unwrap().to_string(), "Run(0)");
}

#[test]
fn a_run_that_the_code_no_longer_makes_is_refused() {
    let past = || {
        Past::of([
            operation("now", ok("7")),
            scheduled("a", "1"),
            completed(3, "1"),
        ])
    };
    let mut code = Driver::after(past());
    code.activity("a", "1");
    code.is_refused_at(2, Difference::Kind);

    let mut code = Driver::after(past());
    code.misses(2);
}

#[test]
fn a_run_that_was_dropped_before_its_grant_leaves_no_trace() {
    everywhere(|code| {
        let dropped = code.run("a");
        code.flush();
        code.drop(dropped);
        let kept = code.run("b");
        code.flush();
        code.executes(kept, ok("1"));
        code.flush();
        code.has_stored([operation("b", ok("1"))]);
    });
}

#[test]
fn a_run_that_is_dropped_while_it_executes_leaves_no_trace() {
    let mut code = Driver::live();
    let run = code.run("now");
    code.flush();
    assert!(code.cursor.grant().unwrap().unwrap().executes);
    assert_eq!(code.cursor.poll(run), OpPoll::Execute);
    code.drop(run);
    assert!(!code.cursor.is_running());
    code.flush();
    // Too late.
    code.cursor.complete_run(run, ok("1"));
    code.flush();
    code.has_stored([]);
    code.done();
}

#[test]
fn an_execution_that_was_ended_while_a_run_executed_replays_to_that_point() {
    let mut code = Driver::live();
    code.activity("a", "1");
    let run = code.run("now");
    code.flush();
    assert!(code.cursor.grant().unwrap().unwrap().executes);
    assert_eq!(code.cursor.poll(run), OpPoll::Execute);
    // It panicked.
    let delivery = code.cursor.deliver(terminated(), 2_000);
    assert!(delivery.is_ok());
    let ended = code.cursor.take_appended();
    code.drop(run);
    assert!(code.cursor.has_ended());
    assert_eq!(ended.len(), 1);

    let mut code = Driver::after(Past::of([scheduled("a", "1"), terminated()]));
    code.activity("a", "1");
    code.run("now");
    code.flush();
    code.rests();
    code.is_terminated(terminated());
    code.done();
}

#[test]
fn a_result_of_a_run_that_was_not_executed_is_not_recorded() {
    let mut code = Driver::live();
    let run = code.run("now");
    code.flush();
    code.cursor.complete_run(run, ok("1"));
    code.flush();
    code.has_stored([]);
    code.executes(run, ok("2"));
    code.flush();
    code.cursor.complete_run(run, ok("3"));
    code.flush();
    code.has_stored([operation("now", ok("2"))]);
    code.done();
}

#[test]
fn an_outcome_is_made_of_a_result() {
    assert_eq!(Outcome::from(ok("1")), value("1"));
    assert_eq!(Outcome::from(Err(failure("no"))), failure_of("no"));
}
