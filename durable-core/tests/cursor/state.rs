//! State, views, and the ids of children and detached starts.

use durable_core::Difference;

use super::driver::{Driver, everywhere};
use super::events::{
    attribute_cleared, attribute_set, chained, child_completed, child_scheduled, completed,
    scheduled, state_cleared, state_set, value, view_cleared, view_published,
};
use super::past::Past;

#[test]
fn state_is_set_cleared_and_read_within_the_same_poll() {
    everywhere(|code| {
        assert_eq!(code.cursor.state("k"), None);
        code.set("k", "1");
        assert_eq!(code.cursor.state("k").unwrap().as_str(), "1");
        code.set("k", "2");
        code.set("l", "3");
        code.flush();
        assert_eq!(code.cursor.state("k").unwrap().as_str(), "2");
        code.clear("k");
        assert_eq!(code.cursor.state("k"), None);
        code.flush();
        assert_eq!(code.cursor.state("k"), None);
        assert_eq!(code.cursor.state("l").unwrap().as_str(), "3");
        code.has_stored([
            state_set("k", "1"),
            state_set("k", "2"),
            state_set("l", "3"),
            state_cleared("k"),
        ]);
    });
}

#[test]
fn the_recorded_state_wins_from_the_call_on() {
    let mut code = Driver::after(Past::of([
        state_set("k", "\"then\""),
        state_set("l", "1"),
        state_set("k", "\"later\""),
    ]));
    code.set("k", "\"now\"");
    assert_eq!(code.cursor.state("k").unwrap().as_str(), "\"then\"");
    code.set("l", "1");
    assert_eq!(code.cursor.state("l").unwrap().as_str(), "1");
    code.set("k", "\"soon\"");
    assert_eq!(code.cursor.state("k").unwrap().as_str(), "\"later\"");
    code.flush();
    assert_eq!(code.cursor.state("k").unwrap().as_str(), "\"later\"");
    code.done();
}

#[test]
fn branches_that_are_polled_in_another_order_see_what_each_of_them_set() {
    let mut code = Driver::after(Past::of([state_set("k", "1"), state_set("k", "2")]));
    code.set("k", "2");
    assert_eq!(code.cursor.state("k").unwrap().as_str(), "2");
    code.set("k", "1");
    assert_eq!(code.cursor.state("k").unwrap().as_str(), "1");
    code.flush();
    assert_eq!(code.cursor.state("k").unwrap().as_str(), "2", "as recorded");
    code.done();
}

#[test]
fn a_value_that_is_set_after_the_end_of_the_history_is_the_codes_own() {
    let mut code = Driver::after(Past::of([state_set("k", "1")]));
    code.set("k", "2");
    assert_eq!(code.cursor.state("k").unwrap().as_str(), "1");
    code.set("k", "3");
    assert_eq!(code.cursor.state("k").unwrap().as_str(), "3");
    code.flush();
    assert_eq!(code.cursor.state("k").unwrap().as_str(), "3");
}

#[test]
fn a_state_change_of_another_kind_is_refused() {
    let mut code = Driver::after(Past::of([state_set("k", "1")]));
    code.clear("k");
    let violation = code.is_refused_at(2, Difference::Kind);
    assert_eq!(violation.command_id.unwrap().to_string(), "State(0)");
}

#[test]
fn the_recorded_view_wins() {
    everywhere(|code| {
        assert_eq!(code.cursor.view("cart"), None);
        code.publish("cart", "\"packing\"");
        assert_eq!(code.cursor.view("cart").unwrap().as_str(), "\"packing\"");
        code.flush();
        code.publish("cart", "\"sent\"");
        code.flush();
        code.publish("other", "1");
        code.clear_view("cart");
        assert_eq!(code.cursor.view("cart"), None);
        let names: Vec<_> = code.cursor.view_names().collect();
        assert_eq!(names, ["other"]);
        code.flush();
        code.has_stored([
            view_published("cart", "\"packing\""),
            view_published("cart", "\"sent\""),
            view_published("other", "1"),
            view_cleared("cart"),
        ]);
    });
    let mut code = Driver::after(Past::of([view_published("cart", "\"then\"")]));
    code.publish("cart", "\"now\"");
    assert_eq!(code.cursor.view("cart").unwrap().as_str(), "\"then\"");
    code.flush();
    assert_eq!(code.cursor.view("cart").unwrap().as_str(), "\"then\"");
    code.done();
}

#[test]
fn the_recorded_attribute_wins() {
    let customer = |code: &Driver| code.cursor.attributes().get("customer").cloned();
    everywhere(|code| {
        assert_eq!(customer(code), None);
        code.attribute("customer", "c-17");
        assert_eq!(customer(code), Some("c-17".into()));
        code.flush();
        code.no_attribute("customer");
        assert_eq!(customer(code), None);
        code.flush();
        code.has_stored([
            attribute_set("customer", "c-17"),
            attribute_cleared("customer"),
        ]);
    });
    let mut code = Driver::after(Past::of([attribute_set("customer", "then")]));
    code.attribute("customer", "now");
    assert_eq!(customer(&code), Some("then".into()));
    code.flush();
    assert_eq!(customer(&code), Some("then".into()));
    code.done();
}

#[test]
fn ids_that_were_not_given_are_derived_from_the_position() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        let child = code.child("c", None, "1");
        code.start_detached("d", None, "1");
        code.child("c", Some("own"), "1");
        code.start_detached("d", Some("own too"), "1");
        code.flush();
        code.input(child_completed(3, "1"));
        code.takes(child, value("1"));
        code.flush();
        code.input(completed(2, "1"));
        code.takes(a, value("1"));
        code.flush();
        code.has_stored([
            scheduled("a", "1"),
            child_scheduled("c", "order-7/1/3", "1"),
            chained("d", "order-7/1/4", "1"),
            child_scheduled("c", "own", "1"),
            chained("d", "own too", "1"),
            child_completed(3, "1"),
            completed(2, "1"),
        ]);
    });
}

#[test]
fn derived_ids_stay_with_their_commands_when_the_order_changes() {
    let past = Past::of([
        chained("x", "order-7/1/2", "1"),
        chained("y", "order-7/1/3", "1"),
        child_scheduled("x", "order-7/1/4", "1"),
        child_scheduled("y", "order-7/1/5", "1"),
        child_completed(4, "\"x\""),
    ]);
    let mut code = Driver::after(past);
    code.child("y", None, "1");
    let x = code.child("x", None, "1");
    code.start_detached("y", None, "1");
    code.start_detached("x", None, "1");
    code.flush();
    code.input(child_completed(4, "\"x\""));
    code.takes(x, value("\"x\""));
    code.flush();
    code.done();
}

#[test]
fn an_id_that_was_given_is_compared() {
    for (recorded, now) in [
        ("own", Some("other")),
        ("own", None),
        ("order-7/1/2", Some("own")),
        ("order-7/1/3", None),
    ] {
        let mut code = Driver::after(Past::of([child_scheduled("c", recorded, "1")]));
        code.child("c", now, "1");
        code.is_refused_at(2, Difference::Instance);

        let mut code = Driver::after(Past::of([chained("c", recorded, "1")]));
        code.start_detached("c", now, "1");
        code.is_refused_at(2, Difference::Instance);
    }
}
