//! `durable poisoned`: dead letters, a line each.

use durable_core::provider::{PoisonedWork, WorkKey};
use serde_json::{Value, json};

use super::view;
use crate::error::CliError;
use crate::json::value_of;
use crate::output::Output;
use crate::read::PAGE;
use crate::store::Store;
use crate::table::Table;
use crate::time::utc;

pub(crate) async fn poisoned(store: &Store, output: Output) -> Result<(), CliError> {
    let work = all(store).await?;
    if output.is_json {
        let work: Vec<_> = work.iter().map(to_json).collect();
        return output.json(&json!({ "poisoned": work }));
    }
    if work.is_empty() {
        return output.line("there are no dead letters");
    }
    for line in table(&work).lines() {
        output.line(&line)?;
    }
    Ok(())
}

async fn all(store: &Store) -> Result<Vec<PoisonedWork>, CliError> {
    let mut work = Vec::new();
    let mut after: Option<WorkKey> = None;
    loop {
        let page = store.provider().poisoned(after.as_ref(), PAGE).await?;
        work.extend(page.work);
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(work),
        }
    }
}

fn to_json(work: &PoisonedWork) -> Value {
    let PoisonedWork { item, failure, .. } = work;
    json!({
        "instance": item.key.instance,
        "execution": item.key.execution_id,
        "event": item.key.event_id,
        "command": item.command().to_string(),
        "activity": item.name,
        "queue": item.options.queue,
        "input": value_of(&item.input),
        "scheduled_at_ms": item.scheduled_at_ms,
        "failure": view::failure(failure),
    })
}

fn table(work: &[PoisonedWork]) -> Table {
    let mut table = Table::new(&[
        "instance",
        "execution",
        "event",
        "activity",
        "scheduled (UTC)",
        "because",
    ]);
    for PoisonedWork { item, failure, .. } in work {
        table.add([
            item.key.instance.to_string().into(),
            item.key.execution_id.to_string().into(),
            item.key.event_id.to_string().into(),
            item.name.to_string().into(),
            utc(item.scheduled_at_ms).into(),
            failure.to_string().into(),
        ]);
    }
    table
}
