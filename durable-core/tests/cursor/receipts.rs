//! Events that are sent with a receipt: an operation from the poll that sends them until the
//! receipt is taken.

use durable_core::{DropReason, EventKind, Outcome};

use super::driver::{Driver, everywhere};
use super::events::{
    cancel_requested, cancelled, event_delivered, event_sent, event_sent_with_receipt,
    event_undeliverable, failure_of, raised, subscribed, value,
};

#[test]
fn a_receipt_goes_to_the_event_that_it_names() {
    everywhere(|code| {
        let first = code.send_with_receipt("other", "go", "1");
        let second = code.send_with_receipt("other", "go", "1");
        code.flush();
        code.input(event_undeliverable(3, "gone"));
        code.takes(second, failure_of("gone"));
        code.flush();
        code.input(event_delivered(2));
        code.takes(first, Outcome::Delivered);
        code.flush();
        code.has_stored([
            event_sent_with_receipt("other", "go", "1"),
            event_sent_with_receipt("other", "go", "1"),
            event_undeliverable(3, "gone"),
            event_delivered(2),
        ]);
    });
}

#[test]
fn an_event_without_a_receipt_opens_nothing() {
    everywhere(|code| {
        code.send("other", "go", "1");
        let go = code.external("go");
        code.flush();
        assert_eq!(code.cursor.open_operations(), 1);
        code.input(raised("go", "1", "m1"));
        code.takes(go, value("1"));
        code.flush();
        code.has_stored([
            event_sent("other", "go", "1"),
            subscribed("go"),
            raised("go", "1", "m1"),
        ]);
    });
}

#[test]
fn a_receipt_that_nothing_waits_for_is_dropped() {
    let mut code = Driver::live();
    let sent = code.send_with_receipt("other", "go", "1");
    code.send("other", "go", "1");
    code.flush();
    let at = |event_id| code.cursor.open_kind(durable_core::EventId::new(event_id));
    assert_eq!(at(2), Some(EventKind::ExternalEventSent));
    assert_eq!(at(3), None);
    code.drop(sent);
    code.flush();
    for source in [2, 3, 4] {
        code.ignores(event_delivered(source), DropReason::NotOpen);
    }
    code.has_stored([
        event_sent_with_receipt("other", "go", "1"),
        event_sent("other", "go", "1"),
    ]);
}

#[test]
fn a_cancellation_ends_the_wait_for_a_receipt() {
    everywhere(|code| {
        let sent = code.send_with_receipt("other", "go", "1");
        code.flush();
        code.input(cancel_requested("enough"));
        code.takes(sent, cancelled("enough"));
        code.flush();
        code.has_stored([
            event_sent_with_receipt("other", "go", "1"),
            cancel_requested("enough"),
        ]);
    });
}
