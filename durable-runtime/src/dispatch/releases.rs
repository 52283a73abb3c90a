//! Leases on their way back to the store, many at a time.

use std::sync::{Arc, Mutex, PoisonError};

use durable_core::provider::Release;
use tokio::sync::Notify;

use super::wait::{self, Backoff};
use crate::node::Node;

/// Leases that are to be given back.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    waiting: Mutex<Vec<Release>>,
    wanted: Notify,
}

impl Releases {
    /// Gives a lease back soon, together with others.
    pub(crate) fn push(&self, release: Release) {
        self.waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(release);
        self.wanted.notify_one();
    }

    fn take(&self) -> Vec<Release> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Gives leases back until the session ends. What is left then goes with it.
pub(crate) async fn serve_releases(node: Arc<Node>) {
    loop {
        tokio::select! {
            biased;
            () = node.ended.cancelled() => return,
            () = node.releases.wanted.notified() => {}
        }
        give_back(&node, node.releases.take()).await;
    }
}

async fn give_back(node: &Node, releases: Vec<Release>) {
    if releases.is_empty() {
        return;
    }
    let mut backoff = Backoff::default();
    while let Err(error) = node
        .provider
        .release(releases.clone(), node.clock.now_ms())
        .await
    {
        if !wait::is_passing(&error) {
            // The end of the session frees them, and others need not wait for it.
            tracing::error!(%error, "leases could not be given back");
            return node.doubt();
        }
        wait::out_error(node, &mut backoff, &error).await;
        if node.ended.is_cancelled() {
            return;
        }
    }
    let leases = releases.iter().map(|release| &release.lease);
    leases.for_each(|lease| node.holders.let_go(lease));
}
