//! One execution in memory: its cursor and its root future.
//!
//! It is synchronous and does no I/O. Live execution, recovery, verification and
//! the replayer all use it, so they cannot differ.

mod branch;
mod call_site;
mod drive;
mod fault;
mod futures;
mod live;
mod operation;
mod shared;
mod silence;
mod stop_request;
mod waker;

use std::ops::Range;
use std::sync::Arc;
use std::task::Waker;

use durable_core::{
    ActivityDeadline, Advance, AppendedEntry, Attributes, Cursor, Delivery, Event, EventId,
    ExecutionId, HistoryEntry, InstanceId, LeftOpen, Name, Parent, Payload, TraceParent, Version,
};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::coop::Unconstrained;

use crate::context::OrchestrationContext;
use crate::registry::{CodeFuture, Registry};

use drive::Tracing;

pub(crate) use branch::{BranchSegment, within};
pub(crate) use fault::ExecutionFault;
pub(crate) use live::LiveExecution;
pub(crate) use operation::DurableOperation;
pub use shared::Misuse;
pub(crate) use shared::{ContextSettings, Shared};
pub(crate) use stop_request::{StopCause, StopRequest};
pub(crate) use waker::{Executing, RootWaker};

use shared::ContextState;

/// One execution in memory.
pub(crate) struct Execution {
    shared: Arc<Shared>,
    registry: Arc<Registry>,
    root: Option<Unconstrained<CodeFuture>>,
    waker: Arc<RootWaker>,
    identity: Option<Identity>,
    /// An operation that waits for the go-ahead to execute.
    permitted: Option<Waker>,
    /// How the code asked to go on in a new execution.
    continuing: Option<Box<Continuation>>,
    /// How it goes on, if that was how it ended.
    continued: Option<Box<Continuation>>,
}

/// What the code gives to the execution that follows this one.
#[derive(Debug)]
struct Continuation {
    input: Payload,
    /// `None` is the newest.
    version: Option<Version>,
}

/// What an execution was started as.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) name: Name,
    pub(crate) version: Version,
    pub(crate) parent: Option<Parent>,
}

/// Where a step came to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It can go no further without a new input.
    Quiet,
    /// A recorded side effect is about to execute: store what was appended, then
    /// [`Execution::go_ahead`].
    BeforeRun,
    /// A recorded side effect is executing: wait for it, then drive on.
    InRun,
    /// The execution ended.
    Ended,
}

/// How far a replay came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplayProgress {
    /// More entries are needed, or the word that there are none.
    NeedsHistory,
    /// Everything recorded was replayed; the last step came to rest like this.
    UpToDate(Rest),
}

impl Execution {
    pub(crate) fn new(
        instance: InstanceId,
        execution_id: ExecutionId,
        registry: Arc<Registry>,
        settings: Arc<ContextSettings>,
        stop_requests: Option<UnboundedSender<StopRequest>>,
    ) -> Self {
        let cursor = Cursor::new(instance.clone(), execution_id);
        let waker = Arc::new(RootWaker::new(instance, stop_requests));
        Self {
            shared: Arc::new(Shared::new(cursor, settings, Arc::clone(&waker))),
            registry,
            root: None,
            waker,
            identity: None,
            permitted: None,
            continuing: None,
            continued: None,
        }
    }

    pub(crate) fn instance(&self) -> &InstanceId {
        &self.shared.instance
    }

    /// Gives back the memory that only a step in progress needs: it will wait.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.shared.lock().shrink_to_fit();
    }

    /// Whether the execution ended and its instance with it.
    pub(crate) fn has_ended(&self) -> bool {
        self.continued.is_none() && self.shared.lock().cursor.has_ended()
    }

    pub(crate) fn execution_id(&self) -> ExecutionId {
        self.shared.execution_id
    }

    pub(crate) fn last_event_id(&self) -> EventId {
        self.shared.lock().cursor.last_event_id()
    }

    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// Waits until the executing side effect can go on.
    pub(crate) async fn run_progress(&mut self) {
        self.waker.run_progress().await;
    }

    /// The scheduling event of an open promise.
    pub(crate) fn promise_event_id(&self, number: u64) -> Option<EventId> {
        self.shared.lock().cursor.promise_event_id(number)
    }

    /// The total timeout of the open activity that this event scheduled.
    pub(crate) fn activity_deadline(&self, scheduled: EventId) -> Option<ActivityDeadline> {
        let shared = self.shared.lock();
        shared.cursor.activity_deadline(scheduled).cloned()
    }

    /// Adds a recorded entry to what is to be replayed.
    pub(crate) fn feed(&mut self, entry: HistoryEntry) -> Result<(), ExecutionFault> {
        Ok(self.shared.lock().cursor.feed(entry)?)
    }

    /// Says that there are no more recorded entries.
    pub(crate) fn end_of_history(&mut self) {
        self.shared.lock().cursor.end_of_history();
    }

    /// Replays as far as the fed entries allow.
    ///
    /// A history is stored step by step, so whatever the code does here it has
    /// done before, also after the last recorded event.
    pub(crate) fn replay(&mut self) -> Result<ReplayProgress, ExecutionFault> {
        self.shared.lock().replaying = true;
        let replayed = self.replay_steps();
        self.shared.lock().replaying = false;
        replayed
    }

    fn replay_steps(&mut self) -> Result<ReplayProgress, ExecutionFault> {
        let mut rest = Rest::Quiet;
        loop {
            let advance = self.shared.lock().cursor.advance()?;
            rest = match advance {
                Advance::NeedsHistory => return Ok(ReplayProgress::NeedsHistory),
                Advance::Live => return Ok(ReplayProgress::UpToDate(rest)),
                Advance::Ended => return Ok(ReplayProgress::UpToDate(Rest::Ended)),
                Advance::Started(event) => {
                    self.start(&event)?;
                    self.drive()?
                }
                Advance::Input => self.drive()?,
            };
            if matches!(rest, Rest::BeforeRun | Rest::InRun) {
                return Ok(ReplayProgress::UpToDate(rest));
            }
        }
    }

    /// Delivers a new input. If it was accepted, [`drive`](Self::drive) the step.
    pub(crate) fn deliver(
        &mut self,
        event: Event,
        now_ms: u64,
    ) -> Result<Delivery, ExecutionFault> {
        if let Event::OrchestrationStarted { name, version, .. } = &event
            && self.registry.orchestration(name, version).is_none()
        {
            return Err(ExecutionFault::NotRegistered {
                name: name.clone(),
                version: version.clone(),
            });
        }
        let started = matches!(event, Event::OrchestrationStarted { .. }).then(|| event.clone());
        let delivery = self.shared.lock().cursor.deliver(event, now_ms)?;
        if delivery == Delivery::Accepted
            && let Some(event) = started
        {
            self.start(&event)?;
        }
        Ok(delivery)
    }

    fn start(&mut self, event: &Event) -> Result<(), ExecutionFault> {
        let Event::OrchestrationStarted {
            name,
            version,
            input,
            parent,
            ..
        } = event
        else {
            return Ok(());
        };
        let Some(registered) = self.registry.orchestration(name, version) else {
            return Err(ExecutionFault::NotRegistered {
                name: name.clone(),
                version: version.clone(),
            });
        };
        // The texts of the registry: executions that wait share them.
        let (name, version) = (registered.name.clone(), registered.version.clone());
        let context = OrchestrationContext::new(Arc::clone(&self.shared));
        let root = (registered.code)(context, input.clone());
        let mut state = self.shared.lock();
        state.version = version.clone();
        state.futures.set_root(memory_of(&root));
        drop(state);
        self.root = Some(tokio::task::unconstrained(root));
        self.identity = Some(Identity {
            name,
            version,
            parent: parent.clone(),
        });
        self.waker.mark_woken();
        Ok(())
    }

    /// What is to be stored since the last call.
    pub(crate) fn take_appended(&mut self) -> Vec<AppendedEntry> {
        self.shared.lock().cursor.take_appended()
    }

    /// The attributes of the instance.
    pub(crate) fn attributes(&self) -> Attributes {
        self.shared.lock().cursor.attributes().clone()
    }

    /// The trace that the instance belongs to.
    pub(crate) fn trace_parent(&self) -> Option<TraceParent> {
        self.shared.lock().cursor.trace_parent().cloned()
    }

    /// What was still open when the execution ended.
    pub(crate) fn take_left_open(&mut self) -> Vec<LeftOpen> {
        self.shared.lock().cursor.take_left_open()
    }

    /// The start of the next execution, if this one ended by continuing as new.
    pub(crate) fn take_next_start(&mut self) -> Option<Event> {
        let Continuation { input, version } = *self.continued.take()?;
        let identity = self.identity.clone()?;
        let carried = self.shared.lock().cursor.take_carried();
        Some(Event::OrchestrationStarted {
            event_id: EventId::UNASSIGNED,
            version: version
                .or_else(|| self.registry.newest_version(&identity.name))
                .unwrap_or(identity.version),
            name: identity.name,
            input,
            parent: identity.parent,
            carried: carried.and_then(|carried| carried.unless_empty()),
        })
    }
}

/// The addresses of a future's own memory.
fn memory_of(future: &CodeFuture) -> Range<usize> {
    let start = std::ptr::from_ref(&**future).addr();
    start..start + size_of_val(&**future)
}

/// The text of a panic.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".into())
}

impl Drop for Execution {
    fn drop(&mut self) {
        self.waker.retire();
        self.drop_root(Tracing::Silent);
    }
}

impl std::fmt::Debug for Execution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Execution")
            .field("instance", &self.shared.instance)
            .field("execution_id", &self.shared.execution_id)
            .field("last_event_id", &self.last_event_id())
            .finish_non_exhaustive()
    }
}
