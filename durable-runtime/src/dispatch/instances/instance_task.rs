//! An instance task: one instance that this node has claimed, until its release.
//!
//! One task owns the execution, so nothing is locked. It takes what comes in, runs
//! a turn, commits it, and waits while activities of the instance run on this node,
//! so that their results go straight into the next turn. Then it releases the lease
//! and leaves the execution in the cache.
//!
//! Invariants: in every case the lease is released or the session ends; and a
//! result that travelled in memory is committed or put into the inbox.

use std::collections::{HashSet, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Instant;

use durable_core::provider::{
    CommitId, Lease, ReadyInstance, Release, WorkKey, WorkResult, WorkSettlement,
};
use durable_core::{EventId, Failure, FailureKind, TraceParent};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::UnboundedReceiver;
use tracing::Instrument;

use super::cache::CachedExecution;
use super::load::{self, Loaded};
use super::stop::Stop;
use super::turn::{Batch, Tail};
use super::verify::Verification;
use super::{Incoming, LocalResult};
use crate::combine::join_all;
use crate::dispatch::activities;
use crate::dispatch::release_backoff::BackoffKey;
use crate::dispatch::wait::{self, Backoff};
use crate::execution::{ExecutionFault, LiveExecution, Rest};
use crate::node::Node;
use crate::options::FaultPolicy;
use crate::trace;

/// Runs the turns of a claimed instance, and releases it.
pub(super) async fn run(
    node: Arc<Node>,
    ready: ReadyInstance,
    incoming: Vec<Incoming>,
    channel: UnboundedReceiver<Box<Incoming>>,
) {
    let mut task = InstanceTask::new(node, &ready, incoming, channel);
    task.run(&ready).await;
    task.release();
    task.return_results().await;
}

/// One claimed instance.
pub(super) struct InstanceTask {
    pub(super) node: Arc<Node>,
    pub(super) lease: Lease,
    channel: UnboundedReceiver<Box<Incoming>>,
    /// What came in and waits for its step.
    pub(super) incoming: VecDeque<Incoming>,
    pub(super) tail: Tail,
    pub(super) last_commit_id: Option<CommitId>,
    /// Activities of this instance that run on this node.
    pub(super) local_work: HashSet<WorkKey>,
    pub(super) lease_state: LeaseState,
    /// The instance is to run, and no message in its inbox says so: it was resumed,
    /// or is in the middle of a turn.
    pub(super) must_run: bool,
    pub(super) verification: Verification,
}

/// Where the lease of the instance is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LeaseState {
    /// This node holds it.
    Held,
    /// This node holds it and releases it with a delay: it cannot run the instance.
    Blocked {
        failure: Failure,
        not_before_ms: u64,
    },
    /// It was released in a commit.
    Released,
}

/// The instance was stopped, or this node lost its lease: the execution is to be
/// dropped.
#[derive(Debug)]
pub(super) struct Lost;

impl InstanceTask {
    fn new(
        node: Arc<Node>,
        ready: &ReadyInstance,
        incoming: Vec<Incoming>,
        channel: UnboundedReceiver<Box<Incoming>>,
    ) -> Self {
        Self {
            must_run: incoming.is_empty(),
            incoming: incoming.into(),
            node,
            lease: ready.lease.clone(),
            channel,
            tail: Tail {
                execution_id: ready.execution_id,
                last_event_id: ready.last_event_id,
            },
            last_commit_id: ready.last_commit_id,
            local_work: HashSet::new(),
            lease_state: LeaseState::Held,
            verification: Verification::default(),
        }
    }

    /// Runs turns until there is nothing to do, and keeps the execution if it can be kept.
    async fn run(&mut self, ready: &ReadyInstance) {
        if let Some(failure) = self.requested_end() {
            return self.terminate(failure.clone()).await;
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
            return self.stop(stop, self.new_batch()).await;
        }
        if let Some((live, rest, slot)) = self.load(ready).await {
            self.turns(live, rest, slot).await;
        }
    }

    /// Brings the execution into memory, with a slot for its first turn. Storage errors are
    /// waited out; anything else that stands in the way stops the instance.
    async fn load(
        &mut self,
        ready: &ReadyInstance,
    ) -> Option<(Box<LiveExecution>, Rest, OwnedSemaphorePermit)> {
        let mut backoff = Backoff::default();
        loop {
            let slot = self.turn_slot().await?;
            match load::load(&self.node, ready).await {
                Ok(Loaded::Live(live, rest)) => return Some((live, rest, slot)),
                Ok(Loaded::Ended(record)) => {
                    self.dismiss(&record).await;
                    return None;
                }
                Err(ExecutionFault::Provider(error)) if wait::is_passing(&error) => {
                    drop(slot);
                    wait::out_error(&self.node, &mut backoff, &error).await;
                }
                Err(fault) => {
                    self.fault(&fault, self.new_batch()).await;
                    return None;
                }
            }
        }
    }

    /// Runs turns until there is nothing to do; `None` if the execution was dropped.
    async fn turns(
        &mut self,
        mut live: Box<LiveExecution>,
        mut rest: Rest,
        mut slot: OwnedSemaphorePermit,
    ) -> Option<()> {
        loop {
            let span = tracing::info_span!(
                "turn",
                instance = %self.lease.instance,
                execution = %self.tail.execution_id,
                event = %self.tail.last_event_id.next(),
                last_event = tracing::field::Empty,
                trace_parent = tracing::field::Empty,
            );
            trace::join(&span, self.trace_parent(&live).as_ref());
            let turn = self.turn(&mut live, rest).instrument(span.clone());
            let turned = turn.await;
            span.record("last_event", self.tail.last_event_id.get());
            turned.ok()?;
            let instance = BackoffKey::Instance(self.lease.instance.clone());
            self.node.release_backoff.forget(&instance);
            let due = self.verification.due(&self.node, &live);
            if self.lease_state == LeaseState::Released {
                // The next turn may begin at once, and must find the execution.
                self.keep_cached(live);
                return self.verify(due).instrument(span).await.ok();
            }
            self.verify(due).instrument(span).await.ok()?;
            drop(slot);
            rest = Rest::Quiet;
            if !self.next_incoming().await? {
                self.keep_cached(live);
                return Some(());
            }
            slot = self.turn_slot().await?;
        }
    }

    /// The trace of the instance; before its first turn, of the start that waits for it.
    fn trace_parent(&self, live: &LiveExecution) -> Option<TraceParent> {
        let mut starts = self.incoming.iter().filter_map(Incoming::start);
        let recorded = live.execution.trace_parent();
        recorded.or_else(|| starts.next()?.trace_parent.clone())
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

    /// Whether nothing waits for its step.
    pub(super) fn has_nothing_incoming(&mut self) -> bool {
        while let Ok(incoming) = self.channel.try_recv() {
            self.take_incoming(*incoming);
        }
        self.incoming.is_empty()
    }

    /// A hard stop overtakes what it finds waiting.
    fn take_incoming(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Settled(key) => {
                self.local_work.remove(&key);
            }
            stop if self.has_started() && stop.termination().is_some() => {
                self.incoming.push_front(stop);
            }
            other => self.incoming.push_back(other),
        }
    }

    pub(super) fn has_started(&self) -> bool {
        self.tail.last_event_id != EventId::UNASSIGNED
    }

    /// What the instance is to be terminated with at once, if it is. What came before a
    /// start was meant for the execution before it.
    pub(super) fn requested_end(&self) -> Option<&Failure> {
        let first = match self.has_started() {
            true => 0,
            false => {
                let mut incoming = self.incoming.iter();
                incoming.position(|one| one.start().is_some())?
            }
        };
        let mut meant = self.incoming.iter().skip(first);
        meant.find_map(Incoming::termination)
    }

    /// Waits until something comes in; no if there is nothing to wait for, or the
    /// node drains.
    ///
    /// Before it says yes it has yielded: see [`yield_to_woken`].
    async fn next_incoming(&mut self) -> Option<bool> {
        let mut has_yielded = false;
        loop {
            if self.node.draining.is_cancelled() {
                return Some(false);
            }
            if !self.has_nothing_incoming() {
                if !has_yielded {
                    yield_to_woken().await;
                }
                return Some(true);
            }
            if self.local_work.is_empty() {
                return Some(false);
            }
            let received = poll_fn(|cx| {
                let polled = self.channel.poll_recv(cx);
                has_yielded |= polled.is_pending();
                polled
            });
            let incoming = tokio::select! {
                biased;
                () = self.node.ended.cancelled() => return None,
                () = self.node.draining.cancelled() => return Some(false),
                incoming = received => incoming?,
            };
            self.take_incoming(*incoming);
        }
    }

    /// Waits until the turn that runs is of no use any more: the session is over,
    /// another node has claimed the instance, or it is to be terminated.
    pub(super) async fn no_longer_wanted(&mut self) {
        while self.requested_end().is_none() {
            let incoming = tokio::select! {
                biased;
                () = self.node.ended.cancelled() => return,
                incoming = self.channel.recv() => incoming,
            };
            match incoming {
                Some(incoming) => self.take_incoming(*incoming),
                None => return,
            }
        }
    }

    /// Results that were not committed are still to be delivered.
    pub(super) fn take_back(&mut self, results: Vec<LocalResult>) {
        let results = results.into_iter().map(Incoming::Result);
        self.incoming.extend(results);
    }

    /// Leaves the execution in the cache, unless it has ended.
    fn keep_cached(&self, mut live: Box<LiveExecution>) {
        if live.execution.has_ended() {
            return;
        }
        live.shrink_to_fit();
        let cached = CachedExecution {
            live,
            last_commit_id: self.last_commit_id,
        };
        self.node.cache.keep(self.lease.instance.clone(), cached);
    }

    /// Releases the lease, unless a commit did.
    fn release(&self) {
        let release = Release::new(self.lease.clone());
        let release = match &self.lease_state {
            LeaseState::Released => return self.node.instance_tasks.released(&self.lease),
            LeaseState::Blocked {
                failure,
                not_before_ms,
            } => release.not_before(*not_before_ms).blocked(failure.clone()),
            LeaseState::Held => release,
        };
        if self.node.ended.is_cancelled() && self.must_run {
            self.node.leave_session_open();
        }
        self.node.instance_tasks.releasing(&self.lease);
        self.node.releases.push(release);
    }

    /// Results that found no turn go to the inbox, so that no effect is repeated
    /// for them.
    async fn return_results(&mut self) {
        self.channel.close();
        while let Ok(incoming) = self.channel.try_recv() {
            self.incoming.push_back(*incoming);
        }
        let node = &self.node;
        let settling = self
            .incoming
            .drain(..)
            .filter_map(|incoming| match incoming {
                Incoming::Result(LocalResult { lease, result }) => {
                    let result = WorkResult::Finished(result);
                    Some(activities::settle(node, WorkSettlement::new(lease, result)))
                }
                Incoming::Message(_) | Incoming::Unreadable(_) | Incoming::Settled(_) => None,
            });
        join_all(settling).await;
    }
}

/// Lets a task run that this one has woken. To be called between whatever may wake a task (a
/// commit, the end of a turn) and user code: a worker thread of tokio keeps the task that was
/// woken last to itself, so code that never yields would hold that task up for ever.
pub(super) async fn yield_to_woken() {
    tokio::task::yield_now().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_future<A, B, C, D, F>(_: impl FnOnce(A, B, C, D) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn an_instance_task_is_small_since_there_are_hundreds_of_them() {
        let bytes = size_of_future(run);
        assert!(bytes <= 3 * 1024, "{bytes} bytes");
    }
}
