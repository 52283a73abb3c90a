//! `durable watch`: one instance event by event until it ends, or all instances
//! change by change.
//!
//! It looks again every so often and whenever the store says that the instance
//! changed. Events of an execution that was purged in between are not shown.

use std::collections::BTreeMap;
use std::time::Duration;

use durable_core::provider::{InstanceFilter, InstanceRecord, WakeSeq, WakeTopic};
use durable_core::{EventId, ExecutionId, InstanceId};
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
    let mut known: BTreeMap<InstanceId, InstanceRecord> = BTreeMap::new();
    loop {
        let records = read::records(store, &InstanceFilter::default()).await?;
        for record in &records {
            if known.get(&record.instance) != Some(record) {
                changed(output, record)?;
            }
        }
        known = records
            .into_iter()
            .map(|record| (record.instance.clone(), record))
            .collect();
        let Some(wait) = pace.next() else {
            return Ok(());
        };
        tokio::time::sleep(wait).await;
    }
}

fn changed(output: Output, record: &InstanceRecord) -> Result<(), CliError> {
    if output.is_json {
        return output.json_line(&view::record(record));
    }
    let status = record.status.kind();
    let style = status_style(status);
    let says = record.custom_status.as_deref().unwrap_or_default();
    output.line(&format!(
        "{}  {}  {style}{status}{style:#}  {}  {DIM}{}{DIM:#}",
        clock(record.updated_at_ms),
        harmless(&record.instance),
        counted(record.last_event_id.get(), "event"),
        harmless(says)
    ))
}
