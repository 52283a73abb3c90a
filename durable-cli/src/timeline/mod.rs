//! A Gantt picture of one execution: a row for each operation, from when it was
//! asked for to when it ended.
//!
//! This file decides what is drawn; `text.rs` and `svg.rs` draw it. Nothing here
//! reads a store or a clock.

mod scale;
mod svg;
mod text;

use std::collections::BTreeMap;

use durable_core::{CommandKind, Event, History};

use crate::operation::{Operation, OperationOutcome, operations};
use crate::time::span;

/// From how many waits for the same thing on they share a row.
const FOLDED_FROM: usize = 4;

/// A Gantt picture of one execution. Waits that repeat, such as the timers of a loop, share
/// a row.
///
/// ```
/// use durable_cli::Timeline;
/// use durable_core::{Event, EventId, ExecutionId, History, HistoryEntry};
///
/// let entries = vec![
///     HistoryEntry::new(0, Event::ActivityScheduled {
///         event_id: EventId::new(2),
///         name: "charge".into(),
///         input: "7".into(),
///         execution_id: ExecutionId::FIRST,
///         options: Default::default(),
///     }),
///     HistoryEntry::new(500, Event::ActivityCompleted {
///         event_id: EventId::new(3),
///         source_event_id: EventId::new(2),
///         result: "true".into(),
///     }),
/// ];
/// let history = History::new("order-7".into(), ExecutionId::FIRST, entries);
/// let picture = Timeline::of(&history, 1_000).to_text(80);
/// assert!(picture.contains("charge"));
/// assert!(picture.contains("500 ms"));
/// ```
#[derive(Debug, Clone)]
pub struct Timeline {
    title: String,
    begin_ms: u64,
    end_ms: u64,
    rows: Vec<Row>,
    marks: Vec<Mark>,
}

/// A moment to point at, across all rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at_ms: u64,
    /// What happened then.
    pub label: String,
}

#[derive(Debug, Clone)]
struct Row {
    event_id: u64,
    label: String,
    kind: CommandKind,
    /// One, or those of all waits that were folded into the row; never none.
    bars: Vec<Bar>,
    /// How the last one ended.
    state: State,
    note: String,
}

#[derive(Debug, Clone, Copy)]
struct Bar {
    begin_ms: u64,
    end_ms: u64,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Succeeded,
    Failed,
    GivenUp,
}

impl Timeline {
    /// The picture of a history, which reaches to `now_ms` if it has not ended.
    pub fn of(history: &History, now_ms: u64) -> Self {
        let entries = &history.entries;
        let begin_ms = entries.first().map_or(now_ms, |entry| entry.recorded_at_ms);
        let last_ms = entries.last().map_or(now_ms, |entry| entry.recorded_at_ms);
        let has_ended = entries
            .last()
            .is_some_and(|entry| entry.event.is_terminal());
        let end_ms = if has_ended {
            last_ms
        } else {
            last_ms.max(now_ms)
        };
        let rows = operations(history)
            .iter()
            .map(|operation| Row::of(operation, end_ms))
            .collect();
        Self {
            title: title(history, end_ms.saturating_sub(begin_ms)),
            begin_ms,
            end_ms,
            rows: folded(rows),
            marks: Vec::new(),
        }
    }

    /// Points at a moment.
    #[must_use]
    pub fn with_mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }

    /// The picture as lines of text, this many columns wide, with ANSI colours: print
    /// it through something that takes them out where they do not belong.
    pub fn to_text(&self, columns: usize) -> String {
        text::draw(self, columns)
    }

    /// The picture as an SVG document.
    pub fn to_svg(&self) -> String {
        svg::draw(self)
    }
}

impl Row {
    fn of(operation: &Operation, picture_end_ms: u64) -> Self {
        let end_ms = operation
            .end
            .as_ref()
            .map_or(picture_end_ms, |end| end.at_ms);
        let length = span(end_ms.saturating_sub(operation.begun_at_ms));
        let (state, note) = match operation.end.as_ref().map(|end| &end.outcome) {
            None if operation.is_certain => (State::Open, "open".to_owned()),
            None => (State::Open, "perhaps open".to_owned()),
            Some(OperationOutcome::Succeeded) => (State::Succeeded, length),
            Some(OperationOutcome::Failed(kind)) => (State::Failed, kind.to_string()),
            Some(OperationOutcome::GivenUp) => (State::GivenUp, "given up".to_owned()),
        };
        Self {
            event_id: operation.event_id.get(),
            label: label(operation),
            kind: operation.command.kind,
            bars: vec![Bar {
                begin_ms: operation.begun_at_ms,
                end_ms,
                state,
            }],
            state,
            note,
        }
    }

    /// Whether it waits for time or for the outside, as loops do again and again.
    const fn is_wait(&self) -> bool {
        matches!(
            self.kind,
            CommandKind::Timer | CommandKind::External | CommandKind::Promise
        )
    }
}

/// Folds waits that repeat into one row each, where the first of them stands.
fn folded(rows: Vec<Row>) -> Vec<Row> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.is_wait()) {
        *counts.entry(row.label.clone()).or_default() += 1;
    }
    let mut folded: Vec<Row> = Vec::new();
    let mut first_of: BTreeMap<String, usize> = BTreeMap::new();
    for mut row in rows {
        let count = counts.get(&row.label).copied().unwrap_or_default();
        if !row.is_wait() || count < FOLDED_FROM {
            folded.push(row);
            continue;
        }
        match first_of.get(&row.label) {
            Some(first) => {
                let first = &mut folded[*first];
                first.bars.append(&mut row.bars);
                first.state = row.state;
                first.note = row.note;
            }
            None => {
                first_of.insert(row.label.clone(), folded.len());
                row.label += &format!(" ×{count}");
                folded.push(row);
            }
        }
    }
    folded
}

fn label(operation: &Operation) -> String {
    let kind = match operation.command.kind {
        CommandKind::Timer => "timer",
        CommandKind::External => "event",
        CommandKind::SubOrchestration => "child",
        CommandKind::Promise => "promise",
        CommandKind::Message => "receipt of",
        _ => "",
    };
    match (&operation.name, operation.due_at_ms) {
        (Some(name), _) if kind.is_empty() => name.to_string(),
        (Some(name), _) => format!("{kind} {name}"),
        (None, Some(due)) => format!("{kind} {}", span(due.saturating_sub(operation.begun_at_ms))),
        (None, None) => kind.to_owned(),
    }
}

fn title(history: &History, length_ms: u64) -> String {
    let mut title = history.instance.to_string();
    if let Some(Event::OrchestrationStarted { name, version, .. }) =
        history.entries.first().map(|entry| &entry.event)
    {
        title += &format!(" · {name} {version}");
    }
    title += &format!(" · execution {}", history.execution_id);
    let state = match history.entries.last().map(|entry| &entry.event) {
        Some(Event::OrchestrationCompleted { .. }) => "completed after",
        Some(Event::OrchestrationFailed { .. }) => "failed after",
        Some(Event::OrchestrationTerminated { .. }) => "terminated after",
        Some(Event::OrchestrationContinuedAsNew { .. }) => "continued as new after",
        _ => "running for",
    };
    title + &format!(" · {state} {}", span(length_ms))
}
