//! Inputs: the next recorded one in replay, a new one live.

use alloc::vec::Vec;

use super::operation::{Arrived, Outcome, Subject};
use super::{Cursor, CursorError, Stage};
use crate::corruption::{HistoryFault, SourceFault};
use crate::event::{Carried, Event, EventKind, UnreadEvent};
use crate::failure::Failure;
use crate::history::HistoryEntry;
use crate::id::EventId;
use crate::violation::Difference;

/// What [`Cursor::advance`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Advance {
    /// The execution starts with this event: poll the root.
    Started(Event),
    /// An input was delivered: run the step.
    Input,
    /// The next step is not all there: feed more entries, or say that there are
    /// none, and call again.
    NeedsHistory,
    /// The whole history was replayed: new inputs may be delivered.
    Live,
    /// The execution has ended.
    Ended,
}

/// What [`Cursor::deliver`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Delivery {
    /// The input was appended: run the step.
    Accepted,
    /// The input says nothing to this execution and was not appended.
    Dropped(DropReason),
}

/// Why an input was not appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// It completes nothing that is open: unknown, completed before, or given up.
    NotOpen,
    /// An external event with this message id was accepted before.
    DuplicateMessage,
    /// Cancellation was requested before.
    AlreadyCancelled,
    /// The execution has started already.
    AlreadyStarted,
    /// The execution has ended.
    Ended,
}

impl DropReason {
    /// A short word for it, for metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Self::NotOpen => "not_open",
            Self::DuplicateMessage => "duplicate_message",
            Self::AlreadyCancelled => "already_cancelled",
            Self::AlreadyStarted => "already_started",
            Self::Ended => "ended",
        }
    }
}

impl Cursor {
    /// Moves over the next recorded input. Call it between steps.
    ///
    /// The step before it must have emitted all that is recorded of it: an
    /// output that still lies ahead is a violation.
    pub fn advance(&mut self) -> Result<Advance, CursorError> {
        self.check_not_failed()?;
        if !self.step_is_over() {
            return Err(self.out_of_turn("advance", "before the step was over"));
        }
        if !self.tape.holds_a_whole_step() {
            return Ok(Advance::NeedsHistory);
        }
        let Some(next) = self.tape.front() else {
            self.abandoned.clear();
            return Ok(match self.stage {
                Stage::Ended => Advance::Ended,
                _ => Advance::Live,
            });
        };
        if !next.event.is_input() && !next.event.is_imposed() {
            return Err(self.violation(None, 0, Difference::CommandMissing));
        }
        let Some(entry) = self.tape.pop() else {
            return Ok(Advance::Live);
        };
        self.consume(entry)
    }

    fn consume(&mut self, entry: HistoryEntry) -> Result<Advance, CursorError> {
        let HistoryEntry {
            recorded_at_ms,
            event,
        } = entry;
        let (event_id, kind) = (event.event_id(), event.kind());
        self.went_over(event_id, recorded_at_ms);
        if event.is_imposed() {
            self.end();
            return Ok(Advance::Ended);
        }
        self.now_ms = recorded_at_ms;
        self.accept(&event)
            .map_err(|fault| self.corrupt(event_id, kind, fault))?;
        if kind == EventKind::OrchestrationCancelRequested {
            self.flush()?;
        }
        Ok(match event {
            Event::OrchestrationStarted { .. } => Advance::Started(event),
            _ => Advance::Input,
        })
    }

    /// Appends a new input at this time of the store. Its `event_id` is given here.
    ///
    /// An input that says nothing to this execution is dropped without a trace.
    pub fn deliver(&mut self, mut event: Event, now_ms: u64) -> Result<Delivery, CursorError> {
        self.check_not_failed()?;
        if self.is_replaying() {
            return Err(self.out_of_turn("deliver", "before the history was replayed"));
        }
        if !event.is_input() && !event.is_imposed() {
            return Err(self.out_of_turn("deliver", "with an event that is no input"));
        }
        if let Some(reason) = self.reason_to_drop(&event) {
            return Ok(Delivery::Dropped(reason));
        }
        if matches!(self.stage, Stage::Unstarted) && event.kind() != EventKind::OrchestrationStarted
        {
            return Err(self.out_of_turn("deliver", "before the execution was started"));
        }
        if !self.step_is_over() && !event.is_imposed() {
            return Err(self.out_of_turn("deliver", "before the step was over"));
        }
        let event_id = self.last_event_id.next();
        let kind = event.kind();
        event.set_event_id(event_id);
        let due_ms = match event {
            Event::TimerFired { fire_at_ms, .. } => fire_at_ms,
            _ => 0,
        };
        let recorded_at_ms = now_ms.max(due_ms).max(self.last_recorded_ms);
        self.went_over(event_id, recorded_at_ms);
        if event.is_imposed() {
            self.end();
        } else {
            self.now_ms = recorded_at_ms;
            self.accept(&event)
                .map_err(|fault| self.corrupt(event_id, kind, fault))?;
        }
        self.appended.push(HistoryEntry {
            recorded_at_ms,
            event,
        });
        if kind == EventKind::OrchestrationCancelRequested {
            self.flush()?;
        }
        Ok(Delivery::Accepted)
    }

    fn reason_to_drop(&self, event: &Event) -> Option<DropReason> {
        if self.has_ended() {
            return Some(DropReason::Ended);
        }
        match event {
            Event::OrchestrationStarted { .. } => {
                matches!(self.stage, Stage::Started).then_some(DropReason::AlreadyStarted)
            }
            Event::ExternalEvent { message_id, .. } => self
                .recent_messages
                .contains(message_id)
                .then_some(DropReason::DuplicateMessage),
            Event::OrchestrationCancelRequested { .. } => self
                .cancel_reason
                .is_some()
                .then_some(DropReason::AlreadyCancelled),
            _ => match (event.source_event_id(), event.kind().source_kind()) {
                (Some(source), Some(kind)) => {
                    (self.open_kind(source) != Some(kind)).then_some(DropReason::NotOpen)
                }
                _ => None,
            },
        }
    }

    /// The kind of the scheduling event of an open operation.
    fn open_kind(&self, scheduling_event: EventId) -> Option<EventKind> {
        let key = self.operations.open_at(scheduling_event)?;
        self.operations.subject(key)?.scheduling_kind()
    }

    /// Takes in an input, recorded or new.
    fn accept(&mut self, event: &Event) -> Result<(), HistoryFault> {
        match event {
            Event::OrchestrationStarted { carried, .. } => {
                self.stage = Stage::Started;
                self.restore(carried);
                Ok(())
            }
            Event::ActivityCompleted { result: value, .. }
            | Event::SubOrchestrationCompleted { result: value, .. }
            | Event::PromiseResolved { value, .. } => {
                self.complete(event, Outcome::Value(value.clone()))
            }
            Event::ActivityFailed { failure, .. }
            | Event::SubOrchestrationFailed { failure, .. }
            | Event::PromiseRejected { failure, .. } => {
                self.complete(event, Outcome::Failed(failure.clone()))
            }
            Event::TimerFired { .. } => self.complete(event, Outcome::Fired),
            Event::ExternalEvent {
                name,
                data,
                message_id,
                ..
            } => {
                self.receive(UnreadEvent {
                    name: name.clone(),
                    data: data.clone(),
                    message_id: message_id.clone(),
                });
                Ok(())
            }
            Event::OrchestrationCancelRequested { reason, .. } => {
                self.cancel_open_operations(reason);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Gives a completion to the operation that it names.
    fn complete(&mut self, completion: &Event, outcome: Outcome) -> Result<(), HistoryFault> {
        let (Some(source_event_id), Some(expected)) = (
            completion.source_event_id(),
            completion.kind().source_kind(),
        ) else {
            return Ok(());
        };
        let found = match self.open_kind(source_event_id) {
            Some(kind) if kind == expected => {
                self.completed(source_event_id, outcome);
                return Ok(());
            }
            Some(other) => SourceFault::OtherKind(other),
            None => match self.abandoned.get(&source_event_id) {
                Some(kind) if *kind == expected => {
                    self.abandoned.remove(&source_event_id);
                    return Ok(());
                }
                Some(other) => SourceFault::OtherKind(*other),
                None if source_event_id >= completion.event_id()
                    || source_event_id == EventId::UNASSIGNED =>
                {
                    SourceFault::NoSuchEvent
                }
                None => SourceFault::NotOpen,
            },
        };
        Err(HistoryFault::BadSource {
            source_event_id,
            expected,
            found,
        })
    }

    fn completed(&mut self, scheduling_event: EventId, outcome: Outcome) {
        let Some(key) = self.operations.open_at(scheduling_event) else {
            return;
        };
        if let Some(Subject::Promise(number)) = self.operations.subject(key) {
            self.promises.remove(number);
        }
        self.operations.arrived(key, Arrived::Outcome(outcome));
    }

    fn receive(&mut self, event: UnreadEvent) {
        self.recent_messages.remember(event.message_id.clone());
        let arrival = self.externals.arrive(event);
        self.offer(arrival);
    }

    /// Closes what is open as if it were dropped, and resolves it to a
    /// cancellation, oldest first.
    fn cancel_open_operations(&mut self, reason: &str) {
        self.cancel_reason.get_or_insert_with(|| reason.into());
        let open: Vec<_> = self.operations.open().collect();
        for (event_id, key) in open {
            let Some(subject) = self.operations.subject(key).cloned() else {
                continue;
            };
            self.close_open(&subject, event_id);
            let outcome = Outcome::Failed(Failure::cancelled(reason));
            self.operations.arrived(key, Arrived::Outcome(outcome));
        }
    }

    fn restore(&mut self, carried: &Carried) {
        self.state = carried.state.iter().cloned().collect();
        self.custom_status.clone_from(&carried.custom_status);
        self.cancel_reason.clone_from(&carried.cancel_reason);
        for id in &carried.read_message_ids {
            self.recent_messages.remember(id.clone());
        }
        for event in &carried.unread_events {
            self.receive(event.clone());
        }
    }

    pub(super) fn went_over(&mut self, event_id: EventId, recorded_at_ms: u64) {
        debug_assert_eq!(event_id, self.last_event_id.next());
        debug_assert!(recorded_at_ms >= self.last_recorded_ms);
        self.last_event_id = event_id;
        self.last_recorded_ms = recorded_at_ms;
    }

    /// The execution is over: what is still open ends without a trace.
    pub(super) fn end(&mut self) {
        self.stage = Stage::Ended;
        self.operations.clear();
        self.promises.clear();
        self.abandoned.clear();
        self.block.clear();
        self.granted = None;
        self.running = None;
    }
}
