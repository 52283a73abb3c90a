//! What happens around a random orchestration: completions in any order, raised
//! events, a cancellation, a termination, and messages that come too late or
//! twice.

use durable_core::{Delivery, Event, HistoryEntry, LeftOpen};
use proptest::collection::vec;
use proptest::prelude::*;

use super::events::{
    cancel_requested, child_completed, child_failed, completed, event_delivered,
    event_undeliverable, failed, fired, raised, rejected, resolved, started, terminated,
};
use super::program::{Machine, Program, Seen, can_be_completed, channel};

/// Something that comes in, if it applies.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Happening {
    /// The n-th command so far is answered, whether it is open or not.
    Answer {
        nth: usize,
        fails: bool,
    },
    Raise {
        channel: usize,
        message: usize,
    },
    Cancel,
    Terminate,
}

/// Anything that can happen, in any order.
pub(crate) fn any_happenings() -> impl Strategy<Value = Vec<Happening>> {
    let happening = prop_oneof![
        70 => (any::<prop::sample::Index>(), proptest::bool::weighted(0.2))
            .prop_map(|(nth, fails)| Happening::Answer { nth: nth.index(1 << 16), fails }),
        25 => (0_usize..3, 0_usize..40)
            .prop_map(|(channel, message)| Happening::Raise { channel, message }),
        2 => Just(Happening::Cancel),
        1 => Just(Happening::Terminate),
    ];
    vec(happening, 0..30)
}

/// A program that ran live.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) entries: Vec<HistoryEntry>,
    pub(crate) seen: Vec<Seen>,
    pub(crate) left_open: Vec<LeftOpen>,
    /// For each poll: how long the history was after it, and how much had
    /// happened.
    pub(crate) flushes: Vec<(usize, usize)>,
}

/// Runs a program from its start.
pub(crate) fn run(program: &Program, happenings: &[Happening]) -> Recording {
    let mut machine = Machine::new(program);
    machine.replay(&[], 1).unwrap();
    let delivery = machine.cursor.deliver(started(), 1_000);
    assert_eq!(delivery, Ok(Delivery::Accepted));
    machine.step(true).unwrap();
    let ends = go_on(&mut machine, &[], happenings, 0);
    let flushes = machine.seen.iter().filter_map(|seen| {
        let Seen::Flushed { last_event_id, .. } = seen else {
            return None;
        };
        let length = usize::try_from(*last_event_id).unwrap();
        let happened = ends.iter().position(|end| *end >= length).unwrap();
        Some((length, happened))
    });
    Recording {
        flushes: flushes.collect(),
        left_open: machine.cursor.take_left_open(),
        entries: machine.appended,
        seen: machine.seen,
    }
}

/// Goes on live after these entries with what happens from there on. Answers how
/// long the history was before each happening, and at the end.
pub(crate) fn go_on(
    machine: &mut Machine<'_>,
    recorded: &[HistoryEntry],
    happenings: &[Happening],
    from: usize,
) -> Vec<usize> {
    let mut lengths = vec![recorded.len() + machine.appended.len()];
    for (number, happening) in happenings.iter().enumerate().skip(from) {
        let history: Vec<&HistoryEntry> = recorded.iter().chain(&machine.appended).collect();
        if let Some(event) = input(*happening, &history) {
            let now_ms = 1_000 + 10 * number as u64;
            match machine.cursor.deliver(event, now_ms).unwrap() {
                Delivery::Accepted => machine.step(false).unwrap(),
                Delivery::Dropped(_) => {}
            }
        }
        lengths.push(recorded.len() + machine.appended.len());
    }
    lengths
}

fn input(happening: Happening, history: &[&HistoryEntry]) -> Option<Event> {
    Some(match happening {
        Happening::Answer { nth, fails } => {
            let commands: Vec<&Event> = history
                .iter()
                .map(|entry| &entry.event)
                .filter(|event| can_be_completed(event))
                .collect();
            let command = commands.get(nth % commands.len().max(1))?;
            answer(command, fails)
        }
        Happening::Raise {
            channel: number,
            message,
        } => raised(
            &channel(number),
            &message.to_string(),
            &format!("m{message}"),
        ),
        Happening::Cancel => cancel_requested("enough"),
        Happening::Terminate => terminated(),
    })
}

fn answer(command: &Event, fails: bool) -> Event {
    let source = command.event_id().get();
    let text = format!("\"answer to {source}\"");
    match (command, fails) {
        (Event::ActivityScheduled { .. }, false) => completed(source, &text),
        (Event::ActivityScheduled { .. }, true) => failed(source, &text),
        (Event::SubOrchestrationScheduled { .. }, false) => child_completed(source, &text),
        (Event::SubOrchestrationScheduled { .. }, true) => child_failed(source, &text),
        (Event::TimerCreated { fire_at_ms, .. }, _) => fired(source, *fire_at_ms),
        (Event::ExternalEventSent { .. }, false) => event_delivered(source),
        (Event::ExternalEventSent { .. }, true) => event_undeliverable(source, &text),
        (_, false) => resolved(source, &text),
        (_, true) => rejected(source, &text),
    }
}
