//! One execution in memory: its cursor, its root future, and the driver that
//! polls the one as the other allows.
//!
//! The driver is synchronous and does no I/O. Live execution, recovery and
//! verification all use it.

mod fault;
mod waker;

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use durable_core::{
    Advance, Carried, Cursor, Delivery, Ending, Event, EventId, ExecutionId, Failure, HistoryEntry,
    InstanceId, Name, Parent, Payload, Version,
};

use tokio::sync::mpsc::UnboundedSender;
use tokio::task::coop::Unconstrained;

use crate::context::{ContextSettings, Inner, OrchestrationContext, Shared};
use crate::registry::{CodeFuture, Registry};

pub(crate) use fault::Fault;
pub(crate) use waker::{Executing, RootWaker};

/// One execution in memory.
pub(crate) struct Execution {
    shared: Arc<Shared>,
    registry: Arc<Registry>,
    root: Option<Unconstrained<CodeFuture>>,
    waker: Arc<RootWaker>,
    identity: Option<Identity>,
    /// Open children by scheduling event: whom to tell when they are given up.
    children: BTreeMap<EventId, InstanceId>,
    /// An operation that waits for the go-ahead to execute.
    permitted: Option<Waker>,
    /// How the code asked to go on in a new execution.
    continuing: Option<(Payload, Option<Version>)>,
    /// How it goes on, if that was how it ended.
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
        let waker = Arc::new(RootWaker::new(instance, foreign_wakes));
        Self {
            shared: Arc::new(Shared::new(cursor, settings, Arc::clone(&waker))),
            registry,
            root: None,
            waker,
            identity: None,
            children: BTreeMap::new(),
            permitted: None,
            continuing: None,
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
    ///
    /// A history is stored step by step, so whatever the code does here it has
    /// done before, also after the last recorded event.
    pub(crate) fn replay(&mut self) -> Result<Replayed, Fault> {
        self.shared.lock().replaying = true;
        let replayed = self.replay_steps();
        self.shared.lock().replaying = false;
        replayed
    }

    fn replay_steps(&mut self) -> Result<Replayed, Fault> {
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
        let context = OrchestrationContext::new(Arc::clone(&self.shared));
        let root = code(context, input.clone());
        let mut inner = self.shared.lock();
        inner.version = version.clone();
        inner.futures.set_root(memory_of(&root));
        drop(inner);
        self.root = Some(tokio::task::unconstrained(root));
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
        self.waker.pause();
        rest
    }

    fn drive_step(&mut self) -> Result<Rest, Fault> {
        let mut stall = Stall::default();
        loop {
            if self.shared.lock().cursor.has_ended() {
                self.continued = self.continuing.take().or(self.continued.take());
                self.waker.retire();
                self.drop_root();
                return Ok(Rest::Ended);
            }
            if self.poll_until_idle(&mut stall)? {
                self.shared.lock().flush()?;
                continue;
            }
            let mut inner = self.shared.lock();
            stall.note(&inner);
            let Some(grant) = inner.cursor.grant()? else {
                let (is_running, open) =
                    (inner.cursor.is_running(), inner.cursor.open_operations());
                let is_at_end = !inner.cursor.is_replaying();
                drop(inner);
                return match (is_running, open) {
                    (true, _) => Ok(Rest::InRun),
                    (false, 0) if self.root.is_some() && is_at_end => Err(self.foreigner()),
                    _ => Ok(Rest::Quiet),
                };
            };
            let waker = inner.futures.take_waker(grant.key);
            drop(inner);
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
    fn poll_until_idle(&mut self, stall: &mut Stall) -> Result<bool, Fault> {
        let before = stall.polls;
        let mut ending = None;
        while ending.is_none() && self.root.is_some() && self.waker.take_woken() {
            if stall.is_hopeless() {
                return Err(Fault::Restless {
                    after: self.last_event_id(),
                });
            }
            stall.polls += 1;
            ending = self.poll_root()?;
        }
        if self.waker.was_woken_by_foreigner() {
            return Err(self.foreigner());
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
        let mut inner = self.shared.lock();
        let Some(ending) = returned.or_else(|| inner.ending.take()) else {
            return;
        };
        if let Ending::ContinuedAsNew { input, version } = &ending {
            self.continuing = Some((input.clone(), version.clone()));
        }
        inner.cursor.finish(ending);
    }

    /// What was appended before a side effect is stored: let it execute.
    pub(crate) fn go_ahead(&mut self) -> Result<Rest, Fault> {
        self.waker.begin();
        let waker = self.permitted.take();
        let rest = self.wake(waker).and_then(|()| self.drive_step());
        self.waker.pause();
        rest
    }

    /// Wakes a granted future. If that does not wake the root, the future is not
    /// polled, and the grant lapses.
    fn wake(&self, waker: Option<Waker>) -> Result<(), Fault> {
        if let Some(waker) = waker {
            waker.wake();
        }
        if !self.waker.is_woken() {
            self.shared.lock().flush()?;
        }
        Ok(())
    }

    /// Polls the root once; how it returned, if it did.
    fn poll_root(&mut self) -> Result<Option<Ending>, Fault> {
        let Some(root) = self.root.as_mut() else {
            return Ok(None);
        };
        let mut inner = self.shared.lock();
        inner.polling = Some(std::thread::current().id());
        let is_replaying = inner.is_replaying();
        drop(inner);
        let waker = Waker::from(Arc::clone(&self.waker));
        let polled = silenced(is_replaying, || {
            std::panic::catch_unwind(AssertUnwindSafe(|| {
                Pin::new(root).poll(&mut Context::from_waker(&waker))
            }))
        });
        let mut inner = self.shared.lock();
        inner.polling = None;
        let after = inner.cursor.last_event_id();
        if let Some(misuse) = inner.misuse {
            return Err(Fault::Misuse { misuse, after });
        }
        drop(inner);
        match polled {
            Ok(Poll::Pending) => Ok(None),
            Ok(Poll::Ready(result)) => {
                // What it held went with its last poll.
                self.root = None;
                Ok(Some(ending_of(result)))
            }
            Err(panic) => {
                let message = panic_message(panic.as_ref());
                Err(Fault::Panicked { message, after })
            }
        }
    }

    /// Why something that is not durable is at work.
    fn foreigner(&self) -> Fault {
        let inner = self.shared.lock();
        let after = inner.cursor.last_event_id();
        match inner.misuse {
            Some(misuse) => Fault::Misuse { misuse, after },
            None => Fault::ForeignWait { after },
        }
    }

    /// Drops the root where it stands. What its parts do in their last moment has
    /// no effect, and a panic there harms nobody else.
    fn drop_root(&mut self) {
        let Some(root) = self.root.take() else {
            return;
        };
        if let Err(panic) = std::panic::catch_unwind(AssertUnwindSafe(|| drop(root))) {
            let instance = &self.shared.instance;
            let message = panic_message(panic.as_ref());
            tracing::error!(%instance, message, "an orchestration panicked while it was dropped");
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

    fn note(&mut self, inner: &Inner) {
        let seen = Some((inner.cursor.last_event_id(), inner.taken));
        if self.seen != seen {
            *self = Self { polls: 0, seen };
        }
    }

    fn is_hopeless(&self) -> bool {
        self.polls >= Self::MOST_POLLS
    }
}

/// The addresses of a future's own memory.
fn memory_of(future: &CodeFuture) -> Range<usize> {
    let start = std::ptr::from_ref(&**future).addr();
    start..start + size_of_val(&**future)
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
        self.drop_root();
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
