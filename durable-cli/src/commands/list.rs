//! `durable list`: instances, a line each, those that changed last first.
//!
//! Stores list by id, so the order by time is made here, over a bounded number of instances;
//! the command says so when there are more.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use durable_core::InstanceId;
use durable_core::provider::{InstancePage, InstanceRecord, InstanceStatus, StatusKind};
use serde_json::{Value, json};

use super::view;
use crate::args::List;
use crate::error::CliError;
use crate::output::{DIM, Output, status_style};
use crate::read::PAGE;
use crate::store::Store;
use crate::table::{Cell, Table, clipped, counted};
use crate::time::{span, utc, whole_ms};

/// How many instances are looked at for the order by time.
const MAX_SCANNED: usize = 100_000;
/// How much of a failure is shown, in characters.
const MAX_FAILURE: usize = 100;

pub(crate) async fn list(store: &Store, output: Output, list: &List) -> Result<(), CliError> {
    if list.is_by_id() {
        let page = page(store, list).await?;
        if output.is_json {
            let instances: Vec<_> = page.instances.iter().map(view::record).collect();
            return output.json(&json!({ "instances": instances, "next": page.next }));
        }
        lines(store, output, &page.instances)?;
        return match page.next {
            Some(next) => output.line(&format!("{DIM}there are more: --after {next}{DIM:#}")),
            None => Ok(()),
        };
    }
    let scan = Scan::of(store, list).await?;
    if output.is_json {
        return output.json(&scan.to_json());
    }
    lines(store, output, &scan.newest)?;
    match scan.summary() {
        Some(summary) => output.line(&format!("{DIM}{summary}{DIM:#}")),
        None => Ok(()),
    }
}

fn lines(store: &Store, output: Output, records: &[InstanceRecord]) -> Result<(), CliError> {
    if records.is_empty() {
        return output.line("no instances match");
    }
    for line in table(records, store.now_ms()).lines() {
        output.line(&line)?;
    }
    Ok(())
}

/// A page by id.
async fn page(store: &Store, list: &List) -> Result<InstancePage, CliError> {
    let filter = list.filter.to_filter(store.now_ms());
    let client = store.client();
    let is_selected = selection(store, list);
    let limit = list.limit.get();
    let mut found = InstancePage::default();
    found.next = list.after.as_deref().map(InstanceId::from);
    loop {
        let max = PAGE.min(limit - found.instances.len());
        let next = client.instances(&filter, found.next.as_ref(), max);
        let page = next.await?;
        found
            .instances
            .extend(page.instances.into_iter().filter(&is_selected));
        found.next = page.next;
        if found.next.is_none() || found.instances.len() >= limit {
            return Ok(found);
        }
    }
}

/// What a store cannot select by itself.
fn selection(store: &Store, list: &List) -> impl Fn(&InstanceRecord) -> bool + use<> {
    let since_ms = list
        .newer_than
        .map_or(0, |age| store.now_ms().saturating_sub(whole_ms(age)));
    let version = list.at.clone();
    move |record| {
        let has_version = version
            .as_deref()
            .is_none_or(|version| record.version.as_deref() == Some(version));
        record.updated_at_ms >= since_ms && has_version
    }
}

/// The instances that changed last, and how many there are.
struct Scan {
    newest: Vec<InstanceRecord>,
    by_status: BTreeMap<StatusKind, usize>,
    /// Whether every instance was looked at.
    is_complete: bool,
}

impl Scan {
    async fn of(store: &Store, list: &List) -> Result<Self, CliError> {
        let filter = list.filter.to_filter(store.now_ms());
        let client = store.client();
        let is_selected = selection(store, list);
        let mut scan = Self {
            newest: Vec::new(),
            by_status: BTreeMap::new(),
            is_complete: true,
        };
        let mut after: Option<InstanceId> = None;
        let mut scanned = 0;
        loop {
            let page = client.instances(&filter, after.as_ref(), PAGE).await?;
            scanned += page.instances.len();
            scan.add(page.instances.into_iter().filter(&is_selected));
            scan.keep(list.limit.get());
            after = page.next;
            if after.is_none() {
                return Ok(scan);
            }
            if scanned >= MAX_SCANNED {
                scan.is_complete = false;
                return Ok(scan);
            }
        }
    }

    fn add(&mut self, records: impl Iterator<Item = InstanceRecord>) {
        for record in records {
            *self.by_status.entry(record.status.kind()).or_default() += 1;
            self.newest.push(record);
        }
    }

    /// Keeps so many of those that changed last; among those of one millisecond the order
    /// is by id.
    fn keep(&mut self, limit: usize) {
        self.newest
            .sort_by_cached_key(|record| (Reverse(record.updated_at_ms), record.instance.clone()));
        self.newest.truncate(limit);
    }

    fn matching(&self) -> usize {
        self.by_status.values().sum()
    }

    fn to_json(&self) -> Value {
        let statuses: BTreeMap<_, _> = self
            .by_status
            .iter()
            .map(|(status, count)| (status.to_string(), count))
            .collect();
        json!({
            "instances": self.newest.iter().map(view::record).collect::<Vec<_>>(),
            "matching": self.matching(),
            "statuses": statuses,
            "complete": self.is_complete,
        })
    }

    fn summary(&self) -> Option<String> {
        if self.newest.is_empty() && self.is_complete {
            return None;
        }
        let statuses = self.by_status.iter();
        let statuses: Vec<String> = statuses
            .map(|(status, count)| format!("{count} {status}"))
            .collect();
        let matching = counted(self.matching() as u64, "instance");
        let mut summary = format!("{matching}: {}", statuses.join(", "));
        if self.newest.len() < self.matching() {
            summary += &format!("; shown: the {} that changed last", self.newest.len());
        }
        if !self.is_complete {
            summary += &format!(
                "; only the first {MAX_SCANNED} by id were looked at: select fewer, or page with \
                 --by-id"
            );
        }
        Some(summary)
    }
}

fn table(records: &[InstanceRecord], now_ms: u64) -> Table {
    let mut head = vec![
        "instance",
        "orchestration",
        "status",
        "events",
        "age",
        "changed (UTC)",
    ];
    let has_reasons = records.iter().any(|record| reason(record).is_some());
    if has_reasons {
        head.push("because");
    }
    let mut table = Table::new(&head);
    for record in records {
        let status = record.status.kind();
        let version = record.version.as_deref().unwrap_or("newest");
        let shown = match &record.blocked {
            Some(_) => format!("{status}, blocked"),
            None => status.to_string(),
        };
        let mut row: Vec<Cell> = vec![
            record.instance.to_string().into(),
            format!("{} {version}", record.name).into(),
            Cell::styled(shown, status_style(status)),
            record.last_event_id.to_string().into(),
            span(now_ms.saturating_sub(record.created_at_ms)).into(),
            utc(record.updated_at_ms).into(),
        ];
        if has_reasons {
            let reason = reason(record).unwrap_or_default();
            row.push(clipped(&reason, MAX_FAILURE).into());
        }
        table.add(row);
    }
    table
}

/// Why an instance has stopped, or cannot go on just now.
fn reason(record: &InstanceRecord) -> Option<String> {
    match &record.status {
        InstanceStatus::Suspended { failure }
        | InstanceStatus::Failed { failure }
        | InstanceStatus::Terminated { failure } => Some(failure),
        InstanceStatus::Pending | InstanceStatus::Running | InstanceStatus::Completed { .. } => {
            record.blocked.as_ref()
        }
    }
    .map(ToString::to_string)
}
