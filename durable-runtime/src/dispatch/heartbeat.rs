//! Keeps the session alive.

use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::ProviderError;

use crate::node::Node;

/// The shortest interval between two heartbeats.
const MIN_INTERVAL: Duration = Duration::from_millis(1);

/// Sends heartbeats until the session ends.
///
/// A heartbeat that fails is retried after the next interval: there are four within
/// the session timeout.
pub(crate) async fn keep_session(node: Arc<Node>) {
    let interval = (node.options.session_timeout / 4).max(MIN_INTERVAL);
    loop {
        tokio::select! {
            biased;
            () = node.ended.cancelled() => return,
            () = tokio::time::sleep(interval) => {}
        }
        let heartbeat = node.provider.heartbeat(node.session);
        match heartbeat.await {
            Ok(()) => {}
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
