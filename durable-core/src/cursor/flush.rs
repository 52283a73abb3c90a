//! The end of a poll: its outputs are appended, or found again in the history.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::appended::AppendedEntry;
use super::block::Output;
use super::match_block::{Mismatch, is_next, match_block};
use super::operation::{ActivityDeadline, OpKey, Outcome};
use super::{Cursor, CursorError, CursorStage};
use crate::event::{Carried, Event};
use crate::history::HistoryEntry;
use crate::id::{CommandId, EventId};
use crate::text::Name;
use crate::violation::{Difference, Violation};

impl Cursor {
    /// Ends a poll: a grant that was not taken lapses, looks and patch questions are
    /// answered, and what the poll emitted is appended (live) or compared with
    /// the next recorded outputs (replay).
    ///
    /// # Errors
    ///
    /// [`CursorError::Violation`] if the history has something else next,
    /// [`CursorError::OutOfTurn`] outside of an execution, and the error of a cursor that
    /// has failed.
    pub fn flush(&mut self) -> Result<(), CursorError> {
        self.check_not_failed()?;
        if let Some(granted) = self.granted.take() {
            self.operations.lapse(granted);
        }
        if self.block.is_empty() {
            return Ok(());
        }
        if !matches!(self.stage, CursorStage::Started) {
            return Err(self.out_of_turn("flush", "outside of an execution"));
        }
        if self.is_cut_off() {
            let unrecorded = self.block.take_cancellations();
            self.keep_open(&unrecorded);
            self.block.clear();
            return Ok(());
        }
        if self.block.has_more_than_commands() {
            self.return_events();
            self.queue_readers();
            self.request_runs();
            self.answer_looks();
        }
        let found = self.block.take_found();
        let mut outputs = self.block.take_outputs();
        if outputs.iter().any(Output::asks_for_a_patch) {
            self.answer_patches(&mut outputs, found.len());
        }
        if self.tape.is_at_end() {
            self.appended.reserve(outputs.len());
            outputs.drain(..).for_each(|output| self.append(output));
        } else if is_next(self.owner(), &outputs, &self.tape, found.len()) {
            for operation in &found {
                self.pass(*operation);
            }
            for output in &outputs {
                self.pass(output.operation);
            }
        } else {
            let outputs = self.spelled_out(&found).chain(outputs).collect();
            return self.find_again(outputs);
        }
        self.block.reuse(found, outputs);
        Ok(())
    }

    /// The commands for which recorded events stand, as the code emitted them.
    pub(super) fn spelled_out(&self, found: &[Option<OpKey>]) -> impl Iterator<Item = Output> {
        let recorded = self.tape.outputs().zip(found);
        recorded.map(|(event, operation)| Output::new(event.unassigned(self.owner()), *operation))
    }

    /// Matches a block with the next recorded outputs; what the history does not
    /// have yet is appended.
    fn find_again(&mut self, outputs: Vec<Output>) -> Result<(), CursorError> {
        let matched = match match_block(self.owner(), &outputs, &self.tape) {
            Ok(matched) => matched,
            Err(mismatch) => return Err(self.mismatched_output(outputs, &mismatch)),
        };
        for index in matched.recorded {
            self.pass(outputs[index].operation);
        }
        let is_cut_off = self.is_cut_off();
        let mut new = matched.new.into_iter().peekable();
        for (index, output) in outputs.into_iter().enumerate() {
            if new.next_if_eq(&index).is_none() {
                continue;
            }
            match is_cut_off {
                true => self.keep_open([&output]),
                false => self.append(output),
            }
        }
        Ok(())
    }

    /// Moves over the next recorded event, an output that opened this operation.
    fn pass(&mut self, operation: Option<OpKey>) {
        if let Some(entry) = self.tape.pop() {
            let _ = self.recorded(entry.recorded_at_ms, &entry.event, operation);
        }
    }

    /// Gives an output its position and keeps it to be stored.
    fn append(&mut self, output: Output) {
        let Output {
            mut event,
            operation,
            ended,
        } = output;
        let event_id = self.last_event_id.next();
        event.assign(self.owner(), event_id);
        let recorded_at_ms = self.last_recorded_ms;
        let command_id = self.recorded(recorded_at_ms, &event, operation);
        self.appended.push(AppendedEntry {
            entry: HistoryEntry {
                recorded_at_ms,
                event,
            },
            command_id,
            ended,
        });
    }

    /// An output stands in the history: what it changes takes effect. Answers with the
    /// command that it records.
    fn recorded(
        &mut self,
        recorded_at_ms: u64,
        event: &Event,
        operation: Option<OpKey>,
    ) -> Option<CommandId> {
        let event_id = event.event_id();
        self.went_over(event_id, recorded_at_ms);
        let command_id = self.numbering.number(event);
        if let Some(key) = operation {
            self.operations.opened(key, event_id);
        }
        match event {
            Event::ExternalSubscribed { name, .. }
            | Event::ExternalEventsSubscribed { name, .. } => self.subscribed(name, event_id),
            Event::PromiseCreated { number, .. } => {
                if self.operations.open_at(event_id).is_some() {
                    self.promises.insert(*number, event_id);
                } else {
                    self.abandon(event_id, event.kind());
                }
            }
            Event::StateSet { .. }
            | Event::StateCleared { .. }
            | Event::CustomStatusSet { .. }
            | Event::CustomStatusCleared { .. }
            | Event::AttributeSet { .. }
            | Event::AttributeCleared { .. } => self.set_value(event),
            Event::OrchestrationContinuedAsNew { .. } => {
                let carried = Box::new(self.carry_over());
                self.left_behind.get_or_insert_default().carried = Some(carried);
                self.end();
            }
            Event::OrchestrationCompleted { .. }
            | Event::OrchestrationFailed { .. }
            | Event::OrchestrationTerminated { .. } => self.end(),
            Event::SubOrchestrationScheduled { instance, .. } => {
                if let Some(key) = operation {
                    self.operations.named_child(key, instance);
                }
            }
            Event::ActivityScheduled { name, options, .. } => {
                if let (Some(key), Some(total_timeout_ms)) = (operation, options.total_timeout_ms) {
                    let deadline = ActivityDeadline {
                        name: name.clone(),
                        total_timeout_ms,
                    };
                    self.operations.has_deadline(key, deadline);
                }
            }
            // An open operation is all that there is to say of it.
            Event::TimerCreated { .. } => {}
            // They ask something of the world and nothing of the cursor.
            Event::ActivityCancelRequested { .. }
            | Event::TimerCancelled { .. }
            | Event::SubOrchestrationCancelRequested { .. }
            | Event::OrchestrationChained { .. }
            | Event::ExternalEventSent { .. }
            | Event::PromiseResolutionSent { .. } => {}
            // The code has its answer already.
            Event::OperationCompleted { .. } | Event::PatchMarked { .. } => {}
            // No outputs.
            Event::OrchestrationStarted { .. }
            | Event::ActivityCompleted { .. }
            | Event::ActivityFailed { .. }
            | Event::TimerFired { .. }
            | Event::ExternalEvent { .. }
            | Event::SubOrchestrationCompleted { .. }
            | Event::SubOrchestrationFailed { .. }
            | Event::PromiseResolved { .. }
            | Event::PromiseRejected { .. }
            | Event::OrchestrationCancelRequested { .. } => {}
        }
        command_id
    }

    pub(super) fn subscribed(&mut self, name: &Name, subscription: EventId) {
        if let Some(event) = self.externals.subscribe(name, subscription) {
            self.arrive_at(subscription, event);
        }
    }

    /// External events whose subscription was dropped in this poll go to another
    /// one, or back to their places: oldest first, whatever was dropped first.
    fn return_events(&mut self) {
        let mut returned = self.block.take_returned();
        returned.sort_by_key(|event| event.place);
        for event in returned {
            self.offer(event);
        }
    }

    /// Answers the patch questions of a block. Questions of one poll are
    /// concurrent, so their answers arrive in the order of their names.
    fn answer_patches(&mut self, outputs: &mut Vec<Output>, found: usize) {
        let block_len = found + outputs.len();
        let mut answers: Vec<(Name, bool, Option<OpKey>)> = Vec::new();
        outputs.retain_mut(|output| {
            let Event::PatchMarked { patch_id, .. } = &output.event else {
                return true;
            };
            let (answer, is_first) = match self.patches.get(patch_id) {
                Some(answer) => (*answer, false),
                None => (self.may_take_patch(patch_id, block_len), true),
            };
            self.patches.insert(patch_id.clone(), answer);
            answers.push((patch_id.clone(), answer, output.operation.take()));
            answer && is_first
        });
        answers.sort_by(|a, b| a.0.cmp(&b.0));
        for (_, answer, operation) in answers {
            if let Some(key) = operation {
                self.operations.arrived(key, Outcome::Patched(answer));
            }
        }
    }

    /// Live, and where the mark is among what this block has recorded.
    fn may_take_patch(&self, wanted: &Name, block_len: usize) -> bool {
        self.tape.is_at_end()
            || self.tape.outputs().take(block_len).any(
                |event| matches!(event, Event::PatchMarked { patch_id, .. } if patch_id == wanted),
            )
    }

    fn carry_over(&self) -> Carried {
        let unread_events = self.externals.unread(self.operations.held_events());
        let unread_ids: BTreeSet<_> = unread_events
            .iter()
            .map(|event| event.message_id.clone())
            .collect();
        Carried {
            state: self
                .state
                .iter()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            custom_status: self.custom_status.clone(),
            attributes: self.attributes.clone(),
            read_message_ids: self
                .recent_messages
                .iter()
                .filter(|id| !unread_ids.contains(*id))
                .cloned()
                .collect(),
            unread_events,
            cancel_reason: self.cancel_reason.as_deref().map(Into::into),
            trace_parent: self.trace_parent.clone(),
        }
    }

    fn mismatched_output(&mut self, mut outputs: Vec<Output>, mismatch: &Mismatch) -> CursorError {
        let code = outputs.swap_remove(mismatch.output).event;
        self.violation(Some(code), mismatch.distance, mismatch.difference)
    }

    /// Code and history part at the recorded event at this distance.
    pub(super) fn violation(
        &mut self,
        code: Option<Event>,
        distance: usize,
        difference: Difference,
    ) -> CursorError {
        let Some(entry) = self.tape.get(distance) else {
            return self.out_of_turn("flush", "at the end of the history");
        };
        let history = entry.event.clone();
        let command_id = self.command_at(distance, code.as_ref());
        let found_later = code
            .as_ref()
            .and_then(|code| self.found_after(distance, code));
        let violation = Violation {
            instance: self.instance.clone(),
            execution_id: self.execution_id,
            event_id: history.event_id(),
            command_id,
            code: code.map(Box::new),
            history: Box::new(history),
            difference,
            found_later,
        };
        self.fail(CursorError::Violation(Box::new(violation)))
    }

    /// Where the history has a command of the code after this distance.
    fn found_after(&self, distance: usize, code: &Event) -> Option<EventId> {
        let later = (distance + 1..).map_while(|distance| self.tape.get(distance));
        let mut found = later.filter(|entry| code.compare(self.owner(), &entry.event).is_ok());
        found.next().map(HistoryEntry::event_id)
    }

    /// The number of the recorded command at this distance; if there is none,
    /// the number that the code's command would have there.
    fn command_at(&self, distance: usize, code: Option<&Event>) -> Option<CommandId> {
        let mut numbering = self.numbering.clone();
        for entry in (0..distance).filter_map(|index| self.tape.get(index)) {
            let _ = numbering.number(&entry.event);
        }
        let recorded = self.tape.get(distance)?;
        numbering.number(&recorded.event).or_else(|| {
            let kind = code?.kind().command_kind()?;
            Some(numbering.upcoming(kind))
        })
    }
}
