//! Leases on their way back to the store, many at a time.

use std::sync::{Arc, Mutex, PoisonError};

use durable_core::provider::Lease;
use tokio::sync::Notify;

use super::wait::{self, Backoff};
use crate::node::Node;

/// Leases that are to be given back.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    waiting: Mutex<Vec<Release>>,
    wanted: Notify,
}

/// A lease, and when its instance may be handed out again at the earliest.
#[derive(Debug)]
struct Release {
    lease: Lease,
    not_before_ms: Option<u64>,
}

impl Releases {
    /// Gives a lease back soon, together with others.
    pub(crate) fn push(&self, lease: Lease, not_before_ms: Option<u64>) {
        let release = Release {
            lease,
            not_before_ms,
        };
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
        let (delayed, at_once): (Vec<_>, Vec<_>) = node
            .releases
            .take()
            .into_iter()
            .partition(|release| release.not_before_ms.is_some());
        let at_once = at_once.into_iter().map(|release| release.lease).collect();
        give_back(&node, at_once, None).await;
        for release in delayed {
            give_back(&node, vec![release.lease], release.not_before_ms).await;
        }
    }
}

async fn give_back(node: &Node, leases: Vec<Lease>, not_before_ms: Option<u64>) {
    if leases.is_empty() {
        return;
    }
    let mut backoff = Backoff::default();
    while let Err(error) = node
        .provider
        .release(leases.clone(), not_before_ms, node.clock.now_ms())
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
    leases.iter().for_each(|lease| node.holders.let_go(lease));
}
