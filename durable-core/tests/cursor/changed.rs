//! Code that changed since its history was written: refused at the exact event
//! where the two part, unless it only does more at the end.

use durable_core::{Difference, Event, EventId, ViolationHint};

use super::driver::Driver;
use super::events::{
    at, child_scheduled, completed, fired, ok, operation, returned, scheduled, state_set,
    timer_created, value,
};
use super::past::Past;
use super::shown::json;

#[test]
fn a_command_where_the_history_has_an_input_is_refused() {
    let mut code = Driver::after(Past::of([scheduled("a", "1"), completed(2, "1")]));
    code.activity("a", "1");
    code.activity("b", "2");
    let violation = code.is_refused_at(3, Difference::CommandWhereInput);
    assert_eq!(json(&violation.code.unwrap()), json(&scheduled("b", "2")));
    assert_eq!(json(&violation.history), json(&at(3, &completed(2, "1"))));
    assert_eq!(violation.command_id.unwrap().to_string(), "Activity(1)");
}

#[test]
fn a_command_in_a_poll_that_emitted_nothing_is_refused() {
    let mut code = Driver::after(Past::of([scheduled("a", "1"), completed(2, "1")]));
    code.activity("a", "1");
    code.flush();
    code.timer(5_000);
    let violation = code.is_refused_at(3, Difference::CommandWhereInput);
    assert_eq!(violation.command_id.unwrap().to_string(), "Timer(0)");
}

#[test]
fn code_that_returns_early_is_refused_where_it_returned() {
    let past = Past::of([
        scheduled("a", "1"),
        completed(2, "1"),
        scheduled("b", "1"),
        completed(4, "1"),
    ]);
    let mut code = Driver::after(past.clone());
    let a = code.activity("a", "1");
    code.flush();
    code.input(completed(2, "1"));
    code.takes(a, value("1"));
    code.returns("1");
    let violation = code.is_refused_at(4, Difference::Kind);
    assert_eq!(json(&violation.code.unwrap()), json(&returned("1")));
    assert_eq!(violation.command_id.unwrap().to_string(), "Activity(1)");

    let mut code = Driver::after(past);
    code.activity("a", "1");
    code.returns("1");
    code.is_refused_at(3, Difference::CommandWhereInput);
}

#[test]
fn code_that_waits_where_it_once_went_on_is_refused_at_what_it_left_out() {
    let past = Past::of([
        scheduled("a", "1"),
        completed(2, "1"),
        scheduled("b", "1"),
        scheduled("c", "1"),
        completed(4, "1"),
    ]);
    let mut code = Driver::after(past.clone());
    let a = code.activity("a", "1");
    code.flush();
    code.input(completed(2, "1"));
    code.takes(a, value("1"));
    code.flush();
    let violation = code.misses(4);
    assert_eq!(violation.code, None);
    assert_eq!(violation.command_id.unwrap().to_string(), "Activity(1)");

    let mut code = Driver::after(past);
    let a = code.activity("a", "1");
    code.flush();
    code.input(completed(2, "1"));
    code.takes(a, value("1"));
    code.activity("b", "1");
    code.flush();
    code.misses(5);
}

#[test]
fn code_that_no_longer_returns_is_refused_at_its_end() {
    let mut code = Driver::after(Past::of([scheduled("a", "1"), returned("1")]));
    code.activity("a", "1");
    code.flush();
    code.misses(3);
}

#[test]
fn another_name_input_or_kind_is_refused() {
    let past = || Past::of([scheduled("a", r#"{"x":1}"#), completed(2, "1")]);
    let mut code = Driver::after(past());
    code.activity("b", r#"{"x":1}"#);
    code.is_refused_at(2, Difference::Name);

    let mut code = Driver::after(past());
    code.activity("a", r#"{"x":2}"#);
    code.is_refused_at(2, Difference::Input);

    let mut code = Driver::after(past());
    code.timer(5_000);
    code.is_refused_at(2, Difference::Kind);
}

#[test]
fn of_a_block_in_which_one_command_changed_that_one_is_named() {
    let past = || {
        Past::of([
            scheduled("a", "1"),
            scheduled("b", "2"),
            timer_created(2_000),
            scheduled("c", "3"),
        ])
    };
    let mut code = Driver::after(past());
    code.activity("a", "1");
    code.activity("b", "changed");
    code.timer(2_000);
    code.activity("c", "3");
    let violation = code.is_refused_at(3, Difference::Input);
    assert_eq!(
        json(&violation.code.unwrap()),
        json(&scheduled("b", "changed"))
    );

    // In another order too.
    let mut code = Driver::after(past());
    code.timer(2_000);
    code.activity("renamed", "3");
    code.activity("b", "2");
    code.activity("a", "1");
    let violation = code.is_refused_at(5, Difference::Name);
    assert_eq!(
        json(&violation.code.unwrap()),
        json(&scheduled("renamed", "3"))
    );
}

#[test]
fn an_input_that_is_equal_as_json_is_accepted() {
    let recorded = r#"{"a":1,"b":[{"c":null,"d":"x"}]}"#;
    for now in [
        r#"{"b":[{"d":"x","c":null}],"a":1}"#,
        "{ \"a\" : 1,\n\t\"b\": [ {\"c\":null,\"d\":\"\\u0078\"} ] }",
    ] {
        let mut code = Driver::after(Past::of([scheduled("a", recorded), completed(2, "1")]));
        let a = code.activity("a", now);
        code.flush();
        code.input(completed(2, "1"));
        code.takes(a, value("1"));
        code.flush();
        code.done();
    }
}

#[test]
fn an_input_that_is_no_json_must_be_the_same_text() {
    let past = || Past::of([scheduled("a", "{not json}")]);
    let mut code = Driver::after(past());
    code.activity("a", "{not json}");
    code.flush();
    code.done();

    let mut code = Driver::after(past());
    code.activity("a", "{not  json}");
    code.is_refused_at(2, Difference::Input);
}

#[test]
fn commands_of_two_polls_are_not_swapped() {
    let mut code = Driver::after(Past::of([scheduled("a", "1"), scheduled("b", "1")]));
    code.activity("b", "1");
    code.is_refused_at(2, Difference::Name);
}

#[test]
fn commands_of_one_poll_that_are_now_of_two_are_accepted_in_their_order() {
    let past = Past::of([scheduled("a", "1"), scheduled("b", "1"), completed(3, "1")]);
    let mut code = Driver::after(past);
    code.activity("a", "1");
    code.flush();
    let b = code.activity("b", "1");
    code.flush();
    code.input(completed(3, "1"));
    code.takes(b, value("1"));
    code.flush();
    code.done();
}

#[test]
fn code_that_does_more_at_the_end_is_accepted() {
    let past = Past::of([scheduled("a", "1"), completed(2, "1")]);
    let mut code = Driver::after(past);
    let a = code.activity("a", "1");
    code.flush();
    code.input(completed(2, "1"));
    code.takes(a, value("1"));
    let b = code.activity("b", "2");
    code.flush();
    code.input(completed(4, "2"));
    code.takes(b, value("2"));
    code.returns("3");
    code.flush();
    code.has_stored([
        scheduled("a", "1"),
        completed(2, "1"),
        scheduled("b", "2"),
        completed(4, "2"),
        returned("3"),
    ]);
    code.done();
}

#[test]
fn code_that_does_more_in_its_last_poll_is_accepted() {
    let mut code = Driver::after(Past::of([scheduled("b", "2")]));
    let a = code.activity("a", "1");
    let b = code.activity("b", "2");
    let c = code.timer(1_005);
    code.flush();
    code.has_stored([
        scheduled("b", "2"),
        scheduled("a", "1"),
        timer_created(1_005),
    ]);
    code.input(completed(2, "\"b\""));
    code.takes(b, value("\"b\""));
    code.flush();
    code.input(completed(3, "\"a\""));
    code.takes(a, value("\"a\""));
    code.flush();
    code.input(fired(4, 1_005));
    code.takes(c, durable_core::Outcome::Fired);
    code.flush();
    code.done();
}

#[test]
fn code_that_now_returns_in_its_last_poll_is_accepted() {
    let mut code = Driver::after(Past::of([scheduled("a", "1")]));
    code.activity("a", "1");
    code.returns("1");
    code.flush();
    code.has_stored([scheduled("a", "1"), returned("1")]);
    code.done();
}

#[test]
fn code_that_does_more_before_it_returned_is_refused() {
    let past = || Past::of([scheduled("a", "1"), returned("1")]);
    let mut code = Driver::after(past());
    code.activity("a", "1");
    code.activity("b", "1");
    code.returns("1");
    let violation = code.is_refused_at(3, Difference::Kind);
    assert_eq!(json(&violation.code.unwrap()), json(&scheduled("b", "1")));

    let mut code = Driver::after(past());
    code.set("k", "1");
    code.activity("a", "1");
    code.returns("1");
    let violation = code.is_refused_at(3, Difference::Kind);
    assert_eq!(json(&violation.code.unwrap()), json(&state_set("k", "1")));
}

#[test]
fn the_number_of_an_unexpected_command_counts_those_of_its_own_block() {
    let mut code = Driver::after(Past::of([
        child_scheduled("c", "x", "1"),
        child_scheduled("c", "y", "1"),
        operation("r", ok("1")),
        completed(2, "1"),
    ]));
    code.child("c", Some("x"), "1");
    code.child("c", Some("y"), "1");
    code.child("c", Some("z"), "1");
    let violation = code.is_refused_at(4, Difference::Kind);
    assert_eq!(violation.command_id.unwrap().to_string(), "Run(0)");
    assert_eq!(
        json(&violation.code.unwrap()),
        json(&child_scheduled("c", "z", "1"))
    );
}

#[test]
fn a_failure_is_compared_with_its_details_as_json() {
    let details = |text: &str| {
        let failure = super::events::failure("no").with_details(text);
        durable_core::Ending::Failed { failure }
    };
    let past = || {
        let failure = super::events::failure("no").with_details(r#"{"a":1,"b":2}"#);
        Past::of([super::events::gave_up(failure)])
    };
    let mut code = Driver::after(past());
    code.cursor.finish(details(r#"{ "b":2, "a":1 }"#));
    code.flush();
    code.done();

    let mut code = Driver::after(past());
    code.cursor.finish(details(r#"{"a":1,"b":3}"#));
    code.is_refused_at(2, Difference::Ending);
}

#[test]
fn what_the_code_did_is_named_as_it_was_done() {
    let mut code = Driver::after(Past::of([child_scheduled("c", "order-7/1/2", "1")]));
    code.child("d", None, "1");
    let violation = code.is_refused_at(2, Difference::Name);
    let Event::SubOrchestrationScheduled { name, input, .. } = *violation.code.unwrap() else {
        panic!("another kind");
    };
    assert_eq!((name.as_str(), input.as_str()), ("d", "1"));
}

/// `a`, then `b`, then the end.
fn a_then_b() -> Past {
    Past::of([
        scheduled("a", "1"),
        completed(2, "1"),
        scheduled("b", "1"),
        completed(4, "1"),
        returned("1"),
    ])
}

#[test]
fn a_call_that_was_removed_or_swapped_is_told_by_what_comes_later() {
    let mut code = Driver::after(a_then_b());
    code.activity("b", "1");
    let violation = code.is_refused_at(2, Difference::Name);
    let found_later = EventId::new(4);
    assert_eq!(violation.found_later, Some(found_later));
    let hint = ViolationHint::RemovedOrMoved { found_later };
    assert_eq!(violation.hint(), hint);

    // The last call was removed: the code returns what it returned then.
    let mut code = Driver::after(a_then_b());
    let a = code.activity("a", "1");
    code.flush();
    code.input(completed(2, "1"));
    code.takes(a, value("1"));
    code.returns("1");
    let violation = code.is_refused_at(4, Difference::Kind);
    let found_later = EventId::new(6);
    let hint = ViolationHint::RemovedOrMoved { found_later };
    assert_eq!(violation.hint(), hint);
}

#[test]
fn a_call_that_the_history_does_not_have_was_added_or_renamed() {
    let mut code = Driver::after(a_then_b());
    code.activity("new", "1");
    let violation = code.is_refused_at(2, Difference::Name);
    assert_eq!(violation.found_later, None);
    assert_eq!(violation.hint(), ViolationHint::AddedOrRenamed);

    // What is of another kind, or comes besides, cannot have been renamed.
    let mut code = Driver::after(a_then_b());
    code.timer(5_000);
    let violation = code.is_refused_at(2, Difference::Kind);
    assert_eq!(violation.hint(), ViolationHint::Added);
    let mut code = Driver::after(a_then_b());
    code.activity("a", "1");
    code.activity("new", "1");
    let violation = code.is_refused_at(3, Difference::CommandWhereInput);
    assert_eq!(violation.hint(), ViolationHint::Added);

    // The code returns something else.
    let mut code = Driver::after(a_then_b());
    code.returns("2");
    let violation = code.is_refused_at(2, Difference::Kind);
    assert_eq!(violation.hint(), ViolationHint::Removed);
}

#[test]
fn another_value_of_the_same_call_is_no_change_of_the_calls() {
    let mut code = Driver::after(a_then_b());
    code.activity("a", "2");
    let violation = code.is_refused_at(2, Difference::Input);
    assert_eq!(violation.hint(), ViolationHint::Value);
}
