//! The cursor: one strict position in one history, live and in replay.
//!
//! It has no clock, no lock, no I/O and no future. The driver (the runtime, the
//! replay tester, a simulation) polls the orchestration and tells the cursor what
//! its futures do; the cursor decides what is recorded, what is compared, and
//! who may go on.
//!
//! Invariants: it moves forward only, over every event, and skips none; event ids
//! rise by one; at most one value is granted in any poll; once it has failed it
//! stays failed; live, it keeps what is open and forgets what it consumed.

mod block;
mod compare;
mod error;
mod external;
mod few;
mod flush;
mod grant;
mod input;
mod key;
mod open;
mod operation;
mod place;
mod ready;
mod run;
mod tape;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use block::{Block, Output};
use compare::{Owner, is_exact};
use external::{Arrival, Externals, RecentMessages};
use operation::{Arrived, Operations, Phase, Subject};
use tape::Tape;

use crate::command::{Command, Ending, OneWayCommand};
use crate::corruption::{Corruption, HistoryFault};
use crate::event::{Carried, Event, EventKind};
use crate::history::HistoryEntry;
use crate::id::{CommandNumbering, EventId, ExecutionId, PromiseToken};
use crate::text::{InstanceId, Name, Payload};

pub use error::CursorError;
pub use grant::Grant;
pub use input::{Advance, Delivery, DropReason};
pub use operation::{OpKey, Outcome};
pub(crate) use tape::EntryOrder;

/// Replays and extends the history of one execution.
///
/// # The order of calls
///
/// 1. **History in.** [`feed`](Self::feed) every recorded entry and say
///    [`end_of_history`](Self::end_of_history); a long history can be fed in
///    pages, whenever [`advance`](Self::advance) answers
///    [`NeedsHistory`](Advance::NeedsHistory).
/// 2. **An input.** In replay [`advance`](Self::advance) takes the next recorded
///    one; once it answers [`Live`](Advance::Live), [`deliver`](Self::deliver)
///    appends new ones.
/// 3. **The step.** After the start the root is polled once. Then, as long as
///    there is something to do: [`grant`](Self::grant), wake that operation's
///    future, poll the root, [`flush`](Self::flush). A root that woke itself is
///    polled and flushed again before the next grant.
/// 4. **Within a poll** the futures call [`open`](Self::open),
///    [`poll`](Self::poll) and [`close`](Self::close), the context calls
///    [`emit`](Self::emit) and [`create_promise`](Self::create_promise), a run
///    calls [`complete_run`](Self::complete_run), and a root that returned is
///    reported with [`finish`](Self::finish).
/// 5. **Entries out.** [`take_appended`](Self::take_appended) gives what is to be
///    stored.
///
/// ```
/// use durable_core::{
///     ActivityOptions, Advance, Cursor, Ending, Event, EventId, ExecutionId, OpPoll, Outcome,
///     Command,
/// };
///
/// let mut cursor = Cursor::new("order-7".into(), ExecutionId::FIRST);
/// cursor.end_of_history();
/// assert!(matches!(cursor.advance(), Ok(Advance::Live)));
///
/// // The first step: the code calls an activity.
/// cursor.deliver(
///     Event::OrchestrationStarted {
///         event_id: EventId::UNASSIGNED,
///         name: "fulfil".into(),
///         version: "1.0.0".into(),
///         input: "7".into(),
///         parent: None,
///         carried: Default::default(),
///     },
///     1_000,
/// )?;
/// let charge = cursor.open(Command::Activity {
///     name: "charge".into(),
///     input: "7".into(),
///     options: ActivityOptions::default(),
/// });
/// cursor.flush()?;
/// assert_eq!(cursor.grant()?, None);
///
/// // The second step: its result arrives, the code takes it and returns.
/// cursor.deliver(
///     Event::ActivityCompleted {
///         event_id: EventId::UNASSIGNED,
///         source_event_id: EventId::new(2),
///         result: "\"paid\"".into(),
///     },
///     1_050,
/// )?;
/// assert_eq!(cursor.grant()?.unwrap().key, charge);
/// assert_eq!(cursor.poll(charge), OpPoll::Ready(Outcome::Value("\"paid\"".into())));
/// cursor.finish(Ending::Completed { output: "\"done\"".into() });
/// cursor.flush()?;
///
/// assert!(cursor.has_ended());
/// assert_eq!(cursor.take_appended().len(), 4);
/// # Ok::<(), durable_core::CursorError>(())
/// ```
#[derive(Debug)]
pub struct Cursor {
    instance: InstanceId,
    execution_id: ExecutionId,
    stage: Stage,
    tape: Tape,
    last_event_id: EventId,
    /// The recorded time of the latest entry.
    last_recorded_ms: u64,
    /// The recorded time of the latest input.
    now_ms: u64,
    numbering: CommandNumbering,
    operations: Operations,
    externals: Externals,
    recent_messages: RecentMessages,
    /// Open promises by number.
    promises: BTreeMap<u64, EventId>,
    promises_created: u64,
    /// Operations whose future is gone and whose completion may still stand in
    /// the recorded history. Empty once live.
    abandoned: BTreeMap<EventId, EventKind>,
    block: Block,
    granted: Option<OpKey>,
    running: Option<OpKey>,
    state: BTreeMap<Name, Payload>,
    custom_status: Option<Payload>,
    patches: BTreeMap<Name, bool>,
    cancel_reason: Option<String>,
    appended: Vec<HistoryEntry>,
    carried: Option<Box<Carried>>,
}

/// Where a cursor stands.
#[derive(Debug)]
enum Stage {
    /// Before `OrchestrationStarted`.
    Unstarted,
    /// Between or within steps.
    Started,
    /// A terminal event was reached.
    Ended,
    /// It cannot go on.
    Failed(CursorError),
}

/// What polling an operation gave.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum OpPoll {
    /// Nothing yet. The operation asks for its value from now on.
    Pending,
    /// Its value. The operation is gone.
    Ready(Outcome),
    /// A run may be executed: execute it now, or poll it on, and report its
    /// result with [`Cursor::complete_run`].
    Execute,
}

impl Cursor {
    /// A cursor before the first event of an execution.
    pub fn new(instance: InstanceId, execution_id: ExecutionId) -> Self {
        Self {
            instance,
            execution_id,
            stage: Stage::Unstarted,
            tape: Tape::default(),
            last_event_id: EventId::UNASSIGNED,
            last_recorded_ms: 0,
            now_ms: 0,
            numbering: CommandNumbering::default(),
            operations: Operations::default(),
            externals: Externals::default(),
            recent_messages: RecentMessages::default(),
            promises: BTreeMap::new(),
            promises_created: 0,
            abandoned: BTreeMap::new(),
            block: Block::default(),
            granted: None,
            running: None,
            state: BTreeMap::new(),
            custom_status: None,
            patches: BTreeMap::new(),
            cancel_reason: None,
            appended: Vec::new(),
            carried: None,
        }
    }

    /// The instance.
    pub fn instance(&self) -> &InstanceId {
        &self.instance
    }

    /// The execution.
    pub fn execution_id(&self) -> ExecutionId {
        self.execution_id
    }

    /// The position of the latest event that the cursor went over.
    pub fn last_event_id(&self) -> EventId {
        self.last_event_id
    }

    /// The recorded time of the latest input: the time that the code sees.
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// Whether there are recorded events ahead, or may be.
    pub fn is_replaying(&self) -> bool {
        !self.tape.is_at_end()
    }

    /// Whether a terminal event was reached.
    pub fn has_ended(&self) -> bool {
        matches!(self.stage, Stage::Ended)
    }

    /// How many operations wait for an input.
    pub fn open_operations(&self) -> usize {
        self.operations.open_count()
    }

    /// Whether a run is being executed: the step is not over before it ends.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Whether cancellation was requested, and why.
    pub fn cancel_reason(&self) -> Option<&str> {
        self.cancel_reason.as_deref()
    }

    /// The value of a state key.
    pub fn state(&self, key: &str) -> Option<&Payload> {
        self.state.get(key)
    }

    /// The custom status.
    pub fn custom_status(&self) -> Option<&Payload> {
        self.custom_status.as_ref()
    }

    /// The scheduling event of an open promise, which its resolution must name.
    pub fn promise_event_id(&self, number: u64) -> Option<EventId> {
        self.promises.get(&number).copied()
    }

    /// The event that scheduled an operation, once it has a position.
    pub fn scheduling_event(&self, key: OpKey) -> Option<EventId> {
        self.operations.scheduled_by(key)
    }

    /// Adds the next recorded entry to what lies ahead.
    pub fn feed(&mut self, entry: HistoryEntry) -> Result<(), CursorError> {
        self.check_not_failed()?;
        if self.tape.is_complete() {
            return Err(self.out_of_turn("feed", "after the end of the history"));
        }
        if let Err(fault) = self.tape.check(&entry) {
            return Err(self.corrupt(entry.event_id(), entry.event.kind(), fault));
        }
        self.tape.push(entry);
        Ok(())
    }

    /// Says that the history has no more recorded entries.
    pub fn end_of_history(&mut self) {
        self.tape.complete();
    }

    /// A durable future was polled for the first time.
    pub fn open(&mut self, request: Command) -> OpKey {
        let subject = match &request {
            Command::Activity { .. } => Subject::Activity,
            Command::Timer { .. } => Subject::Timer,
            Command::SubOrchestration { .. } => Subject::SubOrchestration,
            Command::External { name } => Subject::External(Box::new(name.clone())),
            Command::Patch { .. } => Subject::Patch,
            Command::Run { name } => return self.call_run(name.clone()),
        };
        self.open_with(subject, request.into_event(self.execution_id))
    }

    /// The code created a promise: its operation, and the token for whoever is
    /// to resolve it.
    pub fn create_promise(&mut self, name: Name) -> (OpKey, PromiseToken) {
        let number = self.promises_created;
        self.promises_created += 1;
        let event = Event::PromiseCreated {
            event_id: EventId::UNASSIGNED,
            name,
            number,
        };
        let key = self.open_with(Subject::Promise(number), Some(event));
        let token = PromiseToken {
            instance: self.instance.clone(),
            execution_id: self.execution_id,
            number,
        };
        (key, token)
    }

    fn call_run(&mut self, name: Name) -> OpKey {
        let key = self
            .operations
            .insert(Subject::Run(Box::new(name.clone())), Phase::Called);
        self.block.call_run(name, key);
        key
    }

    fn open_with(&mut self, subject: Subject, event: Option<Event>) -> OpKey {
        let block_index = self.block.next_index();
        let key = self
            .operations
            .insert(subject, Phase::Emitted { block_index });
        if let Some(event) = event {
            self.push(event, Some(key));
        }
        key
    }

    /// Adds a command to the block of this poll, by itself or by the recorded
    /// event that it is. A patch question is not answered before the flush.
    fn push(&mut self, event: Event, operation: Option<OpKey>) {
        let recorded = self
            .block
            .next_to_find()
            .and_then(|distance| self.tape.output(distance));
        if event.kind() != EventKind::PatchMarked
            && recorded.is_some_and(|recorded| is_exact(self.owner(), &event, recorded))
        {
            self.block.push_found(operation);
        } else {
            self.block.push(event, operation);
        }
    }

    /// The code did something that has no answer.
    pub fn emit(&mut self, notice: OneWayCommand) {
        match &notice {
            OneWayCommand::SetState { key, value } => {
                self.state.insert(key.clone(), value.clone());
            }
            OneWayCommand::ClearState { key } => {
                self.state.remove(key);
            }
            OneWayCommand::SetCustomStatus { status } => self.custom_status = Some(status.clone()),
            OneWayCommand::StartDetached { .. }
            | OneWayCommand::SendEvent { .. }
            | OneWayCommand::ResolvePromise { .. } => {}
        }
        self.push(notice.into_event(), None);
    }

    /// A durable future was polled again: its value if it was granted, else the
    /// operation asks for it.
    pub fn poll(&mut self, key: OpKey) -> OpPoll {
        let Some(operation) = self.operations.get_mut(key) else {
            return OpPoll::Pending;
        };
        match operation.phase {
            Phase::Running => OpPoll::Execute,
            Phase::Permitted { .. } => self.begin_run(key),
            Phase::Granted { .. } => self.take(key),
            _ => {
                self.operations.asked(key);
                OpPoll::Pending
            }
        }
    }

    fn take(&mut self, key: OpKey) -> OpPoll {
        self.granted = None;
        self.operations
            .remove(key)
            .and_then(|operation| operation.value)
            .map_or(OpPoll::Pending, |value| OpPoll::Ready(value.into()))
    }

    /// A durable future was dropped before it gave its value.
    pub fn close(&mut self, key: OpKey) {
        if self.granted == Some(key) {
            self.granted = None;
        }
        if self.running == Some(key) {
            self.running = None;
        }
        let Some(operation) = self.operations.remove(key) else {
            return;
        };
        match operation.phase {
            // The call itself created the promise, whether or not it is awaited.
            Phase::Emitted { .. } if matches!(operation.subject, Subject::Promise(_)) => {}
            Phase::Emitted { block_index } => self.withdraw(block_index),
            Phase::Open { event_id } => self.close_open(&operation.subject, event_id),
            _ => {}
        }
        if let Some(Arrived::External(arrival)) = operation.value {
            self.block.give_back(*arrival);
        }
    }

    /// Takes a command back. Those after it move up, so that the recorded events
    /// no longer stand for them.
    fn withdraw(&mut self, block_index: usize) {
        let found = self.block.take_found();
        let spelled: Vec<Output> = self.spelled_out(&found).collect();
        self.block.spell_out(spelled);
        self.block.withdraw(block_index);
    }

    /// The root returned.
    pub fn finish(&mut self, ending: Ending) {
        self.block.finish(ending.into_event());
    }

    /// What is to be stored: the entries that were appended since the last call.
    #[must_use]
    pub fn take_appended(&mut self) -> Vec<HistoryEntry> {
        core::mem::take(&mut self.appended)
    }

    /// Gives back the memory that only a step in progress needs: before the execution
    /// waits, perhaps for days. Between steps it changes nothing else.
    pub fn shrink_to_fit(&mut self) {
        self.block.shrink_to_fit();
        self.operations.shrink_to_fit();
        self.appended.shrink_to_fit();
    }

    /// What the next execution starts with, after the code continued as new.
    pub fn take_carried(&mut self) -> Option<Box<Carried>> {
        self.carried.take()
    }

    /// An operation that was open is closed without its completion.
    fn close_open(&mut self, subject: &Subject, event_id: EventId) {
        if let Some(cancellation) = subject.cancellation(event_id) {
            self.block.cancel(cancellation);
        }
        match subject {
            Subject::External(name) => self.externals.unsubscribe(name, event_id),
            Subject::Promise(number) => {
                self.promises.remove(number);
            }
            _ => {}
        }
        if let Some(kind) = subject.scheduling_kind() {
            self.abandon(event_id, kind);
        }
    }

    /// A completion that was recorded after this is consumed and dropped. Live
    /// there is none: such a message is not even appended.
    fn abandon(&mut self, scheduling_event: EventId, kind: EventKind) {
        if self.is_replaying() {
            self.abandoned.insert(scheduling_event, kind);
        }
    }

    /// An external event goes to whoever waits for it, or to its place among the
    /// unread ones.
    fn offer(&mut self, arrival: Arrival) {
        if let Some((subscription, arrival)) = self.externals.offer(arrival) {
            self.arrive_at(subscription, Arrived::External(Box::new(arrival)));
        }
    }

    fn arrive_at(&mut self, scheduling_event: EventId, value: Arrived) {
        if let Some(key) = self.operations.open_at(scheduling_event) {
            self.operations.arrived(key, value);
        }
    }

    fn owner(&self) -> Owner<'_> {
        Owner {
            instance: &self.instance,
            execution_id: self.execution_id,
        }
    }

    fn check_not_failed(&self) -> Result<(), CursorError> {
        match &self.stage {
            Stage::Failed(error) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    fn fail(&mut self, error: CursorError) -> CursorError {
        self.stage = Stage::Failed(error.clone());
        error
    }

    fn out_of_turn(&mut self, call: &'static str, stage: &'static str) -> CursorError {
        self.fail(CursorError::OutOfTurn { call, stage })
    }

    fn corrupt(&mut self, event_id: EventId, kind: EventKind, fault: HistoryFault) -> CursorError {
        let corruption = Corruption {
            instance: self.instance.clone(),
            execution_id: self.execution_id,
            event_id,
            kind,
            fault,
        };
        self.fail(CursorError::Corrupt(Box::new(corruption)))
    }
}
