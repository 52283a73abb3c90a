//! What the cursor gives to its driver: entries to be stored, and what an execution left
//! open when it ended.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Cursor;
use super::block::Output;
use super::operation::OperationKind;
use crate::event::{Carried, Effect, EndedOperation};
use crate::history::HistoryEntry;
use crate::id::{CommandId, EventId};
use crate::text::InstanceId;

/// An entry that is to be stored, and what the cursor knows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AppendedEntry {
    /// The entry.
    pub entry: HistoryEntry,
    /// The command that its event records; `None` for inputs, cancellations and
    /// terminals.
    pub command_id: Option<CommandId>,
    /// The operation that its event ends.
    pub(super) ended: EndedOperation,
}

impl AppendedEntry {
    /// What the event asks of the world, once it is stored.
    ///
    /// ```
    /// use durable_core::{Command, Cursor, Effect, Event, EventId, ExecutionId};
    ///
    /// let mut cursor = Cursor::new("order-7".into(), ExecutionId::FIRST);
    /// cursor.end_of_history();
    /// let _ = cursor.advance()?;
    /// let _ = cursor.deliver(
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
    /// cursor.open(Command::Timer { fire_at_ms: 6_000 });
    /// cursor.flush()?;
    ///
    /// let appended = cursor.take_appended();
    /// assert!(matches!(appended[0].effect(), Effect::Begin { .. }));
    /// assert_eq!(appended[1].effect(), Effect::SetTimer { fire_at_ms: 6_000 });
    /// assert_eq!(appended[1].command_id.unwrap().to_string(), "Timer(0)");
    /// # Ok::<(), durable_core::CursorError>(())
    /// ```
    pub fn effect(&self) -> Effect<'_> {
        self.entry.event.effect(&self.ended)
    }
}

/// An operation that had not come to its end when its execution ended: nothing will
/// wait for it any more.
///
/// It can be matched exhaustively on purpose: a runtime that leaves one of them running is
/// wrong, and the compiler should say so. What only the code listens to (external events,
/// promises) is not among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftOpen {
    /// An activity.
    Activity {
        /// Its `ActivityScheduled`.
        event_id: EventId,
        /// Whether it has a total timeout: its deadline is open, too.
        has_deadline: bool,
    },
    /// A timer.
    Timer {
        /// Its `TimerCreated`.
        event_id: EventId,
    },
    /// A child.
    Child {
        /// Its `SubOrchestrationScheduled`.
        event_id: EventId,
        /// The child.
        instance: InstanceId,
    },
}

impl LeftOpen {
    /// The event that scheduled it.
    pub const fn event_id(&self) -> EventId {
        match self {
            Self::Activity { event_id, .. }
            | Self::Timer { event_id }
            | Self::Child { event_id, .. } => *event_id,
        }
    }

    /// An operation that this event scheduled and that is open.
    fn of(event_id: EventId, kind: &OperationKind) -> Option<Self> {
        match kind {
            OperationKind::Activity(deadline) => Some(Self::Activity {
                event_id,
                has_deadline: deadline.is_some(),
            }),
            OperationKind::Timer => Some(Self::Timer { event_id }),
            OperationKind::SubOrchestration(instance) => Some(Self::Child {
                event_id,
                instance: instance.as_deref()?.clone(),
            }),
            OperationKind::External(_)
            | OperationKind::ExternalArrived(_)
            | OperationKind::Reader(_)
            | OperationKind::SentEvent
            | OperationKind::Promise(_)
            | OperationKind::Run(_)
            | OperationKind::Patch => None,
        }
    }

    /// The operation that an output would have cancelled.
    fn of_cancellation(output: &Output) -> Option<Self> {
        match output.event.effect(&output.ended) {
            Effect::CancelActivity {
                event_id,
                has_deadline,
            } => Some(Self::Activity {
                event_id,
                has_deadline,
            }),
            Effect::CancelTimer { event_id } => Some(Self::Timer { event_id }),
            Effect::CancelChild { event_id, instance } => Some(Self::Child {
                event_id,
                instance: instance.clone(),
            }),
            Effect::None
            | Effect::Begin { .. }
            | Effect::RunActivity { .. }
            | Effect::RemoveDeadline { .. }
            | Effect::SetTimer { .. }
            | Effect::StartChild { .. }
            | Effect::StartDetached(..)
            | Effect::RaiseEvent { .. }
            | Effect::SettlePromise { .. }
            | Effect::SetCustomStatus { .. }
            | Effect::ClearCustomStatus
            | Effect::ChangeAttributes
            | Effect::ContinueAsNew
            | Effect::Complete { .. }
            | Effect::Fail { .. }
            | Effect::Terminate { .. } => None,
        }
    }
}

/// What an execution leaves behind. Most have nothing of it, until they end.
#[derive(Debug, Default)]
pub(super) struct LeftBehind {
    pub(super) carried: Option<Box<Carried>>,
    pub(super) open: Vec<LeftOpen>,
}

impl Cursor {
    /// What is to be stored: the entries that were appended since the last call.
    #[must_use]
    pub fn take_appended(&mut self) -> Vec<AppendedEntry> {
        core::mem::take(&mut self.appended)
    }

    /// What the next execution starts with, after the code continued as new.
    pub fn take_carried(&mut self) -> Option<Box<Carried>> {
        self.left_behind.as_mut()?.carried.take()
    }

    /// After the execution ended: the activities, timers and children that were still
    /// open, in the order of their events. Of a replayed execution too.
    #[must_use]
    pub fn take_left_open(&mut self) -> Vec<LeftOpen> {
        let left_behind = self.left_behind.as_mut();
        left_behind.map_or_else(Vec::new, |left| core::mem::take(&mut left.open))
    }

    /// Cancellations that will not be recorded, because the execution was ended from
    /// outside before: what they cancel stays open until that end.
    pub(super) fn keep_open<'a>(&mut self, unrecorded: impl IntoIterator<Item = &'a Output>) {
        let still_open = unrecorded.into_iter().filter_map(LeftOpen::of_cancellation);
        for operation in still_open {
            self.left_behind
                .get_or_insert_default()
                .open
                .push(operation);
        }
    }

    /// Notes what is open at the end.
    pub(super) fn note_left_open(&mut self) {
        let open: Vec<LeftOpen> = self
            .operations
            .open()
            .filter_map(|(event_id, key)| LeftOpen::of(event_id, self.operations.kind(key)?))
            .collect();
        let unrecorded = self.block.take_cancellations();
        self.keep_open(&unrecorded);
        if !open.is_empty() {
            self.left_behind.get_or_insert_default().open.extend(open);
        }
        if let Some(left_behind) = &mut self.left_behind {
            left_behind.open.sort_by_key(LeftOpen::event_id);
        }
    }
}
