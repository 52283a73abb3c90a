//! Looks for external events: answered at the end of the poll, in vain without a trace.

use durable_core::{Difference, Ending, OpKey, Outcome};

use super::driver::{Driver, everywhere};
use super::events::{cancel_requested, cancelled, completed, raised, scheduled, subscribed, value};
use super::past::Past;
use super::shown::json;

/// Looks, and takes what the look gives.
fn finds(code: &mut Driver, name: &str, data: &str) {
    let look = code.look(name);
    code.flush();
    code.takes(look, value(data));
}

/// Looks in vain.
fn finds_nothing(code: &mut Driver, name: &str) {
    let look = code.look(name);
    code.flush();
    code.takes(look, Outcome::Nothing);
}

/// Has a reason to be polled again: the result of activity `n`, which event `n` scheduled.
fn begins(code: &mut Driver) -> OpKey {
    let begun = code.activity("a", "1");
    code.flush();
    begun
}

#[test]
fn a_look_in_vain_leaves_no_trace() {
    everywhere(|code| {
        finds_nothing(code, "go");
        finds_nothing(code, "go");
        code.flush();
        assert_eq!(code.cursor.open_operations(), 0);
        code.has_stored([]);
    });
}

#[test]
fn a_look_takes_what_is_there_oldest_first_and_then_nothing() {
    everywhere(|code| {
        let begun = begins(code);
        code.input(raised("go", "1", "m1"));
        code.input(raised("stop", "9", "m9"));
        code.input(raised("go", "2", "m2"));
        code.input(completed(2, "1"));
        code.takes(begun, value("1"));
        finds(code, "go", "1");
        finds(code, "go", "2");
        finds_nothing(code, "go");
        code.flush();
        code.has_stored([
            scheduled("a", "1"),
            raised("go", "1", "m1"),
            raised("stop", "9", "m9"),
            raised("go", "2", "m2"),
            completed(2, "1"),
            subscribed("go"),
            subscribed("go"),
        ]);
    });
}

#[test]
fn an_event_that_comes_after_a_look_in_vain_is_there_for_the_next() {
    everywhere(|code| {
        finds_nothing(code, "go");
        let begun = begins(code);
        code.input(raised("go", "1", "m1"));
        code.rests();
        code.input(completed(2, "1"));
        code.takes(begun, value("1"));
        finds(code, "go", "1");
        code.flush();
    });
}

#[test]
fn a_subscription_of_the_same_poll_goes_first_in_whatever_order() {
    for looks_first in [false, true] {
        everywhere(|code| {
            let begun = begins(code);
            code.input(raised("go", "1", "m1"));
            code.input(completed(2, "1"));
            code.takes(begun, value("1"));
            let early = looks_first.then(|| code.look("go"));
            let waits = code.external("go");
            let look = early.unwrap_or_else(|| code.look("go"));
            code.flush();
            code.takes(look, Outcome::Nothing);
            code.flush();
            code.takes(waits, value("1"));
            code.flush();
        });
    }
}

#[test]
fn a_subscription_and_a_look_both_find_an_event_where_there_are_two() {
    for looks_first in [false, true] {
        everywhere(|code| {
            let begun = begins(code);
            code.input(raised("go", "1", "m1"));
            code.input(raised("go", "2", "m2"));
            code.input(completed(2, "1"));
            code.takes(begun, value("1"));
            let early = looks_first.then(|| code.look("go"));
            let waits = code.external("go");
            let look = early.unwrap_or_else(|| code.look("go"));
            code.flush();
            code.takes(waits, value("1"));
            code.flush();
            code.takes(look, value("2"));
            code.flush();
        });
    }
}

#[test]
fn a_subscription_that_is_dropped_in_the_same_poll_takes_nothing_from_a_look() {
    everywhere(|code| {
        let begun = begins(code);
        code.input(raised("go", "1", "m1"));
        code.input(completed(2, "1"));
        code.takes(begun, value("1"));
        let gone = code.external("go");
        let look = code.look("go");
        code.drop(gone);
        code.flush();
        code.takes(look, value("1"));
        code.flush();
    });
}

#[test]
fn a_look_that_is_dropped_in_its_poll_takes_nothing() {
    everywhere(|code| {
        let begun = begins(code);
        code.input(raised("go", "1", "m1"));
        code.input(completed(2, "1"));
        code.takes(begun, value("1"));
        let gone = code.look("go");
        code.drop(gone);
        code.flush();
        finds(code, "go", "1");
        code.flush();
    });
}

#[test]
fn a_look_finds_what_a_subscription_of_the_same_poll_gives_back() {
    everywhere(|code| {
        let holds = code.external("go");
        code.flush();
        code.input(raised("go", "1", "m1"));
        code.lapses(holds);
        code.drop(holds);
        finds(code, "go", "1");
        code.flush();
    });
}

#[test]
fn a_look_whose_answer_is_not_taken_gives_its_event_back() {
    everywhere(|code| {
        let begun = begins(code);
        code.input(raised("go", "1", "m1"));
        code.input(completed(2, "1"));
        code.takes(begun, value("1"));
        let look = code.look("go");
        code.flush();
        code.lapses(look);
        code.drop(look);
        finds(code, "go", "1");
        code.flush();
    });
}

#[test]
fn looks_of_one_poll_are_answered_in_the_order_of_their_names() {
    for swapped in [false, true] {
        everywhere(|code| {
            let mut looks: Vec<(&str, OpKey)> = Vec::new();
            for name in if swapped { ["b", "a"] } else { ["a", "b"] } {
                looks.push((name, code.look(name)));
            }
            looks.sort_by_key(|(name, _)| *name);
            code.flush();
            for (_, look) in looks {
                code.takes(look, Outcome::Nothing);
                code.flush();
            }
        });
    }
}

#[test]
fn of_two_looks_at_one_event_the_first_takes_it() {
    everywhere(|code| {
        let begun = begins(code);
        code.input(raised("go", "1", "m1"));
        code.input(completed(2, "1"));
        code.takes(begun, value("1"));
        let looks = [code.look("go"), code.look("go")];
        code.flush();
        code.takes(looks[1], Outcome::Nothing);
        code.flush();
        code.takes(looks[0], value("1"));
        code.flush();
    });
}

#[test]
fn a_look_stands_before_a_run_and_beside_a_patch_and_the_end() {
    everywhere(|code| {
        let begun = begins(code);
        code.input(raised("go", "1", "m1"));
        code.input(completed(2, "1"));
        code.takes(begun, value("1"));
        let (run, patch, look) = (code.run("r"), code.patch("v2"), code.look("go"));
        code.flush();
        code.executes(run, Ok("7".into()));
        code.flush();
        code.takes(patch, Outcome::Patched(true));
        code.flush();
        code.takes(look, value("1"));
        code.look("go");
        code.returns("1");
        code.flush();
    });
}

#[test]
fn code_that_was_cancelled_can_still_look() {
    everywhere(|code| {
        let begun = begins(code);
        code.input(raised("go", "1", "m1"));
        code.input(cancel_requested("enough"));
        code.takes(begun, cancelled("enough"));
        finds(code, "go", "1");
        finds_nothing(code, "go");
        code.flush();
    });
}

#[test]
fn what_a_look_did_not_take_is_carried_over() {
    let mut code = Driver::live();
    let begun = begins(&mut code);
    for (data, id) in [("1", "m1"), ("2", "m2")] {
        code.input(raised("go", data, id));
    }
    code.input(completed(2, "1"));
    code.takes(begun, value("1"));
    finds(&mut code, "go", "1");
    let held = code.look("go");
    code.flush();
    code.lapses(held);
    code.cursor.finish(Ending::ContinuedAsNew {
        input: "8".into(),
        version: None,
    });
    code.flush();
    let carried = code.cursor.take_carried().unwrap();
    assert_eq!(carried.unread_events.len(), 1);
    assert_eq!(json(&carried.unread_events[0].data), json(&"2"));
    code.done();
}

#[test]
fn a_look_where_the_history_has_none_is_refused_if_it_takes() {
    let past = Past::of([
        scheduled("a", "1"),
        raised("go", "1", "m1"),
        completed(2, "1"),
        scheduled("b", "1"),
    ]);
    let mut code = Driver::after(past);
    let a = code.activity("a", "1");
    code.flush();
    code.input(raised("go", "1", "m1"));
    code.input(completed(2, "1"));
    code.takes(a, value("1"));
    code.look("go");
    let violation = code.is_refused_at(5, Difference::Kind);
    assert_eq!(violation.command_id.unwrap().to_string(), "Activity(1)");
}

#[test]
fn a_look_in_vain_where_the_history_has_none_is_no_change() {
    let mut code = Driver::after(Past::of([scheduled("a", "1"), completed(2, "1")]));
    finds_nothing(&mut code, "go");
    let a = code.activity("a", "1");
    code.flush();
    code.input(completed(2, "1"));
    code.takes(a, value("1"));
    finds_nothing(&mut code, "go");
    code.flush();
    code.done();
}
