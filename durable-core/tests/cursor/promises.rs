//! Promises: created by the call, known and resolved by their token.

use durable_core::{Difference, DropReason, EventId};

use super::driver::{Driver, everywhere};
use super::events::{failure_of, promise_created, rejected, resolved, scheduled, token, value};
use super::past::Past;

#[test]
fn the_token_is_known_at_the_call() {
    everywhere(|code| {
        let (_, first) = code.promise("approval");
        let (_, second) = code.promise("approval");
        assert_eq!(first, token("order-7/1/Promise(0)"));
        assert_eq!(second, token("order-7/1/Promise(1)"));
        code.flush();
        let (_, third) = code.promise("payment");
        assert_eq!(third, token("order-7/1/Promise(2)"));
        code.flush();
        code.has_stored([
            promise_created("approval", 0),
            promise_created("approval", 1),
            promise_created("payment", 2),
        ]);
    });
}

#[test]
fn a_promise_is_resolved_or_rejected_by_its_event() {
    everywhere(|code| {
        let (first, _) = code.promise("a");
        let (second, _) = code.promise("b");
        code.polls(first);
        code.polls(second);
        code.flush();
        code.input(rejected(3, "no"));
        code.takes(second, failure_of("no"));
        code.flush();
        code.input(resolved(2, "1"));
        code.takes(first, value("1"));
        code.flush();
        code.ignores(resolved(2, "2"), DropReason::NotOpen);
        code.ignores(rejected(2, "late"), DropReason::NotOpen);
    });
}

#[test]
fn a_promise_that_is_not_awaited_yet_keeps_its_value() {
    everywhere(|code| {
        let (promise, _) = code.promise("a");
        code.flush();
        code.input(resolved(2, "1"));
        // No future asks, so none is granted.
        code.rests();
        code.polls(promise);
        code.flush();
        code.takes(promise, value("1"));
        code.flush();
    });
}

#[test]
fn the_event_of_a_promise_is_known_while_it_is_open() {
    everywhere(|code| {
        let (_, _) = code.promise("resolved");
        let (dropped, _) = code.promise("dropped");
        let (unborn, _) = code.promise("dropped at once");
        code.promise("open");
        code.drop(unborn);
        assert_eq!(code.cursor.promise_event_id(0), None);
        code.flush();
        let event_ids: Vec<Option<u64>> = (0..5)
            .map(|number| code.cursor.promise_event_id(number).map(EventId::get))
            .collect();
        assert_eq!(event_ids, [Some(2), Some(3), None, Some(5), None]);
        code.drop(dropped);
        code.flush();
        assert_eq!(code.cursor.promise_event_id(1), None);
        code.input(resolved(2, "1"));
        assert_eq!(code.cursor.promise_event_id(0), None);
        assert_eq!(code.cursor.promise_event_id(3), Some(EventId::new(5)));
        code.returns("1");
        code.flush();
        assert_eq!(code.cursor.promise_event_id(3), None);
    });
}

#[test]
fn a_promise_dropped_in_the_poll_of_its_call_is_created_all_the_same() {
    everywhere(|code| {
        let (promise, _) = code.promise("a");
        code.drop(promise);
        code.flush();
        code.has_stored([promise_created("a", 0)]);
        assert_eq!(code.cursor.open_operations(), 0);
        code.ignores(resolved(2, "1"), DropReason::NotOpen);
    });
}

#[test]
fn a_resolution_of_a_dropped_promise_that_was_recorded_is_consumed() {
    for at_once in [false, true] {
        let past = Past::of([
            promise_created("a", 0),
            resolved(2, "1"),
            scheduled("b", "1"),
        ]);
        let mut code = Driver::after(past);
        let (promise, _) = code.promise("a");
        if !at_once {
            code.flush();
        }
        code.drop(promise);
        code.flush();
        code.input(resolved(2, "1"));
        code.misses(4);
    }
}

#[test]
fn the_number_of_a_promise_is_compared() {
    let past = Past::of([promise_created("a", 0), promise_created("b", 1)]);
    let mut code = Driver::after(past);
    // The token that was given away for `a` would now be that of `b`.
    code.promise("b");
    code.promise("a");
    code.is_refused_at(2, Difference::Name);

    let mut code = Driver::after(Past::of([promise_created("a", 1)]));
    code.promise("a");
    code.is_refused_at(2, Difference::Number);
}
