//! Keeps the session alive, and hears what was cancelled elsewhere.

use std::sync::Arc;

use durable_core::provider::ProviderError;

use crate::node::Node;

/// Sends heartbeats until the session ends.
///
/// A heartbeat that fails is tried again at the next beat: there are several
/// within the bound.
pub(crate) async fn keep_session(node: Arc<Node>) {
    let beat = node.options.heartbeat_bound / 4;
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
