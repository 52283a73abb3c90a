//! `durable history`: events with their times and what they answer.

use std::num::NonZeroUsize;

use durable_core::{EventId, HistoryEntry, PayloadMut, VisitPayloads};
use serde_json::json;

use super::describe::{Described, Describer};
use super::view;
use crate::args::History as HistoryArgs;
use crate::error::CliError;
use crate::output::{DIM, Output};
use crate::read;
use crate::store::Store;
use crate::table::{Cell, Table, clipped};
use crate::time::{clock, span, utc};

/// How much of a payload a line shows.
const PAYLOAD_COLUMNS: usize = 60;

pub(crate) async fn history(
    store: &Store,
    output: Output,
    args: &HistoryArgs,
) -> Result<(), CliError> {
    let record = read::record(store, &args.id).await?;
    let execution_id = read::execution(store, &record, args.execution).await?;
    let after = EventId::new(args.after);
    let wanted = args.limit.map_or(usize::MAX, NonZeroUsize::get);
    // Commands are counted from the first event, so that is where reading begins.
    let until = wanted.saturating_add(usize::try_from(args.after).unwrap_or(usize::MAX));
    let entries = read::entries(
        store,
        &record.instance,
        execution_id,
        EventId::UNASSIGNED,
        until,
    );
    let entries = entries.await?;
    let mut describer = Describer::default();
    let described = entries
        .iter()
        .map(|entry| (entry, describer.next(entry)))
        .filter(|(entry, _)| entry.event_id() > after);
    if output.is_json {
        let events: Vec<_> = described
            .map(|(entry, described)| view::entry(entry, described.command))
            .collect();
        return output.json(&json!({
            "instance": record.instance,
            "execution": execution_id,
            "events": events,
        }));
    }
    let mut head = vec!["event", "time (UTC)", "after", "answers", "command", "what"];
    if args.payloads {
        head.push("payload");
    }
    let mut table = Table::new(&head);
    let began = entries.first().map_or(0, |entry| entry.recorded_at_ms);
    for (entry, Described { command, what }) in described {
        let source = entry.event.source_event_id();
        let mut row: Vec<Cell> = vec![
            format!("{:>5}", entry.event_id().get()).into(),
            clock(entry.recorded_at_ms).into(),
            span(entry.recorded_at_ms.saturating_sub(began)).into(),
            source
                .map_or_else(String::new, |id| format!("← {id}"))
                .into(),
            Cell::styled(
                command.map_or_else(String::new, |command| command.to_string()),
                DIM,
            ),
            what.into(),
        ];
        if args.payloads {
            row.push(Cell::styled(clipped(&payload(entry), PAYLOAD_COLUMNS), DIM));
        }
        table.add(row);
    }
    output.line(&format!(
        "{DIM}execution {execution_id}, begun {}{DIM:#}",
        utc(began)
    ))?;
    for line in table.lines() {
        output.line(&line)?;
    }
    Ok(())
}

/// What an event carries.
fn payload(entry: &HistoryEntry) -> String {
    let mut event = entry.event.clone();
    let mut payloads = Vec::new();
    event.visit(&mut payloads);
    let texts: Vec<&str> = payloads.iter().map(PayloadMut::as_str).collect();
    texts.join(" ")
}
