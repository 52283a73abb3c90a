//! Learns which activities that run on this node were cancelled elsewhere.

use std::sync::Arc;

use durable_core::provider::WakeTopic;

use super::wait::{self, Backoff};
use crate::node::Node;

/// Tells activities that they were cancelled, until the session ends: also while the node
/// drains.
pub(crate) async fn serve_cancellations(node: Arc<Node>) {
    let mut backoff = Backoff::default();
    while !node.ended.is_cancelled() {
        let cancelled = match node.provider.cancelled_work(node.session).await {
            Ok(cancelled) => cancelled,
            Err(error) => {
                wait::out_error(&node, &mut backoff, &error).await;
                continue;
            }
        };
        backoff = Backoff::default();
        node.running.cancelled_elsewhere(cancelled.keys);
        let longest = node.options.max_poll_interval;
        let topic = WakeTopic::Cancellations;
        wait::for_news_until(&node, &node.ended, &topic, cancelled.seen, longest).await;
    }
}
