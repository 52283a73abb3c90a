//! What one poll emits is concurrent: replay finds it again in any order, and each
//! operation keeps the position that it had.

use durable_core::{Difference, OpKey, Outcome};

use super::driver::Driver;
use super::events::{
    activity_cancelled, chained, child_completed, child_scheduled, completed, event_sent, fired,
    ok, promise_created, raised, resolution_sent, scheduled, state_cleared, state_set, subscribed,
    timer_cancelled, timer_created, value, view_published,
};
use super::past::Past;

#[test]
fn commands_in_another_order_keep_their_own_positions() {
    let past = Past::of([
        scheduled("a", "1"),
        scheduled("b", "1"),
        timer_created(1_000),
        child_scheduled("c", "c-1", "1"),
        completed(3, "\"b\""),
        fired(4, 1_000),
        child_completed(5, "\"c\""),
        completed(2, "\"a\""),
    ]);
    let mut code = Driver::after(past);
    let c = code.child("c", Some("c-1"), "1");
    let t = code.timer(1_000);
    let b = code.activity("b", "1");
    let a = code.activity("a", "1");
    code.flush();
    let rest = [
        (completed(3, "\"b\""), b, value("\"b\"")),
        (fired(4, 1_000), t, Outcome::Fired),
        (child_completed(5, "\"c\""), c, value("\"c\"")),
        (completed(2, "\"a\""), a, value("\"a\"")),
    ];
    for (input, operation, outcome) in rest {
        code.input(input);
        code.takes(operation, outcome);
        code.flush();
    }
    code.done();
}

#[test]
fn timers_of_one_poll_are_told_apart_by_their_times() {
    let past = Past::of([timer_created(3_000), timer_created(2_000)])
        .at_ms(2_000)
        .and(fired(3, 2_000));
    let mut code = Driver::after(past);
    let soon = code.timer(2_000);
    code.timer(3_000);
    code.flush();
    code.input(fired(3, 2_000));
    code.takes(soon, Outcome::Fired);
    code.flush();
    code.done();
}

#[test]
fn timers_whose_times_changed_keep_their_order_and_their_recorded_times() {
    let past = Past::of([
        timer_created(3_000),
        timer_created(2_000),
        timer_created(7_000),
    ])
    .at_ms(3_000)
    .and(fired(2, 3_000));
    let mut code = Driver::after(past);
    // The third is found by its time; the others in their order.
    code.timer(7_000);
    let first = code.timer(3_001);
    code.timer(2_001);
    code.flush();
    code.input(fired(2, 3_000));
    code.takes(first, Outcome::Fired);
    code.flush();
    code.done();
}

#[test]
fn a_text_that_is_the_same_goes_before_one_that_is_equal_as_json() {
    let past = Past::of([
        scheduled("a", r#"{"x":1,"y":2}"#),
        scheduled("a", r#"{"y":2,"x":1}"#),
        completed(2, "\"x first\""),
    ]);
    let mut code = Driver::after(past);
    code.activity("a", r#"{"y":2,"x":1}"#);
    let x_first = code.activity("a", r#"{"x":1,"y":2}"#);
    code.flush();
    code.input(completed(2, "\"x first\""));
    code.takes(x_first, value("\"x first\""));
    code.flush();
    code.done();
}

#[test]
fn commands_without_an_answer_are_found_in_any_order() {
    let sent = "other/1/Promise(4)";
    let past = Past::of([
        state_set("k", "1"),
        state_set("k", "2"),
        state_cleared("l"),
        view_published("cart", "\"x\""),
        view_published("cart", "\"y\""),
        event_sent("o", "n", "1"),
        resolution_sent(sent, ok("1")),
        chained("d", "d-1", "1"),
        promise_created("p", 0),
        subscribed("e"),
    ]);
    let mut code = Driver::after(past);
    code.external("e");
    code.promise("p");
    code.start_detached("d", Some("d-1"), "1");
    code.resolve(sent, ok("1"));
    code.send("o", "n", "1");
    code.publish("cart", "\"y\"");
    code.publish("cart", "\"x\"");
    code.clear("l");
    code.set("k", "2");
    code.set("k", "1");
    code.flush();
    // What was recorded last counts, as it did then.
    assert_eq!(code.cursor.state("k").unwrap().as_str(), "2");
    assert_eq!(code.cursor.view("cart").unwrap().as_str(), "\"y\"");
    code.done();
}

#[test]
fn cancellations_in_another_order_are_found() {
    let past = Past::of([
        scheduled("a", "1"),
        timer_created(5_000),
        scheduled("b", "1"),
        completed(4, "1"),
        activity_cancelled(2),
        timer_cancelled(3),
    ]);
    let mut code = Driver::after(past);
    let a = code.activity("a", "1");
    let t = code.timer(5_000);
    let b = code.activity("b", "1");
    code.flush();
    code.input(completed(4, "1"));
    code.takes(b, value("1"));
    code.drop(t);
    code.drop(a);
    code.flush();
    code.done();
}

#[test]
fn children_with_derived_ids_are_found_in_any_order() {
    let past = Past::of([
        child_scheduled("a", "order-7/1/2", "1"),
        child_scheduled("b", "order-7/1/3", "1"),
        child_scheduled("a", "order-7/1/4", "2"),
        child_completed(4, "\"a2\""),
        child_completed(3, "\"b\""),
    ]);
    let mut code = Driver::after(past);
    let a2 = code.child("a", None, "2");
    let b = code.child("b", None, "1");
    code.child("a", None, "1");
    code.flush();
    code.input(child_completed(4, "\"a2\""));
    code.takes(a2, value("\"a2\""));
    code.flush();
    code.input(child_completed(3, "\"b\""));
    code.takes(b, value("\"b\""));
    code.flush();
    code.done();
}

#[test]
fn a_command_that_is_dropped_in_its_poll_does_not_disturb_those_around_it() {
    let past = Past::of([
        scheduled("a", "1"),
        child_scheduled("c", "order-7/1/3", "1"),
        child_scheduled("c", "order-7/1/4", "1"),
        timer_created(5_000),
        child_completed(3, "\"first\""),
        completed(2, "\"a\""),
    ]);
    // Dropped are the first of the poll, one in the middle, and all but the last
    // of several that are alike.
    let mut code = Driver::after(past);
    let gone = code.activity("a", "1");
    let a = code.activity("a", "1");
    code.drop(gone);
    let gone = [code.child("c", None, "1"), code.child("c", None, "1")];
    let first = code.child("c", None, "1");
    gone.into_iter().for_each(|gone| code.drop(gone));
    code.child("c", None, "1");
    let gone = code.timer(7_000);
    code.timer(5_000);
    code.drop(gone);
    code.flush();
    code.input(child_completed(3, "\"first\""));
    code.takes(first, value("\"first\""));
    code.flush();
    code.input(completed(2, "\"a\""));
    code.takes(a, value("\"a\""));
    code.flush();
    code.done();
}

#[test]
fn a_derived_id_that_is_now_spelled_out_is_the_same() {
    let past = Past::of([child_scheduled("a", "order-7/1/2", "1")]);
    let mut code = Driver::after(past);
    code.child("a", Some("order-7/1/2"), "1");
    code.flush();
    code.done();
}

/// A block that takes seconds if everything is compared with everything.
#[test]
fn a_wide_poll_in_another_order_is_found_by_looking_up() {
    const WIDTH: usize = 5_000;
    let input = |n: usize| format!(r#"{{"n":{n},"of":{WIDTH}}}"#);
    let again = |n: usize| format!(r#"{{ "of":{WIDTH}, "n":{n} }}"#);
    let past = (0..WIDTH).fold(Past::started(), |past, n| {
        let derived = format!("order-7/1/{}", past.len() + 2);
        past.and(scheduled("a", &input(n)))
            .and(child_scheduled("c", &derived, &input(n)))
    });
    let mut code = Driver::after(past.and(completed(2, "1")));
    let activities: Vec<OpKey> = (0..WIDTH)
        .rev()
        .map(|n| {
            code.child("c", None, &again(n));
            code.activity("a", &again(n))
        })
        .collect();
    code.flush();
    code.input(completed(2, "1"));
    code.takes(activities[WIDTH - 1], value("1"));
    code.flush();
    code.done();
}

/// The same, where nothing is found.
#[test]
fn a_wide_poll_that_changed_is_refused_without_comparing_everything() {
    const WIDTH: usize = 5_000;
    let past = (0..WIDTH).fold(Past::started(), |past, n| {
        past.and(scheduled("a", &format!("{n}")))
    });
    let mut code = Driver::after(past);
    for n in 0..WIDTH {
        code.activity("a", &format!("[{n}]"));
    }
    code.is_refused_at(2, Difference::Input);
}

#[test]
fn an_event_that_two_dropped_subscriptions_held_goes_back_in_the_order_of_arrival() {
    let subscriptions = Past::of((0..4).map(|_| subscribed("e")))
        .and(raised("e", "1", "m1"))
        .and(raised("e", "2", "m2"))
        .and(scheduled("after", "1"))
        .and(completed(8, "1"));
    for swapped in [false, true] {
        let mut code = Driver::after(subscriptions.clone());
        let mut s: Vec<OpKey> = (0..4).map(|_| code.external("e")).collect();
        code.flush();
        code.input(raised("e", "1", "m1"));
        code.lapses(s[0]);
        code.input(raised("e", "2", "m2"));
        code.lapses(s[1]);
        let late = s.split_off(2);
        // Both are dropped in one poll, whichever comes first.
        if swapped {
            s.reverse();
        }
        s.into_iter().for_each(|dropped| code.drop(dropped));
        let after = code.activity("after", "1");
        code.flush();
        code.takes(late[0], value("1"));
        code.flush();
        code.takes(late[1], value("2"));
        code.flush();
        code.input(completed(8, "1"));
        code.takes(after, value("1"));
        code.flush();
        code.done();
    }
}
