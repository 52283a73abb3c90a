//! The builder itself: positions, times, the start and the end.

use std::fmt;
use std::time::Duration;

use durable_core::{
    Carried, Corruption, Event, EventId, ExecutionId, Failure, FailureKind, History, HistoryEntry,
    InstanceId, Name, Parent, Payload, Version,
};
use serde::Serialize;

/// When a history begins unless it is told otherwise.
const BEGINNING_MS: u64 = 1_700_000_000_000;

/// Builds the history of one execution, event by event.
///
/// Events get the positions 1, 2, 3, … in the order of the calls, so an answer
/// names what it answers by counting lines. Every event is recorded at the time of
/// the one before it; [`later`](Self::later) lets time pass, and so does a timer
/// that fires. Values are written as JSON.
///
/// ```
/// use std::time::Duration;
///
/// use durable_testkit::HistoryBuilder;
///
/// let history = HistoryBuilder::new("order-7")
///     .started("fulfil", &7)                    // 1
///     .activity("charge", &7)                   // 2
///     .timer(Duration::from_secs(60))           // 3
///     .later(Duration::from_secs(5))
///     .completed(2, &"paid")                    // 4
///     .cancelled(3)                             // 5
///     .returned(&"done")                        // 6
///     .build()?;
/// assert_eq!(history.entries.len(), 6);
/// assert_eq!(history.entries[4].event.to_string(), "TimerCancelled of event 3");
/// # Ok::<(), durable_testkit::HistoryBuildError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a history is made by `build`"]
pub struct HistoryBuilder {
    pub(super) instance: InstanceId,
    pub(super) execution_id: ExecutionId,
    version: Version,
    parent: Option<Parent>,
    carried: Carried,
    pub(super) now_ms: u64,
    pub(super) entries: Vec<HistoryEntry>,
    error: Option<HistoryBuildError>,
}

/// Why there is no such history.
///
/// ```
/// use durable_testkit::{HistoryBuildError, HistoryBuilder};
///
/// // Event 2 answers something that was never asked.
/// let error = HistoryBuilder::new("order-7")
///     .started("order", &7)
///     .completed(5, &7)
///     .build()
///     .unwrap_err();
/// assert!(matches!(error, HistoryBuildError::Corrupt(_)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryBuildError {
    /// A value is not written as JSON.
    InvalidValue {
        /// The event that was to carry it.
        event_id: EventId,
        /// Why.
        reason: String,
    },
    /// No run can have written it.
    Corrupt(Box<Corruption>),
}

impl HistoryBuilder {
    /// The first execution of this instance, without events.
    pub fn new(instance: impl Into<InstanceId>) -> Self {
        Self {
            instance: instance.into(),
            execution_id: ExecutionId::FIRST,
            version: Version::from(durable_runtime::DEFAULT_VERSION),
            parent: None,
            carried: Carried::default(),
            now_ms: BEGINNING_MS,
            entries: Vec::new(),
            error: None,
        }
    }

    /// Makes it this execution of the instance.
    pub fn execution(mut self, number: u64) -> Self {
        self.execution_id = ExecutionId::new(number);
        self
    }

    /// The version that the execution starts on; `1.0.0` unless it is set.
    pub fn version(mut self, version: impl Into<Version>) -> Self {
        self.version = version.into();
        self
    }

    /// Who waits for the execution that starts.
    pub fn parent(mut self, parent: Parent) -> Self {
        self.parent = Some(parent);
        self
    }

    /// What the execution that starts takes over from the one before.
    pub fn carried(mut self, carried: Carried) -> Self {
        self.carried = carried;
        self
    }

    /// The following events are recorded at this time.
    pub fn at_ms(mut self, now_ms: u64) -> Self {
        self.now_ms = now_ms;
        self
    }

    /// The following events are recorded so much later.
    pub fn later(mut self, duration: Duration) -> Self {
        self.now_ms = self.now_ms.saturating_add(whole_ms(duration));
        self
    }

    /// The execution begins.
    pub fn started<T: Serialize + ?Sized>(self, name: impl Into<Name>, input: &T) -> Self {
        let (name, version) = (name.into(), self.version.clone());
        let (parent, carried) = (self.parent.clone(), self.carried.clone().unless_empty());
        self.with(input, |event_id, input| Event::OrchestrationStarted {
            event_id,
            name,
            version,
            input,
            parent,
            carried,
        })
    }

    /// The code returns this.
    pub fn returned<T: Serialize + ?Sized>(self, output: &T) -> Self {
        self.with(output, |event_id, output| Event::OrchestrationCompleted {
            event_id,
            output,
        })
    }

    /// The code returns a failure.
    pub fn gave_up(self, failure: Failure) -> Self {
        self.event(|event_id| Event::OrchestrationFailed { event_id, failure })
    }

    /// The code goes on in a new execution, on the newest version.
    pub fn continued_as_new<T: Serialize + ?Sized>(self, input: &T) -> Self {
        self.with(input, |event_id, input| {
            Event::OrchestrationContinuedAsNew {
                event_id,
                input,
                version: None,
            }
        })
    }

    /// A client ends the execution.
    pub fn terminated(self, reason: impl Into<String>) -> Self {
        let failure = Failure::new(FailureKind::Terminated, reason);
        self.event(|event_id| Event::OrchestrationTerminated { event_id, failure })
    }

    /// Any event, made from its position.
    pub fn event(mut self, event: impl FnOnce(EventId) -> Event) -> Self {
        let event = event(self.next_event_id());
        self.entries.push(HistoryEntry::new(self.now_ms, event));
        self
    }

    /// The position of the next event.
    pub fn next_event_id(&self) -> EventId {
        let last = self.entries.last().map(HistoryEntry::event_id);
        last.unwrap_or(EventId::UNASSIGNED).next()
    }

    /// The events so far.
    pub fn entries(&self) -> &[HistoryEntry] {
        &self.entries
    }

    /// The history, if a run can have written it.
    ///
    /// # Errors
    ///
    /// The first value that did not encode, or why no run can have written these events.
    pub fn build(self) -> Result<History, HistoryBuildError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let history = self.build_unchecked();
        match history.validate() {
            Ok(()) => Ok(history),
            Err(corruption) => Err(HistoryBuildError::Corrupt(Box::new(corruption))),
        }
    }

    /// The history as it was said, possible or not.
    pub fn build_unchecked(self) -> History {
        History::new(self.instance, self.execution_id, self.entries)
    }

    /// An event that carries a value.
    pub(super) fn with<T: Serialize + ?Sized>(
        mut self,
        value: &T,
        event: impl FnOnce(EventId, Payload) -> Event,
    ) -> Self {
        match serde_json::to_string(value) {
            Ok(text) => self.event(|event_id| event(event_id, Payload::from(text))),
            Err(error) => {
                self.error.get_or_insert(HistoryBuildError::InvalidValue {
                    event_id: self.next_event_id(),
                    reason: error.to_string(),
                });
                self
            }
        }
    }

    /// The event at this position.
    pub(super) fn find(&self, event_id: EventId) -> Option<&Event> {
        let entry = self.entries.iter().find(|e| e.event_id() == event_id);
        entry.map(|entry| &entry.event)
    }
}

pub(super) fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl fmt::Display for HistoryBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidValue { event_id, reason } => {
                write!(f, "the value of event {event_id} is no JSON: {reason}")
            }
            Self::Corrupt(corruption) => corruption.fmt(f),
        }
    }
}

impl std::error::Error for HistoryBuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Corrupt(corruption) => Some(corruption),
            Self::InvalidValue { .. } => None,
        }
    }
}
