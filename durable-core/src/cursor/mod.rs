//! The cursor: one strict position in one history, live and in replay.
//!
//! It has no clock, no lock, no I/O and no future. The driver (the runtime, the
//! replay tester, a simulation) polls the orchestration and tells the cursor what
//! its futures do; the cursor decides what is recorded, what is compared, and
//! which future may go on.
//!
//! Invariants: it moves forward only, over every event, and skips none; event ids
//! rise by one; at most one value is granted in any poll; once it has failed it
//! stays failed; live, it keeps what is open and forgets what it consumed.

mod appended;
mod block;
mod error;
mod external;
mod flush;
mod grant;
mod input;
mod look;
mod match_block;
mod open;
mod operation;
mod poll;
mod reader;
mod ready;
mod run;
mod set_value;
mod small_map;
mod tape;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use appended::LeftBehind;
use block::Block;
use external::{ArrivedEvent, Externals, RecentMessages};
use operation::{OperationKind, Operations};
use tape::Tape;

use crate::attribute::Attributes;
use crate::corruption::{Corruption, HistoryFault};
use crate::event::{EventKind, Owner};
use crate::history::HistoryEntry;
use crate::id::{CommandNumbering, EventId, ExecutionId};
use crate::text::{InstanceId, Name, Payload};
use crate::trace::TraceParent;

pub use appended::{AppendedEntry, LeftOpen};
pub use error::CursorError;
pub use grant::Grant;
pub use input::{Advance, Delivery, DropReason};
pub use operation::{ActivityDeadline, OpKey, Outcome};
pub use poll::OpPoll;
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
///    stored, each entry with its [effect](AppendedEntry::effect) on the world and the
///    number of its command. After the end [`take_left_open`](Self::take_left_open) gives
///    what is to be cleaned up, and [`take_carried`](Self::take_carried) what goes along
///    with continue-as-new.
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
///         carried: None,
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
    stage: CursorStage,
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
    attributes: Attributes,
    patches: BTreeMap<Name, bool>,
    cancel_reason: Option<Box<str>>,
    trace_parent: Option<TraceParent>,
    appended: Vec<AppendedEntry>,
    left_behind: Option<Box<LeftBehind>>,
}

/// Where a cursor stands.
#[derive(Debug)]
enum CursorStage {
    /// Before `OrchestrationStarted`.
    Unstarted,
    /// Between or within steps.
    Started,
    /// A terminal event was reached.
    Ended,
    /// It cannot go on.
    Failed(CursorError),
}

impl Cursor {
    /// A cursor before the first event of an execution.
    pub fn new(instance: InstanceId, execution_id: ExecutionId) -> Self {
        Self {
            instance,
            execution_id,
            stage: CursorStage::Unstarted,
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
            attributes: Attributes::new(),
            patches: BTreeMap::new(),
            cancel_reason: None,
            trace_parent: None,
            appended: Vec::new(),
            left_behind: None,
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
        matches!(self.stage, CursorStage::Ended)
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

    /// The attributes.
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// The trace that the instance was started for. Activities that the code calls belong
    /// to it, and so does the next execution.
    pub fn trace_parent(&self) -> Option<&TraceParent> {
        self.trace_parent.as_ref()
    }

    /// The scheduling event of an open promise, which its resolution must name.
    pub fn promise_event_id(&self, number: u64) -> Option<EventId> {
        self.promises.get(&number).copied()
    }

    /// The total timeout of the open activity that this event scheduled; `None` if it has
    /// none, or is not open.
    pub fn activity_deadline(&self, scheduled: EventId) -> Option<&ActivityDeadline> {
        let key = self.operations.open_at(scheduled)?;
        let OperationKind::Activity(deadline) = self.operations.kind(key)? else {
            return None;
        };
        deadline.as_deref()
    }

    /// The event that scheduled an operation, once it has a position.
    pub fn scheduling_event(&self, key: OpKey) -> Option<EventId> {
        self.operations.scheduled_by(key)
    }

    /// Adds the next recorded entry to what lies ahead.
    ///
    /// # Errors
    ///
    /// [`CursorError::Corrupt`] if it cannot follow the entry before it,
    /// [`CursorError::OutOfTurn`] after [`end_of_history`](Self::end_of_history), and the
    /// error of a cursor that has failed.
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

    /// Gives back the memory that only a step in progress needs: before the execution
    /// waits, perhaps for days. Between steps it changes nothing else.
    pub fn shrink_to_fit(&mut self) {
        self.block.shrink_to_fit();
        self.operations.shrink_to_fit();
        self.appended.shrink_to_fit();
    }

    /// An external event goes to the oldest subscription that waits for it, or to its
    /// place among the unread ones.
    fn offer(&mut self, event: ArrivedEvent) {
        if let Some((subscription, event)) = self.externals.offer(event) {
            self.arrive_at(subscription, event);
        }
    }

    fn arrive_at(&mut self, subscription: EventId, event: ArrivedEvent) {
        if let Some(key) = self.operations.open_at(subscription) {
            self.operations.arrived_event(key, event);
        }
    }

    fn owner(&self) -> Owner<'_> {
        Owner {
            instance: &self.instance,
            execution_id: self.execution_id,
        }
    }

    /// Every call asks this first, so only the rare answer is a call itself.
    #[inline]
    fn check_not_failed(&self) -> Result<(), CursorError> {
        #[cold]
        fn again(error: &CursorError) -> Result<(), CursorError> {
            Err(error.clone())
        }
        match &self.stage {
            CursorStage::Failed(error) => again(error),
            CursorStage::Unstarted | CursorStage::Started | CursorStage::Ended => Ok(()),
        }
    }

    fn fail(&mut self, error: CursorError) -> CursorError {
        self.stage = CursorStage::Failed(error.clone());
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
