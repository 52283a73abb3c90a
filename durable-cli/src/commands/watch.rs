//! `durable watch`: one instance event by event until it ends, or what changes of all
//! instances from now on, in the order of the changes.
//!
//! It looks again every so often and whenever the store says that the instance
//! changed. Events of an execution that was purged in between are not shown.

use std::collections::BTreeMap;
use std::time::Duration;

use durable_core::filter::Filter;
use durable_core::provider::{InstanceRecord, InstanceStatus, WakeSeq, WakeTopic};
use durable_core::{EventId, ExecutionId, InstanceId};
use serde_json::json;
use tokio::time::Instant;

use super::describe::{Described, Describer};
use super::view;
use crate::args::Watch;
use crate::error::CliError;
use crate::output::{DIM, Output, status_style};
use crate::read;
use crate::store::Store;
use crate::table::{counted, harmless};
use crate::time::clock;

pub(crate) async fn watch(store: &Store, output: Output, watch: &Watch) -> Result<(), CliError> {
    let pace = Pace {
        every: watch.every,
        deadline: watch.bound.map(|bound| Instant::now() + bound),
    };
    let watching = async {
        match &watch.id {
            Some(id) => one(store, output, id, pace).await,
            None => all(store, output, pace).await,
        }
    };
    tokio::select! {
        result = watching => result,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

/// When to look again. There is always a first look.
#[derive(Debug, Clone, Copy)]
struct Pace {
    every: Duration,
    deadline: Option<Instant>,
}

impl Pace {
    /// How long until the next look; `None` if there is to be none.
    fn next(self) -> Option<Duration> {
        let Some(deadline) = self.deadline else {
            return Some(self.every);
        };
        let left = deadline.saturating_duration_since(Instant::now());
        (!left.is_zero()).then(|| self.every.min(left))
    }
}

/// How far one instance was shown.
struct Shown {
    execution_id: ExecutionId,
    last: EventId,
    describer: Describer,
}

impl Shown {
    fn of(execution_id: ExecutionId) -> Self {
        Self {
            execution_id,
            last: EventId::UNASSIGNED,
            describer: Describer::default(),
        }
    }
}

async fn one(store: &Store, output: Output, id: &str, pace: Pace) -> Result<(), CliError> {
    let mut record = read::record(store, id).await?;
    let mut shown = Shown::of(record.execution_id);
    let topic = WakeTopic::Instance(record.instance.clone());
    let mut seen = WakeSeq::default();
    loop {
        // The record was read first: whatever ended it is in the history by now.
        news(store, output, &record.instance, &mut shown).await?;
        while shown.execution_id < record.execution_id {
            shown = Shown::of(shown.execution_id.next());
            news(store, output, &record.instance, &mut shown).await?;
        }
        if record.status.kind().is_ended() {
            return changed(output, &record);
        }
        let Some(wait) = pace.next() else {
            return Ok(());
        };
        let woken = store.provider().wait(None, &topic, seen);
        if let Ok(woken) = tokio::time::timeout(wait, woken).await {
            seen = woken?;
        }
        record = read::record(store, id).await?;
    }
}

/// Shows what was recorded since.
async fn news(
    store: &Store,
    output: Output,
    instance: &InstanceId,
    shown: &mut Shown,
) -> Result<(), CliError> {
    let entries = read::entries(store, instance, shown.execution_id, shown.last, usize::MAX);
    for entry in entries.await? {
        let Described { command, what } = shown.describer.next(&entry);
        shown.last = entry.event_id();
        if output.is_json {
            output.json_line(&view::entry(&entry, command))?;
            continue;
        }
        let command = command.map_or_else(String::new, |command| format!("  {command}"));
        output.line(&format!(
            "{}  {:>2}.{:<4} {what}{DIM}{command}{DIM:#}",
            clock(entry.recorded_at_ms),
            shown.execution_id.get(),
            entry.event_id().get(),
        ))?;
    }
    Ok(())
}

async fn all(store: &Store, output: Output, pace: Pace) -> Result<(), CliError> {
    let mut known = snapshot(store).await?;
    if output.is_json {
        output.json_line(&json!({ "watching": known.len() }))?;
    } else {
        let instances = counted(known.len() as u64, "instance");
        output.line(&format!("{DIM}watching {instances}{DIM:#}"))?;
    }
    while let Some(wait) = pace.next() {
        tokio::time::sleep(wait).await;
        let now = snapshot(store).await?;
        let mut news: Vec<&InstanceRecord> = now
            .values()
            .filter(|record| known.get(&record.instance) != Some(record))
            .collect();
        news.sort_by_key(|record| record.updated_at_ms);
        for record in news {
            changed(output, record)?;
        }
        known = now;
    }
    Ok(())
}

/// All instances, by id.
async fn snapshot(store: &Store) -> Result<BTreeMap<InstanceId, InstanceRecord>, CliError> {
    let records = read::records(store, &Filter::all()).await?;
    let by_id = records.into_iter();
    Ok(by_id
        .map(|record| (record.instance.clone(), record))
        .collect())
}

fn changed(output: Output, record: &InstanceRecord) -> Result<(), CliError> {
    if output.is_json {
        return output.json_line(&view::record(record));
    }
    let status = record.status.kind();
    let style = status_style(status);
    let says = match &record.status {
        InstanceStatus::Suspended { failure }
        | InstanceStatus::Failed { failure }
        | InstanceStatus::Terminated { failure } => failure.to_string(),
        InstanceStatus::Pending | InstanceStatus::Running | InstanceStatus::Completed { .. } => {
            let status = record.custom_status.as_ref();
            status.map(ToString::to_string).unwrap_or_default()
        }
    };
    let version = record.version.as_deref().unwrap_or("(the newest)");
    let line = format!(
        "{}  {}  {}  {style}{status}{style:#}  {}  {DIM}{}{DIM:#}",
        clock(record.updated_at_ms),
        harmless(&record.instance),
        harmless(&format!("{} {version}", record.name)),
        counted(record.last_event_id.get(), "event"),
        harmless(&says)
    );
    output.line(&line)
}
