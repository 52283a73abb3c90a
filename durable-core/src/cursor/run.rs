//! Recorded side effects: executed once when live, looked up in replay.
//!
//! At most one run ends in any poll, because at most one is granted and none is
//! granted while another is being executed. So the result of a run that is polled
//! in replay is the first recorded one ahead, or the code has changed.

use super::block::Output;
use super::operation::{OpKey, OperationKind, Phase};
use super::{Cursor, OpPoll};
use crate::event::Event;
use crate::failure::Failure;
use crate::id::EventId;
use crate::text::{Name, Payload};
use crate::violation::Difference;

impl Cursor {
    /// A run that was executed returned.
    pub fn complete_run(&mut self, key: OpKey, result: Result<Payload, Failure>) {
        if self.running != Some(key) {
            return;
        }
        self.running = None;
        if let Some(operation) = self.operations.remove(key)
            && let OperationKind::Run(name) = operation.kind
        {
            self.push(Output::new(completed(*name, result), None));
        }
    }

    /// The runs of a poll get their turns. They are concurrent, so they stand in
    /// the order of their names, which is the same in every replay.
    pub(super) fn request_runs(&mut self) {
        let mut runs = self.block.take_runs();
        runs.sort_by(|a, b| a.0.cmp(&b.0));
        for (_, key) in runs {
            self.operations.requested(key);
        }
    }

    /// A run that was granted is polled: it is executed, or takes its recorded
    /// result.
    pub(super) fn begin_run(&mut self, key: OpKey) -> OpPoll {
        self.granted = None;
        if !self.tape.is_at_end() {
            return self.take_recorded_run(key);
        }
        if let Some(operation) = self.operations.get_mut(key) {
            operation.phase = Phase::Running;
            self.running = Some(key);
        }
        OpPoll::Execute
    }

    fn take_recorded_run(&mut self, key: OpKey) -> OpPoll {
        let Some(operation) = self.operations.remove(key) else {
            return OpPoll::Pending;
        };
        let OperationKind::Run(name) = operation.kind else {
            return OpPoll::Pending;
        };
        let name = *name;
        let next = self.tape.outputs().enumerate().find_map(|(at, event)| {
            let Event::OperationCompleted { name, result, .. } = event else {
                return None;
            };
            Some((at, name.clone(), result.clone()))
        });
        match next {
            Some((_, recorded, result)) if recorded == name => {
                self.push(Output::new(completed(name, result.clone()), None));
                OpPoll::Ready(result.into())
            }
            Some((distance, ..)) => self.refuse_run(name, distance, Difference::Name),
            None => {
                let outputs = self.tape.outputs().count();
                let distance = self.block.len().min(outputs);
                match self.tape.get(distance) {
                    Some(next) if next.event.is_input() => {
                        self.refuse_run(name, distance, Difference::CommandWhereInput)
                    }
                    Some(_) => self.refuse_run(name, distance, Difference::Kind),
                    None => self.refuse_run(name, outputs - 1, Difference::Kind),
                }
            }
        }
    }

    /// The cursor fails; its next call answers why.
    fn refuse_run(&mut self, name: Name, distance: usize, difference: Difference) -> OpPoll {
        let code = completed(name, Ok(Payload::from("null")));
        let _ = self.violation(Some(code), distance, difference);
        OpPoll::Pending
    }
}

fn completed(name: Name, result: Result<Payload, Failure>) -> Event {
    Event::OperationCompleted {
        event_id: EventId::UNASSIGNED,
        name,
        result,
    }
}
