//! A history that no run can have written. The code is not to blame: bytes were
//! lost, mixed up or tampered with.

use core::fmt;

use crate::event::EventKind;
use crate::id::{EventId, ExecutionId};
use crate::text::InstanceId;

/// What is wrong with a history, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Corruption {
    /// The instance.
    pub instance: InstanceId,
    /// Its execution.
    pub execution_id: ExecutionId,
    /// The event that cannot be.
    pub event_id: EventId,
    /// Its kind.
    pub kind: EventKind,
    /// Why it cannot be.
    pub fault: HistoryFault,
}

impl Corruption {
    /// This event of this execution cannot be.
    pub const fn new(
        instance: InstanceId,
        execution_id: ExecutionId,
        event_id: EventId,
        kind: EventKind,
        fault: HistoryFault,
    ) -> Self {
        Self {
            instance,
            execution_id,
            event_id,
            kind,
            fault,
        }
    }
}

/// Why an event cannot stand where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryFault {
    /// The first event is not `OrchestrationStarted`.
    NotStarted,
    /// `OrchestrationStarted` stands in the middle.
    StartedAgain,
    /// An event is missing, repeated or out of place.
    WrongPosition {
        /// The id that belongs here.
        expected: EventId,
    },
    /// It was recorded before the event in front of it.
    TimeWentBack {
        /// When it was recorded.
        recorded_at_ms: u64,
        /// When the event in front of it was recorded.
        previous_ms: u64,
    },
    /// A timer fired before it was due.
    FiredEarly {
        /// When it was recorded.
        recorded_at_ms: u64,
        /// When it was due.
        fire_at_ms: u64,
    },
    /// It completes something that it cannot complete.
    BadSource {
        /// The event that it names.
        source_event_id: EventId,
        /// The kind of event that it should name.
        expected: EventKind,
        /// What is there instead.
        found: SourceFault,
    },
    /// It is a request with the id of one that waits for its answer.
    RepeatedRequest,
    /// It answers a request that does not wait for an answer.
    NoSuchRequest,
    /// It stands after the end of the execution.
    AfterTerminal {
        /// The event that ended the execution.
        terminal: EventKind,
    },
}

/// What is wrong with the event that a completion names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceFault {
    /// There is no such event before the completion.
    NoSuchEvent,
    /// It is an event of another kind.
    OtherKind(EventKind),
    /// It was completed before.
    AlreadyCompleted,
    /// It was cancelled before, and is cancelled again.
    AlreadyCancelled,
    /// It is not open: it was never scheduled, or it was completed before.
    NotOpen,
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            instance,
            execution_id,
            event_id,
            kind,
            fault,
        } = self;
        write!(
            f,
            "the history of instance `{instance}`, execution {execution_id}, is corrupt \
             at event {event_id} ({kind}): {fault}"
        )
    }
}

impl core::error::Error for Corruption {}

impl fmt::Display for HistoryFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted => f.write_str("a history begins with OrchestrationStarted"),
            Self::StartedAgain => f.write_str("an execution starts only once"),
            Self::WrongPosition { expected } => write!(f, "event {expected} belongs here"),
            Self::TimeWentBack {
                recorded_at_ms,
                previous_ms,
            } => write!(
                f,
                "it was recorded at {recorded_at_ms} ms, the event before it at {previous_ms} ms"
            ),
            Self::FiredEarly {
                recorded_at_ms,
                fire_at_ms,
            } => write!(
                f,
                "it was recorded at {recorded_at_ms} ms but due at {fire_at_ms} ms"
            ),
            Self::BadSource {
                source_event_id,
                expected,
                found,
            } => write!(
                f,
                "it names event {source_event_id} as its {expected}, but {found}"
            ),
            Self::RepeatedRequest => f.write_str("a request with the same id waits for its answer"),
            Self::NoSuchRequest => f.write_str("no request with that id waits for an answer"),
            Self::AfterTerminal { terminal } => {
                write!(f, "the execution had ended with {terminal}")
            }
        }
    }
}

impl fmt::Display for SourceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchEvent => f.write_str("there is no such event before it"),
            Self::OtherKind(kind) => write!(f, "that is a {kind}"),
            Self::AlreadyCompleted => f.write_str("that was completed before"),
            Self::AlreadyCancelled => f.write_str("that was cancelled before"),
            Self::NotOpen => f.write_str("that was never scheduled or was completed before"),
        }
    }
}
