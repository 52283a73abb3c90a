//! `durable stats`: counts what is in the store.

use std::collections::BTreeMap;

use durable_core::Name;
use durable_core::filter::Filter;
use durable_core::provider::StatusKind;
use serde_json::{Value, json};

use crate::error::CliError;
use crate::output::{DIM, Output};
use crate::read;
use crate::store::Store;
use crate::table::{Cell, Table, counted};
use crate::time::span;

/// What is counted of an orchestration.
#[derive(Debug, Default)]
struct Counts {
    by_status: BTreeMap<StatusKind, usize>,
    events: u64,
    blocked: usize,
    /// When the oldest that has not ended was started.
    oldest_open_ms: Option<u64>,
}

pub(crate) async fn stats(store: &Store, output: Output) -> Result<(), CliError> {
    let records = read::records(store, &Filter::all()).await?;
    let mut counts: BTreeMap<Name, Counts> = BTreeMap::new();
    for record in &records {
        let counts = counts.entry(record.name.clone()).or_default();
        let status = record.status.kind();
        *counts.by_status.entry(status).or_default() += 1;
        counts.events += record.last_event_id.get();
        counts.blocked += usize::from(record.blocked.is_some());
        if !status.is_ended() {
            let oldest = counts.oldest_open_ms.get_or_insert(record.created_at_ms);
            *oldest = record.created_at_ms.min(*oldest);
        }
    }
    if output.is_json {
        let orchestrations: BTreeMap<_, _> = counts
            .iter()
            .map(|(name, counts)| (name.to_string(), counts.to_json()))
            .collect();
        return output.json(&json!({
            "store": store.location.to_string(),
            "bytes": store.bytes(),
            "instances": records.len(),
            "orchestrations": orchestrations,
        }));
    }
    let size = store.bytes().map_or_else(String::new, |bytes| {
        format!(", {:.1} MiB", bytes as f64 / 1_048_576.0)
    });
    let instances = counted(records.len() as u64, "instance");
    output.line(&format!("{}: {instances}{size}", store.location))?;
    if !counts.is_empty() {
        for line in table(&counts, store.now_ms()).lines() {
            output.line(&line)?;
        }
        let note = "events: of the current executions; oldest: of those that have not ended";
        output.line(&format!("{DIM}{note}{DIM:#}"))?;
    }
    Ok(())
}

impl Counts {
    fn of(&self, status: StatusKind) -> usize {
        self.by_status.get(&status).copied().unwrap_or(0)
    }

    fn to_json(&self) -> Value {
        let statuses: BTreeMap<_, _> = StatusKind::ALL
            .iter()
            .map(|status| (status.to_string(), self.of(*status)))
            .collect();
        json!({
            "statuses": statuses,
            "blocked": self.blocked,
            "events": self.events,
            "oldest_open_at_ms": self.oldest_open_ms,
        })
    }
}

/// A column for each status that there is.
fn table(counts: &BTreeMap<Name, Counts>, now_ms: u64) -> Table {
    let is_there = |status: &StatusKind| counts.values().any(|counts| counts.of(*status) > 0);
    let statuses: Vec<StatusKind> = StatusKind::ALL.into_iter().filter(is_there).collect();
    let mut head = vec!["orchestration"];
    head.extend(statuses.iter().map(|status| title(*status)));
    head.extend(["blocked", "events", "oldest"]);
    let mut table = Table::new(&head);
    for (name, counts) in counts {
        let oldest = counts.oldest_open_ms;
        let oldest = oldest.map(|at_ms| span(now_ms.saturating_sub(at_ms)));
        let mut row = vec![Cell::from(name.to_string())];
        row.extend(
            statuses
                .iter()
                .map(|status| counts.of(*status).to_string().into()),
        );
        row.push(counts.blocked.to_string().into());
        row.push(counts.events.to_string().into());
        row.push(oldest.unwrap_or_default().into());
        table.add(row);
    }
    table
}

const fn title(status: StatusKind) -> &'static str {
    match status {
        StatusKind::Pending => "pending",
        StatusKind::Running => "running",
        StatusKind::Suspended => "suspended",
        StatusKind::Completed => "completed",
        StatusKind::Failed => "failed",
        StatusKind::Terminated => "terminated",
    }
}
