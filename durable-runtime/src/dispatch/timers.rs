//! The timer dispatcher: moves due timers into inboxes.

use std::sync::Arc;

use durable_core::provider::WakeTopic;

use super::wait::{self, Backoff};
use crate::node::Node;

/// How many timers are fired at once.
const BATCH: usize = 256;

/// Fires timers until the node drains.
pub(crate) async fn serve_timers(node: Arc<Node>) {
    let mut backoff = Backoff::default();
    while !node.draining.is_cancelled() {
        let fired = match node.provider.fire_timers(BATCH).await {
            Ok(fired) => fired,
            Err(error) => {
                wait::out_error(&node, &mut backoff, &error).await;
                continue;
            }
        };
        backoff = Backoff::default();
        if fired.fired == BATCH {
            continue;
        }
        wait::for_news(&node, &WakeTopic::Timers, fired.seen, fired.next_due_ms).await;
    }
}
