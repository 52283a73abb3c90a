//! `durable prune`: removes past executions of instances that continued as new, or were
//! started anew.

use std::time::Duration;

use durable_core::EventId;
use durable_core::provider::{ExecutionRecord, InstanceRecord, PruneRequest};
use serde_json::json;

use crate::args::Prune as PruneArgs;
use crate::error::CliError;
use crate::output::Output;
use crate::read;
use crate::store::Store;
use crate::table::counted;

/// How many executions one request removes at most.
const TOGETHER: usize = 256;

pub(crate) async fn prune(store: &Store, output: Output, args: &PruneArgs) -> Result<(), CliError> {
    if args.filter.means_all() && !args.all {
        return Err(CliError::PruneNeedsFilter);
    }
    let request = request(store, args)?;
    let meant = count_old(store, &request).await?;
    let mut removed = 0;
    if !args.dry_run {
        let bar = output.progress(meant, "pruning");
        loop {
            let report = store.client().prune(&request).await?;
            removed += report.executions;
            bar.set_position(removed as u64);
            if !report.has_more || report.executions == 0 {
                break;
            }
        }
        bar.finish_and_clear();
    }
    if output.is_json {
        return output.json(&json!({ "meant": meant, "removed": removed }));
    }
    match args.dry_run {
        true => output.line(&format!("would remove {}", past(meant))),
        false => output.line(&format!("removed {}", past(removed))),
    }
}

fn request(store: &Store, args: &PruneArgs) -> Result<PruneRequest, CliError> {
    let now_ms = store.now_ms();
    let mut request = PruneRequest::new(args.filter.to_filter(now_ms)?, TOGETHER).keep(args.keep);
    let whole_ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let ended_for_ms = args.ended_for.map(whole_ms);
    request.ended_before_ms = ended_for_ms.map(|ended_for| now_ms.saturating_sub(ended_for));
    Ok(request)
}

fn past(number: usize) -> String {
    counted(number as u64, "past execution")
}

async fn count_old(store: &Store, request: &PruneRequest) -> Result<usize, CliError> {
    let mut count = 0;
    for record in read::records(store, &request.filter).await? {
        count += count_old_of(store, request, &record).await?;
    }
    Ok(count)
}

/// How many executions of an instance are to go, up to the first that is too young.
async fn count_old_of(
    store: &Store,
    request: &PruneRequest,
    record: &InstanceRecord,
) -> Result<usize, CliError> {
    let Some(last) = request.last_to_go(record.execution_id) else {
        return Ok(0);
    };
    let mut count = 0;
    for execution in store.provider().executions(&record.instance).await? {
        let is_to_go = execution.execution_id <= last;
        if !is_to_go || !request.is_old(ended_at_ms(store, record, &execution).await?) {
            break;
        }
        count += 1;
    }
    Ok(count)
}

/// When the last entry of an execution was recorded.
async fn ended_at_ms(
    store: &Store,
    record: &InstanceRecord,
    execution: &ExecutionRecord,
) -> Result<u64, CliError> {
    let before = EventId::new(execution.last_event_id.get().saturating_sub(1));
    let execution_id = execution.execution_id;
    let last = read::entries(store, &record.instance, execution_id, before, 1).await?;
    Ok(last.last().map_or(0, |entry| entry.recorded_at_ms))
}
