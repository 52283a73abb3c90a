//! Removes ended instances and past executions in the background, in small batches.

use std::sync::Arc;
use std::time::Duration;

use durable_core::filter::Filter;
use durable_core::provider::{ProviderError, PruneRequest, PurgeRequest};

use crate::node::Node;
use crate::random::SeededRandom;
use crate::retention::Retention;

/// How many instances or executions are removed at once.
const BATCH: usize = 256;

/// Removes what is no longer to be kept, round after round, until the node drains.
pub(crate) async fn serve_retention(node: Arc<Node>, retention: Retention) {
    let mut random = SeededRandom::of_session(node.session);
    loop {
        tokio::select! {
            biased;
            () = node.draining.cancelled() => return,
            () = tokio::time::sleep(shortened(retention.interval, &mut random)) => {}
        }
        if let Err(error) = remove(&node, retention).await {
            tracing::warn!(node = %node.options.node, %error, "the retention could not be kept");
            metrics::counter!("durable_store_errors_total").increment(1);
        }
    }
}

/// Half of it at least.
fn shortened(interval: Duration, random: &mut SeededRandom) -> Duration {
    let half = interval / 2;
    let part = u32::try_from(random.next_u64() % 1_000).unwrap_or(0);
    half + half * part / 1_000
}

async fn remove(node: &Node, retention: Retention) -> Result<(), ProviderError> {
    let now_ms = node.now_ms();
    let before = |time: Duration| {
        let time_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        now_ms.saturating_sub(time_ms)
    };
    if let Some(time) = retention.ended_for {
        let ended = Filter::changed_before_ms(before(time));
        purge(node, &PurgeRequest::new(ended, BATCH)).await?;
    }
    if retention.executions.is_some() || retention.executions_for.is_some() {
        let mut past = PruneRequest::new(Filter::all(), BATCH);
        past.keep = retention.executions.unwrap_or(1);
        past.ended_before_ms = retention.executions_for.map(before);
        prune(node, &past).await?;
    }
    Ok(())
}

async fn purge(node: &Node, purge: &PurgeRequest) -> Result<(), ProviderError> {
    while !node.draining.is_cancelled() {
        let report = node.provider.purge(purge).await?;
        metrics::counter!("durable_purged_instances_total").increment(report.instances as u64);
        if !report.has_more || report.instances == 0 {
            break;
        }
    }
    Ok(())
}

async fn prune(node: &Node, prune: &PruneRequest) -> Result<(), ProviderError> {
    while !node.draining.is_cancelled() {
        let report = node.provider.prune(prune).await?;
        metrics::counter!("durable_pruned_executions_total").increment(report.executions as u64);
        if !report.has_more || report.executions == 0 {
            break;
        }
    }
    Ok(())
}
