//! Releases leases, many at a time.

use std::sync::{Arc, Mutex, PoisonError};

use durable_core::provider::Release;
use tokio::sync::Notify;

use crate::dispatch::wait::{self, Backoff};
use crate::node::Node;

/// Leases that are to be released.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    waiting: Mutex<Vec<Release>>,
    wanted: Notify,
}

impl Releases {
    /// Releases a lease soon, together with others.
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

/// Releases leases until the session ends. What is left then goes with it.
pub(crate) async fn serve_releases(node: Arc<Node>) {
    loop {
        tokio::select! {
            biased;
            () = node.ended.cancelled() => return,
            () = node.releases.wanted.notified() => {}
        }
        release_all(&node, node.releases.take()).await;
    }
}

async fn release_all(node: &Node, releases: Vec<Release>) {
    if releases.is_empty() {
        return;
    }
    let mut backoff = Backoff::default();
    while let Err(error) = node.provider.release(releases.clone()).await {
        if !wait::is_passing(&error) {
            // The end of the session frees them, and others need not wait for it.
            tracing::error!(%error, "leases could not be released");
            return node.mark_session_uncertain();
        }
        wait::out_error(node, &mut backoff, &error).await;
        if node.ended.is_cancelled() {
            return;
        }
    }
    let leases = releases.iter().map(|release| &release.lease);
    leases.for_each(|lease| node.instance_tasks.released(lease));
}
