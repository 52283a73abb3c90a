//! External events: matched by name, never lost, taken in the order of arrival.

use durable_core::{Carried, DropReason, Ending, MessageId, UnreadEvent};

use super::driver::{Driver, everywhere};
use super::events::{
    cancel_requested, completed, raised, scheduled, started, started_with, subscribed, value,
};
use super::past::Past;
use super::shown::json;

#[test]
fn an_event_raised_after_the_subscription_goes_to_it() {
    everywhere(|code| {
        let go = code.external("go");
        code.flush();
        code.input(raised("go", "1", "m1"));
        code.takes(go, value("1"));
        code.flush();
        code.has_stored([subscribed("go"), raised("go", "1", "m1")]);
    });
}

#[test]
fn an_event_raised_before_the_subscription_waits_for_it() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        code.flush();
        code.input(raised("go", "1", "m1"));
        code.input(completed(2, "1"));
        code.takes(a, value("1"));
        let go = code.external("go");
        code.flush();
        code.takes(go, value("1"));
        code.flush();
    });
}

#[test]
fn an_event_without_a_subscription_wakes_nothing() {
    everywhere(|code| {
        let go = code.external("go");
        code.flush();
        code.input(raised("stop", "1", "m1"));
        code.rests();
        code.input(raised("go", "2", "m2"));
        code.takes(go, value("2"));
        code.flush();
    });
}

#[test]
fn events_of_one_name_are_taken_oldest_first() {
    everywhere(|code| {
        let begin = code.activity("begin", "1");
        code.flush();
        for (data, id) in [("1", "m1"), ("2", "m2"), ("3", "m3")] {
            code.input(raised("go", data, id));
        }
        code.input(completed(2, "1"));
        code.takes(begin, value("1"));
        for data in ["1", "2", "3"] {
            let go = code.external("go");
            code.flush();
            code.takes(go, value(data));
        }
        code.flush();
    });
}

#[test]
fn two_subscriptions_of_one_name_get_the_events_oldest_first() {
    everywhere(|code| {
        let first = code.external("go");
        let second = code.external("go");
        code.flush();
        code.input(raised("go", "1", "m1"));
        code.takes(first, value("1"));
        code.flush();
        code.input(raised("go", "2", "m2"));
        code.takes(second, value("2"));
        code.flush();
        code.input(raised("go", "3", "m3"));
        code.rests();
    });
}

#[test]
fn a_dropped_subscription_gives_its_event_back_to_its_place() {
    everywhere(|code| {
        let first = code.external("go");
        code.flush();
        code.input(raised("go", "1", "m1"));
        code.lapses(first);
        code.input(raised("go", "2", "m2"));
        code.drop(first);
        code.flush();
        for data in ["1", "2"] {
            let go = code.external("go");
            code.flush();
            code.takes(go, value(data));
            code.flush();
        }
    });
}

#[test]
fn a_subscription_dropped_in_the_poll_of_its_grant_gives_its_event_back() {
    everywhere(|code| {
        let first = code.external("go");
        code.flush();
        code.input(raised("go", "1", "m1"));
        assert_eq!(code.cursor.grant().unwrap().unwrap().key, first);
        code.drop(first);
        // In the same poll, as a loop around a select does.
        let second = code.external("go");
        code.flush();
        code.takes(second, value("1"));
        code.flush();
    });
}

#[test]
fn a_dropped_subscription_gives_its_event_to_another_that_waits() {
    everywhere(|code| {
        let first = code.external("go");
        let second = code.external("go");
        code.flush();
        code.input(raised("go", "1", "m1"));
        code.lapses(first);
        code.drop(first);
        code.flush();
        code.takes(second, value("1"));
        code.flush();
    });
}

#[test]
fn an_event_goes_to_no_subscription_that_is_dropped_in_the_same_poll() {
    for is_first in [false, true] {
        everywhere(|code| {
            let holds = code.external("go");
            let gone = code.external("go");
            let waits = code.external("go");
            code.flush();
            code.input(raised("go", "1", "m1"));
            code.lapses(holds);
            if is_first {
                code.drop(gone);
                code.drop(holds);
            } else {
                code.drop(holds);
                code.drop(gone);
            }
            code.flush();
            code.takes(waits, value("1"));
            code.flush();
        });
    }
}

#[test]
fn an_event_sent_twice_is_recorded_once() {
    everywhere(|code| {
        let first = code.external("go");
        let second = code.external("go");
        code.flush();
        code.input(raised("go", "1", "m1"));
        code.takes(first, value("1"));
        code.flush();
        code.ignores(raised("go", "1", "m1"), DropReason::DuplicateMessage);
        code.input(raised("go", "2", "m2"));
        code.takes(second, value("2"));
        code.flush();
        code.ignores(raised("other", "3", "m2"), DropReason::DuplicateMessage);
    });
}

#[test]
fn the_latest_thousand_message_ids_are_remembered() {
    let mut code = Driver::live();
    for number in 0..=1_024 {
        code.input(raised("go", "1", &format!("m{number}")));
    }
    code.ignores(raised("go", "1", "m1"), DropReason::DuplicateMessage);
    code.ignores(raised("go", "1", "m1024"), DropReason::DuplicateMessage);
    code.input(raised("go", "1", "m0"));
    code.done();
}

/// Reads one event, leaves others, has state and a pending cancellation.
fn continue_as_new(code: &mut Driver) -> Carried {
    let read = code.external("a");
    code.flush();
    code.input(raised("a", "1", "m1"));
    code.takes(read, value("1"));
    let held = code.external("b");
    code.set("kept", "1");
    code.set("cleared", "1");
    code.clear("cleared");
    code.publish("cart", "\"going on\"");
    code.attribute("customer", "c-17");
    code.flush();
    code.input(raised("z", "2", "m2"));
    code.input(raised("b", "3", "m3"));
    code.lapses(held);
    code.input(raised("a", "4", "m4"));
    code.input(cancel_requested("enough"));
    code.cursor.finish(Ending::ContinuedAsNew {
        input: "8".into(),
        version: None,
    });
    code.flush();
    let carried = code.cursor.take_carried().unwrap();
    assert_eq!(code.cursor.take_carried(), None);
    *carried
}

fn unread(name: &str, data: &str, message_id: &str) -> UnreadEvent {
    UnreadEvent::new(name.into(), data.into(), message_id.into())
}

#[test]
fn continue_as_new_carries_over_what_was_not_read_and_what_is_known() {
    everywhere(|code| {
        let mut expected = Carried::default();
        expected.state = vec![("kept".into(), "1".into())];
        expected.views = vec![("cart".into(), "\"going on\"".into())];
        expected.attributes.set("customer", "c-17");
        expected.unread_events = vec![
            unread("z", "2", "m2"),
            unread("b", "3", "m3"),
            unread("a", "4", "m4"),
        ];
        expected.read_message_ids = vec![MessageId::from("m1")];
        expected.cancel_reason = Some("enough".into());
        assert_eq!(json(&continue_as_new(code)), json(&expected));
    });
}

#[test]
fn an_event_whose_subscription_is_dropped_with_the_end_is_carried_over() {
    let mut code = Driver::live();
    let held = code.external("a");
    code.flush();
    code.input(raised("a", "1", "m1"));
    assert_eq!(code.cursor.grant().unwrap().unwrap().key, held);
    code.drop(held);
    code.cursor.finish(Ending::ContinuedAsNew {
        input: "8".into(),
        version: None,
    });
    code.flush();
    let carried = code.cursor.take_carried().unwrap();
    assert_eq!(
        json(&carried.unread_events),
        json(&[unread("a", "1", "m1")])
    );
    code.done();
}

#[test]
fn the_next_execution_goes_on_with_what_was_carried_over() {
    let carried = continue_as_new(&mut Driver::live());
    for entries in [
        Vec::new(),
        Past::empty().and(started_with(carried.clone())).entries(),
    ] {
        let mut code = Driver::unstarted(entries, 1);
        code.start(started_with(carried.clone()));
        assert_eq!(code.cursor.state("kept").unwrap().as_str(), "1");
        assert_eq!(code.cursor.state("cleared"), None);
        assert_eq!(code.cursor.view("cart").unwrap().as_str(), "\"going on\"");
        assert_eq!(code.cursor.cancel_reason(), Some("enough"));
        let a = code.external("a");
        let b = code.external("b");
        let other = code.external("c");
        code.flush();
        code.takes(a, value("4"));
        code.flush();
        code.takes(b, value("3"));
        code.flush();
        for id in ["m1", "m2", "m3", "m4"] {
            code.ignores(raised("c", "1", id), DropReason::DuplicateMessage);
        }
        code.ignores(cancel_requested("again"), DropReason::AlreadyCancelled);
        code.input(raised("c", "5", "m5"));
        code.takes(other, value("5"));
        code.cursor.finish(Ending::ContinuedAsNew {
            input: "9".into(),
            version: None,
        });
        code.flush();
        let carried = code.cursor.take_carried().unwrap();
        assert_eq!(
            json(&carried.unread_events),
            json(&[unread("z", "2", "m2")])
        );
        assert_eq!(
            carried.read_message_ids,
            ["m1", "m3", "m4", "m5"].map(MessageId::from)
        );
        code.done();
    }
}

#[test]
fn nothing_is_carried_over_unless_the_code_continues_as_new() {
    let mut code = Driver::after(Past::empty().and(started()).and(scheduled("a", "1")));
    code.activity("a", "1");
    code.set("k", "1");
    code.returns("1");
    code.flush();
    assert_eq!(code.cursor.take_carried(), None);
    code.done();
}
