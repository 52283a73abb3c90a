//! Gives idle leases back, many at a time.

use std::sync::Arc;

use super::wait::{self, Backoff};
use crate::node::Node;

/// Gives leases back until the session ends. What is left then goes with it.
pub(crate) async fn serve_releases(node: Arc<Node>) {
    loop {
        tokio::select! {
            biased;
            () = node.ended.cancelled() => return,
            () = node.release_wanted.notified() => {}
        }
        let leases = node.take_releases();
        if leases.is_empty() {
            continue;
        }
        let mut backoff = Backoff::default();
        while let Err(error) = node
            .provider
            .release(leases.clone(), None, node.clock.now_ms())
            .await
        {
            wait::out_error(&node, &mut backoff, &error).await;
            if node.ended.is_cancelled() {
                return;
            }
        }
    }
}
