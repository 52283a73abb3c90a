//! Keeps the session alive, and hears what was cancelled elsewhere.

use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::ProviderError;

use crate::node::Node;

/// However short the bound is, the node does other things too.
const SHORTEST_BEAT: Duration = Duration::from_millis(1);

/// Sends heartbeats until the session ends.
///
/// A heartbeat that fails is tried again at the next beat: there are several
/// within the bound.
pub(crate) async fn keep_session(node: Arc<Node>) {
    let beat = (node.options.session_timeout / 4).max(SHORTEST_BEAT);
    loop {
        tokio::select! {
            biased;
            () = node.ended.cancelled() => return,
            () = node.clock.sleep(beat) => {}
        }
        let heartbeat = node.provider.heartbeat(node.session, node.clock.now_ms());
        match heartbeat.await {
            Ok(report) => {
                node.saw_store_time(report.now_ms);
                node.running.cancel(&report.cancelled_work);
            }
            Err(error @ ProviderError::SessionLost { .. }) => {
                tracing::warn!(node = %node.options.node, %error, "the session was lost");
                node.end();
                return;
            }
            Err(error) => {
                tracing::warn!(node = %node.options.node, %error, "a heartbeat failed");
                metrics::counter!("durable_store_errors_total").increment(1);
            }
        }
    }
}
