//! What the context, the durable futures and the driver of one execution share.
//!
//! Invariant: no waker is woken or dropped, and no user code runs, while the
//! lock is held.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::thread::ThreadId;

use durable_core::{Cursor, Ending, ExecutionId, InstanceId, Limits, OpKey, Version};

use crate::random::SeededRandom;

/// Settings that an orchestration can feel.
#[derive(Debug, Clone)]
pub(crate) struct ContextSettings {
    pub(crate) limits: Limits,
    /// From how many events on it is time to continue as new.
    pub(crate) history_hint: u64,
}

/// Shared by everything that belongs to one execution in memory.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) instance: InstanceId,
    pub(crate) execution_id: ExecutionId,
    pub(crate) settings: Arc<ContextSettings>,
    inner: Mutex<Inner>,
}

/// What is behind the lock.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) cursor: Cursor,
    pub(crate) random: SeededRandom,
    pub(crate) version: Version,
    /// Set by continue-as-new: the root is not polled again.
    pub(crate) ending: Option<Ending>,
    /// The thread that polls the root right now.
    pub(crate) polling: Option<ThreadId>,
    /// Whether that poll is inside a recorded side effect.
    pub(crate) in_run: bool,
    /// A durable future was used where it cannot work.
    pub(crate) misuse: Option<Misuse>,
    wakers: Vec<Option<Waker>>,
}

/// How a durable future was used where it cannot work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misuse {
    /// Polled by something else than its orchestration, such as a spawned task.
    PolledElsewhere,
    /// Awaited inside a recorded side effect.
    PolledInRun,
}

impl Shared {
    pub(crate) fn new(cursor: Cursor, settings: Arc<ContextSettings>) -> Self {
        let instance = cursor.instance().clone();
        let execution_id = cursor.execution_id();
        let random = SeededRandom::of_execution(&instance, execution_id);
        Self {
            instance,
            execution_id,
            settings,
            inner: Mutex::new(Inner {
                cursor,
                random,
                version: Version::from(""),
                ending: None,
                polling: None,
                in_run: false,
                misuse: None,
                wakers: Vec::new(),
            }),
        }
    }

    /// A panic while the lock was held leaves nothing half done that is used
    /// again: the execution is dropped after a panic.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Whether a durable future may be polled here; if not, the mistake is noted.
    pub(crate) fn may_poll(&mut self) -> bool {
        let misuse = if self.polling != Some(std::thread::current().id()) {
            Misuse::PolledElsewhere
        } else if self.in_run {
            Misuse::PolledInRun
        } else {
            return true;
        };
        self.misuse.get_or_insert(misuse);
        false
    }

    /// Keeps the waker of an operation and gives back the one it replaces, to be
    /// dropped when the lock is free.
    #[must_use]
    pub(crate) fn keep_waker(&mut self, key: OpKey, waker: &Waker) -> Option<Waker> {
        if self.wakers.len() <= key.slot() {
            self.wakers.resize_with(key.slot() + 1, || None);
        }
        let kept = &mut self.wakers[key.slot()];
        match kept {
            Some(current) if current.will_wake(waker) => None,
            _ => kept.replace(waker.clone()),
        }
    }

    /// The waker of an operation, to be woken or dropped when the lock is free.
    #[must_use]
    pub(crate) fn take_waker(&mut self, key: OpKey) -> Option<Waker> {
        self.wakers.get_mut(key.slot())?.take()
    }
}
