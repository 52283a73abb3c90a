//! `durable timeline`: a Gantt picture, in the terminal or as SVG.

use std::path::Path;

use serde_json::json;

use super::view;
use crate::args::TimelineArgs;
use crate::error::CliError;
use crate::operation::operations;
use crate::output::{Output, terminal_columns};
use crate::read;
use crate::store::Store;
use crate::timeline::Timeline;

pub(crate) async fn timeline(
    store: &Store,
    output: Output,
    args: &TimelineArgs,
) -> Result<(), CliError> {
    let record = read::record(store, &args.id).await?;
    let execution_id = read::execution(store, &record, args.execution).await?;
    let history = read::history(store, &record.instance, execution_id).await?;
    let mut picture = Timeline::of(&history, store.now_ms());
    for call in read::open_calls(store, &record.instance, execution_id).await? {
        picture = picture.with_attempts(call.item.key.event_id, call.earlier_attempts());
    }
    match &args.svg {
        Some(path) if path == Path::new("-") => return output.text(&picture.to_svg()),
        Some(path) => {
            std::fs::write(path, picture.to_svg()).map_err(|error| CliError::File {
                path: path.clone(),
                what: "written",
                error,
            })?;
        }
        None => {}
    }
    if output.is_json {
        let entries = &history.entries;
        return output.json(&json!({
            "instance": record.instance,
            "execution": execution_id,
            "begun_at_ms": entries.first().map(|entry| entry.recorded_at_ms),
            "ended_at_ms": entries
                .last()
                .filter(|entry| entry.event.is_terminal())
                .map(|entry| entry.recorded_at_ms),
            "operations": operations(&history).iter().map(view::operation).collect::<Vec<_>>(),
            "svg": args.svg,
        }));
    }
    match &args.svg {
        Some(path) => output.line(&format!("wrote {}", path.display())),
        None => output.text(&picture.to_text(args.width.unwrap_or_else(terminal_columns))),
    }
}
