//! Readers of external events: subscribed once, one event at a time, in order.

use durable_core::{Difference, Ending, Outcome};

use super::driver::{Driver, everywhere};
use super::events::{
    cancel_requested, cancelled, completed, listens, raised, scheduled, subscribed, value,
};
use super::past::Past;
use super::shown::json;

#[test]
fn a_reader_subscribes_once_and_gives_every_event() {
    everywhere(|code| {
        let lines = code.reader("line");
        code.flush();
        for (data, id) in [("1", "m1"), ("2", "m2"), ("3", "m3")] {
            code.input(raised("line", data, id));
            code.reads(lines, data);
            code.polls(lines);
            code.flush();
        }
        assert_eq!(code.cursor.open_operations(), 1);
        code.has_stored([
            listens("line"),
            raised("line", "1", "m1"),
            raised("line", "2", "m2"),
            raised("line", "3", "m3"),
        ]);
    });
}

#[test]
fn a_reader_gives_what_came_before_it_and_what_came_while_it_did_not_ask() {
    everywhere(|code| {
        let begun = code.activity("a", "1");
        code.flush();
        code.input(raised("line", "1", "m1"));
        code.input(completed(2, "1"));
        code.takes(begun, value("1"));
        let lines = code.reader("line");
        code.flush();
        code.reads(lines, "1");
        // The code is busy with something else.
        let busy = code.activity("b", "1");
        code.flush();
        code.input(raised("line", "2", "m2"));
        code.rests();
        code.input(raised("line", "3", "m3"));
        code.rests();
        code.input(completed(6, "1"));
        code.takes(busy, value("1"));
        code.polls(lines);
        code.flush();
        code.reads(lines, "2");
        code.polls(lines);
        code.flush();
        code.reads(lines, "3");
        code.polls(lines);
        code.flush();
        code.rests();
    });
}

#[test]
fn what_a_reader_does_not_ask_for_goes_to_others() {
    everywhere(|code| {
        let lines = code.reader("line");
        code.flush();
        code.input(raised("line", "1", "m1"));
        code.reads(lines, "1");
        let waits = code.external("line");
        code.flush();
        code.input(raised("line", "2", "m2"));
        code.takes(waits, value("2"));
        code.flush();
        code.input(raised("line", "3", "m3"));
        code.rests();
    });
}

#[test]
fn readers_and_futures_of_one_name_get_events_in_the_order_in_which_they_asked() {
    everywhere(|code| {
        let first = code.reader("line");
        let waits = code.external("line");
        let second = code.reader("line");
        code.flush();
        code.input(raised("line", "1", "m1"));
        code.reads(first, "1");
        code.polls(first);
        code.flush();
        code.input(raised("line", "2", "m2"));
        code.takes(waits, value("2"));
        code.flush();
        code.input(raised("line", "3", "m3"));
        code.reads(second, "3");
        code.flush();
        for (data, id) in [("4", "m4"), ("5", "m5")] {
            code.input(raised("line", data, id));
            if data == "4" {
                code.reads(first, data);
                code.flush();
            }
        }
        code.rests();
    });
}

#[test]
fn readers_that_ask_in_one_poll_ask_in_the_order_of_their_subscriptions() {
    for swapped in [false, true] {
        everywhere(|code| {
            let readers = [code.reader("line"), code.reader("line")];
            code.flush();
            for (reader, data, id) in [(readers[0], "1", "m1"), (readers[1], "2", "m2")] {
                code.input(raised("line", data, id));
                code.reads(reader, data);
                code.flush();
            }
            let busy = code.activity("a", "1");
            code.flush();
            code.input(completed(6, "1"));
            code.takes(busy, value("1"));
            code.polls(readers[usize::from(swapped)]);
            code.polls(readers[usize::from(!swapped)]);
            code.flush();
            for (reader, data, id) in [(readers[0], "3", "m3"), (readers[1], "4", "m4")] {
                code.input(raised("line", data, id));
                code.reads(reader, data);
                code.flush();
            }
        });
    }
}

#[test]
fn a_reader_that_is_dropped_leaves_what_it_did_not_take() {
    everywhere(|code| {
        let lines = code.reader("line");
        code.flush();
        code.input(raised("line", "1", "m1"));
        code.lapses(lines);
        code.input(raised("line", "2", "m2"));
        code.drop(lines);
        code.flush();
        assert_eq!(code.cursor.open_operations(), 0);
        let again = code.reader("line");
        code.flush();
        code.reads(again, "1");
        code.polls(again);
        code.flush();
        code.reads(again, "2");
        code.flush();
    });
}

#[test]
fn a_reader_that_is_dropped_while_it_asks_gets_nothing() {
    everywhere(|code| {
        let lines = code.reader("line");
        let waits = code.external("line");
        code.flush();
        code.drop(lines);
        code.flush();
        code.input(raised("line", "1", "m1"));
        code.takes(waits, value("1"));
        code.flush();
    });
}

#[test]
fn a_reader_that_is_dropped_in_the_poll_in_which_it_asks_gets_nothing() {
    everywhere(|code| {
        let lines = code.reader("line");
        code.flush();
        code.input(raised("line", "1", "m1"));
        code.reads(lines, "1");
        code.polls(lines);
        code.drop(lines);
        let never = code.reader("other");
        code.drop(never);
        let waits = code.external("line");
        code.flush();
        code.input(raised("line", "2", "m2"));
        code.takes(waits, value("2"));
        code.flush();
    });
}

#[test]
fn a_look_finds_nothing_where_a_reader_asks_in_the_same_poll() {
    for looks_first in [false, true] {
        everywhere(|code| {
            let begun = code.activity("a", "1");
            code.flush();
            code.input(raised("line", "1", "m1"));
            code.input(completed(2, "1"));
            code.takes(begun, value("1"));
            let early = looks_first.then(|| code.look("line"));
            let lines = code.reader("line");
            let look = early.unwrap_or_else(|| code.look("line"));
            code.flush();
            code.takes(look, Outcome::Nothing);
            code.flush();
            code.reads(lines, "1");
            code.flush();
            code.input(raised("line", "2", "m2"));
            code.rests();
        });
    }
}

#[test]
fn a_reader_is_told_of_a_cancellation_and_ends() {
    everywhere(|code| {
        let lines = code.reader("line");
        let busy = code.activity("a", "1");
        code.flush();
        code.input(raised("line", "1", "m1"));
        code.reads(lines, "1");
        code.flush();
        code.input(raised("line", "2", "m2"));
        // It does not ask.
        code.input(cancel_requested("enough"));
        code.takes(busy, cancelled("enough"));
        code.polls(lines);
        code.flush();
        code.takes(lines, cancelled("enough"));
        code.flush();
        assert_eq!(code.cursor.open_operations(), 0);
        // Clean-up code can still read.
        let again = code.reader("line");
        code.flush();
        code.reads(again, "2");
        code.polls(again);
        code.flush();
        code.rests();
    });
}

#[test]
fn a_reader_that_holds_an_event_gives_it_before_it_ends() {
    everywhere(|code| {
        let lines = code.reader("line");
        code.flush();
        code.input(raised("line", "1", "m1"));
        code.lapses(lines);
        code.input(cancel_requested("enough"));
        code.polls(lines);
        code.flush();
        code.reads(lines, "1");
        code.polls(lines);
        code.flush();
        code.takes(lines, cancelled("enough"));
        code.flush();
        assert_eq!(code.cursor.open_operations(), 0);
    });
}

#[test]
fn what_readers_did_not_give_is_carried_over() {
    let mut code = Driver::live();
    let lines = code.reader("line");
    let held = code.reader("other");
    code.flush();
    code.input(raised("line", "1", "m1"));
    code.reads(lines, "1");
    code.flush();
    code.input(raised("other", "2", "m2"));
    code.lapses(held);
    code.input(raised("line", "3", "m3"));
    code.drop(lines);
    code.cursor.finish(Ending::ContinuedAsNew {
        input: "8".into(),
        version: None,
    });
    code.flush();
    let carried = code.cursor.take_carried().unwrap();
    let unread: Vec<_> = carried
        .unread_events
        .iter()
        .map(|event| &event.data)
        .collect();
    assert_eq!(json(&unread), json(&["2", "3"]));
    assert_eq!(json(&carried.read_message_ids), json(&["m1"]));
    code.done();
}

#[test]
fn a_reader_where_the_history_has_a_future_is_refused() {
    let mut code = Driver::after(Past::of([subscribed("line"), scheduled("a", "1")]));
    code.reader("line");
    code.activity("a", "1");
    let violation = code.is_refused_at(2, Difference::Kind);
    assert_eq!(violation.command_id.unwrap().to_string(), "External(0)");
}
