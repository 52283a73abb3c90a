//! The activity dispatcher: claims work, runs it, and settles it with the store.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use durable_core::provider::{
    ClaimedWork, ProviderError, WakeTopic, WorkLease, WorkResult, WorkSettlement,
};
use durable_core::{Failure, FailureKind, Payload};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::attempt::attempt;
use super::retry;
use crate::dispatch::instances::{Incoming, LocalResult};
use crate::dispatch::wait::{self, Backoff};
use crate::node::Node;
use crate::trace;

/// How many work items are fetched at once.
const BATCH: usize = 64;

/// Fetches work until the node drains.
pub(crate) async fn serve_activities(node: Arc<Node>) {
    let mut backoff = Backoff::default();
    while let Some(slots) = free_slots(&node).await {
        let fetch = node
            .provider
            .fetch_work(node.session, &node.options.queues, slots.len());
        let batch = match fetch.await {
            Ok(batch) => batch,
            Err(error) => {
                drop(slots);
                wait::out_lost_answer(&node, &mut backoff, &error).await;
                continue;
            }
        };
        backoff = Backoff::default();
        let is_full = batch.work.len() == slots.len();
        for (claimed, slot) in batch.work.into_iter().zip(slots) {
            begin(&node, claimed, slot);
        }
        if !is_full {
            let topic = WakeTopic::Work(node.options.queues.clone());
            wait::for_news(&node, &topic, batch.seen, batch.next_due_ms).await;
        }
    }
}

/// Slots for as much work as may be fetched at once, at least one; `None` when
/// the node drains.
async fn free_slots(node: &Node) -> Option<Vec<OwnedSemaphorePermit>> {
    let first = tokio::select! {
        biased;
        () = node.draining.cancelled() => return None,
        slot = node.activity_slots.clone().acquire_owned() => slot.ok()?,
    };
    let mut slots = vec![first];
    while slots.len() < BATCH
        && let Ok(slot) = node.activity_slots.clone().try_acquire_owned()
    {
        slots.push(slot);
    }
    Some(slots)
}

/// Runs claimed work in a task of its own.
pub(in crate::dispatch) fn begin(
    node: &Arc<Node>,
    claimed: ClaimedWork,
    slot: OwnedSemaphorePermit,
) {
    let lease = claimed.lease.clone();
    let cancellation = node.ended.child_token();
    node.running.began(&lease, &cancellation);
    let task_node = Arc::clone(node);
    // A future has room for each place that it was moved to.
    let claimed = Box::new(claimed);
    node.spawn(async move {
        run(&task_node, claimed, cancellation).await;
        task_node.running.ended(&lease);
        drop(slot);
    });
}

async fn run(node: &Node, claimed: Box<ClaimedWork>, cancellation: CancellationToken) {
    let key = &claimed.lease.key;
    let span = tracing::info_span!(
        "activity",
        name = %claimed.item.name,
        instance = %key.instance,
        execution = %key.execution_id,
        event = %key.event_id,
        command = %claimed.item.command(),
        attempt = claimed.delivery(),
        trace_parent = tracing::field::Empty,
    );
    trace::join(&span, claimed.item.options.trace_parent.as_ref());
    measure_wait(node, &claimed);
    let began = Instant::now();
    let result = attempt(node, &claimed, cancellation).instrument(span).await;
    metrics::counter!("durable_activities_total", "verdict" => retry::label(&result)).increment(1);
    metrics::histogram!("durable_activity_seconds").record(began.elapsed());
    let lease = claimed.lease;
    if let WorkResult::Finished(result) = result {
        return finish(node, lease, result).await;
    }
    let key = lease.key.clone();
    settle(node, WorkSettlement::new(lease, result)).await;
    // An instance without a task on this node does not wait for it.
    let _ = node
        .instance_tasks
        .forward(&key.instance.clone(), Incoming::Settled(key));
}

/// How long a call waited for its first attempt.
fn measure_wait(node: &Node, claimed: &ClaimedWork) {
    if claimed.delivery() == 1 {
        let waited_ms = node.now_ms().saturating_sub(claimed.item.scheduled_at_ms);
        metrics::histogram!("durable_work_wait_seconds").record(Duration::from_millis(waited_ms));
    }
}

/// The result goes to the task of the instance if this node has one, else to the
/// inbox.
async fn finish(node: &Node, lease: WorkLease, result: Result<Payload, Failure>) {
    let instance = lease.key.instance.clone();
    let incoming = Incoming::Result(LocalResult { lease, result });
    if let Err(Incoming::Result(unsent)) = node.instance_tasks.forward(&instance, incoming) {
        let result = WorkResult::Finished(unsent.result);
        settle(node, WorkSettlement::new(unsent.lease, result)).await;
    }
}

/// Settles work with the store. A lost lease means that another session has the work.
/// It is seldom needed, so it is boxed and takes no room in the futures that call it.
pub(in crate::dispatch) fn settle(
    node: &Node,
    settlement: WorkSettlement,
) -> Pin<Box<impl Future<Output = ()>>> {
    Box::pin(settle_or_give_up(node, settlement))
}

async fn settle_or_give_up(node: &Node, settlement: WorkSettlement) {
    let mut backoff = Backoff::default();
    while let Err(error) = node.provider.settle_work(settlement.clone()).await {
        if !wait::is_passing(&error) {
            return settle_refused(node, settlement.lease, &error).await;
        }
        wait::out_error(node, &mut backoff, &error).await;
        if node.ended.is_cancelled() {
            return;
        }
    }
}

/// The store or the codec refuses a result and always will: the orchestration gets to
/// know that instead.
async fn settle_refused(node: &Node, lease: WorkLease, error: &ProviderError) {
    let kind = match error {
        ProviderError::NotEncodable { .. } => FailureKind::PayloadCodec,
        _ => FailureKind::LimitExceeded,
    };
    let failure = Failure::new(kind, error.to_string()).not_retryable();
    let settlement = WorkSettlement::new(lease, WorkResult::Finished(Err(failure)));
    if let Err(error) = node.provider.settle_work(settlement).await {
        // After the end of the session another one can claim the work.
        tracing::error!(%error, "a result could not be stored");
        node.mark_session_uncertain();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_future<A, B, C, F>(_: impl FnOnce(A, B, C) -> F) -> usize {
        size_of::<F>()
    }

    /// With what tokio adds to a task, allocators still take it for small.
    #[test]
    fn an_activity_is_small_since_every_call_is_a_task() {
        let running = |node: &'static Node, claimed, cancellation| run(node, claimed, cancellation);
        let bytes = size_of_future(running);
        assert!(bytes <= 640, "{bytes} bytes");
    }
}
