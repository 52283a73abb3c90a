//! Futures that are dropped: what they leave in the history, and what becomes of
//! a completion that comes too late.

use durable_core::{DropReason, Event, EventId, EventKind, HistoryFault, SourceFault};

use super::driver::{Driver, everywhere};
use super::events::{
    activity_cancelled, child_cancelled, child_completed, child_scheduled, completed, failed,
    fired, promise_created, resolved, scheduled, subscribed, timer_cancelled, timer_created, value,
};
use super::past::Past;

#[test]
fn a_lost_select_cancels_the_loser_and_drops_its_late_result() {
    everywhere(|code| {
        let slow = code.activity("slow", "1");
        let fast = code.activity("fast", "1");
        code.flush();
        code.input(completed(3, "\"fast\""));
        code.takes(fast, value("\"fast\""));
        code.drop(slow);
        code.flush();
        code.ignores(completed(2, "\"slow\""), DropReason::NotOpen);
        code.ignores(failed(2, "slow"), DropReason::NotOpen);
        code.returns("\"fast\"");
        code.flush();
    });
}

/// Another writer may have appended it.
#[test]
fn a_late_result_that_was_recorded_is_consumed_once() {
    let past = Past::of([
        scheduled("slow", "1"),
        scheduled("fast", "1"),
        completed(3, "1"),
        activity_cancelled(2),
        completed(2, "1"),
    ]);
    let race = |past: Past| {
        let mut code = Driver::after(past);
        let slow = code.activity("slow", "1");
        let fast = code.activity("fast", "1");
        code.flush();
        code.input(completed(3, "1"));
        code.takes(fast, value("1"));
        code.drop(slow);
        code.flush();
        code.input(completed(2, "1"));
        code
    };
    race(past.clone()).done();
    race(past.and(completed(2, "2"))).is_corrupt_at(
        7,
        &HistoryFault::BadSource {
            source_event_id: EventId::new(2),
            expected: EventKind::ActivityScheduled,
            found: SourceFault::NotOpen,
        },
    );
}

#[test]
fn a_late_result_of_another_kind_is_corrupt() {
    let past = Past::of([
        timer_created(5_000),
        scheduled("fast", "1"),
        completed(3, "1"),
        timer_cancelled(2),
        completed(2, "1"),
    ]);
    let mut code = Driver::after(past);
    let timer = code.timer(5_000);
    let fast = code.activity("fast", "1");
    code.flush();
    code.input(completed(3, "1"));
    code.takes(fast, value("1"));
    code.drop(timer);
    code.flush();
    code.is_corrupt_at(
        6,
        &HistoryFault::BadSource {
            source_event_id: EventId::new(2),
            expected: EventKind::ActivityScheduled,
            found: SourceFault::OtherKind(EventKind::TimerCreated),
        },
    );
}

#[test]
fn a_future_dropped_in_the_poll_that_first_polled_it_leaves_no_trace() {
    everywhere(|code| {
        let kept = code.activity("kept", "1");
        let dropped = [
            code.activity("dropped", "1"),
            code.timer(5_000),
            code.external("dropped"),
            code.child("dropped", None, "1"),
            code.run("dropped"),
            code.patch("dropped"),
        ];
        let also_kept = code.timer(5_000);
        dropped.into_iter().for_each(|future| code.drop(future));
        code.flush();
        code.rests();
        code.has_stored([scheduled("kept", "1"), timer_created(5_000)]);
        assert_eq!(code.cursor.open_operations(), 2);
        code.drop(kept);
        code.drop(also_kept);
        code.flush();
    });
}

#[test]
fn timers_activities_and_children_are_cancelled_when_they_are_dropped() {
    everywhere(|code| {
        let activity = code.activity("a", "1");
        let timer = code.timer(5_000);
        let child = code.child("c", Some("c-1"), "1");
        code.flush();
        // In the order in which they are dropped.
        code.drop(child);
        code.drop(activity);
        code.drop(timer);
        code.flush();
        code.has_stored([
            scheduled("a", "1"),
            timer_created(5_000),
            child_scheduled("c", "c-1", "1"),
            child_cancelled(4),
            activity_cancelled(2),
            timer_cancelled(3),
        ]);
        code.ignores(completed(2, "1"), DropReason::NotOpen);
        code.ignores(fired(3, 1_000), DropReason::NotOpen);
        code.ignores(child_completed(4, "1"), DropReason::NotOpen);
    });
}

#[test]
fn subscriptions_and_promises_are_dropped_in_silence() {
    everywhere(|code| {
        let external = code.external("e");
        let (promise, _) = code.promise("p");
        code.flush();
        code.drop(external);
        code.drop(promise);
        code.flush();
        code.has_stored([subscribed("e"), promise_created("p", 0)]);
        assert_eq!(code.cursor.open_operations(), 0);
        code.ignores(resolved(3, "1"), DropReason::NotOpen);
    });
}

#[test]
fn cancellations_stand_after_the_commands_of_their_poll() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        code.flush();
        code.drop(a);
        code.activity("b", "1");
        code.returns("1");
        code.flush();
        let kinds: Vec<EventKind> = code.events_from(3).iter().map(Event::kind).collect();
        assert_eq!(
            kinds,
            [
                EventKind::ActivityScheduled,
                EventKind::ActivityCancelRequested,
                EventKind::OrchestrationCompleted,
            ]
        );
    });
}

#[test]
fn a_result_that_is_there_but_was_not_taken_is_dropped_in_silence() {
    everywhere(|code| {
        let waiting = code.activity("waiting", "1");
        let granted = code.activity("granted", "1");
        let other = code.activity("other", "1");
        code.flush();
        code.input(completed(2, "1"));
        code.lapses(waiting);
        code.input(completed(3, "1"));
        // Granted, and dropped in that very poll.
        assert_eq!(code.cursor.grant().unwrap().unwrap().key, granted);
        code.drop(granted);
        code.drop(waiting);
        code.flush();
        code.ignores(completed(2, "1"), DropReason::NotOpen);
        code.ignores(completed(3, "1"), DropReason::NotOpen);
        code.input(completed(4, "1"));
        code.takes(other, value("1"));
        code.flush();
        assert_eq!(code.events_from(8), []);
    });
}

#[test]
fn what_is_open_at_the_end_leaves_no_trace() {
    everywhere(|code| {
        let open = code.activity("open", "1");
        code.flush();
        code.returns("1");
        code.flush();
        // The runtime drops the root.
        code.drop(open);
        code.flush();
        assert_eq!(code.cursor.open_operations(), 0);
        code.ignores(completed(2, "1"), DropReason::Ended);
    });
}
