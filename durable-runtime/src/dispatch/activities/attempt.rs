//! One attempt of an activity: the code, its panics, its time.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use durable_core::provider::{ClaimedWork, WorkResult};
use durable_core::{Failure, FailureKind, Name, Payload};
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;

use super::retry;
use crate::activity::{ActivityContext, Attempt};
use crate::dispatch::release_backoff::BackoffKey;
use crate::execution::panic_message;
use crate::node::Node;
use crate::payload;
use crate::payload_codec::PayloadCodecError;
use crate::registry::CodeFuture;
use crate::watchdog::{Polling, UserCode};

/// Runs one attempt; what becomes of the work item.
pub(super) async fn attempt(
    node: &Node,
    claimed: &ClaimedWork,
    cancellation: CancellationToken,
) -> WorkResult {
    let now_ms = node.now_ms();
    if claimed.crashes >= node.options.max_crashes {
        return retry::poisoned(claimed);
    }
    if let Some(failure) = retry::expired(&claimed.item, now_ms) {
        return WorkResult::Finished(Err(failure));
    }
    let Some(code) = node.registry.activity(&claimed.item.name) else {
        return release_for_others(node, claimed, "this node does not know the activity");
    };
    let (mut input, mut heartbeat) = (claimed.item.input.clone(), claimed.heartbeat.clone());
    let mut stored = (&mut input, &mut heartbeat);
    if let Err(error) = node.codec.decode(&mut stored).await {
        if error.is_permanent() {
            return WorkResult::Finished(Err(unreadable(&error)));
        }
        let reason = format!("this node cannot read what is stored: {error}");
        return release_for_others(node, claimed, &reason);
    }
    let work = BackoffKey::Work(claimed.lease.key.clone());
    node.release_backoff.forget(&work);
    let context = ActivityContext::new(Attempt {
        name: claimed.item.name.clone(),
        trace_parent: claimed.item.options.trace_parent.clone(),
        lease: claimed.lease.clone(),
        number: claimed.delivery(),
        is_redelivery: claimed.crashes > 0,
        earlier_heartbeat: heartbeat,
        cancellation: cancellation.clone(),
        provider: Arc::clone(&node.provider),
        limits: node.options.limits,
    });
    let work = CatchPanic {
        code: Some(code(context, input)),
        node,
        claimed,
    };
    let limit = retry::attempt_limit(&claimed.item, now_ms);
    let result = tokio::select! {
        biased;
        () = node.ended.cancelled() => return WorkResult::HandedBack { not_before_ms: None },
        result = work => result,
        () = cut_off(limit, &cancellation, node.options.cancellation_grace) => {
            let failure = match cancellation.is_cancelled() {
                true => ignored(&claimed.item.name),
                false => retry::timeout(&claimed.item, node.now_ms()),
            };
            cancellation.cancel();
            Err(failure)
        }
    };
    let result = result.map_err(|failure| payload::fitting(&node.options.limits, failure));
    retry::judge(claimed, result, node.now_ms())
}

/// No node will ever be able to read it.
fn unreadable(error: &PayloadCodecError) -> Failure {
    let message = format!("what is stored cannot be decoded: {error}");
    Failure::new(FailureKind::PayloadCodec, message)
}

/// Another node may be able to run it, or this one later.
fn release_for_others(node: &Node, claimed: &ClaimedWork, reason: &str) -> WorkResult {
    let key = claimed.lease.key.clone();
    tracing::warn!(activity = %claimed.item.name, instance = %key.instance, event = %key.event_id, "{reason}");
    let not_before_ms = node
        .release_backoff
        .next(BackoffKey::Work(key), node.now_ms());
    WorkResult::HandedBack {
        not_before_ms: Some(not_before_ms),
    }
}

/// The code was cancelled and did not end within the grace period.
fn ignored(activity: &Name) -> Failure {
    tracing::warn!(%activity, "an activity that ignores its cancellation is dropped");
    Failure::cancelled("it did not end within the grace period after its cancellation")
}

/// Ends when the code may not go on: its time is up, or it was cancelled and its grace
/// period is over. Most nodes have no grace period, so that is boxed and takes no room in the
/// future that waits for it.
fn cut_off(
    limit: Option<Duration>,
    cancellation: &CancellationToken,
    grace: Option<Duration>,
) -> impl Future<Output = ()> {
    let Some(grace) = grace else {
        return Either::Left(sleep_or_never(limit));
    };
    Either::Right(Box::pin(async move {
        let grace_is_over = async {
            cancellation.cancelled().await;
            tokio::time::sleep(grace).await;
        };
        tokio::select! {
            () = sleep_or_never(limit) => {}
            () = grace_is_over => {}
        }
    }))
}

async fn sleep_or_never(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

/// Turns a panic of the code into a failure, also one that comes when the code is
/// dropped. The watchdog sees its polls.
struct CatchPanic<'a> {
    code: Option<CodeFuture>,
    node: &'a Node,
    claimed: &'a ClaimedWork,
}

impl Future for CatchPanic<'_> {
    type Output = Result<Payload, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let _polling = self.polling();
        let Some(code) = self.code.as_mut() else {
            return Poll::Pending;
        };
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| code.as_mut().poll(cx)));
        let result = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(result)) => result,
            Err(panic) => Err(panicked(panic.as_ref())),
        };
        match self.drop_code() {
            Ok(()) => Poll::Ready(result),
            Err(failure) => Poll::Ready(result.and(Err(failure))),
        }
    }
}

impl CatchPanic<'_> {
    fn polling(&self) -> Option<Polling> {
        let watchdog = self.node.watchdog.as_ref()?;
        let code = UserCode::Activity {
            key: self.claimed.lease.key.clone(),
            name: self.claimed.item.name.clone(),
        };
        Some(watchdog.polling(code))
    }

    fn drop_code(&mut self) -> Result<(), Failure> {
        let code = self.code.take();
        std::panic::catch_unwind(AssertUnwindSafe(|| drop(code)))
            .map_err(|panic| panicked(panic.as_ref()))
    }
}

impl Drop for CatchPanic<'_> {
    fn drop(&mut self) {
        if let Err(failure) = self.drop_code() {
            tracing::error!(%failure, "an activity panicked while it was dropped");
        }
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Failure {
    Failure::new(FailureKind::Panicked, panic_message(panic))
}
