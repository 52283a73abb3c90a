//! A holding: one instance in this node's hands, from its hand-out to its release.
//!
//! One task owns the execution, so nothing is locked. It takes what arrives, runs
//! a turn, commits it, and waits while activities of the instance run on this node,
//! so that their results go straight into the next turn. Then it gives the lease
//! back and leaves the execution in the cache.
//!
//! Invariants: whatever happens, the lease is given back or the session ends; and a
//! result that travelled in memory is committed or put into the inbox.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use durable_core::provider::{
    CommitId, Lease, MessageBody, ReadyInstance, Release, WorkKey, WorkResult, WorkSettlement,
};
use durable_core::{EventId, Failure, FailureKind};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::UnboundedReceiver;
use tracing::Instrument;

use super::activity;
use super::cache::CachedExecution;
use super::hand_backs::HandedBack;
use super::load::{self, Loaded};
use super::outcome::Stop;
use super::verify::Verification;
use super::wait::{self, Backoff};
use crate::execution::{Fault, Rest};
use crate::node::Node;
use crate::options::FaultPolicy;
use crate::turn::{Arrival, Batch, Live, LocalResult, Tail};

/// Holds an instance until it is released.
pub(super) async fn hold(
    node: Arc<Node>,
    ready: ReadyInstance,
    arrivals: Vec<Arrival>,
    channel: UnboundedReceiver<Box<Arrival>>,
) {
    let mut holding = Holding::new(node, &ready, arrivals, channel);
    if let Some(live) = holding.run(&ready).await {
        holding.keep_cached(live);
    }
    holding.let_go();
    holding.return_results().await;
}

pub(super) struct Holding {
    pub(super) node: Arc<Node>,
    pub(super) lease: Lease,
    channel: UnboundedReceiver<Box<Arrival>>,
    pub(super) arrivals: VecDeque<Arrival>,
    pub(super) tail: Tail,
    pub(super) last_commit_id: Option<CommitId>,
    /// Activities of this instance that run on this node.
    pub(super) local_work: HashSet<WorkKey>,
    pub(super) hold: Hold,
    /// The instance is to run, and no message in its inbox says so: it was resumed,
    /// or is in the middle of a turn.
    pub(super) must_run: bool,
    pub(super) verification: Verification,
}

/// What became of the lease.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// It is held.
    Held,
    /// It is held, and to be given back with a delay: this node cannot run it.
    Blocked {
        failure: Failure,
        not_before_ms: u64,
    },
    /// The store took it back in a commit.
    Free,
}

/// The instance is stopped or in other hands: the execution is to be dropped.
#[derive(Debug)]
pub(super) struct Lost;

impl Holding {
    fn new(
        node: Arc<Node>,
        ready: &ReadyInstance,
        arrivals: Vec<Arrival>,
        channel: UnboundedReceiver<Box<Arrival>>,
    ) -> Self {
        Self {
            must_run: arrivals.is_empty(),
            arrivals: arrivals.into(),
            node,
            lease: ready.lease.clone(),
            channel,
            tail: Tail {
                execution_id: ready.execution_id,
                last_event_id: ready.last_event_id,
            },
            last_commit_id: ready.last_commit_id,
            local_work: HashSet::new(),
            hold: Hold::Held,
            verification: Verification::default(),
        }
    }

    /// Runs turns until there is nothing to do; the execution if it can be kept.
    async fn run(&mut self, ready: &ReadyInstance) -> Option<Box<Live>> {
        if let Some(failure) = self.requested_end() {
            self.terminate(failure).await;
            return None;
        }
        if ready.crashes >= self.node.options.max_crashes {
            let failure = Failure::new(
                FailureKind::Poisoned,
                format!(
                    "{} nodes died while they ran this instance: resume it when the cause is gone",
                    ready.crashes
                ),
            );
            let stop = Stop::by_policy(failure, FaultPolicy::Suspend);
            self.stop(stop, self.new_batch()).await;
            return None;
        }
        let (live, rest) = self.load(ready).await?;
        self.turns(live, rest).await
    }

    /// Brings the execution into memory. Storage errors are waited out; anything
    /// else that stands in the way stops the instance.
    async fn load(&mut self, ready: &ReadyInstance) -> Option<(Box<Live>, Rest)> {
        let mut backoff = Backoff::default();
        loop {
            let slot = self.turn_slot().await?;
            let loaded = load::load(&self.node, ready).await;
            drop(slot);
            match loaded {
                Ok(Loaded::Live(live, rest)) => return Some((live, rest)),
                Ok(Loaded::Ended(record)) => {
                    self.dismiss(&record).await;
                    return None;
                }
                Err(Fault::Provider(error)) if wait::is_passing(&error) => {
                    wait::out_error(&self.node, &mut backoff, &error).await;
                }
                Err(fault) => {
                    self.fault(&fault, self.new_batch()).await;
                    return None;
                }
            }
        }
    }

    async fn turns(&mut self, mut live: Box<Live>, mut rest: Rest) -> Option<Box<Live>> {
        loop {
            let slot = self.turn_slot().await?;
            let span = tracing::info_span!(
                "turn",
                instance = %self.lease.instance,
                execution = %self.tail.execution_id,
                event = %self.tail.last_event_id.next(),
                last_event = tracing::field::Empty,
            );
            let turn = async {
                self.turn(&mut live, rest).await.ok()?;
                self.verify(&mut live).await.ok()
            };
            let turned = turn.instrument(span.clone()).await;
            span.record("last_event", self.tail.last_event_id.get());
            turned?;
            drop(slot);
            let instance = HandedBack::Instance(self.lease.instance.clone());
            self.node.hand_backs.forget(&instance);
            rest = Rest::Quiet;
            if self.hold == Hold::Free || !self.next_arrivals().await? {
                return Some(live).filter(|live| !live.execution.has_ended());
            }
        }
    }

    async fn turn_slot(&self) -> Option<OwnedSemaphorePermit> {
        let began = Instant::now();
        let slot = tokio::select! {
            biased;
            () = self.node.ended.cancelled() => return None,
            slot = self.node.turn_slots.clone().acquire_owned() => slot.ok()?,
        };
        metrics::histogram!("durable_turn_wait_seconds").record(began.elapsed());
        Some(slot)
    }

    pub(super) fn new_batch(&self) -> Batch {
        Batch::new(self.lease.instance.clone())
    }

    /// Whether nothing waits to be dealt with.
    pub(super) fn no_arrivals(&mut self) -> bool {
        while let Ok(arrival) = self.channel.try_recv() {
            self.take_arrival(*arrival);
        }
        self.arrivals.is_empty()
    }

    /// A hard stop overtakes what it finds waiting.
    fn take_arrival(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Settled(key) => {
                self.local_work.remove(&key);
            }
            arrival if self.has_started() && is_end(&arrival) => self.arrivals.push_front(arrival),
            arrival => self.arrivals.push_back(arrival),
        }
    }

    pub(super) fn has_started(&self) -> bool {
        self.tail.last_event_id != EventId::UNASSIGNED
    }

    /// What the instance is to be ended with at once, if it is. What came before a start
    /// was meant for the execution before it.
    pub(super) fn requested_end(&self) -> Option<Failure> {
        let first = match self.has_started() {
            true => 0,
            false => self.arrivals.iter().position(is_start)?,
        };
        self.arrivals.iter().skip(first).find_map(requested_failure)
    }

    /// Waits until something arrives; no if there is nothing to wait for, or the
    /// node drains.
    async fn next_arrivals(&mut self) -> Option<bool> {
        loop {
            if self.node.draining.is_cancelled() {
                return Some(false);
            }
            if !self.no_arrivals() {
                return Some(true);
            }
            if self.local_work.is_empty() {
                return Some(false);
            }
            let arrival = tokio::select! {
                biased;
                () = self.node.ended.cancelled() => return None,
                () = self.node.draining.cancelled() => return Some(false),
                arrival = self.channel.recv() => arrival?,
            };
            self.take_arrival(*arrival);
        }
    }

    /// Waits until the turn that runs is of no use any more: the session is over,
    /// the instance is in other hands, or it is to end at once.
    pub(super) async fn no_longer_wanted(&mut self) {
        while self.requested_end().is_none() {
            let arrival = tokio::select! {
                biased;
                () = self.node.ended.cancelled() => return,
                arrival = self.channel.recv() => arrival,
            };
            match arrival {
                Some(arrival) => self.take_arrival(*arrival),
                None => return,
            }
        }
    }

    /// Results that were not committed are still to be delivered.
    pub(super) fn take_back(&mut self, results: Vec<LocalResult>) {
        let results = results.into_iter().map(Arrival::Result);
        self.arrivals.extend(results);
    }

    fn keep_cached(&self, mut live: Box<Live>) {
        live.shrink_to_fit();
        let cached = CachedExecution {
            live,
            last_commit_id: self.last_commit_id,
        };
        self.node.cache.keep(self.lease.instance.clone(), cached);
    }

    /// The lease goes back, unless it went back in a commit.
    fn let_go(&self) {
        let release = Release::new(self.lease.clone());
        let release = match &self.hold {
            Hold::Free => return self.node.holders.let_go(&self.lease),
            Hold::Blocked {
                failure,
                not_before_ms,
            } => release.not_before(*not_before_ms).blocked(failure.clone()),
            Hold::Held => release,
        };
        if self.node.ended.is_cancelled() && self.must_run {
            self.node.leave_session_open();
        }
        self.node.holders.return_soon(&self.lease);
        self.node.releases.push(release);
    }

    /// Results that found no turn go to the inbox, so that no effect is repeated
    /// for them.
    async fn return_results(&mut self) {
        self.channel.close();
        while let Ok(arrival) = self.channel.try_recv() {
            self.arrivals.push_back(*arrival);
        }
        let settlements: Vec<WorkSettlement> = self
            .arrivals
            .drain(..)
            .filter_map(|arrival| match arrival {
                Arrival::Result(LocalResult { lease, result }) => Some(WorkSettlement {
                    lease,
                    result: WorkResult::Finished(result),
                }),
                Arrival::Message(_) | Arrival::Unreadable(_) | Arrival::Settled(_) => None,
            })
            .collect();
        if !settlements.is_empty() {
            activity::settle(&self.node, settlements).await;
        }
    }
}

fn is_start(arrival: &Arrival) -> bool {
    matches!(arrival.body(), Some(MessageBody::Start(_)))
}

fn is_end(arrival: &Arrival) -> bool {
    requested_failure(arrival).is_some()
}

/// What the instance is to be ended with, if the arrival is a hard stop.
pub(super) fn requested_failure(arrival: &Arrival) -> Option<Failure> {
    match arrival.body() {
        Some(MessageBody::Terminate { failure }) => Some(failure.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_future<A, B, C, D, F>(_: impl FnOnce(A, B, C, D) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_holding_is_small_since_there_are_hundreds_of_them() {
        let bytes = size_of_future(hold);
        assert!(bytes <= 3 * 1024, "{bytes} bytes");
    }
}
