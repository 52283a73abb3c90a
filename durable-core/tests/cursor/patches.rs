//! Patches: true where the code is new, false where the history is old, and the
//! same for the rest of the execution.

use durable_core::{Difference, OpKey, Outcome};

use super::driver::{Driver, everywhere};
use super::events::{completed, patch_marked, scheduled, value};
use super::past::Past;

/// Asks and takes this answer.
fn asks(code: &mut Driver, patch_id: &str, answer: bool) {
    let patch = code.patch(patch_id);
    code.flush();
    code.takes(patch, Outcome::Patched(answer));
}

#[test]
fn a_patch_is_taken_and_marked_live_and_taken_again_in_replay() {
    everywhere(|code| {
        asks(code, "v2", true);
        let a = code.activity("a2", "1");
        code.flush();
        code.input(completed(3, "1"));
        code.takes(a, value("1"));
        code.returns("1");
        code.flush();
        let marks = [patch_marked("v2"), scheduled("a2", "1")];
        assert_eq!(code.events_from(2).len(), 4);
        assert_eq!(code.events_from(2)[0].kind(), marks[0].kind());
    });
}

#[test]
fn a_patch_is_not_taken_where_the_old_code_went_on() {
    let mut code = Driver::after(Past::of([scheduled("a1", "1"), completed(2, "1")]));
    asks(&mut code, "v2", false);
    let a = code.activity("a1", "1");
    code.flush();
    code.input(completed(2, "1"));
    code.takes(a, value("1"));
    // Live by now, but the first answer holds.
    code.flush();
    asks(&mut code, "v2", false);
    // Another patch is new.
    asks(&mut code, "v3", true);
    code.flush();
    code.has_stored([scheduled("a1", "1"), completed(2, "1"), patch_marked("v3")]);
    code.done();
}

#[test]
fn an_old_execution_that_went_on_live_answers_the_same_in_its_next_replay() {
    let old = Past::of([scheduled("a1", "1"), completed(2, "1")]);
    let go_on = |code: &mut Driver| {
        asks(code, "v2", false);
        let a = code.activity("a1", "1");
        code.flush();
        code.input(completed(2, "1"));
        code.takes(a, value("1"));
        code.flush();
        asks(code, "v2", false);
        let b = code.activity("b1", "1");
        code.flush();
        code.input(completed(4, "1"));
        code.takes(b, value("1"));
        code.returns("1");
        code.flush();
    };
    let mut code = Driver::after(old);
    go_on(&mut code);
    let entries = code.done();
    let mut again = Driver::over(entries.clone());
    go_on(&mut again);
    assert_eq!(again.done(), entries);
}

#[test]
fn a_patch_that_is_asked_again_leaves_only_one_mark() {
    everywhere(|code| {
        asks(code, "v2", true);
        code.flush();
        asks(code, "v2", true);
        let a = code.activity("a", "1");
        code.flush();
        code.input(completed(3, "1"));
        code.takes(a, value("1"));
        asks(code, "v2", true);
        code.flush();
        code.has_stored([patch_marked("v2"), scheduled("a", "1"), completed(3, "1")]);
    });
}

#[test]
fn a_patch_that_is_asked_twice_in_one_poll_leaves_only_one_mark() {
    everywhere(|code| {
        let twice = [code.patch("v2"), code.patch("v2")];
        code.flush();
        for patch in twice {
            code.takes(patch, Outcome::Patched(true));
            code.flush();
        }
        code.has_stored([patch_marked("v2")]);
    });
}

#[test]
fn patches_of_one_poll_are_answered_in_the_order_of_their_names() {
    for swapped in [false, true] {
        let both = |code: &mut Driver| {
            let mut patches: Vec<(&str, OpKey)> = Vec::new();
            for id in if swapped { ["b", "a"] } else { ["a", "b"] } {
                patches.push((id, code.patch(id)));
            }
            patches.sort_by_key(|(id, _)| *id);
            code.flush();
            for (_, patch) in patches {
                code.takes(patch, Outcome::Patched(true));
                code.flush();
            }
        };
        everywhere(both);
        // In the other order than was recorded, too.
        let mut code = Driver::after(Past::of([patch_marked("a"), patch_marked("b")]));
        both(&mut code);
        code.done();
    }
}

#[test]
fn of_two_patches_one_may_be_old_and_one_new() {
    let past = Past::of([scheduled("a", "1"), patch_marked("new"), completed(2, "1")]);
    let mut code = Driver::after(past);
    let old = code.patch("old");
    let new = code.patch("new");
    code.activity("a", "1");
    code.flush();
    code.takes(new, Outcome::Patched(true));
    code.flush();
    code.takes(old, Outcome::Patched(false));
    code.flush();
    code.input(completed(2, "1"));
}

#[test]
fn a_patch_that_is_asked_beside_an_old_command_is_old() {
    let mut code = Driver::after(Past::of([scheduled("a", "1")]));
    code.activity("a", "1");
    let patch = code.patch("v2");
    code.flush();
    code.takes(patch, Outcome::Patched(false));
    code.flush();
    code.has_stored([scheduled("a", "1")]);
    code.done();
}

#[test]
fn a_patch_is_not_taken_where_an_input_follows() {
    let mut code = Driver::after(Past::of([scheduled("a", "1"), completed(2, "1")]));
    let a = code.activity("a", "1");
    code.flush();
    asks(&mut code, "v2", false);
    code.flush();
    code.input(completed(2, "1"));
    code.takes(a, value("1"));
    code.flush();
    code.done();
}

#[test]
fn a_mark_that_the_code_no_longer_asks_for_is_refused() {
    let mut code = Driver::after(Past::of([patch_marked("v2"), scheduled("a", "1")]));
    code.activity("a", "1");
    let violation = code.is_refused_at(2, Difference::Kind);
    assert_eq!(violation.command_id.unwrap().to_string(), "Patch(0)");
}

#[test]
fn a_mark_that_was_recorded_later_than_the_code_asks_now_is_refused() {
    let past = Past::of([scheduled("a", "1"), completed(2, "1"), patch_marked("v2")]);
    let mut code = Driver::after(past);
    let a = code.activity("a", "1");
    let patch = code.patch("v2");
    code.flush();
    code.takes(patch, Outcome::Patched(false));
    code.flush();
    code.input(completed(2, "1"));
    code.takes(a, value("1"));
    let again = code.patch("v2");
    code.flush();
    code.takes(again, Outcome::Patched(false));
    code.flush();
    code.misses(4);
}

#[test]
fn a_question_whose_grant_lapses_keeps_its_answer() {
    everywhere(|code| {
        let patch = code.patch("v2");
        code.flush();
        code.lapses(patch);
        code.rests();
        code.polls(patch);
        code.flush();
        code.takes(patch, Outcome::Patched(true));
        code.flush();
    });
}

#[test]
fn a_dropped_question_leaves_its_mark_once_it_was_answered() {
    everywhere(|code| {
        let patch = code.patch("v2");
        code.flush();
        code.drop(patch);
        code.flush();
        code.rests();
        code.has_stored([patch_marked("v2")]);
    });
}
