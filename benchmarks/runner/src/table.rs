//! The results as Markdown, for people.

use std::fmt::Write;

use crate::contender::Role;
use crate::plan::Better;
use crate::raw::Judged;
use crate::report::{Entry, Group, Report};
use crate::statistics::Summary;

/// The whole report.
pub(crate) fn render(report: &Report) -> String {
    let mut text = head(report);
    for group in &report.workloads {
        text.push_str(&section(group, report));
    }
    for skipped in &report.skipped {
        let _ = writeln!(text, "Skipped: {}: {}", skipped.contender, skipped.why);
    }
    text
}

fn head(report: &Report) -> String {
    let machine = &report.machine;
    let disk = disk_p50(report).map(|p50| format!(", fdatasync p50 {} ms", number(p50)));
    let disk = disk.unwrap_or_default();
    let rounds = match report.rounds {
        1 => "One round.".to_owned(),
        rounds => format!("{rounds} interleaved rounds: medians (smallest–largest)."),
    };
    let quick = if report.is_quick {
        " **A quick run with small sizes: it shows that everything works, not how fast it is.**"
    } else {
        ""
    };
    let versions = report.versions.join(", ");
    let versions = if versions.is_empty() {
        versions
    } else {
        format!("; {versions}")
    };
    format!(
        "# Benchmarks\n\n\
         `cargo xtask bench peers`, {date}, commit {commit}. {cores} cores ({processor}), \
         {memory} GB{disk}, {system}, {compiler}{versions}; load {load} when it began. \
         {rounds}{quick}\n\n\
         A run counts when every instance completed with the right output. A run gets \
         {limit} s. Memory is the peak of the process, with the server's where there is one.\n",
        date = machine.date,
        commit = machine.commit,
        cores = machine.cores,
        processor = machine.processor,
        memory = machine.memory_gb,
        system = machine.system,
        compiler = machine.compiler,
        load = machine.load,
        limit = report.limit_s,
    )
}

/// How long the disk took, if it was asked.
pub(crate) fn disk_p50(report: &Report) -> Option<f64> {
    let mut groups = report.workloads.iter();
    let group = groups.find(|group| group.workload.starts_with("fdatasync"))?;
    let p50 = group.entries.first()?.values.get("p50_ms")?;
    Some(p50.median)
}

fn section(group: &Group, report: &Report) -> String {
    let has_peers = group.entries.iter().any(|entry| entry.role == Role::Peer);
    let has_raw = group.entries.iter().any(|entry| entry.of_raw.is_some());
    let mut text = format!("\n## {}\n\n| | durability |", group.title);
    let mut rule = "\n|---|---|".to_owned();
    for metric in group.metrics {
        let _ = write!(text, " {} |", metric.title);
        rule.push_str("---:|");
    }
    if has_raw {
        text.push_str(" of raw |");
        rule.push_str("---:|");
    }
    if has_peers {
        text.push_str(" durable (FULL) is better by |");
        rule.push_str("---:|");
    }
    text.push_str(&rule);
    text.push('\n');
    for entry in &group.entries {
        text.push_str(&row(entry, group, report));
        if has_raw {
            let _ = write!(
                text,
                " {} |",
                entry.of_raw.as_ref().map_or(String::new(), cell)
            );
        }
        if has_peers {
            let factor = entry.ours_is_better.map(|factor| format!("{factor:.1} ×"));
            let _ = write!(text, " {} |", factor.unwrap_or_default());
        }
        text.push('\n');
    }
    for (at, aim) in group.aims.iter().enumerate() {
        let gap = if at == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{gap}- {}", verdict(aim));
    }
    text
}

fn verdict(aim: &Judged) -> String {
    let side = match aim.better {
        Better::Higher => "at least",
        Better::Lower => "at most",
    };
    let word = if aim.is_kept { "kept" } else { "missed" };
    format!(
        "{} ({}), aim: {side} {:.2} of raw: {word}, {:.2}",
        aim.label, aim.durability, aim.bound, aim.of_raw
    )
}

/// The row of a contender as far as its own values go.
fn row(entry: &Entry, group: &Group, report: &Report) -> String {
    let mut text = format!("| {} | {} |", entry.label, entry.durability);
    if entry.values.is_empty() {
        let why = if entry.did_not_finish > 0 {
            format!("did not finish in {} s", report.limit_s)
        } else {
            format!("failed: {}", entry.failures.join("; "))
        };
        let _ = write!(text, " {why} |{}", " |".repeat(group.metrics.len() - 1));
    } else {
        for metric in group.metrics {
            let value = entry.values.get(metric.key);
            let _ = write!(text, " {} |", value.map_or("–".to_owned(), cell));
        }
    }
    text
}

fn cell(summary: &Summary) -> String {
    if summary.values.len() == 1 {
        return number(summary.median);
    }
    let [median, min, max] = [summary.median, summary.min, summary.max].map(number);
    format!("{median} ({min}–{max})")
}

/// Three digits that count, at least; thousands set apart.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let decimals = match value.abs() {
        0.0 => 0,
        large if large >= 100.0 => 0,
        ten if ten >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        let left = whole.len() - at;
        if at > 0 && left.is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_what_counts() {
        let written = [0.174, 18.62, 392.4, 19_700.0, 1_234_567.0].map(number);
        assert_eq!(written, ["0.17", "18.6", "392", "19,700", "1,234,567"]);
        assert_eq!(number(f64::NAN), "–");
    }

    #[test]
    fn a_row_says_the_median_the_spread_and_who_is_better() {
        let text = render(&crate::report::tests::sample());
        let rows: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("| d"))
            .collect();
        assert_eq!(
            rows[0],
            "| durable, SQLite | WAL, synchronous=FULL | 300 (200–400) | – | 0.75 |  |"
        );
        assert!(rows[1].ends_with("| 100 | – |  | 3.0 × |"), "{}", rows[1]);
        assert!(rows[2].contains("did not finish in 120 s"), "{}", rows[2]);
        assert_eq!(rows.len(), 3);
        assert!(text.ends_with(
            "\n\n- durable, SQLite (WAL, synchronous=FULL), aim: at least 0.50 of raw: kept, 0.75\n"
        ));
    }
}
