//! The durable future: lazy until first polled, then an open operation of the
//! cursor, until its value is granted or it is dropped.

use std::sync::Arc;
use std::task::{Context, Poll};

use durable_core::{EventId, Failure, OpKey, OpPoll, Outcome, Request};

use crate::context::Shared;

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
    Unpolled(Request),
    /// It could not be asked for at all.
    Refused(Failure),
    /// The cursor knows it.
    Open(OpKey),
    /// Its value was taken.
    Done,
}

/// The value of an operation and the event that scheduled it.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) outcome: Outcome,
    pub(crate) event_id: Option<EventId>,
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
    pub(crate) fn lazy(shared: &Arc<Shared>, request: Result<Request, Failure>) -> Self {
        Self {
            shared: Arc::clone(shared),
            stage: match request {
                Ok(request) => Stage::Unpolled(request),
                Err(failure) => Stage::Refused(failure),
            },
        }
    }

    /// An operation that the cursor knows already.
    pub(crate) fn opened(shared: &Arc<Shared>, key: OpKey) -> Self {
        Self {
            shared: Arc::clone(shared),
            stage: Stage::Open(key),
        }
    }

    /// The request, as long as nothing happened.
    pub(crate) fn request_mut(&mut self) -> Option<&mut Request> {
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
            Stage::Open(key) => self.next_poll(key, cx),
            Stage::Refused(failure) => Polled::Settled(Settled {
                outcome: Outcome::Failed(failure),
                event_id: None,
            }),
            Stage::Done => Polled::Pending,
        }
    }

    fn first_poll(&mut self, request: Request, cx: &Context<'_>) -> Polled {
        let mut inner = self.shared.lock();
        if !inner.may_poll() {
            self.stage = Stage::Unpolled(request);
            return Polled::Pending;
        }
        let key = inner.cursor.open(request);
        let replaced = inner.keep_waker(key, cx.waker());
        drop(inner);
        drop(replaced);
        self.stage = Stage::Open(key);
        Polled::Pending
    }

    fn next_poll(&mut self, key: OpKey, cx: &Context<'_>) -> Polled {
        self.stage = Stage::Open(key);
        let mut inner = self.shared.lock();
        if !inner.may_poll() {
            return Polled::Pending;
        }
        let event_id = inner.cursor.scheduling_event(key);
        let (polled, waker) = match inner.cursor.poll(key) {
            OpPoll::Pending => (Polled::Pending, inner.keep_waker(key, cx.waker())),
            OpPoll::Execute => (Polled::Execute(key), inner.keep_waker(key, cx.waker())),
            OpPoll::Ready(outcome) => {
                self.stage = Stage::Done;
                let settled = Settled { outcome, event_id };
                (Polled::Settled(settled), inner.take_waker(key))
            }
        };
        drop(inner);
        drop(waker);
        polled
    }

    /// The side effect behind this operation was executed and recorded.
    pub(crate) fn executed(&mut self) {
        self.stage = Stage::Done;
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        if let Stage::Open(key) = self.stage {
            let mut inner = self.shared.lock();
            inner.cursor.close(key);
            let waker = inner.take_waker(key);
            drop(inner);
            drop(waker);
        }
    }
}
