//! A turn: messages in, one commit out.
//!
//! Each message is one step: it is appended as an input, the code runs to its
//! rest, its outputs are appended, and only then the next message is taken. What
//! a step emitted becomes part of the commit when the step is whole; a step that
//! fails leaves nothing.

mod batch;
mod created;
mod history_summary;
mod messages;

use std::sync::Arc;

use durable_core::provider::{Claim, ClaimedWork, NextExecution, SourceEvent, TurnCommit, WorkKey};
use durable_core::{Delivery, DropReason, Event};
use tokio::sync::OwnedSemaphorePermit;

use super::commit::{NotCommitted, commit};
use super::instance_task::{InstanceTask, LeaseState, Lost, yield_to_woken};
use super::interpret::{Meaning, PassedDeadline, interpret};
use super::stop::Stop;
use super::{Incoming, OwedAnswer, load};
use crate::dispatch::activities;
use crate::execution::{ExecutionFault, LiveExecution, Rest};

pub(super) use batch::{Batch, Tail};
pub(super) use history_summary::HistorySummary;

/// How many steps one turn has at most.
const MAX_STEPS: usize = 256;

/// Whether a commit keeps the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// The turn goes on.
    Always,
    /// If activities of the instance run on this node, or more has come in.
    IfUseful,
}

impl InstanceTask {
    /// One turn: what came in, step by step, and its commit.
    pub(super) async fn turn(&mut self, live: &mut LiveExecution, rest: Rest) -> Result<(), Lost> {
        let mut batch = self.new_batch();
        self.finish_step(live, &mut batch, Ok(rest)).await?;
        for _ in 0..MAX_STEPS {
            let Some(incoming) = self.incoming.pop_front() else {
                break;
            };
            let rest = self.begin_step(live, &mut batch, incoming);
            self.finish_step(live, &mut batch, rest).await?;
        }
        if batch.is_empty() && !self.must_run {
            return Ok(());
        }
        metrics::counter!("durable_turns_total").increment(1);
        live.turns += 1;
        self.commit(&mut batch, Keep::IfUseful).await
    }

    /// Begins a step: one input, then everything the code does with it. What means
    /// nothing leaves the code at its rest; what this node cannot handle waits again.
    fn begin_step(
        &mut self,
        live: &mut LiveExecution,
        batch: &mut Batch,
        incoming: Incoming,
    ) -> Result<Rest, ExecutionFault> {
        if let Incoming::Result(result) = &incoming {
            self.local_work.remove(&result.lease.key);
        }
        let rest = match interpret(&live.execution, &self.node.registry, &incoming) {
            Ok(Meaning::Input(event)) => take_in(live, batch, event, self.node.now_ms()),
            Ok(Meaning::DeadlinePassed(deadline)) => self.time_out(live, batch, deadline),
            Ok(Meaning::Nothing(reason)) => {
                dropped(reason);
                Ok(Rest::Quiet)
            }
            Ok(Meaning::StartRefused(start)) => {
                batch.refuse_start(&start);
                Ok(Rest::Quiet)
            }
            Ok(Meaning::RequestRefused(owed)) => {
                batch.refuse_request(&owed);
                Ok(Rest::Quiet)
            }
            Err(fault) => Err(fault),
        };
        match rest {
            Ok(_) => batch.consume(incoming),
            Err(_) => self.incoming.push_front(incoming),
        }
        rest
    }

    /// An activity fails because its total timeout has passed; the node that runs it, if
    /// one does, is told to stop.
    fn time_out(
        &self,
        live: &mut LiveExecution,
        batch: &mut Batch,
        deadline: PassedDeadline,
    ) -> Result<Rest, ExecutionFault> {
        let source = SourceEvent::new(live.execution.execution_id(), deadline.scheduled);
        let now_ms = self.node.now_ms().max(deadline.due_ms);
        let rest = take_in(live, batch, deadline.into_event(), now_ms)?;
        batch.cancel_work(source);
        Ok(rest)
    }

    /// Drives a step to its end: side effects are executed after what led to them
    /// is stored, and an execution that continues as new begins its next one.
    async fn finish_step(
        &mut self,
        live: &mut LiveExecution,
        batch: &mut Batch,
        mut rest: Result<Rest, ExecutionFault>,
    ) -> Result<(), Lost> {
        loop {
            rest = match rest {
                Ok(Rest::Quiet) => {
                    batch.absorb(live);
                    return Ok(());
                }
                Ok(Rest::Ended) => {
                    batch.absorb(live);
                    if live.execution.has_ended() {
                        return Ok(());
                    }
                    if batch.next_execution.is_some() {
                        self.commit_and_go_on(batch).await?;
                    }
                    self.begin_next(live, batch)
                }
                Ok(Rest::BeforeRun) => {
                    batch.absorb(live);
                    self.commit_and_go_on(batch).await?;
                    live.execution.go_ahead()
                }
                Ok(Rest::InRun) => {
                    tokio::select! {
                        biased;
                        () = self.no_longer_wanted() => return Err(Lost),
                        () = live.execution.run_progress() => {}
                    }
                    live.execution.drive()
                }
                Err(fault) => {
                    self.fault(&fault, batch.take()).await;
                    return Err(Lost);
                }
            };
        }
    }

    /// Starts the next execution in the place of the one that continued as new.
    fn begin_next(
        &mut self,
        live: &mut LiveExecution,
        batch: &mut Batch,
    ) -> Result<Rest, ExecutionFault> {
        let Some(start) = live.execution.take_next_start() else {
            return Ok(Rest::Quiet);
        };
        self.verification.ended(&live.execution);
        let execution_id = live.execution.execution_id().next();
        *live = load::new_live(&self.node, &self.lease.instance, execution_id);
        live.execution.end_of_history();
        let _ = live.execution.replay()?;
        let _ = live.execution.deliver(start, self.node.now_ms())?;
        let rest = live.execution.drive()?;
        batch.next_execution = Some(NextExecution::new(execution_id, Vec::new()));
        Ok(rest)
    }

    /// Commits in the middle of a turn.
    async fn commit_and_go_on(&mut self, batch: &mut Batch) -> Result<(), Lost> {
        if batch.is_empty() {
            return Ok(());
        }
        self.commit(batch, Keep::Always).await?;
        yield_to_woken().await;
        if self.node.ended.is_cancelled() || self.is_to_end() {
            return Err(Lost);
        }
        Ok(())
    }

    /// A turn that never comes to rest must not keep a hard stop waiting: the node
    /// claims the instance anew.
    fn is_to_end(&mut self) -> bool {
        !self.has_nothing_incoming() && self.has_started() && self.requested_end().is_some()
    }

    async fn commit(&mut self, batch: &mut Batch, keep: Keep) -> Result<(), Lost> {
        let is_over = batch.ends_instance();
        let slots = match is_over {
            true => Vec::new(),
            false => {
                let (queues, registry) = (&self.node.options.queues, &self.node.registry);
                self.activity_slots(batch.new_work_for(queues, registry))
            }
        };
        let keep_lease = match keep {
            Keep::Always => true,
            Keep::IfUseful => {
                let is_useful = !slots.is_empty()
                    || !self.local_work.is_empty()
                    || !self.has_nothing_incoming();
                !is_over && is_useful
            }
        };
        let (turn, results) = batch
            .take()
            .into_commit(self.empty_commit(keep_lease, slots.len()));
        let turn = Arc::new(turn);
        match commit(&self.node, &turn).await {
            Ok(committed) => {
                self.tail = self.tail.after(&turn);
                self.last_commit_id = Some(turn.commit_id);
                self.must_run = keep == Keep::Always;
                if !keep_lease {
                    self.lease_state = LeaseState::Released;
                }
                if committed.has_messages {
                    self.node.look_again.notify_one();
                }
                let cancelled = turn.cancelled_work.iter();
                let instance = &self.lease.instance;
                let cancelled = cancelled.map(|source| WorkKey::new(instance.clone(), *source));
                self.node.running.cancel(cancelled);
                if is_over {
                    self.node.running.cancel_all_of(&self.lease.instance);
                }
                self.begin_work(committed.claimed, slots);
                Ok(())
            }
            Err(not_committed) => {
                self.take_back(results);
                match not_committed {
                    NotCommitted::Lost => {}
                    // If it was applied, the inbox may be empty in the middle of a turn.
                    NotCommitted::Unknown => self.must_run |= keep == Keep::Always,
                    NotCommitted::Refused(error) => {
                        let stop = Stop::refused(&error, self.node.options.fault_policy);
                        self.stop(stop, self.new_batch()).await;
                    }
                }
                Err(Lost)
            }
        }
    }

    /// A commit from the current tail that changes nothing, and claims up to this many
    /// work items.
    pub(super) fn empty_commit(&self, keep_lease: bool, claim: usize) -> TurnCommit {
        let mut turn = TurnCommit::new(
            self.node.next_commit_id(),
            self.lease.clone(),
            self.tail.execution_id,
            self.tail.last_event_id,
        );
        turn.keep_lease = keep_lease;
        turn.claim = Claim::new(claim, self.node.options.queues.clone());
        turn
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

    fn begin_work(&mut self, claimed: Vec<ClaimedWork>, slots: Vec<OwnedSemaphorePermit>) {
        debug_assert!(claimed.len() <= slots.len());
        for (claimed, slot) in claimed.into_iter().zip(slots) {
            if claimed.lease.key.instance == self.lease.instance {
                self.local_work.insert(claimed.lease.key.clone());
            }
            activities::begin(&self.node, claimed, slot);
        }
    }
}

/// Gives the code an input, and drives it to where it rests. A request that the code does not
/// get is answered, unless it has an answer or will have one.
fn take_in(
    live: &mut LiveExecution,
    batch: &mut Batch,
    event: Event,
    now_ms: u64,
) -> Result<Rest, ExecutionFault> {
    let owed = OwedAnswer::of_event(&event);
    let reason = match live.execution.deliver(event, now_ms)? {
        Delivery::Accepted => return live.execution.drive(),
        Delivery::Dropped(reason) => reason,
    };
    dropped(reason.label());
    match (reason, &owed) {
        (DropReason::Ended, Some(owed)) => batch.refuse_request(owed),
        (DropReason::AnsweredBefore, Some(owed)) => batch.answer_again(owed),
        _ => {}
    }
    Ok(Rest::Quiet)
}

pub(super) fn dropped(reason: &'static str) {
    metrics::counter!("durable_messages_dropped_total", "reason" => reason).increment(1);
}
