//! `durable purge`: removes ended instances with everything that belongs to them.

use durable_core::filter::Filter;
use durable_core::provider::PurgeRequest;
use serde_json::json;

use crate::args::Purge as PurgeArgs;
use crate::error::CliError;
use crate::output::Output;
use crate::read;
use crate::store::Store;
use crate::table::counted;

/// How many instances one request removes at most.
const TOGETHER: usize = 256;

pub(crate) async fn purge(store: &Store, output: Output, args: &PurgeArgs) -> Result<(), CliError> {
    if args.filter.means_all() && !args.all {
        return Err(CliError::PurgeNeedsFilter);
    }
    let filter = args.filter.to_filter(store.now_ms())?;
    let meant = count_ended(store, &filter).await?;
    let mut removed = 0;
    if !args.dry_run {
        let bar = output.progress(meant, "purging");
        let purge = PurgeRequest::new(filter, TOGETHER);
        loop {
            let report = store.client().purge(&purge).await?;
            removed += report.instances;
            bar.set_position(removed as u64);
            if !report.has_more {
                break;
            }
        }
        bar.finish_and_clear();
    }
    if output.is_json {
        return output.json(&json!({ "meant": meant, "removed": removed }));
    }
    match args.dry_run {
        true => output.line(&format!("would remove {}", ended(meant))),
        false => output.line(&format!("removed {}", ended(removed))),
    }
}

fn ended(number: usize) -> String {
    counted(number as u64, "ended instance")
}

async fn count_ended(store: &Store, filter: &Filter) -> Result<usize, CliError> {
    let ended = filter.clone().and(Filter::ended());
    Ok(read::records(store, &ended).await?.len())
}
