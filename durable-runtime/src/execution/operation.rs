//! The operation behind a durable future: lazy until first polled, then an open
//! operation of the cursor, until its outcome is granted or it is dropped.

use std::sync::Arc;
use std::task::{Context, Poll};

use durable_core::{Command, EventId, Failure, FailureKind, OpPoll, Outcome, Payload};
use serde::de::DeserializeOwned;

use super::call_site::CallSite;
use super::shared::{Misuse, Shared};
use crate::payload::{self, PayloadSubject};

/// One durable operation, from its creation to its outcome. Dropping it before its
/// outcome was taken cancels what it stands for.
#[derive(Debug)]
pub(crate) struct DurableOperation {
    shared: Arc<Shared>,
    stage: OperationStage,
}

#[derive(Debug)]
enum OperationStage {
    /// Not polled yet: nothing happened.
    Unpolled(Command, CallSite),
    /// The command is not valid.
    Refused(Failure),
    /// It has this slot among the durable futures of the execution.
    Asked(usize),
    /// Its outcome was taken.
    Done { scheduled_by: Option<EventId> },
}

impl OperationStage {
    const DONE: Self = Self::Done { scheduled_by: None };
}

impl DurableOperation {
    /// An operation that is asked for when it is first polled. Its place in the source is
    /// that of the call of the context's method.
    #[track_caller]
    pub(crate) fn lazy(shared: &Arc<Shared>, command: Result<Command, Failure>) -> Self {
        Self {
            shared: Arc::clone(shared),
            stage: match command {
                Ok(command) => OperationStage::Unpolled(command, CallSite::of_caller()),
                Err(failure) => OperationStage::Refused(failure),
            },
        }
    }

    /// An operation that was asked for by the call itself.
    pub(crate) fn asked(shared: &Arc<Shared>, slot: usize) -> Self {
        Self {
            shared: Arc::clone(shared),
            stage: OperationStage::Asked(slot),
        }
    }

    /// The command, as long as nothing happened.
    pub(crate) fn command_mut(&mut self) -> Option<&mut Command> {
        match &mut self.stage {
            OperationStage::Unpolled(command, _) => Some(command),
            _ => None,
        }
    }

    /// The command of an operation that nothing will wait for; `None` if it was polled before:
    /// then it stays as it is.
    ///
    /// # Errors
    ///
    /// Why the command is not valid.
    pub(crate) fn detach(mut self) -> Result<Option<Command>, Failure> {
        match std::mem::replace(&mut self.stage, OperationStage::DONE) {
            OperationStage::Unpolled(command, _) => Ok(Some(command)),
            OperationStage::Refused(failure) => Err(failure),
            OperationStage::Asked(_) | OperationStage::Done { .. } => Ok(None),
        }
    }

    /// Turns the operation into one that fails when it is polled.
    pub(crate) fn refuse(&mut self, failure: Failure) {
        if matches!(self.stage, OperationStage::Unpolled(..)) {
            self.stage = OperationStage::Refused(failure);
        }
    }

    /// What the execution's parts share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Polls for the outcome and decodes its value.
    pub(crate) fn poll_value<T: DeserializeOwned>(
        &mut self,
        subject: &PayloadSubject,
        cx: &Context<'_>,
    ) -> Poll<Result<T, Failure>> {
        self.poll_outcome(cx)
            .map(|outcome| self.value(subject, outcome))
    }

    /// Polls for the outcome alone; a side effect that may execute is none.
    pub(crate) fn poll_outcome(&mut self, cx: &Context<'_>) -> Poll<Outcome> {
        match self.poll(cx) {
            OpPoll::Ready(outcome) => Poll::Ready(outcome),
            OpPoll::Pending | OpPoll::Execute | OpPoll::Item(_) => Poll::Pending,
        }
    }

    /// Polls for the next of several values and decodes it; `None` after the last one.
    pub(crate) fn poll_next<T: DeserializeOwned>(
        &mut self,
        subject: &PayloadSubject,
        cx: &Context<'_>,
    ) -> Poll<Option<Result<T, Failure>>> {
        if self.is_done() {
            return Poll::Ready(None);
        }
        match self.poll(cx) {
            OpPoll::Item(item) => Poll::Ready(Some(self.value(subject, Outcome::Value(item)))),
            OpPoll::Ready(outcome) => Poll::Ready(Some(self.value(subject, outcome))),
            OpPoll::Pending | OpPoll::Execute => Poll::Pending,
        }
    }

    /// Whether its outcome was taken.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.stage, OperationStage::Done { .. })
    }

    pub(crate) fn poll(&mut self, cx: &Context<'_>) -> OpPoll {
        match std::mem::replace(&mut self.stage, OperationStage::DONE) {
            OperationStage::Unpolled(command, call_site) => self.first_poll(command, call_site, cx),
            OperationStage::Asked(slot) => self.next_poll(slot, cx),
            OperationStage::Refused(failure) => OpPoll::Ready(Outcome::Failed(Box::new(failure))),
            OperationStage::Done { .. } => OpPoll::Pending,
        }
    }

    fn first_poll(&mut self, command: Command, call_site: CallSite, cx: &Context<'_>) -> OpPoll {
        let address = std::ptr::from_ref(self).addr();
        let waker = cx.waker().clone();
        match self.shared.enter() {
            Ok(mut state) => {
                let slot = state.futures.ask(address, call_site, command, waker);
                drop(state);
                self.stage = OperationStage::Asked(slot);
                OpPoll::Pending
            }
            Err(misuse) => misused(misuse),
        }
    }

    fn next_poll(&mut self, slot: usize, cx: &Context<'_>) -> OpPoll {
        self.stage = OperationStage::Asked(slot);
        let mut state = match self.shared.enter() {
            Ok(state) => state,
            Err(misuse) => return misused(misuse),
        };
        let (polled, scheduled_by) = match state.futures.key(slot) {
            None => (OpPoll::Pending, None),
            Some(key) => {
                let scheduled_by = state.cursor.scheduling_event(key);
                (state.cursor.poll(key), scheduled_by)
            }
        };
        let waker = match &polled {
            OpPoll::Ready(outcome) => {
                self.stage = OperationStage::Done { scheduled_by };
                // A look in vain is no progress.
                state.taken += u64::from(*outcome != Outcome::Nothing);
                state.futures.remove(slot)
            }
            OpPoll::Item(_) => {
                state.taken += 1;
                None
            }
            OpPoll::Pending | OpPoll::Execute => state.futures.keep_waker(slot, cx.waker()),
        };
        drop(state);
        drop(waker);
        polled
    }

    /// The side effect behind this operation was executed: it is recorded.
    pub(crate) fn complete_run(&mut self, result: Result<Payload, Failure>) {
        let OperationStage::Asked(slot) = std::mem::replace(&mut self.stage, OperationStage::DONE)
        else {
            return;
        };
        let mut state = self.shared.lock();
        state.taken += 1;
        if let Some(key) = state.futures.key(slot) {
            state.cursor.complete_run(key, result);
        }
        let waker = state.futures.remove(slot);
        drop(state);
        drop(waker);
    }

    /// The decoded value of an outcome of this operation.
    pub(crate) fn value<T: DeserializeOwned>(
        &self,
        subject: &PayloadSubject,
        outcome: impl Into<Outcome>,
    ) -> Result<T, Failure> {
        match outcome.into() {
            Outcome::Value(value) => {
                payload::decode("result", subject, self.scheduled_by(), &value)
            }
            Outcome::Failed(failure) => Err(*failure),
            _ => Err(unexpected(subject)),
        }
    }

    /// The event that scheduled it, once a value was taken.
    fn scheduled_by(&self) -> Option<EventId> {
        match self.stage {
            OperationStage::Done { scheduled_by } => scheduled_by,
            OperationStage::Asked(slot) => {
                let state = self.shared.lock();
                state.cursor.scheduling_event(state.futures.key(slot)?)
            }
            OperationStage::Unpolled(..) | OperationStage::Refused(_) => None,
        }
    }
}

fn misused(misuse: Misuse) -> OpPoll {
    OpPoll::Ready(Outcome::Failed(Box::new(misuse.to_failure())))
}

/// An outcome of another kind than the operation can have.
fn unexpected(subject: &PayloadSubject) -> Failure {
    Failure::new(
        FailureKind::CorruptHistory,
        format!(
            "{} `{}` came to an impossible outcome",
            subject.what, subject.name
        ),
    )
}

impl Drop for DurableOperation {
    fn drop(&mut self) {
        // `enter` refuses a drop outside of the orchestration; when the execution
        // itself is dropped there is nothing to close.
        if let OperationStage::Asked(slot) = self.stage
            && let Ok(mut state) = self.shared.enter()
        {
            if let Some(key) = state.futures.key(slot) {
                state.cursor.close(key);
            }
            let waker = state.futures.remove(slot);
            drop(state);
            drop(waker);
        }
    }
}
