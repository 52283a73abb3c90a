//! A holding: one instance in this node's hands, from its hand-out to its release.
//!
//! One task owns the execution, so nothing is locked. It takes what arrives, runs
//! a turn, commits it, and waits while activities of the instance run on this node,
//! so that their results go straight into the next turn. Then it gives the lease
//! back and leaves the execution in the cache.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use durable_core::provider::{
    Claim, CommitId, Committed, InstanceStatus, Lease, NextExecution, ReadyInstance, TurnCommit,
    WorkKey, WorkResult, WorkSettlement,
};
use durable_core::{
    Delivery, Event, EventId, ExecutionId, Failure, FailureKind, HistoryEntry, Version,
};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::commit::{NotCommitted, commit};
use super::load::{self, Loaded};
use super::outcome::{Stop, TurnEnd};
use super::{activity, verify};
use crate::execution::{Execution, Fault, Rest};
use crate::interpret::{Meaning, interpret};
use crate::node::{CachedExecution, Node};
use crate::options::FaultPolicy;
use crate::turn::{Arrival, Batch};

/// How many arrivals one turn takes at most.
const TURN_ARRIVALS: usize = 256;

/// Holds an instance until it is released.
pub(super) async fn hold(node: Arc<Node>, ready: ReadyInstance) {
    let (sender, channel) = mpsc::unbounded_channel();
    let instance = ready.lease.instance.clone();
    node.hold(instance.clone(), sender);
    let mut holding = Holding {
        lease: ready.lease.clone(),
        channel,
        arrivals: ready
            .messages
            .iter()
            .cloned()
            .map(Arrival::Message)
            .collect(),
        tail: (ready.execution_id, ready.last_event_id),
        last_commit_id: ready.last_commit_id,
        local_work: HashSet::new(),
        node: Arc::clone(&node),
    };
    let kept = holding.run(&ready).await;
    node.let_go(&instance);
    if let Some(cached) = kept {
        node.keep_cached(instance, cached);
    }
    holding.return_results().await;
}

struct Holding {
    node: Arc<Node>,
    lease: Lease,
    channel: mpsc::UnboundedReceiver<Arrival>,
    arrivals: VecDeque<Arrival>,
    /// What the store has: the current execution and its last event.
    tail: (ExecutionId, EventId),
    last_commit_id: Option<CommitId>,
    /// Activities of this instance that run on this node.
    local_work: HashSet<WorkKey>,
}

impl Holding {
    /// Runs turns until there is nothing to do; the execution if it can be kept.
    async fn run(&mut self, ready: &ReadyInstance) -> Option<CachedExecution> {
        let slot = self.turn_slot().await?;
        if ready.crashes > self.node.options.max_crashes {
            let failure = Failure::new(
                FailureKind::Poisoned,
                format!("{} nodes died while they ran this instance", ready.crashes),
            );
            self.stop(
                Stop::by_policy(failure, FaultPolicy::Suspend),
                Batch::default(),
            )
            .await;
            return None;
        }
        let loaded = match load::load(&self.node, ready).await {
            Ok(loaded) => loaded,
            Err(fault) => {
                self.fault(&fault, Batch::default()).await;
                return None;
            }
        };
        drop(slot);
        self.node.forget_hand_backs(&self.lease.instance);
        self.turns(loaded).await
    }

    async fn turns(&mut self, loaded: Loaded) -> Option<CachedExecution> {
        let Loaded {
            mut execution,
            mut rest,
            mut turns,
        } = loaded;
        loop {
            let slot = self.turn_slot().await?;
            let end = self.turn(&mut execution, rest).await;
            turns += 1;
            rest = Rest::Quiet;
            let is_held = match end {
                TurnEnd::Held => true,
                TurnEnd::Released => false,
                TurnEnd::Lost => return None,
            };
            if self.node.options.verify_replay
                && (turns.is_power_of_two() || execution.has_ended())
                && let Err(fault) = verify::replays(&self.node, verify::Tail::of(&execution)).await
            {
                self.violated(&fault, is_held).await;
                return None;
            }
            drop(slot);
            if !is_held || (self.local_work.is_empty() && self.no_arrivals()) {
                if is_held {
                    self.node.release_soon(self.lease.clone());
                }
                return Some(CachedExecution {
                    execution,
                    last_commit_id: self.last_commit_id,
                    turns,
                })
                .filter(|cached| !cached.execution.has_ended());
            }
            self.next_arrivals().await?;
        }
    }

    /// One turn: what arrived, step by step, and its commit.
    async fn turn(&mut self, execution: &mut Execution, rest: Rest) -> TurnEnd {
        metrics::counter!("durable_turns_total").increment(1);
        let mut batch = Batch::default();
        if let Err(end) = self.finish_step(execution, &mut batch, Ok(rest)).await {
            return end;
        }
        for _ in 0..TURN_ARRIVALS {
            let Some(arrival) = self.arrivals.pop_front() else {
                break;
            };
            if let Err(end) = self.step(execution, &mut batch, arrival).await {
                return end;
            }
        }
        if batch.is_empty() && self.local_work.is_empty() && self.no_arrivals() {
            self.node.release_soon(self.lease.clone());
            return TurnEnd::Released;
        }
        self.commit(batch, Keep::IfUseful).await
    }

    /// One step: one arrival as an input, then everything the code does with it.
    async fn step(
        &mut self,
        execution: &mut Execution,
        batch: &mut Batch,
        arrival: Arrival,
    ) -> Result<(), TurnEnd> {
        if let Arrival::Result { lease, .. } = &arrival {
            self.local_work.remove(&lease.key);
        }
        let event = match interpret(execution, &self.node.registry, &arrival) {
            Meaning::Input(event) => event,
            Meaning::Nothing(reason) => {
                dropped(reason);
                batch.consume(&arrival);
                return Ok(());
            }
            Meaning::StartRefused(start) => {
                batch.refuse_start(&self.lease.instance, &start);
                batch.consume(&arrival);
                return Ok(());
            }
            Meaning::NotRegistered(start) => {
                let fault = Fault::NotRegistered {
                    name: start.name,
                    version: start.version.unwrap_or_else(|| Version::from("(any)")),
                };
                self.fault(&fault, std::mem::take(batch)).await;
                return Err(TurnEnd::Lost);
            }
        };
        let delivered = execution.deliver(event, self.node.store_now_ms());
        let rest = match delivered {
            Ok(Delivery::Dropped(reason)) => {
                dropped(reason.label());
                batch.consume(&arrival);
                return Ok(());
            }
            Ok(Delivery::Accepted) => execution.drive(),
            Err(fault) => Err(fault),
        };
        let is_fault = rest.is_err();
        if is_fault {
            self.arrivals.push_front(arrival);
            return self.finish_step(execution, batch, rest).await;
        }
        batch.consume(&arrival);
        self.finish_step(execution, batch, rest).await
    }

    /// Drives a step to its end: side effects are executed after what led to them
    /// is stored, and an execution that continues as new begins its next one.
    async fn finish_step(
        &mut self,
        execution: &mut Execution,
        batch: &mut Batch,
        mut rest: Result<Rest, Fault>,
    ) -> Result<(), TurnEnd> {
        loop {
            rest = match rest {
                Ok(Rest::Quiet) => {
                    batch.absorb(&self.lease.instance, execution);
                    return Ok(());
                }
                Ok(Rest::Ended) => {
                    batch.absorb(&self.lease.instance, execution);
                    if execution.has_ended() {
                        return Ok(());
                    }
                    if batch.next_execution.is_some() {
                        self.commit_and_keep(batch).await?;
                    }
                    self.begin_next(execution, batch)
                }
                Ok(Rest::BeforeRun) => {
                    batch.absorb(&self.lease.instance, execution);
                    self.commit_and_keep(batch).await?;
                    execution.go_ahead()
                }
                Ok(Rest::InRun) => {
                    tokio::select! {
                        biased;
                        () = self.node.ended.cancelled() => return Err(TurnEnd::Lost),
                        () = execution.run_progress() => {}
                    }
                    execution.drive()
                }
                Err(fault) => {
                    self.fault(&fault, std::mem::take(batch)).await;
                    return Err(TurnEnd::Lost);
                }
            };
        }
    }

    /// Starts the next execution in the place of the one that continued as new.
    fn begin_next(&self, execution: &mut Execution, batch: &mut Batch) -> Result<Rest, Fault> {
        let Some(start) = execution.take_next_start() else {
            return Ok(Rest::Quiet);
        };
        let execution_id = execution.execution_id().next();
        let mut next = load::new_execution(&self.node, &self.lease.instance, execution_id);
        next.end_of_history();
        *execution = next;
        let _ = execution.replay()?;
        let _ = execution.deliver(start, self.node.store_now_ms())?;
        let rest = execution.drive()?;
        batch.next_execution = Some(NextExecution {
            execution_id,
            events: Vec::new(),
        });
        Ok(rest)
    }

    /// Commits in the middle of a turn.
    async fn commit_and_keep(&mut self, batch: &mut Batch) -> Result<(), TurnEnd> {
        match self.commit(std::mem::take(batch), Keep::Always).await {
            TurnEnd::Held => Ok(()),
            end => Err(end),
        }
    }

    async fn commit(&mut self, batch: Batch, keep: Keep) -> TurnEnd {
        let is_over = batch.ends_instance();
        let slots = if is_over {
            Vec::new()
        } else {
            self.activity_slots(batch.new_work.len())
        };
        let keep_lease = match keep {
            Keep::Always => true,
            Keep::IfUseful => {
                !is_over
                    && (!self.local_work.is_empty() || !slots.is_empty() || !self.no_arrivals())
            }
        };
        let cancelled = batch.cancelled_work.clone();
        let turn = self.turn_commit(batch, keep_lease, slots.len());
        let (commit_id, tail) = (turn.commit_id, tail_after(&turn, self.tail));
        match commit(&self.node, turn).await {
            Ok(committed) => {
                self.tail = tail;
                self.last_commit_id = Some(commit_id);
                self.node.cancel_activities(&cancelled);
                self.begin_work(committed, slots);
                if keep_lease {
                    TurnEnd::Held
                } else {
                    TurnEnd::Released
                }
            }
            Err(NotCommitted::Lost) => TurnEnd::Lost,
            Err(NotCommitted::Refused(error)) => {
                let failure = Failure::new(FailureKind::LimitExceeded, error.to_string());
                self.stop(
                    Stop::by_policy(failure.not_retryable(), self.node.options.fault_policy),
                    Batch::default(),
                )
                .await;
                TurnEnd::Lost
            }
        }
    }

    fn turn_commit(&self, batch: Batch, keep_lease: bool, claim: usize) -> TurnCommit {
        TurnCommit {
            commit_id: self.node.next_commit_id(),
            lease: self.lease.clone(),
            execution_id: self.tail.0,
            expected_last_event_id: self.tail.1,
            events: batch.events,
            next_execution: batch.next_execution,
            consumed: batch.consumed,
            finished_work: batch.finished_work,
            new_work: batch.new_work,
            cancelled_work: batch.cancelled_work,
            new_timers: batch.new_timers,
            cancelled_timers: batch.cancelled_timers,
            new_messages: batch.new_messages,
            update: batch.update,
            keep_lease,
            claim: Claim {
                max: claim,
                queues: self.node.options.queues.clone(),
            },
        }
    }

    /// Free places for new work, up to this many.
    fn activity_slots(&self, wanted: usize) -> Vec<OwnedSemaphorePermit> {
        if self.node.draining.is_cancelled() {
            return Vec::new();
        }
        (0..wanted)
            .map_while(|_| self.node.activity_slots.clone().try_acquire_owned().ok())
            .collect()
    }

    fn begin_work(&mut self, committed: Committed, slots: Vec<OwnedSemaphorePermit>) {
        for (claimed, slot) in committed.claimed.into_iter().zip(slots) {
            if claimed.lease.key.instance == self.lease.instance {
                self.local_work.insert(claimed.lease.key.clone());
            }
            activity::begin(&self.node, claimed, slot);
        }
    }

    /// Ends a turn that cannot go on, with what its whole steps gathered.
    async fn fault(&mut self, fault: &Fault, batch: Batch) {
        let instance = &self.lease.instance;
        tracing::error!(%instance, reason = %fault.to_failure(), "an instance cannot go on");
        metrics::counter!("durable_faults_total").increment(1);
        let stop = match fault {
            Fault::NotRegistered { .. } => {
                let delay = self.node.next_hand_back_delay(instance);
                Stop::Blocked {
                    failure: fault.to_failure(),
                    delay,
                }
            }
            Fault::Provider(error) if error.is_retryable() => Stop::Retry,
            _ => Stop::by_policy(fault.to_failure(), self.node.options.fault_policy),
        };
        self.stop(stop, batch).await;
    }

    async fn stop(&mut self, stop: Stop, mut batch: Batch) {
        let now_ms = self.node.store_now_ms();
        match stop {
            Stop::Retry => {
                let later = now_ms.saturating_add(100);
                let lease = vec![self.lease.clone()];
                // If this fails the session's end gives it back.
                let _ = self.node.provider.release(lease, Some(later), now_ms).await;
                return;
            }
            Stop::Blocked { failure, delay } => {
                let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
                batch.update.not_before_ms = Some(now_ms.saturating_add(delay_ms));
                batch.update.blocked = Some(failure);
            }
            Stop::Suspended(failure) => {
                batch.update.status = Some(InstanceStatus::Suspended { failure });
            }
            Stop::Terminated(failure) => self.terminate(&mut batch, failure, now_ms),
        }
        let turn = self.turn_commit(batch, false, 0);
        // Lost means that somebody else decides.
        let _ = commit(&self.node, turn).await;
    }

    /// Adds the imposed end to what the whole steps gathered.
    fn terminate(&self, batch: &mut Batch, failure: Failure, now_ms: u64) {
        let (events, tail) = match &mut batch.next_execution {
            Some(next) => (&mut next.events, EventId::UNASSIGNED),
            None => (&mut batch.events, self.tail.1),
        };
        let last = events.last();
        batch.update.status = Some(InstanceStatus::Terminated {
            failure: failure.clone(),
        });
        if last.is_some_and(|entry| entry.event.is_terminal()) {
            return;
        }
        let event_id = last.map_or(tail, HistoryEntry::event_id).next();
        let recorded_at_ms = last.map_or(now_ms, |entry| entry.recorded_at_ms.max(now_ms));
        events.push(HistoryEntry {
            recorded_at_ms,
            event: Event::OrchestrationTerminated { event_id, failure },
        });
    }

    /// A committed turn does not replay: the instance is stopped if it can be.
    async fn violated(&mut self, fault: &Fault, is_held: bool) {
        let (instance, reason) = (&self.lease.instance, fault.to_failure());
        tracing::error!(%instance, %reason, "a committed turn does not replay");
        metrics::counter!("durable_violations_total").increment(1);
        if is_held {
            self.stop(
                Stop::by_policy(reason, self.node.options.fault_policy),
                Batch::default(),
            )
            .await;
        } else {
            let now_ms = self.node.clock.now_ms();
            // An instance that has ended stays ended; the log has the reason.
            let _ = self.node.provider.suspend(instance, reason, now_ms).await;
        }
    }

    async fn turn_slot(&self) -> Option<OwnedSemaphorePermit> {
        tokio::select! {
            biased;
            () = self.node.ended.cancelled() => None,
            slot = self.node.turn_slots.clone().acquire_owned() => slot.ok(),
        }
    }

    /// Whether nothing waits to be dealt with.
    fn no_arrivals(&mut self) -> bool {
        self.take_arrivals();
        self.arrivals.is_empty()
    }

    fn take_arrivals(&mut self) {
        while let Ok(arrival) = self.channel.try_recv() {
            self.take_arrival(arrival);
        }
    }

    fn take_arrival(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Settled(key) => {
                self.local_work.remove(&key);
            }
            arrival => self.arrivals.push_back(arrival),
        }
    }

    /// Waits for something to arrive.
    async fn next_arrivals(&mut self) -> Option<()> {
        while self.arrivals.is_empty() && !self.local_work.is_empty() {
            let arrival = tokio::select! {
                biased;
                () = self.node.ended.cancelled() => return None,
                arrival = self.channel.recv() => arrival?,
            };
            self.take_arrival(arrival);
        }
        self.take_arrivals();
        Some(())
    }

    /// Results that found no turn go to the inbox, so that no effect is repeated
    /// for them.
    async fn return_results(&mut self) {
        self.channel.close();
        self.take_arrivals();
        let settlements: Vec<WorkSettlement> = self
            .arrivals
            .drain(..)
            .filter_map(|arrival| match arrival {
                Arrival::Result { lease, result } => Some(WorkSettlement {
                    lease,
                    result: WorkResult::Finished(result),
                }),
                Arrival::Message(_) | Arrival::Settled(_) => None,
            })
            .collect();
        if !settlements.is_empty() {
            activity::settle(&self.node, settlements).await;
        }
    }
}

/// Whether a commit keeps the lease.
enum Keep {
    Always,
    /// If something of the instance runs here, or more has arrived.
    IfUseful,
}

/// What the store has after this commit.
fn tail_after(turn: &TurnCommit, before: (ExecutionId, EventId)) -> (ExecutionId, EventId) {
    let last = |events: &[HistoryEntry]| events.last().map(HistoryEntry::event_id);
    match &turn.next_execution {
        Some(next) => (
            next.execution_id,
            last(&next.events).unwrap_or(EventId::UNASSIGNED),
        ),
        None => (before.0, last(&turn.events).unwrap_or(before.1)),
    }
}

fn dropped(reason: &'static str) {
    metrics::counter!("durable_messages_dropped_total", "reason" => reason).increment(1);
}
