//! A history as a whole: its entries, and its JSON form for export and import.
//!
//! Storage works with single entries; a [`History`] is what tools, tests and the
//! replay tester hold. Whether the entries make sense is checked by
//! [`History::validate`], which sees the whole list and can say exactly what is
//! wrong; the cursor checks the same while it replays, with less memory.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::corruption::{Corruption, HistoryFault, SourceFault};
use crate::cursor::EntryOrder;
use crate::event::{Event, EventKind};
use crate::id::{EventId, ExecutionId};
use crate::text::{InstanceId, MessageId};

/// An event and the store's time when it was recorded.
///
/// Times never fall along a history, and a `TimerFired` is never recorded before
/// its timer was due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HistoryEntry {
    /// When it was recorded, in milliseconds since the Unix epoch.
    pub recorded_at_ms: u64,
    /// What happened.
    pub event: Event,
}

impl HistoryEntry {
    /// An event that was recorded at this time.
    pub const fn new(recorded_at_ms: u64, event: Event) -> Self {
        Self {
            recorded_at_ms,
            event,
        }
    }

    /// The position of the event.
    pub const fn event_id(&self) -> EventId {
        self.event.event_id()
    }
}

/// The whole history of one execution.
///
/// ```
/// use durable_core::{Event, EventId, ExecutionId, History, HistoryEntry};
///
/// let started = Event::OrchestrationStarted {
///     event_id: EventId::FIRST,
///     name: "fulfil".into(),
///     version: "1.0.0".into(),
///     input: "7".into(),
///     parent: None,
///     carried: None,
/// };
/// let entries = vec![HistoryEntry::new(1_000, started)];
/// let history = History::new("order-7".into(), ExecutionId::FIRST, entries);
/// let json = serde_json::to_string(&history).unwrap();
/// let read: History = serde_json::from_str(&json).unwrap();
/// assert_eq!(read, history);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct History {
    /// The instance.
    pub instance: InstanceId,
    /// Its execution.
    pub execution_id: ExecutionId,
    /// What happened, in order.
    pub entries: Vec<HistoryEntry>,
}

impl History {
    /// These entries of this execution. Whether they make sense is not checked; see
    /// [`validate`](Self::validate).
    pub const fn new(
        instance: InstanceId,
        execution_id: ExecutionId,
        entries: Vec<HistoryEntry>,
    ) -> Self {
        Self {
            instance,
            execution_id,
            entries,
        }
    }

    /// Checks everything that can be known without the code: positions, times,
    /// one start, completions and cancellations that name what they may name, answers to
    /// requests that have come, nothing after the end. Every prefix of a valid history is valid.
    ///
    /// # Errors
    ///
    /// The first event that cannot stand where it stands.
    pub fn validate(&self) -> Result<(), Corruption> {
        let mut order = EntryOrder::default();
        let mut sources = Sources::default();
        for entry in &self.entries {
            order
                .check(entry)
                .and_then(|()| sources.check(&entry.event))
                .map_err(|fault| Corruption {
                    instance: self.instance.clone(),
                    execution_id: self.execution_id,
                    event_id: entry.event_id(),
                    kind: entry.event.kind(),
                    fault,
                })?;
        }
        Ok(())
    }
}

/// Every event so far, and what became of it.
#[derive(Default)]
struct Sources {
    seen: BTreeMap<EventId, (EventKind, Progress)>,
    /// Requests without an answer, and the events that brought them.
    requests: BTreeSet<(MessageId, EventId)>,
}

#[derive(Clone, Copy)]
enum Progress {
    Open,
    /// The code gave it up; a completion that was under way may still follow.
    Cancelled,
    Completed,
}

impl Sources {
    fn check(&mut self, event: &Event) -> Result<(), HistoryFault> {
        if let (Some(source_event_id), Some(expected)) =
            (event.source_event_id(), event.kind().source_kind())
        {
            let is_completion = event.is_input();
            let found = match self.seen.get_mut(&source_event_id) {
                None => Some(SourceFault::NoSuchEvent),
                Some((kind, _)) if *kind != expected => Some(SourceFault::OtherKind(*kind)),
                Some((_, Progress::Completed)) => Some(SourceFault::AlreadyCompleted),
                Some((_, Progress::Cancelled)) if !is_completion => {
                    Some(SourceFault::AlreadyCancelled)
                }
                Some((_, progress)) => {
                    *progress = if is_completion {
                        Progress::Completed
                    } else {
                        Progress::Cancelled
                    };
                    None
                }
            };
            if let Some(found) = found {
                return Err(HistoryFault::BadSource {
                    source_event_id,
                    expected,
                    found,
                });
            }
        }
        self.seen
            .insert(event.event_id(), (event.kind(), Progress::Open));
        self.check_request(event)
    }

    fn check_request(&mut self, event: &Event) -> Result<(), HistoryFault> {
        match event {
            Event::OrchestrationStarted {
                event_id, carried, ..
            } => {
                let carried = carried.iter();
                let unread = carried.flat_map(|carried| &carried.unread_requests);
                let ids = unread.map(|request| (request.message_id.clone(), *event_id));
                self.requests.extend(ids);
                Ok(())
            }
            Event::RequestReceived {
                event_id,
                message_id,
                ..
            } => {
                let mut same_id =
                    (self.requests).range((message_id.clone(), EventId::UNASSIGNED)..);
                if same_id.next().is_some_and(|(id, _)| id == message_id) {
                    return Err(HistoryFault::RepeatedRequest);
                }
                self.requests.insert((message_id.clone(), *event_id));
                Ok(())
            }
            Event::RequestAnswered {
                source_event_id,
                message_id,
                ..
            } => {
                let answered = (message_id.clone(), *source_event_id);
                match self.requests.remove(&answered) {
                    true => Ok(()),
                    false => Err(HistoryFault::NoSuchRequest),
                }
            }
            _ => Ok(()),
        }
    }
}
