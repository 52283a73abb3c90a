//! Waiting without polling, and waiting out an error.

use std::time::Duration;

use durable_core::provider::{ProviderError, WakeSeq, WakeTopic};
use tokio_util::sync::CancellationToken;

use crate::node::Node;

/// Waits until there may be something new, until something is due, or until the
/// node drains.
pub(super) async fn for_news(node: &Node, topic: &WakeTopic, seen: WakeSeq, due_ms: Option<u64>) {
    let longest = node.options.max_poll_interval;
    let until_due = due_ms.map_or(longest, |due_ms| {
        node.until(node.release_backoff.yield_to_others(due_ms))
            .min(longest)
    });
    for_news_until(node, &node.draining, topic, seen, until_due).await;
}

/// Waits until there may be something new, but not longer than this, nor after `stop`.
pub(super) async fn for_news_until(
    node: &Node,
    stop: &CancellationToken,
    topic: &WakeTopic,
    seen: WakeSeq,
    longest: Duration,
) {
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        news = node.provider.wait(Some(node.session), topic, seen) => {
            if let Err(error) = news {
                out_error(node, &mut Backoff::default(), &error).await;
            }
        }
        () = tokio::time::sleep(longest) => {}
    }
}

/// Grows from a moment to a few seconds.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            next: Duration::from_millis(10),
        }
    }
}

impl Backoff {
    const LONGEST: Duration = Duration::from_secs(5);

    pub(crate) fn grow(&mut self) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(Self::LONGEST);
        wait
    }
}

/// Whether an error says nothing about what was asked for, only that the store
/// could not be asked.
pub(super) fn is_passing(error: &ProviderError) -> bool {
    matches!(
        error,
        ProviderError::Unavailable { .. }
            | ProviderError::Unknown { .. }
            | ProviderError::Unusable { .. }
            | ProviderError::SessionLost { .. }
    )
}

/// Waits out an error of the store. A lost session ends the node's session.
pub(super) async fn out_error(node: &Node, backoff: &mut Backoff, error: &ProviderError) {
    if matches!(error, ProviderError::SessionLost { .. }) {
        tracing::warn!(node = %node.options.node, %error, "the session was lost");
        node.end();
        return;
    }
    tracing::warn!(node = %node.options.node, %error, "the store did not answer");
    metrics::counter!("durable_store_errors_total").increment(1);
    tokio::select! {
        biased;
        () = node.ended.cancelled() => {}
        () = tokio::time::sleep(backoff.grow()) => {}
    }
}

/// As [`out_error`], for a fetch: if it may have happened, something may be among
/// the session's leases that no task knows of, and only the end of the session frees it.
pub(super) async fn out_lost_answer(node: &Node, backoff: &mut Backoff, error: &ProviderError) {
    if matches!(error, ProviderError::Unknown { .. }) {
        node.mark_session_uncertain();
    }
    out_error(node, backoff, error).await;
}
