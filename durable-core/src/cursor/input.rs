//! Inputs: the next recorded one in replay, a new one live.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::appended::AppendedEntry;
use super::external::{Externals, RecentMessages};
use super::operation::{OpKey, OperationKind, Outcome};
use super::{Cursor, CursorError, CursorStage};
use crate::corruption::{HistoryFault, SourceFault};
use crate::event::{
    Brings, Carried, Completion, EndedOperation, Event, EventKind, Input, UnreadEvent,
};
use crate::failure::Failure;
use crate::history::HistoryEntry;
use crate::id::EventId;
use crate::violation::Difference;

/// What [`Cursor::advance`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Advance {
    /// The execution starts with this event: poll the root.
    Started(Box<Event>),
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
    ///
    /// # Errors
    ///
    /// [`CursorError::Violation`] if the code did less than is recorded,
    /// [`CursorError::Corrupt`] for a completion that names nothing that is open,
    /// [`CursorError::OutOfTurn`] within a step, and the error of a cursor that has failed.
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
                CursorStage::Ended => Advance::Ended,
                _ => Advance::Live,
            });
        };
        if !next.event.is_input() && !next.event.is_forced() {
            return Err(self.violation(None, 0, Difference::CommandMissing));
        }
        let Some(entry) = self.tape.pop() else {
            return Ok(Advance::Live);
        };
        self.consume(entry)
    }

    fn consume(&mut self, entry: HistoryEntry) -> Result<Advance, CursorError> {
        let event = &entry.event;
        self.went_over(event.event_id(), entry.recorded_at_ms);
        if event.is_forced() {
            self.end();
            return Ok(Advance::Ended);
        }
        self.now_ms = entry.recorded_at_ms;
        let _ = self.accept(event, event.input())?;
        match event.kind() {
            EventKind::OrchestrationStarted => {
                return Ok(Advance::Started(Box::new(entry.event)));
            }
            EventKind::OrchestrationCancelRequested => self.flush()?,
            _ => {}
        }
        Ok(Advance::Input)
    }

    /// Appends a new input at this time of the store. Its `event_id` is given here.
    ///
    /// An input that says nothing to this execution is dropped without a trace.
    ///
    /// # Errors
    ///
    /// [`CursorError::OutOfTurn`] in replay, within a step, before the start or for an
    /// event that is no input, and the error of a cursor that has failed.
    pub fn deliver(&mut self, mut event: Event, now_ms: u64) -> Result<Delivery, CursorError> {
        self.check_not_failed()?;
        if self.is_replaying() {
            return Err(self.out_of_turn("deliver", "before the history was replayed"));
        }
        if !event.is_input() && !event.is_forced() {
            return Err(self.out_of_turn("deliver", "with an event that is no input"));
        }
        let event_id = self.last_event_id.next();
        event.assign(self.owner(), event_id);
        let input = event.input();
        if let Some(reason) = self.reason_to_drop(input) {
            return Ok(Delivery::Dropped(reason));
        }
        if matches!(self.stage, CursorStage::Unstarted)
            && event.kind() != EventKind::OrchestrationStarted
        {
            return Err(self.out_of_turn("deliver", "before the execution was started"));
        }
        if !self.step_is_over() && !event.is_forced() {
            return Err(self.out_of_turn("deliver", "before the step was over"));
        }
        let due_ms = match event {
            Event::TimerFired { fire_at_ms, .. } => fire_at_ms,
            _ => 0,
        };
        let recorded_at_ms = now_ms.max(due_ms).max(self.last_recorded_ms);
        self.went_over(event_id, recorded_at_ms);
        let ended = if event.is_forced() {
            self.end();
            EndedOperation::Plain
        } else {
            self.now_ms = recorded_at_ms;
            self.accept(&event, input)?
        };
        let is_cancellation = event.kind() == EventKind::OrchestrationCancelRequested;
        if self.appended.capacity() == 0 {
            // Most steps are an input and an output.
            self.appended.reserve_exact(2);
        }
        self.appended.push(AppendedEntry {
            entry: HistoryEntry {
                recorded_at_ms,
                event,
            },
            command_id: None,
            ended,
        });
        if is_cancellation {
            self.flush()?;
        }
        Ok(Delivery::Accepted)
    }

    fn reason_to_drop(&self, input: Option<Input<'_>>) -> Option<DropReason> {
        if self.has_ended() {
            return Some(DropReason::Ended);
        }
        match input? {
            Input::Start(_) => {
                matches!(self.stage, CursorStage::Started).then_some(DropReason::AlreadyStarted)
            }
            Input::External { message_id, .. } => self
                .recent_messages
                .contains(message_id)
                .then_some(DropReason::DuplicateMessage),
            Input::Cancel { .. } => self
                .cancel_reason
                .is_some()
                .then_some(DropReason::AlreadyCancelled),
            Input::Completion(completion) => {
                let open = self.open_operation(completion.source_event_id);
                let kind = open.and_then(|(_, operation)| operation.scheduling_kind());
                (kind != Some(completion.source_kind)).then_some(DropReason::NotOpen)
            }
        }
    }

    /// The open operation that this event scheduled.
    fn open_operation(&self, scheduling_event: EventId) -> Option<(OpKey, &OperationKind)> {
        let key = self.operations.open_at(scheduling_event)?;
        Some((key, self.operations.kind(key)?))
    }

    /// The execution begins with what the one before it left behind.
    fn start(&mut self, carried: Option<&Carried>) {
        self.stage = CursorStage::Started;
        let Some(carried) = carried else {
            return;
        };
        self.state = carried.state.iter().cloned().collect();
        self.custom_status.clone_from(&carried.custom_status);
        self.attributes.clone_from(&carried.attributes);
        self.cancel_reason = carried.cancel_reason.as_deref().map(Into::into);
        self.trace_parent.clone_from(&carried.trace_parent);
        for id in &carried.read_message_ids {
            self.recent_messages.remember(id.clone());
        }
        for event in &carried.unread_events {
            self.receive(event.clone());
        }
    }

    /// Takes in an input, recorded or new; answers with the operation that it ends. A
    /// cancellation is to be flushed after it.
    fn accept(
        &mut self,
        event: &Event,
        input: Option<Input<'_>>,
    ) -> Result<EndedOperation, CursorError> {
        match input {
            Some(Input::Start(carried)) => self.start(carried),
            Some(Input::External {
                name,
                data,
                message_id,
            }) => self.receive(UnreadEvent {
                name: name.clone(),
                data: data.clone(),
                message_id: message_id.clone(),
            }),
            Some(Input::Cancel { reason }) => self.cancel_open_operations(reason),
            Some(Input::Completion(completion)) => {
                return self
                    .complete(event.event_id(), completion)
                    .map_err(|fault| self.corrupt(event.event_id(), event.kind(), fault));
            }
            None => {}
        }
        Ok(EndedOperation::Plain)
    }

    /// Gives the completion at this position to the operation that it names, and ends it.
    fn complete(
        &mut self,
        at: EventId,
        completion: Completion<'_>,
    ) -> Result<EndedOperation, HistoryFault> {
        let Completion {
            source_event_id,
            source_kind: expected,
            brings,
        } = completion;
        let found = match self.open_operation(source_event_id) {
            Some((key, kind)) if kind.scheduling_kind() == Some(expected) => {
                let ended = match kind {
                    // A child that has ended is asked for nothing.
                    OperationKind::SubOrchestration(_) => EndedOperation::Plain,
                    other => other.ended(),
                };
                if let OperationKind::Promise(number) = *kind {
                    self.promises.remove(&number);
                }
                self.operations.arrived(key, brings.into());
                return Ok(ended);
            }
            Some((_, other)) => other
                .scheduling_kind()
                .map_or(SourceFault::NotOpen, SourceFault::OtherKind),
            None => match self.abandoned.get(&source_event_id) {
                Some(kind) if *kind == expected => {
                    self.abandoned.remove(&source_event_id);
                    return Ok(EndedOperation::Plain);
                }
                Some(other) => SourceFault::OtherKind(*other),
                None if source_event_id >= at || source_event_id == EventId::UNASSIGNED => {
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

    fn receive(&mut self, event: UnreadEvent) {
        self.recent_messages.remember(event.message_id.clone());
        let event = self.externals.arrive(event);
        self.offer(event);
    }

    /// Closes what is open as if it were dropped, and resolves it to a
    /// cancellation, oldest first.
    fn cancel_open_operations(&mut self, reason: &str) {
        self.cancel_reason.get_or_insert_with(|| reason.into());
        let open: Vec<_> = self.operations.open().collect();
        for (event_id, key) in open {
            let Some(kind) = self.operations.kind(key).cloned() else {
                continue;
            };
            self.close_open(&kind, event_id);
            let failure = Box::new(Failure::cancelled(reason));
            self.operations.arrived(key, Outcome::Failed(failure));
        }
        self.operations.close_readers();
    }

    pub(super) fn went_over(&mut self, event_id: EventId, recorded_at_ms: u64) {
        debug_assert_eq!(event_id, self.last_event_id.next());
        debug_assert!(recorded_at_ms >= self.last_recorded_ms);
        self.last_event_id = event_id;
        self.last_recorded_ms = recorded_at_ms;
    }

    /// The execution is over. What is still open has no event any more; the driver is
    /// told of it.
    pub(super) fn end(&mut self) {
        self.note_left_open();
        self.stage = CursorStage::Ended;
        self.operations.clear();
        self.externals = Externals::default();
        self.recent_messages = RecentMessages::default();
        self.promises.clear();
        self.abandoned.clear();
        self.block.clear();
        self.granted = None;
        self.running = None;
    }
}

impl From<Brings<'_>> for Outcome {
    fn from(brings: Brings<'_>) -> Self {
        match brings {
            Brings::Value(value) => Self::Value(value.clone()),
            Brings::Failure(failure) => Self::Failed(Box::new(failure.clone())),
            Brings::Nothing => Self::Fired,
        }
    }
}
