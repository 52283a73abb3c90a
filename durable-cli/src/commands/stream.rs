//! `durable stream`: the items of a stream, as they are stored.

use durable_core::provider::{StreamItem, StreamSource};
use durable_runtime::{ClientError, InstanceHandle};
use futures::StreamExt as _;
use serde_json::{Value, json};

use crate::args::StreamArgs;
use crate::error::CliError;
use crate::json::value_of;
use crate::output::{DIM, Output};
use crate::read;
use crate::store::Store;
use crate::table::{Table, harmless};
use crate::time::clock;

/// How many items are read at once.
const PAGE: usize = 500;

pub(crate) async fn stream(
    store: &Store,
    output: Output,
    args: &StreamArgs,
) -> Result<(), CliError> {
    let record = read::record(store, &args.id).await?;
    let instance = store.client().instance::<(), Value>("", record.instance);
    let Some(name) = &args.name else {
        return list(output, &instance).await;
    };
    if args.follow {
        return tokio::select! {
            result = follow(output, &instance, name, args.from) => result,
            _ = tokio::signal::ctrl_c() => Ok(()),
        };
    }
    let mut from = args.from.unwrap_or(0);
    loop {
        let page = instance.stream_page(name.as_str(), from, PAGE).await?;
        if args.from.is_some() && page.bounds.first > from {
            trimmed(output, from, page.bounds.first)?;
        }
        let Some(last) = page.items.last() else {
            return Ok(());
        };
        from = last.offset + 1;
        for item in &page.items {
            shown(output, item)?;
        }
    }
}

/// The streams that the instance has.
async fn list(output: Output, instance: &InstanceHandle<Value>) -> Result<(), CliError> {
    let streams = instance.streams().await?;
    if output.is_json {
        let streams: Vec<_> = streams
            .iter()
            .map(|(name, bounds)| {
                json!({
                    "name": name, "first": bounds.first, "end": bounds.end, "bytes": bounds.bytes,
                })
            })
            .collect();
        return output.json(&json!({ "instance": instance.id(), "streams": streams }));
    }
    if streams.is_empty() {
        return output.line("it has no streams");
    }
    let mut table = Table::new(&["stream", "first", "end", "bytes"]);
    for (name, bounds) in &streams {
        table.add([
            name.to_string().into(),
            bounds.first.to_string().into(),
            bounds.end.to_string().into(),
            bounds.bytes.to_string().into(),
        ]);
    }
    for line in table.lines() {
        output.line(&line)?;
    }
    Ok(())
}

/// Writes the items, and every new one as it comes.
async fn follow(
    output: Output,
    instance: &InstanceHandle<Value>,
    name: &str,
    from: Option<u64>,
) -> Result<(), CliError> {
    let mut items = instance.stream_items(name);
    if let Some(from) = from {
        items = items.from_offset(from);
    }
    while let Some(item) = items.next().await {
        match item {
            Ok(item) => shown(output, &item)?,
            Err(ClientError::StreamTrimmed {
                requested, first, ..
            }) => trimmed(output, requested, first)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Items that were asked for are no longer stored.
fn trimmed(output: Output, requested: u64, first: u64) -> Result<(), CliError> {
    if output.is_json {
        return output.json_line(&json!({ "trimmed": { "from": requested, "first": first } }));
    }
    let note = format!("items {requested} to {} are no longer stored", first - 1);
    output.line(&format!("{DIM}{note}{DIM:#}"))
}

fn shown(output: Output, item: &StreamItem) -> Result<(), CliError> {
    if output.is_json {
        let (call, attempt, number) = match item.source {
            StreamSource::Orchestration => (None, None, None),
            StreamSource::Activity {
                call,
                attempt,
                number,
            } => (Some(call), Some(attempt), Some(number)),
        };
        return output.json_line(&json!({
            "offset": item.offset,
            "added_at_ms": item.added_at_ms,
            "execution": call.map(|call| call.execution_id),
            "event": call.map(|call| call.event_id),
            "attempt": attempt,
            "number": number,
            "value": value_of(&item.value),
        }));
    }
    let source = match item.source {
        StreamSource::Orchestration => String::new(),
        StreamSource::Activity { call, attempt, .. } => {
            format!("  activity {}, attempt {attempt}", call.event_id)
        }
    };
    output.line(&format!(
        "{DIM}{:>6}  {}{DIM:#}  {}{DIM}{source}{DIM:#}",
        item.offset,
        clock(item.added_at_ms),
        harmless(&item.value)
    ))
}
