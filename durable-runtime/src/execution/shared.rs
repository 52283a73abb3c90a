//! What the context, the durable futures and the driver of one execution share.
//!
//! Invariant: no waker is woken or dropped, and no user code runs, while the
//! lock is held.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use durable_core::provider::StreamPush;
use durable_core::{
    Cursor, CursorError, Ending, ExecutionId, Failure, FailureKind, InstanceId, Limits,
    OneWayCommand, Version,
};

use super::futures::DurableFutures;
use super::waker::RootWaker;
use crate::options::RuntimeOptions;
use crate::random::SeededRandom;
use crate::watchdog::Watchdog;

/// What all executions of a node share.
#[derive(Debug, Clone)]
pub(crate) struct ContextSettings {
    pub(crate) limits: Limits,
    /// From how many events on it is time to continue as new.
    pub(crate) continue_as_new_after: u64,
    /// Sees the polls of the code.
    pub(crate) watchdog: Option<Arc<Watchdog>>,
}

impl ContextSettings {
    pub(crate) fn of(options: &RuntimeOptions) -> Self {
        Self {
            limits: options.limits,
            continue_as_new_after: options.continue_as_new_after,
            watchdog: None,
        }
    }

    pub(crate) fn watched_by(self, watchdog: Option<Arc<Watchdog>>) -> Self {
        Self { watchdog, ..self }
    }
}

/// Shared by everything that belongs to one execution in memory.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) instance: InstanceId,
    pub(crate) execution_id: ExecutionId,
    pub(crate) settings: Arc<ContextSettings>,
    pub(crate) waker: Arc<RootWaker>,
    state: Mutex<ContextState>,
}

/// What is behind the lock.
#[derive(Debug)]
pub(crate) struct ContextState {
    pub(crate) cursor: Cursor,
    pub(crate) random: SeededRandom,
    pub(crate) version: Version,
    /// Set by continue-as-new: the root is not polled again. Boxed: it comes once.
    pub(crate) ending: Option<Box<Ending>>,
    /// The thread that polls the root right now.
    pub(crate) polling: Option<ThreadId>,
    /// Whether that poll is inside a recorded side effect.
    pub(crate) in_run: bool,
    /// Whether what the code does now was done before.
    pub(crate) replaying: bool,
    /// What the code pushed to streams since the last step was absorbed.
    pub(crate) pushed: Pushed,
    /// How many values were taken and side effects begun.
    pub(crate) taken: u64,
    /// The context or a durable future was used where it cannot work.
    pub(crate) misuse: Option<Misuse>,
    pub(crate) futures: DurableFutures,
}

/// What the code pushed to streams. Most code pushes nothing, and thousands of executions wait in
/// memory: nothing is a single word.
#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "an empty one is to be small")]
pub(crate) struct Pushed(Option<Box<Vec<StreamPush>>>);

impl Pushed {
    pub(crate) fn push(&mut self, push: StreamPush) {
        self.0.get_or_insert_default().push(push);
    }

    /// All of it; nothing is left.
    pub(crate) fn take(&mut self) -> Vec<StreamPush> {
        self.0.take().map_or_else(Vec::new, |pushed| *pushed)
    }
}

/// How the context or one of its futures was used where it cannot work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misuse {
    /// By something else than its orchestration, such as a spawned task.
    Elsewhere,
    /// Inside a recorded side effect.
    InRun,
    /// To ask for a patch whose name is empty or too long.
    PatchName,
}

impl Misuse {
    /// What is wrong, and what to do.
    pub(crate) const fn explanation(self) -> &'static str {
        match self {
            Self::Elsewhere => {
                "the context or one of its futures was used outside of its orchestration, such as \
                 in `tokio::spawn`: use it in the orchestration itself"
            }
            Self::InRun => {
                "the context or one of its futures was used inside a recorded side effect: \
                 use it outside of `run`"
            }
            Self::PatchName => "a patch was asked for whose name is empty or too long",
        }
    }

    /// What the code that did it is told. The execution itself is stopped.
    pub(crate) fn to_failure(self) -> Failure {
        Failure::new(FailureKind::DeterminismViolation, self.explanation())
    }
}

impl Shared {
    pub(crate) fn new(
        cursor: Cursor,
        settings: Arc<ContextSettings>,
        waker: Arc<RootWaker>,
    ) -> Self {
        let instance = cursor.instance().clone();
        let execution_id = cursor.execution_id();
        let random = SeededRandom::of_execution(&instance, execution_id);
        Self {
            instance,
            execution_id,
            settings,
            waker,
            state: Mutex::new(ContextState {
                cursor,
                random,
                version: Version::from(""),
                ending: None,
                polling: None,
                in_run: false,
                replaying: false,
                pushed: Pushed::default(),
                taken: 0,
                misuse: None,
                futures: DurableFutures::default(),
            }),
        }
    }

    /// A panic while the lock was held leaves nothing half done that is used
    /// again: the execution is dropped after a panic.
    pub(crate) fn lock(&self) -> MutexGuard<'_, ContextState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks for what only the orchestration itself may do, while it is polled. A
    /// misuse is noted: the execution is stopped for it.
    pub(crate) fn enter(&self) -> Result<MutexGuard<'_, ContextState>, Misuse> {
        let mut state = self.lock();
        let misuse = if state.polling != Some(std::thread::current().id()) {
            Misuse::Elsewhere
        } else if state.in_run {
            Misuse::InRun
        } else {
            return Ok(state);
        };
        state.misuse.get_or_insert(misuse);
        drop(state);
        if misuse == Misuse::Elsewhere {
            self.waker.report_non_durable_use();
        }
        Err(misuse)
    }

    /// The code does something that has no answer.
    pub(crate) fn emit(&self, notice: OneWayCommand) -> Result<(), Failure> {
        self.enter()
            .map_err(Misuse::to_failure)?
            .cursor
            .emit(notice);
        Ok(())
    }
}

impl ContextState {
    /// Whether what the code does now was done before.
    pub(crate) fn is_replaying(&self) -> bool {
        self.replaying || self.cursor.is_replaying()
    }

    /// Gives back the memory that only a step in progress needs.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.futures.shrink_to_fit();
        self.cursor.shrink_to_fit();
    }

    /// Ends a poll: what the code asked for is passed on, and compared or appended.
    pub(crate) fn flush(&mut self) -> Result<(), CursorError> {
        self.futures.pass_on(&mut self.cursor);
        self.cursor.flush()
    }
}
