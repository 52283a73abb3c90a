//! The activity dispatcher: work is fetched, run, retried and settled.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::{ClaimedWork, Interest, WorkResult, WorkSettlement};
use durable_core::{Failure, FailureKind, Payload};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::wait::{self, Backoff};
use crate::activity::{ActivityContext, Attempt};
use crate::execution::panic_message;
use crate::node::Node;
use crate::retry::{self, Verdict};
use crate::turn::Arrival;

/// How many work items are fetched at once.
const BATCH: usize = 64;

/// Fetches work until the node drains.
pub(crate) async fn serve_activities(node: Arc<Node>) {
    let mut backoff = Backoff::default();
    while let Some(first) = free_slot(&node).await {
        let mut slots = vec![first];
        while slots.len() < BATCH
            && let Ok(slot) = node.activity_slots.clone().try_acquire_owned()
        {
            slots.push(slot);
        }
        let fetch = node.provider.fetch_work(
            node.session,
            &node.options.queues,
            slots.len(),
            node.clock.now_ms(),
        );
        let batch = match fetch.await {
            Ok(batch) => batch,
            Err(error) => {
                drop(slots);
                wait::out_error(&node, &mut backoff, &error).await;
                continue;
            }
        };
        backoff = Backoff::default();
        node.saw_store_time(batch.now_ms);
        let is_full = batch.work.len() == slots.len();
        for (claimed, slot) in batch.work.into_iter().zip(slots.drain(..)) {
            begin(&node, claimed, slot);
        }
        drop(slots);
        if !is_full {
            let interest = Interest::Work(node.options.queues.clone());
            wait::for_news(&node, &interest, batch.seen, batch.next_due_ms).await;
        }
    }
}

async fn free_slot(node: &Node) -> Option<OwnedSemaphorePermit> {
    tokio::select! {
        biased;
        () = node.draining.cancelled() => None,
        slot = node.activity_slots.clone().acquire_owned() => slot.ok(),
    }
}

/// Runs claimed work in a task of its own.
pub(super) fn begin(node: &Arc<Node>, claimed: ClaimedWork, slot: OwnedSemaphorePermit) {
    let cancellation = node.activity_began(claimed.lease.key.clone());
    let task_node = Arc::clone(node);
    node.tasks.spawn(async move {
        let key = claimed.lease.key.clone();
        run(&task_node, claimed, cancellation).await;
        task_node.activity_ended(&key);
        drop(slot);
    });
}

async fn run(node: &Node, claimed: ClaimedWork, cancellation: CancellationToken) {
    let span = tracing::info_span!(
        "activity",
        name = %claimed.item.name,
        instance = %claimed.lease.key.instance,
        execution = %claimed.lease.key.execution_id,
        event = %claimed.lease.key.event_id,
        attempt = claimed.attempt,
    );
    metrics::counter!("durable_activities_total").increment(1);
    let verdict = attempt(node, &claimed, cancellation).instrument(span).await;
    let result = match verdict {
        Verdict::Finished(result) => return finish(node, claimed, result).await,
        Verdict::Retry { not_before_ms } => WorkResult::Retry { not_before_ms },
        Verdict::HandBack { not_before_ms } => WorkResult::HandedBack { not_before_ms },
        Verdict::Poisoned(failure) => WorkResult::Poisoned(failure),
    };
    let key = claimed.lease.key.clone();
    let lease = claimed.lease;
    settle(node, vec![WorkSettlement { lease, result }]).await;
    let _ = node.forward(&key.instance.clone(), Arrival::Settled(key));
}

/// The result goes to the holder of the instance if this node holds it, else to
/// its inbox.
async fn finish(node: &Node, claimed: ClaimedWork, result: Result<Payload, Failure>) {
    let lease = claimed.lease;
    let instance = lease.key.instance.clone();
    let arrival = Arrival::Result { lease, result };
    if let Err(Arrival::Result { lease, result }) = node.forward(&instance, arrival) {
        let result = WorkResult::Finished(result);
        settle(node, vec![WorkSettlement { lease, result }]).await;
    }
}

/// Gives work back to the store. A lease that is lost means that somebody else has
/// it.
pub(super) async fn settle(node: &Node, settlements: Vec<WorkSettlement>) {
    let mut backoff = Backoff::default();
    while let Err(error) = node
        .provider
        .settle_work(settlements.clone(), node.clock.now_ms())
        .await
    {
        wait::out_error(node, &mut backoff, &error).await;
        if node.ended.is_cancelled() {
            return;
        }
    }
}

/// Runs one attempt and judges it.
async fn attempt(node: &Node, claimed: &ClaimedWork, cancellation: CancellationToken) -> Verdict {
    let now_ms = node.store_now_ms();
    if claimed.crashes >= node.options.max_crashes {
        return Verdict::Poisoned(Failure::new(
            FailureKind::Poisoned,
            format!(
                "activity `{}` took its worker down {} times",
                claimed.item.name, claimed.crashes
            ),
        ));
    }
    let Some(code) = node.registry.activity(&claimed.item.name) else {
        return retry::not_registered(&claimed.item, now_ms);
    };
    let context = ActivityContext::new(Attempt {
        name: claimed.item.name.clone(),
        lease: claimed.lease.clone(),
        number: claimed.attempt,
        earlier_heartbeat: claimed.heartbeat.clone(),
        cancellation: cancellation.clone(),
        provider: Arc::clone(&node.provider),
        clock: Arc::clone(&node.clock),
        limits: node.options.limits,
    });
    let work = catch_panic(code(context, claimed.item.input.clone()));
    let limit = retry::attempt_limit(&claimed.item, now_ms);
    let result = tokio::select! {
        biased;
        () = node.ended.cancelled() => return Verdict::HandBack { not_before_ms: None },
        result = work => result,
        () = sleep_or_never(node, limit) => {
            cancellation.cancel();
            Err(retry::timeout(&claimed.item, limit.unwrap_or_default()))
        }
    };
    retry::judge(claimed, result, node.store_now_ms())
}

async fn sleep_or_never(node: &Node, limit: Option<Duration>) {
    match limit {
        Some(limit) => node.clock.sleep(limit).await,
        None => std::future::pending().await,
    }
}

/// A panic becomes a failure.
async fn catch_panic(
    work: impl Future<Output = Result<Payload, Failure>>,
) -> Result<Payload, Failure> {
    let mut work = std::pin::pin!(work);
    std::future::poll_fn(move |cx| {
        match std::panic::catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            Ok(polled) => polled,
            Err(panic) => {
                let message = panic_message(panic.as_ref());
                std::task::Poll::Ready(Err(Failure::new(FailureKind::Panicked, message)))
            }
        }
    })
    .await
}
