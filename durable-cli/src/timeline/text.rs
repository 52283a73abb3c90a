//! A timeline as text for a terminal.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use durable_core::CommandKind;

use super::scale::{place, ticks};
use super::{Row, State, Timeline};
use crate::table::{clipped, harmless, padded};
use crate::time::span;

/// How wide a label and a note may be, and how wide the bars are at least.
const MOST_LABEL: usize = 28;
const MOST_NOTE: usize = 18;
const LEAST_BARS: usize = 20;
/// How far apart two ticks are at least.
const TICK_COLUMNS: usize = 10;

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

struct Layout {
    id: usize,
    label: usize,
    bars: usize,
}

pub(super) fn draw(timeline: &Timeline, columns: usize) -> String {
    let layout = Layout::of(timeline, columns);
    let mut text = String::new();
    line(
        &mut text,
        &format!("{BOLD}{}{BOLD:#}", harmless(&timeline.title)),
    );
    line(&mut text, &axis(timeline, &layout));
    for row in &timeline.rows {
        line(&mut text, &drawn(row, timeline, &layout));
    }
    if timeline.rows.is_empty() {
        line(&mut text, &format!("{DIM}nothing was asked for yet{DIM:#}"));
    }
    for mark in &timeline.marks {
        let at = mark.at_ms.saturating_sub(timeline.begin_ms);
        line(
            &mut text,
            &format!("{DIM}┊ {}: {}{DIM:#}", span(at), harmless(&mark.label)),
        );
    }
    text
}

fn line(text: &mut String, content: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{content}");
}

impl Layout {
    fn of(timeline: &Timeline, columns: usize) -> Self {
        let widest = |width: fn(&Row) -> usize| timeline.rows.iter().map(width).max();
        let id = widest(|row| row.event_id.to_string().len()).unwrap_or(1);
        let label = widest(|row| row.label.chars().count()).unwrap_or(0);
        let note = widest(|row| row.note.chars().count()).unwrap_or(0);
        let label = label.min(MOST_LABEL);
        let taken = id + label + note.min(MOST_NOTE) + 4;
        Self {
            id,
            label,
            bars: columns.saturating_sub(taken).max(LEAST_BARS),
        }
    }

    fn indent(&self) -> usize {
        self.id + self.label + 2
    }
}

fn axis(timeline: &Timeline, layout: &Layout) -> String {
    let length = timeline.end_ms.saturating_sub(timeline.begin_ms);
    let mut axis = String::new();
    let most = layout.bars / TICK_COLUMNS;
    for tick in ticks(length, most as u64) {
        let at = place(tick, 0, length, layout.bars);
        let so_far = axis.chars().count();
        let label = span(tick);
        if at < so_far || at + label.chars().count() > layout.bars {
            continue;
        }
        axis += &" ".repeat(at - so_far);
        axis += &label;
        axis += " ";
    }
    format!(
        "{}{DIM}{}{DIM:#}",
        " ".repeat(layout.indent()),
        axis.trim_end()
    )
}

fn drawn(row: &Row, timeline: &Timeline, layout: &Layout) -> String {
    let (begin_ms, end_ms) = (timeline.begin_ms, timeline.end_ms);
    let at = |at_ms| place(at_ms, begin_ms, end_ms, layout.bars);
    let is_marked = |cell| timeline.marks.iter().any(|mark| at(mark.at_ms) == cell);
    let mut cells: Vec<(char, Style)> = (0..layout.bars)
        .map(|cell| (if is_marked(cell) { '┊' } else { ' ' }, DIM))
        .collect();
    for bar in &row.bars {
        let from = at(bar.begin_ms);
        let to = at(bar.end_ms).max(from);
        for (cell, drawn) in cells.iter_mut().enumerate().take(to + 1).skip(from) {
            let texture = match (bar.state, cell == to) {
                (State::Open, true) => '▶',
                (State::Failed, true) => '✗',
                (State::GivenUp, true) => '╳',
                _ => texture(row.kind),
            };
            *drawn = (texture, bar.state.style());
        }
    }
    let style = row.state.style();
    format!(
        "{:>id$} {} {} {style}{}{style:#}",
        row.event_id,
        padded(&clipped(&row.label, layout.label), layout.label),
        styled(&cells),
        clipped(&row.note, MOST_NOTE),
        id = layout.id,
    )
}

/// The cells as text, with a style for each run of cells that have the same.
fn styled(cells: &[(char, Style)]) -> String {
    let runs = cells.chunk_by(|(_, one), (_, next)| one == next);
    runs.map(|run| {
        let style = run[0].1;
        let text: String = run.iter().map(|(character, _)| *character).collect();
        format!("{style}{text}{style:#}")
    })
    .collect()
}

const fn texture(kind: CommandKind) -> char {
    match kind {
        CommandKind::Timer => '─',
        CommandKind::External | CommandKind::Promise | CommandKind::Message => '░',
        CommandKind::SubOrchestration => '▓',
        _ => '█',
    }
}

impl State {
    const fn style(self) -> Style {
        let style = Style::new();
        match self {
            Self::Open => style.fg_color(Some(anstyle::Color::Ansi(AnsiColor::Cyan))),
            Self::Succeeded => style.fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green))),
            Self::Failed => style.fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red))),
            Self::GivenUp => style.fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow))),
        }
    }
}
