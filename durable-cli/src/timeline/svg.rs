//! A timeline as an SVG document: no script, no outside reference, every text
//! escaped, readable on light and on dark ground.

use std::fmt::Write as _;

use durable_core::CommandKind;

use super::scale::{place, ticks};
use super::{Row, State, Timeline};
use crate::table::clipped;
use crate::time::span;

const WIDTH: usize = 960;
const LABELS: usize = 250;
const NOTES: usize = 130;
const ROW: usize = 24;
const TOP: usize = 64;
const BARS: usize = WIDTH - LABELS - NOTES;
/// How far apart two ticks are at least.
const TICK_DISTANCE: usize = 80;
const MOST_LABEL: usize = 30;

const STYLE: &str = include_str!("timeline.css");

pub(super) fn draw(timeline: &Timeline) -> String {
    let height = TOP + timeline.rows.len() * ROW + timeline.marks.len() * 18 + 16;
    let mut svg = String::new();
    let out = &mut svg;
    put(
        out,
        format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">"#
        ),
    );
    put(
        out,
        format_args!("<title>{}</title>", escaped(&timeline.title)),
    );
    put(out, format_args!("<style>\n{STYLE}</style>"));
    put(
        out,
        format_args!(r#"<rect class="ground" width="{WIDTH}" height="{height}"/>"#),
    );
    put(
        out,
        format_args!(
            r#"<text class="title" x="12" y="24">{}</text>"#,
            escaped(&clipped(&timeline.title, 110))
        ),
    );
    axis(out, timeline);
    for (index, row) in timeline.rows.iter().enumerate() {
        draw_row(out, timeline, row, TOP + index * ROW);
    }
    marks(out, timeline);
    put(out, format_args!("</svg>"));
    svg
}

fn put(svg: &mut String, element: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(svg, "{element}");
}

fn x_of(timeline: &Timeline, at_ms: u64) -> usize {
    LABELS + place(at_ms, timeline.begin_ms, timeline.end_ms, BARS)
}

fn bottom(timeline: &Timeline) -> usize {
    TOP + timeline.rows.len() * ROW
}

fn axis(svg: &mut String, timeline: &Timeline) {
    let length = timeline.end_ms.saturating_sub(timeline.begin_ms);
    let bottom = bottom(timeline);
    for tick in ticks(length, (BARS / TICK_DISTANCE) as u64) {
        let x = x_of(timeline, timeline.begin_ms.saturating_add(tick));
        put(
            svg,
            format_args!(r#"<line class="grid" x1="{x}" y1="52" x2="{x}" y2="{bottom}"/>"#),
        );
        put(
            svg,
            format_args!(r#"<text class="tick" x="{x}" y="46">{}</text>"#, span(tick)),
        );
    }
}

fn draw_row(svg: &mut String, timeline: &Timeline, row: &Row, y: usize) {
    let text_y = y + 16;
    put(
        svg,
        format_args!(
            r#"<text class="id" x="36" y="{text_y}">{}</text>"#,
            row.event_id
        ),
    );
    put(
        svg,
        format_args!(
            r#"<text x="46" y="{text_y}">{}</text>"#,
            escaped(&clipped(&row.label, MOST_LABEL))
        ),
    );
    for bar in &row.bars {
        let from = x_of(timeline, bar.begin_ms);
        let width = x_of(timeline, bar.end_ms).saturating_sub(from).max(3);
        put(
            svg,
            format_args!(
                r#"<rect class="{} {}" x="{from}" y="{}" width="{width}" height="14" rx="3"><title>{}: {}</title></rect>"#,
                kind_class(row.kind),
                bar.state.class(),
                y + 5,
                escaped(&row.label),
                escaped(&row.note)
            ),
        );
    }
    let note_x = WIDTH - NOTES + 10;
    put(
        svg,
        format_args!(
            r#"<text class="note" x="{note_x}" y="{text_y}">{}</text>"#,
            escaped(&clipped(&row.note, 18))
        ),
    );
}

fn marks(svg: &mut String, timeline: &Timeline) {
    let bottom = bottom(timeline);
    for (index, mark) in timeline.marks.iter().enumerate() {
        let x = x_of(timeline, mark.at_ms);
        let text_y = bottom + 16 + index * 18;
        put(
            svg,
            format_args!(r#"<line class="mark" x1="{x}" y1="52" x2="{x}" y2="{text_y}"/>"#),
        );
        put(
            svg,
            format_args!(
                r#"<text class="mark-label" x="{}" y="{text_y}">{}</text>"#,
                x + 6,
                escaped(&mark.label)
            ),
        );
    }
}

const fn kind_class(kind: CommandKind) -> &'static str {
    match kind {
        CommandKind::Timer => "timer",
        CommandKind::External | CommandKind::Promise | CommandKind::Message => "listens",
        CommandKind::SubOrchestration => "child",
        _ => "activity",
    }
}

impl State {
    const fn class(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::GivenUp => "given-up",
        }
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            control if control.is_control() => escaped.push('\u{fffd}'),
            plain => escaped.push(plain),
        }
    }
    escaped
}
