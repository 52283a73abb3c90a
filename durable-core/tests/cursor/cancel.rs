//! Cancellation: what is open is closed and resolves one by one, and the code
//! goes on.

use durable_core::{DropReason, EventId, EventKind, HistoryFault, SourceFault};

use super::driver::{Driver, everywhere};
use super::events::{
    activity_cancelled, cancel_requested, cancelled, child_cancelled, child_completed, completed,
    fired, raised, resolved, scheduled, timer_cancelled, timer_created, value,
};
use super::past::Past;

#[test]
fn what_is_open_is_cancelled_oldest_first_one_grant_each() {
    everywhere(|code| {
        let timer = code.timer(5_000);
        let external = code.external("e");
        let (promise, _) = code.promise("p");
        let child = code.child("c", Some("c-1"), "1");
        let activity = code.activity("a", "1");
        code.polls(promise);
        code.flush();
        code.input(cancel_requested("enough"));
        assert_eq!(code.cursor.cancel_reason(), Some("enough"));
        assert_eq!(code.cursor.open_operations(), 0);
        assert_eq!(code.cursor.promise_event_id(0), None);
        for operation in [timer, external, promise, child, activity] {
            code.takes(operation, cancelled("enough"));
            code.flush();
        }
        code.returns("null");
        code.flush();
        // The cancellations stand in the order of the events that they cancel.
        let cancellations = [
            timer_cancelled(2),
            child_cancelled(5),
            activity_cancelled(6),
        ];
        let kinds = cancellations.map(|event| (event.kind(), event.source_event_id()));
        let stored = code.events_from(8);
        assert_eq!(stored[0].event_id(), EventId::new(8));
        for (event, expected) in stored.iter().zip(kinds) {
            assert_eq!((event.kind(), event.source_event_id()), expected);
        }
        assert_eq!(stored.len(), 4);
    });
}

#[test]
fn clean_up_after_a_cancellation_works_like_any_code() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        code.flush();
        code.input(cancel_requested("enough"));
        code.takes(a, cancelled("enough"));
        let undo = code.activity("undo", "1");
        code.flush();
        code.ignores(cancel_requested("again"), DropReason::AlreadyCancelled);
        code.input(completed(5, "1"));
        code.takes(undo, value("1"));
        code.returns("null");
        code.flush();
    });
}

#[test]
fn a_completion_of_a_cancelled_operation_comes_too_late() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        let t = code.timer(1_005);
        let c = code.child("c", None, "1");
        let (p, _) = code.promise("p");
        code.polls(p);
        code.flush();
        code.input(cancel_requested("enough"));
        for operation in [a, t, c, p] {
            code.takes(operation, cancelled("enough"));
            code.flush();
        }
        for late in [
            completed(2, "1"),
            fired(3, 1_005),
            child_completed(4, "1"),
            resolved(5, "1"),
        ] {
            code.ignores(late, DropReason::NotOpen);
        }
    });
}

#[test]
fn a_late_completion_that_was_recorded_is_consumed_once() {
    let past = Past::of([
        scheduled("a", "1"),
        cancel_requested("enough"),
        activity_cancelled(2),
        completed(2, "1"),
    ]);
    let cancelled_code = |past| {
        let mut code = Driver::after(past);
        let a = code.activity("a", "1");
        code.flush();
        code.input(cancel_requested("enough"));
        code.takes(a, cancelled("enough"));
        code.flush();
        code.input(completed(2, "1"));
        code
    };
    cancelled_code(past.clone()).done();
    cancelled_code(past.and(completed(2, "1"))).is_corrupt_at(
        6,
        &HistoryFault::BadSource {
            source_event_id: EventId::new(2),
            expected: EventKind::ActivityScheduled,
            found: SourceFault::NotOpen,
        },
    );
}

#[test]
fn values_that_arrived_before_are_not_lost() {
    everywhere(|code| {
        let there = code.activity("there", "1");
        let open = code.activity("open", "1");
        code.flush();
        code.input(completed(2, "\"there\""));
        code.lapses(there);
        code.input(cancel_requested("enough"));
        code.takes(open, cancelled("enough"));
        code.polls(there);
        code.flush();
        code.takes(there, value("\"there\""));
        code.flush();
    });
}

#[test]
fn a_cancelled_subscription_gets_no_event_any_more() {
    everywhere(|code| {
        let e = code.external("e");
        code.flush();
        code.input(cancel_requested("enough"));
        code.lapses(e);
        code.input(raised("e", "1", "m1"));
        code.polls(e);
        code.flush();
        code.takes(e, cancelled("enough"));
        let again = code.external("e");
        code.flush();
        code.takes(again, value("1"));
        code.flush();
    });
}

#[test]
fn a_cancelled_future_that_is_dropped_is_not_cancelled_twice() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        let b = code.activity("b", "1");
        code.flush();
        code.input(cancel_requested("enough"));
        code.takes(a, cancelled("enough"));
        code.drop(b);
        code.flush();
        assert_eq!(code.events_from(7), []);
    });
}

#[test]
fn cancellation_with_nothing_open_wakes_nothing_but_is_known() {
    everywhere(|code| {
        code.set("k", "1");
        code.flush();
        code.input(cancel_requested("enough"));
        code.rests();
        assert_eq!(code.cursor.cancel_reason(), Some("enough"));
    });
}

#[test]
fn cancellations_that_were_recorded_in_another_order_are_found() {
    let past = Past::of([
        scheduled("a", "1"),
        timer_created(5_000),
        cancel_requested("enough"),
        timer_cancelled(3),
        activity_cancelled(2),
    ]);
    let mut code = Driver::after(past);
    let a = code.activity("a", "1");
    let t = code.timer(5_000);
    code.flush();
    code.input(cancel_requested("enough"));
    code.takes(a, cancelled("enough"));
    code.flush();
    code.takes(t, cancelled("enough"));
    code.flush();
    code.done();
}
