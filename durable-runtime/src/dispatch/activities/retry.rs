//! What becomes of an attempt: done, again, or never again. Pure decisions, no I/O.

use std::time::Duration;

use durable_core::provider::{ClaimedWork, WorkItem, WorkResult};
use durable_core::{Failure, FailureKind, Name, Payload};

/// The label of an attempt's end in the metrics.
pub(super) const fn label(result: &WorkResult) -> &'static str {
    match result {
        WorkResult::Finished(Ok(_)) => "completed",
        WorkResult::Finished(Err(_)) => "failed",
        WorkResult::Retry { .. } => "retry",
        WorkResult::HandedBack { .. } => "handed_back",
        WorkResult::Poisoned(_) => "poisoned",
    }
}

/// What becomes of the work item after an attempt with this result.
pub(super) fn judge(
    claimed: &ClaimedWork,
    result: Result<Payload, Failure>,
    now_ms: u64,
) -> WorkResult {
    let failure = match result {
        Ok(value) => return WorkResult::Finished(Ok(value)),
        Err(failure) => failure,
    };
    let policy = &claimed.item.options.retry;
    if !failure.retryable || claimed.attempt >= policy.max_attempts {
        return WorkResult::Finished(Err(failure));
    }
    let backoff_ms = policy.backoff_ms(claimed.attempt);
    let jitter_ms = jitter(claimed, backoff_ms, policy.jitter_percent);
    let not_before_ms = now_ms.saturating_add(backoff_ms - jitter_ms);
    match deadline_ms(&claimed.item) {
        Some(deadline) if not_before_ms >= deadline => WorkResult::Finished(Err(failure)),
        _ => WorkResult::Retry {
            not_before_ms,
            failure: failure.summary(),
        },
    }
}

/// The part of a wait that is left out, different for every call and attempt so
/// that retries do not come all at once, and the same whenever it is computed.
fn jitter(claimed: &ClaimedWork, backoff_ms: u64, percent: u32) -> u64 {
    let key = &claimed.lease.key;
    let mut random = crate::random::SeededRandom::of_execution(&key.instance, key.execution_id);
    random.mix(key.event_id.get());
    random.mix(u64::from(claimed.attempt));
    let most = backoff_ms.saturating_mul(u64::from(percent.min(100))) / 100;
    match most {
        0 => 0,
        most => random.next_u64() % (most + 1),
    }
}

/// How long this attempt may take.
pub(super) fn attempt_limit(item: &WorkItem, now_ms: u64) -> Option<Duration> {
    let rest = deadline_ms(item).map(|deadline| deadline.saturating_sub(now_ms));
    let limit = match (item.options.attempt_timeout_ms, rest) {
        (Some(attempt), Some(rest)) => attempt.min(rest),
        (attempt, rest) => attempt.or(rest)?,
    };
    Some(Duration::from_millis(limit))
}

fn deadline_ms(item: &WorkItem) -> Option<u64> {
    item.options.deadline_ms(item.scheduled_at_ms)
}

/// The failure of a call whose total timeout has passed.
pub(super) fn expired(item: &WorkItem, now_ms: u64) -> Option<Failure> {
    let is_expired = deadline_ms(item).is_some_and(|deadline| now_ms >= deadline);
    let total_ms = item.options.total_timeout_ms.filter(|_| is_expired)?;
    Some(total_timeout(&item.name, total_ms))
}

/// The failure of an attempt that took longer than [`attempt_limit`] said.
pub(super) fn timeout(item: &WorkItem, now_ms: u64) -> Failure {
    let (attempt_ms, total_ms) = (
        item.options.attempt_timeout_ms,
        item.options.total_timeout_ms,
    );
    expired(item, now_ms).unwrap_or_else(|| match attempt_ms {
        Some(attempt_ms) => timed_out(&item.name, attempt_ms, "per attempt"),
        // The store's clock is a little behind the one that measured the attempt.
        None => total_timeout(&item.name, total_ms.unwrap_or(0)),
    })
}

/// The failure of a call that took longer than its total timeout, whether the node that
/// runs it noticed, or the store.
pub(in crate::dispatch) fn total_timeout(activity: &Name, total_ms: u64) -> Failure {
    timed_out(activity, total_ms, "in all")
}

fn timed_out(activity: &Name, bound_ms: u64, what: &str) -> Failure {
    let bound = Duration::from_millis(bound_ms);
    let message = format!("activity `{activity}` took longer than it may: {bound:?} {what}");
    Failure::new(FailureKind::Timeout, message)
}

/// An activity that took its worker down too often is set aside.
pub(super) fn poisoned(claimed: &ClaimedWork) -> WorkResult {
    WorkResult::Poisoned(Failure::new(
        FailureKind::Poisoned,
        format!(
            "activity `{}` took its worker down {} times and is set aside: see the logs of the \
             workers",
            claimed.item.name, claimed.crashes
        ),
    ))
}
