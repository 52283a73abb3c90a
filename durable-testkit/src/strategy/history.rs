//! Histories that a run can have written: positions without gaps, times that never
//! fall, answers that name what is open, nothing after the end.

use std::time::Duration;

use durable_core::{Event, EventId, EventKind, Failure, History};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::Index;

use super::text::any_name;
use crate::HistoryBuilder;

/// Something that is added to a history, if it fits.
#[derive(Debug, Clone)]
enum Line {
    Activity(String),
    Timer(u64),
    Awaiting(String),
    Child(String),
    Ran(String),
    State(String, u64),
    Promise(String),
    Status(u64),
    Patched(String),
    Raised(String),
    Later(u64),
    CancelRequested,
    /// One of those that are open is answered, well or badly.
    Answer(Index, bool),
    /// One of those that are open is given up.
    GiveUp(Index),
}

#[derive(Debug, Clone, Copy)]
enum End {
    Open,
    Returned,
    GaveUp,
    ContinuedAsNew,
    Terminated,
}

/// Any history that a run can have written.
///
/// ```
/// use durable_testkit::strategy::valid_history;
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let mut runner = TestRunner::deterministic();
/// let history = valid_history().new_tree(&mut runner).unwrap().current();
/// assert_eq!(history.validate(), Ok(()));
/// ```
pub fn valid_history() -> impl Strategy<Value = History> {
    let end = prop_oneof![
        Just(End::Open),
        Just(End::Returned),
        Just(End::GaveUp),
        Just(End::ContinuedAsNew),
        Just(End::Terminated),
    ];
    (any_name(), 1_u64..9, vec(any_line(), 0..30), end).prop_map(
        |(instance, execution, lines, end)| {
            let history = HistoryBuilder::new(instance)
                .execution(execution)
                .started("program", &execution);
            let history = lines.into_iter().fold(history, add);
            let history = match end {
                End::Open => history,
                End::Returned => history.returned(&"done"),
                End::GaveUp => history.gave_up(refused()),
                End::ContinuedAsNew => history.continued_as_new(&execution),
                End::Terminated => history.terminated("enough"),
            };
            let history = history.build_unchecked();
            debug_assert_eq!(history.validate(), Ok(()));
            history
        },
    )
}

fn any_line() -> impl Strategy<Value = Line> {
    prop_oneof![
        4 => any_name().prop_map(Line::Activity),
        2 => (0_u64..100_000).prop_map(Line::Timer),
        2 => any_name().prop_map(Line::Awaiting),
        1 => any_name().prop_map(Line::Child),
        1 => any_name().prop_map(Line::Ran),
        1 => (any_name(), any::<u64>()).prop_map(|(key, value)| Line::State(key, value)),
        1 => any_name().prop_map(Line::Promise),
        1 => any::<u64>().prop_map(Line::Status),
        1 => any_name().prop_map(Line::Patched),
        2 => any_name().prop_map(Line::Raised),
        2 => (0_u64..10_000).prop_map(Line::Later),
        1 => Just(Line::CancelRequested),
        6 => (any::<Index>(), any::<bool>()).prop_map(|(which, good)| Line::Answer(which, good)),
        2 => any::<Index>().prop_map(Line::GiveUp),
    ]
}

fn add(history: HistoryBuilder, line: Line) -> HistoryBuilder {
    match line {
        Line::Activity(name) => history.activity(name, &1),
        Line::Timer(ms) => history.timer(Duration::from_millis(ms)),
        Line::Awaiting(name) => history.awaiting(name),
        Line::Child(name) => history.child(name, &1),
        Line::Ran(name) => history.ran(name, &1),
        Line::State(key, value) => history.state(key, &value),
        Line::Promise(name) => history.promise(name),
        Line::Status(status) => history.status(&status),
        Line::Patched(patch) => history.patched(patch),
        Line::Raised(name) => history.raised(name, &1),
        Line::Later(ms) => history.later(Duration::from_millis(ms)),
        Line::CancelRequested => history.cancel_requested("enough"),
        Line::Answer(which, is_good) => match pick(&history, which, false) {
            None => history,
            Some((id, EventKind::TimerCreated)) => history.fired(id.get()),
            Some((id, _)) if is_good => history.completed(id.get(), &2),
            Some((id, _)) => history.failed(id.get(), refused()),
        },
        Line::GiveUp(which) => match pick(&history, which, true) {
            None | Some((_, EventKind::PromiseCreated)) => history,
            Some((id, _)) => history.cancelled(id.get()),
        },
    }
}

/// One of the operations that nothing has answered and, if it is to be given up,
/// that was not given up before.
fn pick(history: &HistoryBuilder, which: Index, to_give_up: bool) -> Option<(EventId, EventKind)> {
    let events = || history.entries().iter().map(|entry| &entry.event);
    let is_closed = |id: EventId| {
        events()
            .any(|event| event.source_event_id() == Some(id) && (event.is_input() || to_give_up))
    };
    let open: Vec<(EventId, EventKind)> = events()
        .filter(|event| can_be_answered(event) && !is_closed(event.event_id()))
        .map(|event| (event.event_id(), event.kind()))
        .collect();
    (!open.is_empty()).then(|| *which.get(&open))
}

fn can_be_answered(event: &Event) -> bool {
    matches!(
        event.kind(),
        EventKind::ActivityScheduled
            | EventKind::TimerCreated
            | EventKind::SubOrchestrationScheduled
            | EventKind::PromiseCreated
    )
}

fn refused() -> Failure {
    Failure::application("refused", "no")
}
