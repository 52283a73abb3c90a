//! What checks of wake-ups are written with: waits that have begun for sure.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use durable_core::provider::{Provider, ProviderError, SessionId, WakeSeq, WakeTopic};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::env::Env;
use super::failure::{CheckFailure, CheckResult, ensure_eq};
use super::node::TestNode;

pub(super) type PendingWait = JoinHandle<Result<WakeSeq, ProviderError>>;

/// Begins a wait of a session; it has been polled when this returns.
pub(super) async fn begin_wait(
    node: &TestNode<'_>,
    topic: WakeTopic,
    seen: WakeSeq,
) -> PendingWait {
    begin_wait_of(&node.provider, Some(node.session), topic, seen).await
}

pub(super) async fn begin_wait_of(
    provider: &Arc<dyn Provider>,
    session: Option<SessionId>,
    topic: WakeTopic,
    seen: WakeSeq,
) -> PendingWait {
    let provider = Arc::clone(provider);
    let (begun, has_begun) = oneshot::channel();
    let waiting = tokio::spawn(async move {
        let mut wait = provider.wait(session, &topic, seen);
        let early = poll_fn(|context| Poll::Ready(wait.as_mut().poll(context))).await;
        // The receiver is gone only if the check is over.
        let _ = begun.send(());
        match early {
            Poll::Ready(answer) => answer,
            Poll::Pending => wait.await,
        }
    });
    // An error means that the wait has panicked: its handle tells.
    let _ = has_begun.await;
    waiting
}

/// Demands that a wait ends.
pub(super) async fn is_told(env: &Env, what: &str, waiting: PendingWait) -> CheckResult<WakeSeq> {
    let ended = env.within_timeout(what, waiting).await?;
    let answer = ended.map_err(|error| CheckFailure::new(what, "an answer", error.to_string()))?;
    Ok(answer?)
}

/// How far the node has looked for instances, when there are none.
pub(super) async fn seen_no_instance(node: &TestNode<'_>) -> CheckResult<WakeSeq> {
    let batch = node.fetch_batch(10).await?;
    ensure_eq("instances that are ready", batch.instances.len(), 0)?;
    Ok(batch.seen)
}
