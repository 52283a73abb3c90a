//! The durable future: lazy until first polled, then an open operation of the
//! cursor, until its value is granted or it is dropped.

use std::sync::Arc;
use std::task::{Context, Poll};

use durable_core::{Command, EventId, Failure, OpKey, OpPoll, Outcome, Payload};

use crate::context::{Misuse, Shared};

/// One durable operation, from its creation to its value. Dropping it before its
/// value was taken cancels what it stands for.
#[derive(Debug)]
pub(crate) struct Operation {
    shared: Arc<Shared>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Not polled yet: nothing happened.
    Unpolled(Command),
    /// It could not be asked for at all.
    Refused(Failure),
    /// It has this slot among the durable futures of the execution.
    Asked(usize),
    /// Its value was taken.
    Done,
}

/// The value of an operation and the event that scheduled it.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) outcome: Outcome,
    pub(crate) event_id: Option<EventId>,
}

impl Settled {
    /// An outcome that no event scheduled.
    pub(crate) fn of(outcome: impl Into<Outcome>) -> Self {
        Self {
            outcome: outcome.into(),
            event_id: None,
        }
    }
}

/// What polling an operation gave.
#[derive(Debug)]
pub(crate) enum Polled {
    Pending,
    Settled(Settled),
    /// A recorded side effect may be executed under this key.
    Execute(OpKey),
}

impl Operation {
    /// An operation that is asked for when it is first polled.
    pub(crate) fn lazy(shared: &Arc<Shared>, request: Result<Command, Failure>) -> Self {
        Self {
            shared: Arc::clone(shared),
            stage: match request {
                Ok(request) => Stage::Unpolled(request),
                Err(failure) => Stage::Refused(failure),
            },
        }
    }

    /// An operation that was asked for by the call itself.
    pub(crate) fn asked(shared: &Arc<Shared>, slot: usize) -> Self {
        Self {
            shared: Arc::clone(shared),
            stage: Stage::Asked(slot),
        }
    }

    /// The request, as long as nothing happened.
    pub(crate) fn request_mut(&mut self) -> Option<&mut Command> {
        match &mut self.stage {
            Stage::Unpolled(request) => Some(request),
            _ => None,
        }
    }

    /// Turns the operation into one that fails when it is polled.
    pub(crate) fn refuse(&mut self, failure: Failure) {
        if matches!(self.stage, Stage::Unpolled(_)) {
            self.stage = Stage::Refused(failure);
        }
    }

    /// Where the execution's shared parts are.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Polls for the value alone; a side effect that may execute is not one.
    pub(crate) fn poll_settled(&mut self, cx: &Context<'_>) -> Poll<Settled> {
        match self.poll(cx) {
            Polled::Settled(settled) => Poll::Ready(settled),
            Polled::Pending | Polled::Execute(_) => Poll::Pending,
        }
    }

    pub(crate) fn poll(&mut self, cx: &Context<'_>) -> Polled {
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Unpolled(request) => self.first_poll(request, cx),
            Stage::Asked(slot) => self.next_poll(slot, cx),
            Stage::Refused(failure) => {
                Polled::Settled(Settled::of(Outcome::Failed(Box::new(failure))))
            }
            Stage::Done => Polled::Pending,
        }
    }

    fn first_poll(&mut self, request: Command, cx: &Context<'_>) -> Polled {
        let address = std::ptr::from_ref(self).addr();
        let waker = cx.waker().clone();
        match self.shared.enter() {
            Ok(mut inner) => {
                let slot = inner.futures.ask(address, request, waker);
                drop(inner);
                self.stage = Stage::Asked(slot);
                Polled::Pending
            }
            Err(misuse) => Polled::misused(misuse),
        }
    }

    fn next_poll(&mut self, slot: usize, cx: &Context<'_>) -> Polled {
        self.stage = Stage::Asked(slot);
        let mut inner = match self.shared.enter() {
            Ok(inner) => inner,
            Err(misuse) => return Polled::misused(misuse),
        };
        let polled = match inner.futures.key(slot) {
            None => Polled::Pending,
            Some(key) => {
                let event_id = inner.cursor.scheduling_event(key);
                match inner.cursor.poll(key) {
                    OpPoll::Pending => Polled::Pending,
                    OpPoll::Execute => Polled::Execute(key),
                    OpPoll::Ready(outcome) => Polled::Settled(Settled { outcome, event_id }),
                }
            }
        };
        let waker = if let Polled::Settled(_) = polled {
            self.stage = Stage::Done;
            inner.taken += 1;
            inner.futures.remove(slot)
        } else {
            inner.futures.keep_waker(slot, cx.waker())
        };
        drop(inner);
        drop(waker);
        polled
    }

    /// The side effect behind this operation was executed: it is recorded.
    pub(crate) fn complete_run(&mut self, key: OpKey, result: Result<Payload, Failure>) {
        let Stage::Asked(slot) = std::mem::replace(&mut self.stage, Stage::Done) else {
            return;
        };
        let mut inner = self.shared.lock();
        inner.taken += 1;
        inner.cursor.complete_run(key, result);
        let waker = inner.futures.remove(slot);
        drop(inner);
        drop(waker);
    }
}

impl Polled {
    fn misused(misuse: Misuse) -> Self {
        Self::Settled(Settled::of(Outcome::Failed(Box::new(misuse.to_failure()))))
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        // Whoever drops it elsewhere is told apart by `enter`; when the execution
        // itself is dropped there is nothing to close.
        if let Stage::Asked(slot) = self.stage
            && let Ok(mut inner) = self.shared.enter()
        {
            if let Some(key) = inner.futures.key(slot) {
                inner.cursor.close(key);
            }
            let waker = inner.futures.remove(slot);
            drop(inner);
            drop(waker);
        }
    }
}
