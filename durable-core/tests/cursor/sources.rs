//! A completion that cannot be: corrupt where it is recorded, dropped without a
//! trace where it is new.

use durable_core::{DropReason, Event, EventId, EventKind, HistoryFault, OpKey, SourceFault};

use super::driver::Driver;
use super::events::{
    completed, failed, fired, promise_created, raised, resolved, scheduled, state_set, subscribed,
    timer_created, value,
};
use super::past::Past;

/// One open activity (2), timer (3), subscription (4) and promise (6) beside a
/// state change (5): something of everything.
fn open_some(code: &mut Driver) -> [OpKey; 4] {
    let activity = code.activity("charge", "1");
    let timer = code.timer(1_005);
    let external = code.external("go");
    code.set("seen", "1");
    let (promise, _) = code.promise("approval");
    code.flush();
    [activity, timer, external, promise]
}

fn some_open() -> Past {
    Past::of([
        scheduled("charge", "1"),
        timer_created(1_005),
        subscribed("go"),
        state_set("seen", "1"),
        promise_created("approval", 0),
    ])
}

/// The completion at event 7 is refused in a history, and dropped when it is new.
fn refuses(completion: Event, source: u64, expected: EventKind, found: SourceFault) {
    let mut code = Driver::after(some_open().at_ms(1_010).and(completion.clone()));
    open_some(&mut code);
    let corruption = code.is_corrupt_at(
        7,
        &HistoryFault::BadSource {
            source_event_id: EventId::new(source),
            expected,
            found,
        },
    );
    assert_eq!(corruption.kind, completion.kind());

    let mut code = Driver::live();
    open_some(&mut code);
    code.ignores(completion, DropReason::NotOpen);
    assert_eq!(code.cursor.open_operations(), 4);
    code.done();
}

#[test]
fn a_completion_cannot_name_an_event_that_does_not_exist() {
    for source in [0, 8, 42, u64::MAX] {
        refuses(
            completed(source, "1"),
            source,
            EventKind::ActivityScheduled,
            SourceFault::NoSuchEvent,
        );
    }
}

#[test]
fn a_completion_cannot_name_itself() {
    refuses(
        completed(7, "1"),
        7,
        EventKind::ActivityScheduled,
        SourceFault::NoSuchEvent,
    );
}

#[test]
fn a_completion_cannot_name_a_command_that_comes_after_it() {
    let past = some_open()
        .and(completed(8, "1"))
        .and(scheduled("late", "1"));
    let mut code = Driver::after(past);
    open_some(&mut code);
    code.is_corrupt_at(
        7,
        &HistoryFault::BadSource {
            source_event_id: EventId::new(8),
            expected: EventKind::ActivityScheduled,
            found: SourceFault::NoSuchEvent,
        },
    );
}

#[test]
fn a_completion_cannot_name_an_open_operation_of_another_kind() {
    let activity = EventKind::ActivityScheduled;
    let timer = SourceFault::OtherKind(EventKind::TimerCreated);
    refuses(completed(3, "1"), 3, activity, timer);
    refuses(failed(3, "no"), 3, activity, timer);
    let subscription = SourceFault::OtherKind(EventKind::ExternalSubscribed);
    refuses(completed(4, "1"), 4, activity, subscription);
    let promise = SourceFault::OtherKind(EventKind::PromiseCreated);
    refuses(fired(6, 1_005), 6, EventKind::TimerCreated, promise);
    let activity = SourceFault::OtherKind(activity);
    refuses(resolved(2, "1"), 2, EventKind::PromiseCreated, activity);
}

#[test]
fn a_completion_cannot_name_an_event_that_is_no_operation() {
    for source in [1, 5] {
        refuses(
            completed(source, "1"),
            source,
            EventKind::ActivityScheduled,
            SourceFault::NotOpen,
        );
    }
}

#[test]
fn a_completion_cannot_name_what_was_completed_before() {
    let completions = [
        (completed(2, "1"), EventKind::ActivityScheduled),
        (fired(3, 1_005), EventKind::TimerCreated),
        (resolved(6, "1"), EventKind::PromiseCreated),
    ];
    for (completion, expected) in completions {
        let source_event_id = completion.source_event_id().unwrap();
        let past = some_open().at_ms(1_010).and(&completion);
        let mut code = Driver::after(past.and(&completion));
        open_some(&mut code);
        code.input(completion.clone());
        let key = code.cursor.grant().unwrap();
        code.flush();
        let is_promise = expected == EventKind::PromiseCreated;
        assert_eq!(key.is_none(), is_promise, "unpolled, it does not ask");
        code.is_corrupt_at(
            8,
            &HistoryFault::BadSource {
                source_event_id,
                expected,
                found: SourceFault::NotOpen,
            },
        );

        let mut code = Driver::live();
        open_some(&mut code);
        code.input(completion.clone());
        let _ = code.cursor.grant().unwrap();
        code.flush();
        code.ignores(completion, DropReason::NotOpen);
        code.done();
    }
}

#[test]
fn the_example_of_the_unknown_timer_is_corrupt_at_the_timer() {
    let past = Past::of([scheduled("A", "1"), fired(42, 1_000), completed(2, "1")]);
    let mut code = Driver::after(past);
    code.activity("A", "1");
    code.flush();
    code.is_corrupt_at(
        3,
        &HistoryFault::BadSource {
            source_event_id: EventId::new(42),
            expected: EventKind::TimerCreated,
            found: SourceFault::NoSuchEvent,
        },
    );
}

#[test]
fn an_input_between_a_call_and_its_result_is_not_in_the_way() {
    let past = Past::of([
        scheduled("A", "1"),
        raised("go", "1", "m1"),
        completed(2, "1"),
    ]);
    let mut code = Driver::after(past);
    let a = code.activity("A", "1");
    code.flush();
    code.input(raised("go", "1", "m1"));
    code.input(completed(2, "1"));
    code.takes(a, value("1"));
    code.flush();
    code.done();
}
