//! Ending the turn of an instance that cannot go on, or must not.
//!
//! This is rare, and the futures are large: they are boxed, so that a holding need not
//! have room for them.

use std::pin::Pin;

use durable_core::provider::{InstanceRecord, InstanceStatus, MessageBody, StartInstance};
use durable_core::{Carried, Event, EventId, Failure, FailureKind, HistoryEntry, Version};

use super::commit::{NotCommitted, commit};
use super::hand_backs::HandedBack;
use super::holding::{self, Hold, Holding, Lost};
use super::outcome::{self, Stop};
use super::steps::dropped;
use super::{foreign, load};
use crate::execution::Fault;
use crate::turn::{Arrival, Batch, Live};

/// The version of an execution that was ended before any node knew its code.
const UNKNOWN_VERSION: &str = "0.0.0";

type Ending<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

impl Holding {
    /// Ends a turn that cannot go on, with what its whole steps gathered.
    pub(super) fn fault(&mut self, fault: &Fault, batch: Batch) -> Ending<'_> {
        let failure = fault.to_failure();
        let instance = &self.lease.instance;
        tracing::error!(%instance, reason = %failure, "an instance cannot go on");
        outcome::count(&failure);
        let stop = match fault {
            Fault::NotRegistered { .. } | Fault::Unreadable(_) => Stop::Blocked(failure),
            _ => Stop::by_policy(failure, self.node.options.fault_policy),
        };
        self.stop(stop, batch)
    }

    /// Ends a turn with what its whole steps gathered, and leaves the instance so.
    pub(super) fn stop(&mut self, stop: Stop, batch: Batch) -> Ending<'_> {
        Box::pin(self.leave(stop, batch))
    }

    async fn leave(&mut self, stop: Stop, mut batch: Batch) {
        let stop = self.overtaken(stop, &mut batch).await;
        let now_ms = self.node.store_now_ms();
        match stop {
            Stop::Blocked(failure) => {
                let instance = HandedBack::Instance(self.lease.instance.clone());
                let not_before_ms = self.node.hand_backs.next(instance, now_ms);
                if self.must_run {
                    // A commit would tell the store that it has run.
                    self.hold = Hold::Blocked {
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
                let past = load::past(&self.node, &self.lease.instance, self.tail).await;
                self.begin_unstarted(&mut batch, now_ms);
                batch.impose_end(self.tail, past, failure, now_ms);
            }
        }
        self.commit_stop(batch).await;
    }

    /// A hard stop overtakes, also from behind what was handed out: an instance that
    /// stops here would never come to it.
    async fn overtaken(&self, stop: Stop, batch: &mut Batch) -> Stop {
        if matches!(stop, Stop::Terminated(_)) {
            return stop;
        }
        let Some(arrival) = load::requested_end(&self.node, &self.lease.instance).await else {
            return stop;
        };
        let Some(failure) = holding::requested_failure(&arrival) else {
            return stop;
        };
        batch.consume(arrival);
        Stop::Terminated(failure)
    }

    /// Commits the last word on an instance, and gives the lease back with it.
    async fn commit_stop(&mut self, batch: Batch) {
        let is_over = batch.ends_instance();
        let is_suspended = batch.suspends_instance();
        let (turn, results) = batch.into_commit(self.header(false, 0));
        match commit(&self.node, &turn).await {
            Ok(_) => {
                self.hold = Hold::Free;
                if is_over {
                    self.node.running.cancel_all_of(&self.lease.instance);
                }
                if is_suspended {
                    foreign::resume_to_end(&self.node, &self.lease.instance).await;
                }
            }
            // Somebody else decides.
            Err(NotCommitted::Lost | NotCommitted::Unknown) => self.take_back(results),
            Err(NotCommitted::Refused(error)) => {
                self.take_back(results);
                let failure = Failure::new(FailureKind::CorruptHistory, error.to_string());
                self.suspend(failure.not_retryable()).await;
            }
        }
    }

    /// Ends the instance without running its code. One that has ended stays as it is.
    pub(super) fn terminate(&mut self, failure: Failure) -> Ending<'_> {
        Box::pin(async {
            match load::ended(&self.node, &self.lease.instance).await {
                Some(record) => self.dismiss(&record).await,
                None => self.end(failure).await,
            }
        })
    }

    async fn end(&mut self, failure: Failure) {
        let mut batch = self.new_batch();
        let now_ms = self.node.store_now_ms();
        self.begin_unstarted(&mut batch, now_ms);
        while let Some(arrival) = self.arrivals.pop_front() {
            match start_of(&arrival) {
                Some(start) if self.has_started() => batch.refuse_start(start),
                _ => {}
            }
            batch.consume(arrival);
        }
        let past = load::past(&self.node, &self.lease.instance, self.tail).await;
        batch.impose_end(self.tail, past, failure, now_ms);
        self.commit_stop(batch).await;
    }

    /// A history begins with its start, even if nothing else ever happened.
    fn begin_unstarted(&mut self, batch: &mut Batch, now_ms: u64) {
        if self.has_started() || !batch.events.is_empty() {
            return;
        }
        let position = self
            .arrivals
            .iter()
            .position(|arrival| start_of(arrival).is_some());
        let Some(arrival) = position.and_then(|position| self.arrivals.remove(position)) else {
            return;
        };
        if let Some(start) = start_of(&arrival) {
            let newest = self.node.registry.newest_version(&start.name);
            let version = start.version.clone().or(newest);
            let event = Event::OrchestrationStarted {
                event_id: EventId::FIRST,
                name: start.name.clone(),
                version: version.unwrap_or_else(|| Version::from(UNKNOWN_VERSION)),
                input: start.input.clone(),
                parent: start.parent.clone(),
                carried: Carried::default(),
            };
            batch.events.push(HistoryEntry {
                recorded_at_ms: now_ms,
                event,
            });
        }
        batch.consume(arrival);
    }

    /// Answers what reached an instance that has ended.
    pub(super) fn dismiss(&mut self, record: &InstanceRecord) -> Ending<'_> {
        let mut batch = self.new_batch();
        while let Some(arrival) = self.arrivals.pop_front() {
            match start_of(&arrival) {
                Some(start) if start.parent.is_none() || start.parent != record.parent => {
                    batch.refuse_start(start);
                }
                _ => dropped("ended"),
            }
            batch.consume(arrival);
        }
        Box::pin(self.commit_stop(batch))
    }

    /// Replays what was committed if it is time to, and stops the instance if it
    /// does not come to the same end.
    pub(super) async fn verify(&mut self, live: &mut Live) -> Result<(), Lost> {
        let Err(fault) = self.verification.verify(&self.node, live).await else {
            return Ok(());
        };
        let (instance, reason) = (&self.lease.instance, fault.to_failure());
        tracing::error!(%instance, %reason, "a committed turn does not replay");
        outcome::count(&reason);
        if self.hold == Hold::Free {
            self.suspend(reason).await;
        } else {
            let stop = Stop::by_policy(reason, self.node.options.fault_policy);
            self.stop(stop, self.new_batch()).await;
        }
        Err(Lost)
    }

    /// Suspends the instance whoever holds it. One that has ended stays ended; the
    /// log has the reason.
    async fn suspend(&self, reason: Failure) {
        foreign::suspend(&self.node, &self.lease.instance, &reason).await;
    }
}

fn start_of(arrival: &Arrival) -> Option<&StartInstance> {
    match arrival.body() {
        Some(MessageBody::Start(start)) => Some(start),
        _ => None,
    }
}
