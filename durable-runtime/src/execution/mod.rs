//! One execution in memory: its cursor, its root future, and the driver that
//! polls the one as the other allows.
//!
//! The driver is synchronous and does no I/O. Live execution, recovery and
//! verification all use it.

mod fault;
mod waker;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use durable_core::{
    Advance, Carried, Cursor, Delivery, Ending, Event, EventId, ExecutionId, Failure, HistoryEntry,
    InstanceId, Name, Parent, Payload, Version,
};

use tokio::sync::mpsc::UnboundedSender;

use crate::context::{ContextSettings, OrchestrationContext, Shared};
use crate::registry::{CodeFuture, Registry};

pub(crate) use fault::Fault;
pub(crate) use waker::RootWaker;

/// One execution in memory.
pub(crate) struct Execution {
    shared: Arc<Shared>,
    registry: Arc<Registry>,
    root: Option<CodeFuture>,
    waker: Arc<RootWaker>,
    identity: Option<Identity>,
    /// Open children by scheduling event: whom to tell when they are given up.
    children: BTreeMap<EventId, InstanceId>,
    /// An operation that waits for the go-ahead to execute.
    permitted: Option<Waker>,
    /// How the code asked to go on in a new execution.
    continued: Option<(Payload, Option<Version>)>,
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
pub(crate) enum Replayed {
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
        foreign_wakes: Option<UnboundedSender<InstanceId>>,
    ) -> Self {
        let cursor = Cursor::new(instance.clone(), execution_id);
        Self {
            shared: Arc::new(Shared::new(cursor, settings)),
            registry,
            root: None,
            waker: Arc::new(RootWaker::new(instance, foreign_wakes)),
            identity: None,
            children: BTreeMap::new(),
            permitted: None,
            continued: None,
        }
    }

    pub(crate) fn instance(&self) -> &InstanceId {
        &self.shared.instance
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

    /// Adds a recorded entry to what is to be replayed.
    pub(crate) fn feed(&mut self, entry: HistoryEntry) -> Result<(), Fault> {
        self.note_child(&entry.event);
        Ok(self.shared.lock().cursor.feed(entry)?)
    }

    /// Says that there are no more recorded entries.
    pub(crate) fn end_of_history(&mut self) {
        self.shared.lock().cursor.end_of_history();
    }

    /// Replays as far as the fed entries allow.
    pub(crate) fn replay(&mut self) -> Result<Replayed, Fault> {
        let mut rest = Rest::Quiet;
        loop {
            let advance = self.shared.lock().cursor.advance()?;
            rest = match advance {
                Advance::NeedsHistory => return Ok(Replayed::NeedsHistory),
                Advance::Live => return Ok(Replayed::UpToDate(rest)),
                Advance::Ended => return Ok(Replayed::UpToDate(Rest::Ended)),
                Advance::Started(event) => {
                    self.start(&event)?;
                    self.drive()?
                }
                Advance::Input => self.drive()?,
            };
            if matches!(rest, Rest::BeforeRun | Rest::InRun) {
                return Ok(Replayed::UpToDate(rest));
            }
        }
    }

    /// Delivers a new input. If it was accepted, [`drive`](Self::drive) the step.
    pub(crate) fn deliver(&mut self, event: Event, now_ms: u64) -> Result<Delivery, Fault> {
        if let Event::OrchestrationStarted { name, version, .. } = &event
            && self.registry.orchestration(name, version).is_none()
        {
            return Err(Fault::NotRegistered {
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

    fn start(&mut self, event: &Event) -> Result<(), Fault> {
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
        let Some(code) = self.registry.orchestration(name, version) else {
            return Err(Fault::NotRegistered {
                name: name.clone(),
                version: version.clone(),
            });
        };
        self.shared.lock().version = version.clone();
        let context = OrchestrationContext::new(Arc::clone(&self.shared));
        let (code, input) = (Arc::clone(code), input.clone());
        self.root = Some(Box::pin(tokio::task::unconstrained(async move {
            code(context, input).await
        })));
        self.identity = Some(Identity {
            name: name.clone(),
            version: version.clone(),
            parent: parent.clone(),
        });
        self.waker.mark_woken();
        Ok(())
    }

    /// Runs the step until it comes to rest.
    pub(crate) fn drive(&mut self) -> Result<Rest, Fault> {
        self.waker.begin();
        let rest = self.drive_step();
        self.waker.pause(matches!(rest, Ok(Rest::InRun)));
        rest
    }

    fn drive_step(&mut self) -> Result<Rest, Fault> {
        loop {
            if self.shared.lock().cursor.has_ended() {
                self.root = None;
                return Ok(Rest::Ended);
            }
            if self.waker.was_woken_by_foreigner() {
                return Err(self.foreign_wait());
            }
            if self.waker.take_woken() {
                self.poll_root()?;
                self.shared.lock().cursor.flush()?;
                continue;
            }
            let mut inner = self.shared.lock();
            let Some(grant) = inner.cursor.grant()? else {
                let (is_running, open) =
                    (inner.cursor.is_running(), inner.cursor.open_operations());
                let is_cut_off = inner.cursor.is_replaying();
                drop(inner);
                return match (is_running, open) {
                    (true, _) => Ok(Rest::InRun),
                    (false, 0) if self.root.is_some() && !is_cut_off => Err(self.foreign_wait()),
                    _ => Ok(Rest::Quiet),
                };
            };
            let waker = inner.take_waker(grant.key);
            drop(inner);
            if grant.executes {
                self.permitted = waker;
                return Ok(Rest::BeforeRun);
            }
            self.wake(waker)?;
        }
    }

    /// What was appended before a side effect is stored: let it execute.
    pub(crate) fn go_ahead(&mut self) -> Result<Rest, Fault> {
        self.waker.begin();
        let waker = self.permitted.take();
        let rest = self.wake(waker).and_then(|()| self.drive_step());
        self.waker.pause(matches!(rest, Ok(Rest::InRun)));
        rest
    }

    /// Wakes a granted future. If that does not wake the root, the future will not
    /// be polled: the grant lapses.
    fn wake(&mut self, waker: Option<Waker>) -> Result<(), Fault> {
        if let Some(waker) = waker {
            waker.wake();
        }
        let is_woken = self.waker.take_woken();
        if is_woken {
            self.waker.mark_woken();
        } else {
            self.shared.lock().cursor.flush()?;
        }
        Ok(())
    }

    fn poll_root(&mut self) -> Result<(), Fault> {
        let Some(root) = self.root.as_mut() else {
            return Ok(());
        };
        let mut inner = self.shared.lock();
        inner.polling = Some(std::thread::current().id());
        let is_replaying = inner.cursor.is_replaying();
        drop(inner);
        let waker = Waker::from(Arc::clone(&self.waker));
        let polled = silenced(is_replaying, || {
            std::panic::catch_unwind(AssertUnwindSafe(|| {
                root.as_mut().poll(&mut Context::from_waker(&waker))
            }))
        });
        let mut inner = self.shared.lock();
        inner.polling = None;
        inner.in_run = false;
        let after = inner.cursor.last_event_id();
        if let Some(misuse) = inner.misuse {
            return Err(Fault::Misuse { misuse, after });
        }
        let ending = match polled {
            Ok(Poll::Ready(result)) => Some(ending_of(result)),
            Ok(Poll::Pending) => inner.ending.take(),
            Err(panic) => {
                let message = panic_message(panic.as_ref());
                return Err(Fault::Panicked { message, after });
            }
        };
        if let Some(ending) = ending {
            if let Ending::ContinuedAsNew { input, version } = &ending {
                self.continued = Some((input.clone(), version.clone()));
            }
            inner.cursor.finish(ending);
        }
        Ok(())
    }

    fn foreign_wait(&self) -> Fault {
        Fault::ForeignWait {
            after: self.last_event_id(),
        }
    }

    /// What is to be stored since the last call.
    pub(crate) fn take_appended(&mut self) -> Vec<HistoryEntry> {
        self.shared.lock().cursor.take_appended()
    }

    /// The start of the next execution, if this one ended by continuing as new.
    pub(crate) fn take_next_start(&mut self) -> Option<Event> {
        let (input, version) = self.continued.take()?;
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
            carried: carried.map_or_else(Carried::default, |carried| *carried),
        })
    }

    /// Keeps track of open children; answers with the child that an event is
    /// about.
    pub(crate) fn note_child(&mut self, event: &Event) -> Option<InstanceId> {
        match event {
            Event::SubOrchestrationScheduled {
                event_id, instance, ..
            } => {
                self.children.insert(*event_id, instance.clone());
                Some(instance.clone())
            }
            Event::SubOrchestrationCompleted {
                source_event_id, ..
            }
            | Event::SubOrchestrationFailed {
                source_event_id, ..
            }
            | Event::SubOrchestrationCancelRequested {
                source_event_id, ..
            } => self.children.remove(source_event_id),
            _ => None,
        }
    }

    /// The children that nobody has heard of yet.
    pub(crate) fn take_children(&mut self) -> Vec<(EventId, InstanceId)> {
        std::mem::take(&mut self.children).into_iter().collect()
    }
}

fn ending_of(result: Result<Payload, Failure>) -> Ending {
    match result {
        Ok(output) => Ending::Completed { output },
        Err(failure) => Ending::Failed { failure },
    }
}

/// Runs code over recorded events without its `tracing` output.
fn silenced<T>(is_replaying: bool, code: impl FnOnce() -> T) -> T {
    if is_replaying {
        tracing::dispatcher::with_default(&tracing::Dispatch::none(), code)
    } else {
        code()
    }
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
