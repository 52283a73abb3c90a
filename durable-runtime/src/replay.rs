//! Replaying a stored history against code, without a store and without a node.
//!
//! It executes no side effect and writes nothing. The same driver runs live
//! executions, so what replays here replays there.

use std::fmt;
use std::sync::Arc;

use durable_core::{
    Corruption, CursorError, EventId, History, HistoryEntry, Name, Version, Violation,
};

use crate::execution::{
    ContextSettings, Execution, ExecutionFault, Misuse, ReplayProgress as Progress, Rest,
};
use crate::options::RuntimeOptions;
use crate::registry::Registry;

/// Replays a history with default options; see [`Replayer`].
///
/// ```
/// use durable_runtime::{Event, EventId, ExecutionId, History, HistoryEntry};
/// use durable_runtime::{Failure, OrchestrationContext, Registry, ReplayFailure, replay};
///
/// let started = Event::OrchestrationStarted {
///     event_id: EventId::FIRST,
///     name: "hello".into(),
///     version: "1.0.0".into(),
///     input: "7".into(),
///     parent: None,
///     carried: None,
/// };
/// let entries = vec![HistoryEntry::new(0, started)];
/// let history = History::new("hello-1".into(), ExecutionId::FIRST, entries);
/// let hello = |_: OrchestrationContext, n: u32| async move { Ok::<_, Failure>(n) };
/// let registry = Registry::builder().orchestration("hello", hello).build()?;
/// assert!(replay(&registry, &history).is_ok());
///
/// let nothing = Registry::default();
/// let missing = replay(&nothing, &history);
/// assert!(matches!(missing, Err(ReplayFailure::NotRegistered { .. })));
/// # Ok::<(), durable_runtime::RegistryError>(())
/// ```
///
/// # Errors
///
/// A [`ReplayFailure`] that says where the code and the history part.
pub fn replay(registry: &Registry, history: &History) -> Result<Replayed, ReplayFailure> {
    Replayer::new(registry.clone()).replay(history)
}

/// Replays histories against code.
///
/// ```
/// use durable_runtime::{Activity, Failure, Orchestration, OrchestrationContext};
/// use durable_runtime::{Registry, ReplayRest, Replayer};
/// use durable_runtime::{Event, EventId, ExecutionId, History, HistoryEntry};
///
/// const GREET: Activity<String, String> = Activity::new("greet");
/// const HELLO: Orchestration<String, String> = Orchestration::new("hello");
///
/// async fn hello(ctx: OrchestrationContext, name: String) -> Result<String, Failure> {
///     ctx.activity(GREET, &name).await
/// }
///
/// let started = Event::OrchestrationStarted {
///     event_id: EventId::FIRST,
///     name: "hello".into(),
///     version: "1.0.0".into(),
///     input: "\"Ada\"".into(),
///     parent: None,
///     carried: None,
/// };
/// let entries = vec![HistoryEntry::new(0, started)];
/// let history = History::new("hello-1".into(), ExecutionId::FIRST, entries);
///
/// let replayer = Replayer::new(Registry::builder().orchestration(HELLO, hello).build()?);
/// let replayed = replayer.replay(&history)?;
/// assert_eq!(replayed.rest, ReplayRest::Waiting);
/// assert_eq!(replayed.appended.len(), 1, "the code would call the activity");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Replayer {
    registry: Arc<Registry>,
    settings: Arc<ContextSettings>,
}

/// A history that the code at hand could have written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// How many recorded events the code went over: all that were given.
    pub consumed: usize,
    /// What the code does after the last recorded event before it needs an input
    /// or a side effect. Nothing, if the history was stored by this very code: it
    /// is stored step by step. Otherwise the code was extended.
    pub appended: Vec<HistoryEntry>,
    /// How the code rests then.
    pub rest: ReplayRest,
}

impl Replayed {
    /// Whether the code does exactly what is recorded, and no more.
    pub fn is_exact(&self) -> bool {
        self.appended.is_empty()
    }
}

/// How code rests at the end of its history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReplayRest {
    /// It waits for an input.
    Waiting,
    /// It is about to execute a recorded side effect.
    BeforeRun,
    /// The execution has ended.
    Ended,
}

/// Why a history does not replay.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayFailure {
    /// The code does something else than what is recorded.
    Violation(Box<Violation>),
    /// No code can have written this history.
    Corrupt(Box<Corruption>),
    /// The code panicked.
    Panicked {
        /// What the panic said.
        message: String,
        /// The last event before it.
        after: EventId,
    },
    /// The code awaits something that is not durable.
    NonDurableWait {
        /// The last event before it.
        after: EventId,
    },
    /// The code wakes itself without end.
    Restless {
        /// The last event before it.
        after: EventId,
    },
    /// The context or a durable future was used where it cannot work.
    Misuse {
        /// How.
        misuse: Misuse,
        /// The last event before it.
        after: EventId,
    },
    /// The code is not registered.
    NotRegistered {
        /// The orchestration.
        name: Name,
        /// Its version.
        version: Version,
    },
    /// The replay itself went wrong: a bug in this crate.
    Internal {
        /// What happened.
        message: String,
    },
}

impl Replayer {
    /// Replays against this code, with default options.
    pub fn new(registry: Registry) -> Self {
        Self {
            registry: Arc::new(registry),
            settings: Arc::new(ContextSettings::of(&RuntimeOptions::default())),
        }
    }

    /// Takes what orchestrations can feel, such as limits, from these options: those
    /// of the nodes that wrote the histories.
    #[must_use]
    pub fn options(mut self, options: &RuntimeOptions) -> Self {
        self.settings = Arc::new(ContextSettings::of(options));
        self
    }

    /// Replays a whole history.
    ///
    /// # Errors
    ///
    /// A [`ReplayFailure`] that says where the code and the history part.
    pub fn replay(&self, history: &History) -> Result<Replayed, ReplayFailure> {
        self.replay_entries(history, &history.entries)
    }

    /// Replays the beginning of a history, up to and with this event.
    ///
    /// # Errors
    ///
    /// As [`replay`](Self::replay).
    pub fn replay_up_to(
        &self,
        history: &History,
        last: EventId,
    ) -> Result<Replayed, ReplayFailure> {
        let end = history
            .entries
            .partition_point(|entry| entry.event_id() <= last);
        self.replay_entries(history, &history.entries[..end])
    }

    fn replay_entries(
        &self,
        history: &History,
        entries: &[HistoryEntry],
    ) -> Result<Replayed, ReplayFailure> {
        let mut execution = Execution::new(
            history.instance.clone(),
            history.execution_id,
            Arc::clone(&self.registry),
            Arc::clone(&self.settings),
            None,
        );
        for entry in entries {
            execution.feed(entry.clone())?;
        }
        execution.end_of_history();
        let rest = match execution.replay()? {
            Progress::UpToDate(Rest::Quiet) => ReplayRest::Waiting,
            Progress::UpToDate(Rest::BeforeRun) => ReplayRest::BeforeRun,
            Progress::UpToDate(Rest::Ended) => ReplayRest::Ended,
            progress @ (Progress::UpToDate(Rest::InRun) | Progress::NeedsHistory) => {
                return Err(ReplayFailure::Internal {
                    message: format!("a replay came to {progress:?}"),
                });
            }
        };
        let appended = execution.take_appended().into_iter();
        Ok(Replayed {
            consumed: entries.len(),
            appended: appended.map(|appended| appended.entry).collect(),
            rest,
        })
    }
}

impl From<ExecutionFault> for ReplayFailure {
    fn from(fault: ExecutionFault) -> Self {
        match fault {
            ExecutionFault::Cursor(CursorError::Violation(violation)) => Self::Violation(violation),
            ExecutionFault::Cursor(CursorError::Corrupt(corruption)) => Self::Corrupt(corruption),
            ExecutionFault::Panicked { message, after } => Self::Panicked { message, after },
            ExecutionFault::NonDurableWait { after } => Self::NonDurableWait { after },
            ExecutionFault::Restless { after } => Self::Restless { after },
            ExecutionFault::Misuse { misuse, after } => Self::Misuse { misuse, after },
            ExecutionFault::NotRegistered { name, version } => {
                Self::NotRegistered { name, version }
            }
            other => Self::Internal {
                message: other.to_string(),
            },
        }
    }
}

impl fmt::Display for ReplayFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = match self.clone() {
            Self::Violation(violation) => return violation.fmt(f),
            Self::Corrupt(corruption) => return corruption.fmt(f),
            Self::Internal { message } => return f.write_str(&message),
            Self::Panicked { message, after } => ExecutionFault::Panicked { message, after },
            Self::NonDurableWait { after } => ExecutionFault::NonDurableWait { after },
            Self::Restless { after } => ExecutionFault::Restless { after },
            Self::Misuse { misuse, after } => ExecutionFault::Misuse { misuse, after },
            Self::NotRegistered { name, version } => {
                ExecutionFault::NotRegistered { name, version }
            }
        };
        fault.fmt(f)
    }
}

impl std::error::Error for ReplayFailure {}
