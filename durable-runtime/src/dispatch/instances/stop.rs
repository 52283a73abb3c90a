//! Ending the turn of an instance that cannot go on, or must not.
//!
//! This is rare, and the futures are large: they are boxed, so that an instance task
//! need not have room for them.

use std::pin::Pin;
use std::sync::Arc;

use durable_core::provider::{InstanceRecord, InstanceStatus, ProviderError};
use durable_core::{Carried, Event, EventId, Failure, FailureKind, HistoryEntry, Version};

use super::commit::{NotCommitted, commit};
use super::instance_task::{InstanceTask, LeaseState, Lost};
use super::turn::{Batch, dropped};
use super::verify::{Reached, verify};
use super::{load, stop_requests};
use crate::dispatch::release_backoff::BackoffKey;
use crate::execution::ExecutionFault;
use crate::options::FaultPolicy;

/// The longest text of a fault that is stored, in bytes.
const LONGEST_MESSAGE: usize = 16 * 1024;

/// The version of an execution that was ended before any node knew its code.
const UNKNOWN_VERSION: &str = "0.0.0";

/// The end of a turn.
type StopFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// How an instance that cannot go on is left.
#[derive(Debug)]
pub(super) enum Stop {
    /// This node lacks the code: another one may have it, or this one later.
    Blocked(Failure),
    /// Until an operator resumes it.
    Suspended(Failure),
    /// For good.
    Terminated(Failure),
}

impl Stop {
    pub(super) fn by_policy(failure: Failure, policy: FaultPolicy) -> Self {
        let failure = shortened(failure);
        match policy {
            FaultPolicy::Suspend => Self::Suspended(failure),
            FaultPolicy::Terminate => Self::Terminated(failure),
        }
    }

    /// The store refuses what the turn wants to write, and always will.
    pub(super) fn refused(error: &ProviderError, policy: FaultPolicy) -> Self {
        Self::by_policy(refusal(error), policy)
    }
}

/// Why the store refuses a turn for good.
fn refusal(error: &ProviderError) -> Failure {
    let kind = match error {
        ProviderError::Refused(_) => FailureKind::LimitExceeded,
        ProviderError::NotEncodable { .. } => FailureKind::PayloadCodec,
        _ => FailureKind::CorruptHistory,
    };
    Failure::new(kind, error.to_string()).not_retryable()
}

impl InstanceTask {
    /// Ends a turn that cannot go on, with what its whole steps gathered.
    pub(super) fn fault(&mut self, fault: &ExecutionFault, batch: Batch) -> StopFuture<'_> {
        let failure = fault.to_failure();
        let instance = &self.lease.instance;
        tracing::error!(%instance, reason = %failure, "an instance cannot go on");
        count(&failure);
        let stop = match fault {
            ExecutionFault::NotRegistered { .. } => Stop::Blocked(failure),
            ExecutionFault::Unreadable(error) if !error.is_permanent() => Stop::Blocked(failure),
            _ => Stop::by_policy(failure, self.node.options.fault_policy),
        };
        self.stop(stop, batch)
    }

    /// Ends a turn with what its whole steps gathered, and leaves the instance so.
    pub(super) fn stop(&mut self, stop: Stop, batch: Batch) -> StopFuture<'_> {
        Box::pin(self.leave(stop, batch))
    }

    async fn leave(&mut self, stop: Stop, mut batch: Batch) {
        let stop = self.overtaken(stop, &mut batch).await;
        let now_ms = self.node.now_ms();
        match stop {
            Stop::Blocked(failure) => {
                let instance = BackoffKey::Instance(self.lease.instance.clone());
                let not_before_ms = self.node.release_backoff.next(instance, now_ms);
                if self.must_run {
                    // A commit would tell the store that it has run.
                    self.lease_state = LeaseState::Blocked {
                        failure,
                        not_before_ms,
                    };
                    self.take_back(batch.into_results());
                    return;
                }
                batch.update.not_before_ms = Some(not_before_ms);
                batch.update.blocked = Some(failure);
            }
            Stop::Suspended(failure) => {
                batch.update.status = Some(InstanceStatus::Suspended { failure });
            }
            Stop::Terminated(failure) => {
                let summary =
                    load::history_summary(&self.node, &self.lease.instance, self.tail).await;
                self.begin_unstarted(&mut batch, now_ms);
                batch.impose_end(self.tail, summary, failure, now_ms);
            }
        }
        self.commit_stop(batch).await;
    }

    /// A hard stop overtakes, also from behind the messages that came with the claim:
    /// an instance that stops here would never come to it.
    async fn overtaken(&self, stop: Stop, batch: &mut Batch) -> Stop {
        if matches!(stop, Stop::Terminated(_)) {
            return stop;
        }
        let Some(incoming) = load::requested_end(&self.node, &self.lease.instance).await else {
            return stop;
        };
        let Some(failure) = incoming.termination().cloned() else {
            return stop;
        };
        batch.consume(incoming);
        Stop::Terminated(failure)
    }

    /// Commits how the instance is left, and releases the lease with it.
    async fn commit_stop(&mut self, batch: Batch) {
        let is_over = batch.ends_instance();
        let is_suspended = batch.suspends_instance();
        let (turn, results) = batch.into_commit(self.empty_commit(false, 0));
        match commit(&self.node, &Arc::new(turn)).await {
            Ok(_) => {
                self.lease_state = LeaseState::Released;
                if is_over {
                    self.node.running.cancel_all_of(&self.lease.instance);
                }
                if is_suspended {
                    stop_requests::resume_to_end(&self.node, &self.lease.instance).await;
                }
            }
            // The next holder of the lease decides.
            Err(NotCommitted::Lost | NotCommitted::Unknown) => self.take_back(results),
            Err(NotCommitted::Refused(error)) => {
                self.take_back(results);
                self.suspend(refusal(&error)).await;
            }
        }
    }

    /// Ends the instance without running its code. One that has ended stays as it is.
    pub(super) fn terminate(&mut self, failure: Failure) -> StopFuture<'_> {
        Box::pin(async {
            match load::ended(&self.node, &self.lease.instance).await {
                Some(record) => self.dismiss(&record).await,
                None => self.end(failure).await,
            }
        })
    }

    async fn end(&mut self, failure: Failure) {
        let mut batch = self.new_batch();
        let now_ms = self.node.now_ms();
        self.begin_unstarted(&mut batch, now_ms);
        while let Some(incoming) = self.incoming.pop_front() {
            match incoming.start() {
                Some(start) if self.has_started() => batch.refuse_start(start),
                _ => {}
            }
            batch.consume(incoming);
        }
        let summary = load::history_summary(&self.node, &self.lease.instance, self.tail).await;
        batch.impose_end(self.tail, summary, failure, now_ms);
        self.commit_stop(batch).await;
    }

    /// A history begins with its start, even if nothing else ever happened.
    fn begin_unstarted(&mut self, batch: &mut Batch, now_ms: u64) {
        if self.has_started() || !batch.events.is_empty() {
            return;
        }
        let mut waiting = self.incoming.iter();
        let position = waiting.position(|incoming| incoming.start().is_some());
        let Some(incoming) = position.and_then(|position| self.incoming.remove(position)) else {
            return;
        };
        if let Some(start) = incoming.start() {
            let newest = self.node.registry.newest_version(&start.name);
            let version = start.version.clone().or(newest);
            let event = Event::OrchestrationStarted {
                event_id: EventId::FIRST,
                name: start.name.clone(),
                version: version.unwrap_or_else(|| Version::from(UNKNOWN_VERSION)),
                input: start.input.clone(),
                parent: start.parent.clone(),
                carried: Carried::of_start(start.attributes.clone(), start.trace_parent.clone()),
            };
            batch.events.push(HistoryEntry::new(now_ms, event));
        }
        batch.consume(incoming);
    }

    /// Answers the messages of an instance that has ended.
    pub(super) fn dismiss(&mut self, record: &InstanceRecord) -> StopFuture<'_> {
        let mut batch = self.new_batch();
        while let Some(incoming) = self.incoming.pop_front() {
            match incoming.start() {
                Some(start) if start.parent.is_none() || start.parent != record.parent => {
                    batch.refuse_start(start);
                }
                _ => dropped("ended"),
            }
            batch.consume(incoming);
        }
        Box::pin(self.commit_stop(batch))
    }

    /// Replays what was committed, and stops the instance if it does not come to the same
    /// end.
    pub(super) async fn verify(&mut self, due: Vec<Reached>) -> Result<(), Lost> {
        let Err(fault) = verify(&self.node, due).await else {
            return Ok(());
        };
        drop(self.node.cache.take(&self.lease.instance));
        let (instance, reason) = (&self.lease.instance, fault.to_failure());
        tracing::error!(%instance, %reason, "a committed turn does not replay");
        count(&reason);
        if self.lease_state == LeaseState::Released {
            self.suspend(reason).await;
        } else {
            let stop = Stop::by_policy(reason, self.node.options.fault_policy);
            self.stop(stop, self.new_batch()).await;
        }
        Err(Lost)
    }

    /// Suspends the instance, with or without its lease. One that has ended stays
    /// ended; the log has the reason.
    async fn suspend(&self, reason: Failure) {
        stop_requests::suspend(&self.node, &self.lease.instance, &reason).await;
    }
}

/// Counts an instance that cannot go on.
pub(super) fn count(failure: &Failure) {
    metrics::counter!("durable_faults_total", "kind" => failure.kind.to_string()).increment(1);
    if failure.kind == FailureKind::DeterminismViolation {
        metrics::counter!("durable_violations_total").increment(1);
    }
}

/// A failure that every store accepts.
fn shortened(mut failure: Failure) -> Failure {
    if failure.message.len() > LONGEST_MESSAGE {
        let is_boundary = |end: &usize| failure.message.is_char_boundary(*end);
        let end = (0..=LONGEST_MESSAGE).rev().find(is_boundary);
        failure.message.truncate(end.unwrap_or(0));
        failure.message.push('…');
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let long = Failure::application("odd", "ä".repeat(LONGEST_MESSAGE));
        let message = shortened(long).message;
        assert!(message.len() <= LONGEST_MESSAGE + '…'.len_utf8());
        assert!(message.ends_with("ä…"));
        let short = Failure::application("odd", "short");
        assert_eq!(shortened(short.clone()), short);
    }
}
