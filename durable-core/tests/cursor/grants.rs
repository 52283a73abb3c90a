//! Who may go on: one operation per poll, in the order of arrival, and only if its
//! future asks.

use durable_core::{OpPoll, Outcome};

use super::driver::everywhere;
use super::events::{completed, fired, raised, resolved, value};

#[test]
fn a_future_that_was_polled_once_is_granted_its_value_when_it_comes() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        code.flush();
        code.rests();
        code.input(completed(2, "1"));
        code.takes(a, value("1"));
        code.flush();
        code.rests();
    });
}

#[test]
fn a_future_is_never_ready_before_it_is_granted() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        code.polls(a);
        code.flush();
        code.polls(a);
        code.flush();
        code.input(completed(2, "1"));
        code.polls(a);
        code.flush();
        code.takes(a, value("1"));
        code.flush();
    });
}

#[test]
fn of_several_values_the_oldest_is_granted_and_no_other_can_be_taken() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        let b = code.activity("b", "1");
        code.flush();
        code.input(completed(3, "\"b\""));
        code.lapses(b);
        code.input(completed(2, "\"a\""));
        code.lapses(a);
        // Both ask in one poll, in either order.
        code.polls(a);
        code.polls(b);
        code.flush();
        assert_eq!(code.cursor.grant().unwrap().unwrap().key, b);
        code.polls(a);
        assert_eq!(code.cursor.poll(b), OpPoll::Ready(value("\"b\"")));
        code.polls(a);
        code.flush();
        code.takes(a, value("\"a\""));
        code.flush();
    });
}

#[test]
fn a_grant_that_is_not_taken_lapses_until_the_future_is_polled_again() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        let b = code.activity("b", "1");
        code.flush();
        code.input(completed(2, "\"a\""));
        code.lapses(a);
        code.rests();
        // The next input does not bring it back.
        code.input(completed(3, "\"b\""));
        code.takes(b, value("\"b\""));
        code.flush();
        code.rests();
        // A poll does; it is granted again, and may lapse again.
        code.polls(a);
        code.flush();
        code.lapses(a);
        code.rests();
        code.polls(a);
        code.flush();
        code.takes(a, value("\"a\""));
        code.flush();
    });
}

#[test]
fn a_lapsed_value_keeps_its_place_in_the_order() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        let b = code.activity("b", "1");
        code.flush();
        code.input(completed(2, "\"a\""));
        code.lapses(a);
        code.input(completed(3, "\"b\""));
        assert_eq!(code.cursor.grant().unwrap().unwrap().key, b);
        code.polls(a);
        code.flush();
        // `b` lapsed in the poll in which `a` asked.
        code.polls(b);
        code.flush();
        code.takes(a, value("\"a\""));
        code.flush();
        code.takes(b, value("\"b\""));
        code.flush();
    });
}

#[test]
fn values_pile_up_for_futures_that_are_not_polled() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        let t = code.timer(1_005);
        let e = code.external("e");
        let (p, _) = code.promise("p");
        let busy = code.activity("busy", "1");
        code.flush();
        code.input(completed(2, "1"));
        code.lapses(a);
        code.input(fired(3, 1_005));
        code.lapses(t);
        code.input(raised("e", "2", "m1"));
        code.lapses(e);
        // A promise that was never polled does not even ask.
        code.input(resolved(5, "3"));
        code.rests();
        assert_eq!(code.cursor.open_operations(), 1);
        code.input(completed(6, "4"));
        code.takes(busy, value("4"));
        for future in [p, e, t, a] {
            code.polls(future);
        }
        code.flush();
        let outcomes = [value("1"), Outcome::Fired, value("2"), value("3")];
        for (future, outcome) in [a, t, e, p].into_iter().zip(outcomes) {
            code.takes(future, outcome);
            code.flush();
        }
        code.rests();
    });
}

#[test]
fn a_root_that_woke_itself_is_polled_again_before_the_next_grant() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        let b = code.activity("b", "1");
        code.flush();
        code.input(completed(2, "1"));
        code.lapses(a);
        code.polls(a);
        code.flush();
        code.takes(a, value("1"));
        code.flush();
        // A poll of its own, without a grant.
        code.set("k", "1");
        code.flush();
        code.input(completed(3, "2"));
        code.takes(b, value("2"));
        code.flush();
    });
}
