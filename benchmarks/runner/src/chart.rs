//! The chart of the README: one panel per workload, one bar per engine, as SVG that
//! reads on light and on dark pages.

use std::fmt::Write;

use crate::contender::Role;
use crate::plan::{Better, LIVE_MEMORY};
use crate::report::{Entry, Group, Report};
use crate::table::{disk_p50, number};

/// What is drawn: the beginning of a workload's words, the value, its title.
const PANELS: &[(&str, &str, &str)] = &[
    (
        "chain",
        "orchestrations_per_s",
        "Hello chain: orchestrations/s",
    ),
    ("fan-out", "activities_per_s", "Fan-out: activities/s"),
    ("long", "steps_per_s", "Sequential steps/s"),
    ("latency", "p50_ms", "Idle latency, p50, ms"),
    ("mixed", "orchestrations_per_s", "Mixed: orchestrations/s"),
    ("recover", "all_done_s", "Recovery, s"),
    ("recover", LIVE_MEMORY, "Memory of live instances, MB"),
];

const WIDTH: usize = 860;
const LABELS: usize = 330;
const BARS: usize = 420;
const ROW: usize = 20;
const HEAD: usize = 34;

const STYLE: &str = "<style>\
    text{font:13px system-ui,sans-serif;fill:#24292f}\
    .t{font-weight:600}.n{fill:#57606a}\
    .ours{fill:#c2410c}.peer{fill:#8c959f}\
    @media(prefers-color-scheme:dark){text{fill:#e6edf3}.n{fill:#9198a1}\
    .ours{fill:#fb923c}.peer{fill:#6e7681}}\
    </style>";

pub(crate) fn render(report: &Report) -> String {
    let mut body = String::new();
    let mut top = 10;
    for &(workload, metric, title) in PANELS {
        if let Some(group) = widest_with_peers(report, workload) {
            top = panel(&mut body, top, group, metric, title);
        }
    }
    let machine = &report.machine;
    let disk = disk_p50(report).map(|p50| format!(", fdatasync p50 {} ms", number(p50)));
    let note = format!(
        "{} cores{}, {}; {}; {} rounds, medians. Longer is better unless it says lower.",
        machine.cores,
        disk.unwrap_or_default(),
        machine.system,
        machine.date,
        report.rounds
    );
    text(&mut body, 10, top + 14, "n", &note);
    let height = top + 26;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
         aria-label=\"Benchmarks beside other engines\">{STYLE}\n{body}</svg>\n"
    )
}

/// Of several sizes the first that peers ran, or of chains the longest.
fn widest_with_peers<'a>(report: &'a Report, workload: &str) -> Option<&'a Group> {
    let mut groups = report.workloads.iter().filter(|group| {
        let has_peers = group.entries.iter().any(|entry| entry.role == Role::Peer);
        group.workload.split(' ').next() == Some(workload) && has_peers
    });
    if workload == "long" {
        groups.next_back()
    } else {
        groups.next()
    }
}

/// Draws a panel; where the next one begins.
fn panel(body: &mut String, top: usize, group: &Group, metric: &str, title: &str) -> usize {
    let value = |entry: &Entry| entry.values.get(metric).map(|value| value.median);
    let engines = group
        .entries
        .iter()
        .filter(|entry| entry.role != Role::Store);
    let most = engines.clone().filter_map(value).fold(0.0, f64::max);
    let known = group.metrics.iter().find(|one| one.key == metric);
    let is_lower = known.is_some_and(|one| one.better == Better::Lower);
    let hint = if is_lower { " (lower is better)" } else { "" };
    let sizes = group.title.find('(').map_or("", |at| &group.title[at..]);
    text(body, 10, top + 16, "t", &format!("{title} {sizes}{hint}"));
    let mut y = top + HEAD - 6;
    for entry in engines {
        let label = format!("{}, {}", entry.label, entry.durability);
        text(body, 10, y + 13, "", &label);
        let class = if entry.role == Role::Ours {
            "ours"
        } else {
            "peer"
        };
        let end = match value(entry) {
            Some(value) => {
                let length = (value / most * BARS as f64).round().max(1.0) as usize;
                let _ = writeln!(
                    body,
                    "<rect class=\"{class}\" x=\"{LABELS}\" y=\"{y}\" width=\"{length}\" \
                     height=\"14\" rx=\"2\"/>"
                );
                (length, number(value))
            }
            None if entry.did_not_finish > 0 => (0, "did not finish".to_owned()),
            None => (0, "failed".to_owned()),
        };
        text(body, LABELS + end.0 + 6, y + 12, "n", &end.1);
        y += ROW;
    }
    y + 12
}

fn text(body: &mut String, x: usize, y: usize, class: &str, content: &str) {
    let content = content.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        body,
        "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{content}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::sample;

    #[test]
    fn every_engine_has_a_bar_or_a_word() {
        let svg = render(&sample());
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("<rect ").count(), 2);
        assert_eq!(svg.matches("class=\"ours\"").count(), 1);
        assert!(svg.contains("did not finish"));
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }
}
