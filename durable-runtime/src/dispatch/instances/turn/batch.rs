//! What a turn has gathered for its commit.
//!
//! Invariant: it holds whole steps only, and a result that travelled in memory
//! stays here until the commit that records it is applied.

use durable_core::provider::{
    CustomStatusUpdate, InboxSeq, InstanceStatus, InstanceUpdate, NewWork, NextExecution,
    OutgoingMessage, SourceEvent, StatusKind, TurnCommit,
};
use durable_core::{
    AppendedEntry, Effect, Event, EventId, ExecutionId, Failure, HistoryEntry, InstanceId,
    LeftOpen, Name, Payload,
};

use super::HistorySummary;
use super::created::Created;
use crate::dispatch::instances::{Incoming, LocalResult};
use crate::execution::LiveExecution;
use crate::registry::Registry;

/// What a turn has gathered for its commit.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(super) instance: InstanceId,
    pub(crate) events: Vec<HistoryEntry>,
    pub(crate) next_execution: Option<NextExecution>,
    consumed: Vec<InboxSeq>,
    results: Vec<LocalResult>,
    new_work: Created<QueuedWork>,
    cancelled_work: Vec<SourceEvent>,
    new_timers: Created<SourceEvent>,
    cancelled_timers: Vec<SourceEvent>,
    pub(super) new_messages: Vec<OutgoingMessage>,
    pub(crate) update: InstanceUpdate,
}

/// A new work item, its activity, and the queue that it goes to.
#[derive(Debug)]
struct QueuedWork {
    work: NewWork,
    activity: Name,
    queue: Option<Name>,
}

/// What the store has: the current execution and its last event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tail {
    pub(crate) execution_id: ExecutionId,
    pub(crate) last_event_id: EventId,
}

impl Batch {
    pub(crate) fn new(instance: InstanceId) -> Self {
        Self {
            instance,
            events: Vec::new(),
            next_execution: None,
            consumed: Vec::new(),
            results: Vec::new(),
            new_work: Created::none(),
            cancelled_work: Vec::new(),
            new_timers: Created::none(),
            cancelled_timers: Vec::new(),
            new_messages: Vec::new(),
            update: InstanceUpdate::default(),
        }
    }

    /// What was gathered so far; gathering begins anew.
    pub(crate) fn take(&mut self) -> Self {
        let next = Self::new(self.instance.clone());
        std::mem::replace(self, next)
    }

    /// Whether committing it would change nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
            && self.next_execution.is_none()
            && self.consumed.is_empty()
            && self.results.is_empty()
            && self.new_messages.is_empty()
            && self.update == InstanceUpdate::default()
    }

    /// Whether the instance ends with this commit.
    pub(crate) fn ends_instance(&self) -> bool {
        let status = self.update.status.as_ref();
        status.is_some_and(|status| status.kind().is_ended())
    }

    /// Whether the instance is suspended with this commit.
    pub(crate) fn suspends_instance(&self) -> bool {
        let status = self.update.status.as_ref();
        status.is_some_and(|status| status.kind() == StatusKind::Suspended)
    }

    /// How much of the new work is for these queues, and for activities of this registry.
    pub(crate) fn new_work_for(&self, queues: &[Option<Name>], registry: &Registry) -> usize {
        let is_for = |queued: &&QueuedWork| {
            queues.contains(&queued.queue) && registry.activity(&queued.activity).is_some()
        };
        self.new_work.iter().filter(is_for).count()
    }

    /// Puts what was gathered into a commit that changes nothing so far; answers with
    /// the results that stay in memory until it is applied, too.
    pub(crate) fn into_commit(self, empty: TurnCommit) -> (TurnCommit, Vec<LocalResult>) {
        let finished_work = self.results.iter().map(|done| done.lease.key.source());
        let mut turn = empty;
        turn.events = self.events;
        turn.next_execution = self.next_execution;
        turn.consumed = self.consumed;
        turn.finished_work = finished_work.collect();
        turn.new_work = self.new_work.into_vec(|queued| queued.work);
        turn.cancelled_work = self.cancelled_work;
        turn.new_timers = self.new_timers.into_vec(|timer| timer);
        turn.cancelled_timers = self.cancelled_timers;
        turn.new_messages = self.new_messages;
        turn.update = self.update;
        (turn, self.results)
    }

    /// The results that travelled in memory, of a batch that is not committed.
    pub(crate) fn into_results(self) -> Vec<LocalResult> {
        self.results
    }

    /// A step handled this: it leaves the inbox, or its work item the queue.
    pub(crate) fn consume(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Message(message) => self.consumed.push(message.seq),
            Incoming::Unreadable(unreadable) => self.consumed.push(unreadable.delivered.seq),
            Incoming::Result(result) => {
                if self.results.capacity() == 0 {
                    // Most turns have one: room for that alone.
                    self.results.reserve_exact(1);
                }
                self.results.push(result);
            }
            Incoming::Settled(_) => {}
        }
    }

    /// Takes over what the execution appended, and what follows from it.
    pub(crate) fn absorb(&mut self, live: &mut LiveExecution) {
        let execution_id = live.execution.execution_id();
        let appended = live.execution.take_appended();
        for appended in &appended {
            self.follow(live, appended);
        }
        let events = match &mut self.next_execution {
            Some(next) if next.execution_id == execution_id => &mut next.events,
            _ => &mut self.events,
        };
        events.extend(appended.into_iter().map(|appended| appended.entry));
    }

    /// What the store and other instances must do for one event.
    fn follow(&mut self, live: &mut LiveExecution, appended: &AppendedEntry) {
        let (event_id, command_id) = (appended.entry.event_id(), appended.command_id);
        let execution_id = live.execution.execution_id();
        let source = SourceEvent::new(execution_id, event_id);
        if let Some(command) = command_id {
            let kind = appended.entry.event.kind().name();
            tracing::debug!(event = %event_id, %command, kind, "recorded");
        }
        match appended.effect() {
            Effect::None => {}
            Effect::Begin { name, version } => {
                self.update.running = Some((name.clone(), version.clone()));
                self.update.status = Some(InstanceStatus::Running);
            }
            Effect::RunActivity { name, options, .. } => {
                let number = command_id.map_or(0, |command| command.number);
                let queued = QueuedWork {
                    work: NewWork::new(source, number),
                    activity: name.clone(),
                    queue: options.queue.clone(),
                };
                self.new_work.create(source, queued);
                if options.total_timeout_ms.is_some() {
                    self.new_timers.create(source, source);
                }
            }
            Effect::CancelActivity {
                event_id,
                has_deadline,
            } => self.give_up_activity(SourceEvent::new(execution_id, event_id), has_deadline),
            Effect::RemoveDeadline { event_id } => {
                self.cancel_timer(SourceEvent::new(execution_id, event_id));
            }
            Effect::SetTimer { .. } => self.new_timers.create(source, source),
            Effect::CancelTimer { event_id } => {
                self.cancel_timer(SourceEvent::new(execution_id, event_id));
            }
            Effect::StartChild(start) => self.start_child(live, source, start),
            Effect::CancelChild { instance, .. } => self.cancel_child(source, instance),
            Effect::StartDetached(start) => self.start_detached(live, source, start),
            Effect::RaiseEvent { target, name, data } => self.raise(source, target, name, data),
            Effect::SettlePromise { target, resolution } => {
                self.settle_promise(source, target, resolution);
            }
            Effect::SetCustomStatus { status } => {
                self.update.custom_status = CustomStatusUpdate::Set(status.clone());
            }
            Effect::ClearCustomStatus => {
                self.update.custom_status = CustomStatusUpdate::Cleared;
            }
            Effect::ChangeAttributes => {
                self.update.attributes = Some(live.execution.attributes());
            }
            Effect::ContinueAsNew => self.clean_up(live, source),
            Effect::Complete { output } => {
                let output = output.clone();
                self.end(live, source, InstanceStatus::Completed { output });
            }
            Effect::Fail { failure } => {
                let failure = failure.clone();
                self.end(live, source, InstanceStatus::Failed { failure });
            }
            Effect::Terminate { failure } => {
                let failure = failure.clone();
                self.end(live, source, InstanceStatus::Terminated { failure });
            }
        }
    }

    /// The instance ends with its execution: its parent gets the result.
    fn end(&mut self, live: &mut LiveExecution, source: SourceEvent, status: InstanceStatus) {
        self.clean_up(live, source);
        let identity = live.execution.identity();
        let parent = identity.and_then(|identity| identity.parent.as_ref());
        if let Some(parent) = parent
            && let Some(result) = result_of(&status)
        {
            self.answer(source, parent, result);
        }
        self.update.status = Some(status);
    }

    /// The execution ends: nothing that it left open stays behind.
    fn clean_up(&mut self, live: &mut LiveExecution, source: SourceEvent) {
        let execution_id = source.execution_id;
        for open in live.execution.take_left_open() {
            match open {
                LeftOpen::Activity {
                    event_id,
                    has_deadline,
                } => self.give_up_activity(SourceEvent::new(execution_id, event_id), has_deadline),
                LeftOpen::Timer { event_id } => {
                    self.cancel_timer(SourceEvent::new(execution_id, event_id));
                }
                LeftOpen::Child { event_id, instance } => {
                    self.give_up(source, event_id, &instance);
                }
            }
        }
    }

    /// Ends the instance from outside, after what the whole steps gathered.
    pub(crate) fn impose_end(
        &mut self,
        tail: Tail,
        mut summary: HistorySummary,
        failure: Failure,
        now_ms: u64,
    ) {
        let (execution_id, before, entries) = match &mut self.next_execution {
            Some(next) => {
                summary = HistorySummary::default();
                (next.execution_id, EventId::UNASSIGNED, &mut next.events)
            }
            None => (tail.execution_id, tail.last_event_id, &mut self.events),
        };
        entries.iter().for_each(|entry| summary.note(entry));
        let mut event_id = entries.last().map_or(before, HistoryEntry::event_id);
        if !summary.has_ended {
            event_id = event_id.next();
            entries.push(HistoryEntry::new(
                now_ms.max(summary.last_recorded_ms),
                Event::OrchestrationTerminated {
                    event_id,
                    failure: failure.clone(),
                },
            ));
        }
        let source = SourceEvent::new(execution_id, event_id);
        for (scheduled, child) in summary.children {
            self.give_up(source, scheduled, &child);
        }
        if let Some(parent) = &summary.parent {
            self.answer(source, parent, Err(failure.clone()));
        }
        self.update.status = Some(InstanceStatus::Terminated { failure });
    }

    /// The instance no longer waits for an activity.
    fn give_up_activity(&mut self, source: SourceEvent, has_deadline: bool) {
        self.cancel_work(source);
        if has_deadline {
            self.cancel_timer(source);
        }
    }

    /// Work that was scheduled in this very turn is not even created.
    pub(super) fn cancel_work(&mut self, source: SourceEvent) {
        if !self.new_work.withdraw(source) {
            self.cancelled_work.push(source);
        }
    }

    /// A timer that was set in this very turn is not even created.
    fn cancel_timer(&mut self, source: SourceEvent) {
        if !self.new_timers.withdraw(source) {
            self.cancelled_timers.push(source);
        }
    }
}

impl Tail {
    /// What the store has after this commit.
    pub(crate) fn after(self, turn: &TurnCommit) -> Self {
        let last = |events: &[HistoryEntry]| events.last().map(HistoryEntry::event_id);
        match &turn.next_execution {
            Some(next) => Self {
                execution_id: next.execution_id,
                last_event_id: last(&next.events).unwrap_or(EventId::UNASSIGNED),
            },
            None => Self {
                last_event_id: last(&turn.events).unwrap_or(self.last_event_id),
                ..self
            },
        }
    }
}

/// What the parent of an instance that ended is told.
fn result_of(status: &InstanceStatus) -> Option<Result<Payload, Failure>> {
    match status {
        InstanceStatus::Completed { output } => Some(Ok(output.clone())),
        InstanceStatus::Failed { failure } | InstanceStatus::Terminated { failure } => {
            Some(Err(failure.clone()))
        }
        InstanceStatus::Pending | InstanceStatus::Running | InstanceStatus::Suspended { .. } => {
            None
        }
    }
}
