//! The driver: polls the root as the cursor allows, until the step comes to rest.
//!
//! Invariants: the root is polled only when it was woken; it is polled until it
//! waits before the cursor hears of it; at most one durable future is ready at any
//! time; whatever the code waits for, the driver returns.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use durable_core::{Ending, EventId, Failure, Payload};

use super::branch;
use super::silence::silenced;
use super::{ContextState, Continuation, Execution, ExecutionFault, Rest, panic_message};
use crate::watchdog::{Polling, UserCode};

impl Execution {
    /// Runs the step until it comes to rest.
    pub(crate) fn drive(&mut self) -> Result<Rest, ExecutionFault> {
        let _polling = self.polling();
        self.waker.begin();
        let rest = self.drive_step();
        self.waker.pause();
        rest
    }

    /// Has the watchdog see that the code is polled.
    fn polling(&self) -> Option<Polling> {
        let watchdog = self.shared.settings.watchdog.as_ref()?;
        let code = UserCode::Orchestration {
            instance: self.shared.instance.clone(),
            name: self.identity.as_ref()?.name.clone(),
        };
        Some(watchdog.polling(code))
    }

    fn drive_step(&mut self) -> Result<Rest, ExecutionFault> {
        let mut stall = Stall::default();
        loop {
            if self.shared.lock().cursor.has_ended() {
                self.continued = self.continuing.take().or(self.continued.take());
                let tracing = Tracing::of(&self.shared.lock());
                self.waker.retire();
                self.drop_root(tracing);
                return Ok(Rest::Ended);
            }
            if self.poll_until_idle(&mut stall)? {
                self.shared.lock().flush()?;
                continue;
            }
            let mut state = self.shared.lock();
            stall.note(&state);
            let Some(grant) = state.cursor.grant()? else {
                let (is_running, open) =
                    (state.cursor.is_running(), state.cursor.open_operations());
                let is_at_end = !state.cursor.is_replaying();
                drop(state);
                return match (is_running, open) {
                    (true, _) => Ok(Rest::InRun),
                    (false, 0) if self.root.is_some() && is_at_end => {
                        Err(self.non_durable_waiter())
                    }
                    _ => Ok(Rest::Quiet),
                };
            };
            let waker = state.futures.take_waker(grant.key);
            drop(state);
            if grant.executes {
                self.permitted = waker;
                return Ok(Rest::BeforeRun);
            }
            self.wake(waker)?;
        }
    }

    /// Polls the root until it waits: as often as it wakes itself; whether it was
    /// polled at all. All this is one poll to the cursor, so whatever the branches of
    /// the code set off in each other is concurrent, and what was granted can be
    /// taken in any of these polls.
    fn poll_until_idle(&mut self, stall: &mut Stall) -> Result<bool, ExecutionFault> {
        let before = stall.polls;
        let mut ending = None;
        while ending.is_none() && self.root.is_some() && self.waker.take_woken() {
            if stall.is_hopeless() {
                return Err(ExecutionFault::Restless {
                    after: self.last_event_id(),
                });
            }
            stall.polls += 1;
            ending = self.poll_root()?;
        }
        if self.waker.was_woken_non_durably() {
            return Err(self.non_durable_waiter());
        }
        let is_polled = stall.polls > before;
        if is_polled {
            self.finish(ending);
        }
        Ok(is_polled)
    }

    /// Ends the execution if the root returned, or waits after it asked to go on in
    /// a new one.
    fn finish(&mut self, returned: Option<Ending>) {
        let mut state = self.shared.lock();
        let asked = || state.ending.take().map(|ending| *ending);
        let Some(ending) = returned.or_else(asked) else {
            return;
        };
        if let Ending::ContinuedAsNew { input, version } = &ending {
            self.continuing = Some(Box::new(Continuation {
                input: input.clone(),
                version: version.clone(),
            }));
        }
        state.cursor.finish(ending);
    }

    /// What was appended before a side effect is stored: let it execute.
    pub(crate) fn go_ahead(&mut self) -> Result<Rest, ExecutionFault> {
        let _polling = self.polling();
        self.waker.begin();
        let waker = self.permitted.take();
        let rest = self.wake(waker).and_then(|()| self.drive_step());
        self.waker.pause();
        rest
    }

    /// Wakes a granted future. If that does not wake the root, the future is not
    /// polled, and the grant lapses.
    fn wake(&self, waker: Option<Waker>) -> Result<(), ExecutionFault> {
        if let Some(waker) = waker {
            waker.wake();
        }
        if !self.waker.is_woken() {
            self.shared.lock().flush()?;
        }
        Ok(())
    }

    /// Polls the root once; how it returned, if it did.
    fn poll_root(&mut self) -> Result<Option<Ending>, ExecutionFault> {
        let Some(root) = self.root.as_mut() else {
            return Ok(None);
        };
        let mut state = self.shared.lock();
        state.polling = Some(std::thread::current().id());
        let tracing = Tracing::of(&state);
        drop(state);
        let waker = Waker::from(Arc::clone(&self.waker));
        let polled = tracing.scope(|| {
            std::panic::catch_unwind(AssertUnwindSafe(|| {
                branch::at_root(|| Pin::new(root).poll(&mut Context::from_waker(&waker)))
            }))
        });
        let mut state = self.shared.lock();
        state.polling = None;
        let after = state.cursor.last_event_id();
        if let Some(misuse) = state.misuse {
            return Err(ExecutionFault::Misuse { misuse, after });
        }
        drop(state);
        match polled {
            Ok(Poll::Pending) => Ok(None),
            Ok(Poll::Ready(result)) => {
                // What it held went with its last poll.
                self.root = None;
                Ok(Some(ending_of(result)))
            }
            Err(panic) => {
                let message = panic_message(panic.as_ref());
                Err(ExecutionFault::Panicked { message, after })
            }
        }
    }

    /// Why something that is not durable is at work.
    fn non_durable_waiter(&self) -> ExecutionFault {
        let state = self.shared.lock();
        let after = state.cursor.last_event_id();
        match state.misuse {
            Some(misuse) => ExecutionFault::Misuse { misuse, after },
            None => ExecutionFault::NonDurableWait { after },
        }
    }

    /// Drops the root where it stands. What its parts do in their last moment has
    /// no effect, and a panic there harms no other instance.
    pub(super) fn drop_root(&mut self, tracing: Tracing) {
        let Some(root) = self.root.take() else {
            return;
        };
        let dropped = tracing.scope(|| std::panic::catch_unwind(AssertUnwindSafe(|| drop(root))));
        if let Err(panic) = dropped {
            let instance = &self.shared.instance;
            let message = panic_message(panic.as_ref());
            tracing::error!(%instance, message, "an orchestration panicked while it was dropped");
        }
    }
}

/// Whether a step comes to nothing.
#[derive(Default)]
struct Stall {
    /// Polls since the code last did something or took a value.
    polls: u32,
    seen: Option<(EventId, u64)>,
}

impl Stall {
    /// More polls than any sensible code needs to do something.
    const MOST_POLLS: u32 = 1_000_000;

    fn note(&mut self, state: &ContextState) {
        let seen = Some((state.cursor.last_event_id(), state.taken));
        if self.seen != seen {
            *self = Self { polls: 0, seen };
        }
    }

    fn is_hopeless(&self) -> bool {
        self.polls >= Self::MOST_POLLS
    }
}

/// Whether the code's `tracing` output is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tracing {
    Heard,
    /// What the code does now was done before, or it is only being dropped.
    Silent,
}

impl Tracing {
    fn of(state: &ContextState) -> Self {
        if state.is_replaying() {
            Self::Silent
        } else {
            Self::Heard
        }
    }

    fn scope<T>(self, code: impl FnOnce() -> T) -> T {
        match self {
            Self::Heard => code(),
            Self::Silent => silenced(code),
        }
    }
}

fn ending_of(result: Result<Payload, Failure>) -> Ending {
    match result {
        Ok(output) => Ending::Completed { output },
        Err(failure) => Ending::Failed { failure },
    }
}
