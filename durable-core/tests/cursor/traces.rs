//! The trace of an instance: its activities belong to it, and so does the next execution.

use durable_core::{
    ActivityOptions, Carried, Ending, Event, EventId, ExecutionId, HistoryEntry, TraceParent,
};

use super::driver::Driver;
use super::events::started_with;
use super::past::Past;

fn trace_parent() -> TraceParent {
    TraceParent::new(7, 8, 1).unwrap()
}

fn traced() -> Event {
    let mut carried = Carried::default();
    carried.trace_parent = Some(trace_parent());
    started_with(carried)
}

fn call(options: ActivityOptions) -> Event {
    Event::ActivityScheduled {
        event_id: EventId::UNASSIGNED,
        name: "a".into(),
        input: "1".into(),
        execution_id: ExecutionId::FIRST,
        options,
    }
}

fn traced_call() -> Event {
    let mut options = ActivityOptions::default();
    options.trace_parent = Some(trace_parent());
    call(options)
}

/// Calls an activity and goes on anew; what is recorded.
fn run(entries: Vec<HistoryEntry>) -> Vec<HistoryEntry> {
    let mut code = Driver::unstarted(entries, usize::MAX);
    code.start(traced());
    assert_eq!(code.cursor.trace_parent(), Some(&trace_parent()));
    code.activity("a", "1");
    code.flush();
    code.cursor.finish(Ending::ContinuedAsNew {
        input: "8".into(),
        version: None,
    });
    code.flush();
    let carried = code.cursor.take_carried().unwrap();
    assert_eq!(carried.trace_parent, Some(trace_parent()));
    code.done()
}

#[test]
fn an_activity_belongs_to_the_trace_of_its_instance_and_so_does_the_next_execution() {
    let entries = run(Vec::new());
    let Event::ActivityScheduled { options, .. } = &entries[1].event else {
        panic!("{}", entries[1].event);
    };
    assert_eq!(options.trace_parent, Some(trace_parent()));
    assert_eq!(run(entries.clone()), entries);
}

#[test]
fn the_recorded_trace_wins_in_replay() {
    for recorded in [traced_call(), call(ActivityOptions::default())] {
        let past = Past::empty().and(traced()).and(recorded).entries();
        let entries = run(past.clone());
        assert_eq!(entries[..2], past);
    }
}
