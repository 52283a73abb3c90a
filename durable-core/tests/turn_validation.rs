//! A turn that contradicts itself is refused, each way by its own words; a turn that does
//! not is accepted.
#![cfg(test)]

use durable_core::provider::{
    CommitId, InstanceStatus, Lease, NewWork, NextExecution, ProviderError, SessionId, SourceEvent,
    TurnCommit, ViewUpdate,
};
use durable_core::{
    ActivityOptions, Carried, Event, EventId, ExecutionId, HistoryEntry, LimitError, Limits,
    Payload,
};

const SECOND: ExecutionId = ExecutionId::FIRST.next();

fn entry(event: Event) -> HistoryEntry {
    HistoryEntry::new(1_000, event)
}

fn activity(event_id: u64) -> HistoryEntry {
    entry(Event::ActivityScheduled {
        event_id: EventId::new(event_id),
        execution_id: ExecutionId::FIRST,
        name: "charge".into(),
        input: "1".into(),
        options: ActivityOptions::default(),
    })
}

fn activity_within(event_id: u64, total_timeout_ms: u64) -> HistoryEntry {
    let mut entry = activity(event_id);
    if let Event::ActivityScheduled { options, .. } = &mut entry.event {
        options.total_timeout_ms = Some(total_timeout_ms);
    }
    entry
}

fn timer(event_id: u64) -> HistoryEntry {
    entry(Event::TimerCreated {
        event_id: EventId::new(event_id),
        execution_id: ExecutionId::FIRST,
        fire_at_ms: 7_000,
    })
}

fn first(event_id: u64) -> SourceEvent {
    SourceEvent::new(ExecutionId::FIRST, EventId::new(event_id))
}

/// A turn after event 4 that appends an activity and a timer.
fn turn() -> TurnCommit {
    let lease = Lease {
        instance: "order-7".into(),
        session: SessionId(1),
        token: 1,
    };
    let tail = EventId::new(4);
    let mut turn = TurnCommit::new(CommitId(1), lease, ExecutionId::FIRST, tail);
    turn.events = vec![activity(5), timer(6)];
    turn
}

fn check(change: impl FnOnce(&mut TurnCommit)) -> Result<(), ProviderError> {
    let mut turn = turn();
    change(&mut turn);
    turn.validate(&Limits::default())
}

fn refused(change: impl FnOnce(&mut TurnCommit)) -> String {
    match check(change) {
        Err(ProviderError::Invalid { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_agrees_with_itself_is_accepted() {
    assert_eq!(check(|_| {}), Ok(()));
    assert_eq!(check(|turn| turn.events.clear()), Ok(()));
    let everything = check(|turn| {
        turn.new_work = vec![NewWork::new(first(5), 2)];
        turn.new_timers = vec![first(6)];
        turn.finished_work = vec![first(2)];
        turn.cancelled_work = vec![first(3)];
        turn.cancelled_timers = vec![first(4)];
        turn.next_execution = Some(NextExecution::new(SECOND, vec![timer(1)]));
        turn.new_timers
            .push(SourceEvent::new(SECOND, EventId::new(1)));
    });
    assert_eq!(everything, Ok(()));
}

#[test]
fn entries_without_gaps_are_demanded() {
    let gap = refused(|turn| turn.events[1] = timer(7));
    assert_eq!(gap, "events: event 7 stands where 6 must");
    let repeated = refused(|turn| turn.events[0] = activity(4));
    assert_eq!(repeated, "events: event 4 stands where 5 must");
}

#[test]
fn the_next_execution_follows_and_begins_with_its_first_event() {
    let third = refused(|turn| {
        turn.next_execution = Some(NextExecution::new(SECOND.next(), vec![timer(1)]));
    });
    assert_eq!(third, "the next execution is 3, after execution 1");
    let empty = refused(|turn| turn.next_execution = Some(NextExecution::new(SECOND, vec![])));
    assert_eq!(empty, "the next execution has no events");
    let late = refused(|turn| {
        turn.next_execution = Some(NextExecution::new(SECOND, vec![timer(2)]));
    });
    assert_eq!(late, "next execution: event 2 stands where 1 must");
}

#[test]
fn new_work_and_timers_name_their_events() {
    for (source, named) in [
        (first(6), "event 6 of execution 1"),
        (first(4), "event 4 of execution 1"),
        (first(7), "event 7 of execution 1"),
        (
            SourceEvent::new(SECOND, EventId::new(5)),
            "event 5 of execution 2",
        ),
        (first(0), "event 0 of execution 1"),
    ] {
        let reason = refused(|turn| turn.new_work = vec![NewWork::new(source, 0)]);
        let expected = format!("new work names {named}, which is no activity of this turn");
        assert_eq!(reason, expected);
    }
    let reason = refused(|turn| turn.new_timers = vec![first(5)]);
    assert_eq!(
        reason,
        "a new timer names event 5 of execution 1, which is no timer and no deadline of this turn"
    );
}

#[test]
fn the_deadline_of_an_activity_is_a_timer_of_its_name() {
    let with_deadline = |turn: &mut TurnCommit| {
        turn.events[0] = activity_within(5, 250);
        turn.new_work = vec![NewWork::new(first(5), 0)];
        turn.new_timers = vec![first(5), first(6)];
    };
    assert_eq!(check(with_deadline), Ok(()));
    let swapped = refused(|turn| {
        with_deadline(turn);
        turn.new_timers.reverse();
    });
    assert_eq!(
        swapped,
        "a new timer names event 5 of execution 1 again or out of order"
    );
    let taken_back = refused(|turn| {
        with_deadline(turn);
        turn.cancelled_timers = vec![first(5)];
    });
    assert_eq!(
        taken_back,
        "a timer of event 5 of execution 1 is removed by its own turn"
    );
    let mut turn = turn();
    with_deadline(&mut turn);
    assert_eq!(turn.timer_due_ms(first(5)), Some(1_250));
    turn.events[0] = activity_within(5, u64::MAX);
    assert_eq!(turn.timer_due_ms(first(5)), Some(u64::MAX));
}

#[test]
fn an_event_is_named_once_and_in_order() {
    let twice = refused(|turn| turn.new_work = vec![NewWork::new(first(5), 0); 2]);
    assert_eq!(
        twice,
        "new work names event 5 of execution 1 again or out of order"
    );
    let swapped = refused(|turn| {
        turn.events.push(timer(7));
        turn.new_timers = vec![first(7), first(6)];
    });
    assert_eq!(
        swapped,
        "a new timer names event 6 of execution 1 again or out of order"
    );
}

#[test]
fn a_turn_does_not_remove_what_it_schedules() {
    let finished = refused(|turn| turn.finished_work = vec![first(5)]);
    assert_eq!(
        finished,
        "work of event 5 of execution 1 is removed by its own turn"
    );
    let cancelled = refused(|turn| turn.cancelled_work = vec![first(1), first(5)]);
    assert_eq!(
        cancelled,
        "work of event 5 of execution 1 is removed by its own turn"
    );
    let timer = refused(|turn| turn.cancelled_timers = vec![first(6)]);
    assert_eq!(
        timer,
        "a timer of event 6 of execution 1 is removed by its own turn"
    );
}

fn update(name: &str, source: SourceEvent) -> ViewUpdate {
    let name = name.into();
    ViewUpdate { name, source }
}

fn published(event_id: u64, name: &str, value: &str) -> HistoryEntry {
    entry(Event::ViewPublished {
        event_id: EventId::new(event_id),
        name: name.into(),
        value: value.into(),
    })
}

#[test]
fn a_view_changes_once_and_by_an_event_of_the_turn_that_changes_it() {
    let wrong = "view `cart` names event 5 of execution 1, which is no change of it in this turn";
    let other_kind = refused(|turn| turn.update.views = vec![update("cart", first(5))]);
    assert_eq!(other_kind, wrong);
    let other_name = refused(|turn| {
        turn.events = vec![published(5, "wish list", "1")];
        turn.new_work.clear();
        turn.new_timers.clear();
        turn.update.views = vec![update("cart", first(5))];
    });
    assert_eq!(other_name, wrong);
    let earlier = refused(|turn| turn.update.views = vec![update("cart", first(4))]);
    assert!(
        earlier.starts_with("view `cart` names event 4"),
        "{earlier}"
    );
    let twice = refused(|turn| {
        turn.events
            .extend([published(7, "cart", "1"), published(8, "cart", "2")]);
        turn.update.views = vec![update("cart", first(7)), update("cart", first(8))];
    });
    assert_eq!(twice, "view `cart` changes twice");
}

#[test]
fn the_value_of_a_view_is_what_its_event_says() {
    let mut turn = turn();
    let cleared = Event::ViewCleared {
        event_id: EventId::new(8),
        name: "gone".into(),
    };
    turn.events
        .extend([published(7, "cart", "1"), entry(cleared)]);
    let mut carried = Carried::default();
    carried.views = vec![("kept".into(), "2".into())];
    let started = entry(Event::OrchestrationStarted {
        event_id: EventId::FIRST,
        name: "shop".into(),
        version: "1.0.0".into(),
        input: "1".into(),
        parent: None,
        carried: Some(Box::new(carried)),
    });
    turn.next_execution = Some(NextExecution::new(SECOND, vec![started]));
    let next = SourceEvent::new(SECOND, EventId::FIRST);
    let value = |name: &str, source| {
        let change = turn.view_change(&update(name, source))?;
        assert_eq!(change.changed_at_ms, 1_000);
        Some(change.value.map(Payload::as_str))
    };
    assert_eq!(value("cart", first(7)), Some(Some("1")));
    assert_eq!(value("gone", first(8)), Some(None));
    assert_eq!(value("kept", next), Some(Some("2")));
    assert_eq!(value("cart", next), None);
    assert_eq!(value("cart", first(8)), None);
}

#[test]
fn an_instance_with_a_turn_is_not_pending() {
    let pending = refused(|turn| turn.update.status = Some(InstanceStatus::Pending));
    assert_eq!(pending, "an instance with a committed turn is not pending");
}

#[test]
fn limits_are_part_of_it() {
    let unnamed = check(|turn| {
        turn.events[0] = entry(Event::ExternalSubscribed {
            event_id: EventId::new(5),
            name: "".into(),
        });
    });
    let empty = LimitError::EmptyName { what: "event" };
    assert_eq!(unnamed, Err(ProviderError::Refused(empty)));
}

#[test]
fn what_a_turn_adds_is_found_by_its_event() {
    let mut turn = turn();
    turn.next_execution = Some(NextExecution::new(SECOND, vec![timer(1)]));
    let item = turn.work_item(NewWork::new(first(5), 2)).unwrap();
    assert_eq!((item.name.as_str(), item.number), ("charge", 2));
    assert_eq!(
        (item.key.instance.as_str(), item.key.source()),
        ("order-7", first(5))
    );
    assert_eq!(item.scheduled_at_ms, 1_000);
    assert_eq!(turn.work_item(NewWork::new(first(6), 0)), None);
    assert_eq!(turn.timer_due_ms(first(6)), Some(7_000));
    assert_eq!(turn.timer_due_ms(first(5)), None);
    let next = SourceEvent::new(SECOND, EventId::new(1));
    assert_eq!(turn.timer_due_ms(next), Some(7_000));
    assert_eq!(turn.last_recorded_ms(), Some(1_000));
}
