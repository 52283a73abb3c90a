//! What a replay test found: plain data that prints for people and serialises for
//! tools.

use std::fmt;
use std::path::PathBuf;

use durable_core::{EventId, ExecutionId, InstanceId, Name, Version};
use durable_runtime::{ReplayFailure, Replayed};
use serde::{Deserialize, Serialize};

/// What became of every history.
///
/// ```
/// use durable_runtime::{Activity, Failure, Orchestration, OrchestrationContext, Registry};
/// use durable_testkit::{HistoryBuilder, ReplayOutcome, ReplaySource, ReplayTester};
///
/// const PAY: Activity<u64, ()> = Activity::new("pay");
/// const ORDER: Orchestration<u64, ()> = Orchestration::new("order");
///
/// /// It called `charge` when the history was written.
/// async fn order(ctx: OrchestrationContext, price: u64) -> Result<(), Failure> {
///     ctx.activity(PAY, &price).await
/// }
///
/// let registry = Registry::builder().orchestration(ORDER, order).build()?;
/// let history = HistoryBuilder::new("order-7")
///     .started("order", &7)
///     .activity("charge", &7)
///     .build()?;
/// let report = ReplayTester::new(registry).history(history).run();
/// assert!(!report.is_ok());
/// let entry = report.failures().next().unwrap();
/// assert_eq!(entry.source, ReplaySource::Given);
/// assert!(matches!(entry.outcome, ReplayOutcome::Violation { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[must_use = "a replay test finds nothing unless its report is looked at"]
pub struct ReplayReport {
    /// One for each history, in the order in which they were replayed.
    pub replays: Vec<ReplayEntry>,
}

/// What became of one history.
///
/// See the example of [`ReplayReport`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayEntry {
    /// Where it came from.
    pub source: ReplaySource,
    /// Its instance, if it could be read.
    pub instance: Option<InstanceId>,
    /// Its execution, if it could be read.
    pub execution_id: Option<ExecutionId>,
    /// How many events it has.
    pub events: usize,
    /// What became of it.
    pub outcome: ReplayOutcome,
}

/// Where a history came from.
///
/// See the example of [`ReplayReport`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplaySource {
    /// The caller gave it.
    Given,
    /// A file.
    File(PathBuf),
    /// A store.
    Store,
}

/// What became of a history.
///
/// See the example of [`ReplayReport`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result")]
#[non_exhaustive]
pub enum ReplayOutcome {
    /// The code does what is recorded.
    Ok,
    /// The code does what is recorded, and then more: it was extended.
    Extended {
        /// What it does after the last recorded event, each as one line.
        appended: Vec<String>,
    },
    /// The code does something else than what is recorded.
    Violation {
        /// The event at which the two part.
        event_id: EventId,
        /// The command that is concerned, such as `Activity(1)`.
        command_id: Option<String>,
        /// What the history has.
        recorded: String,
        /// What the code did; `None` is nothing.
        code: Option<String>,
        /// What usually causes it, and what to do.
        hint: String,
        /// All of it as a sentence.
        message: String,
    },
    /// No code can have written this history.
    Corrupt {
        /// The event that cannot be.
        event_id: EventId,
        /// Why, as a sentence.
        message: String,
    },
    /// The code is not registered.
    NotRegistered {
        /// The orchestration.
        name: Name,
        /// The version that is needed; `None` is any.
        version: Option<Version>,
    },
    /// The code panicked.
    Panicked {
        /// The last event before it.
        after: EventId,
        /// What the panic said.
        message: String,
    },
    /// The code awaits something that is not durable, or misuses its context.
    NotDurable {
        /// The last event before it.
        after: EventId,
        /// Why, as a sentence.
        message: String,
    },
    /// There was nothing to replay: the file or the stored bytes cannot be read.
    Unreadable {
        /// Why.
        reason: String,
    },
    /// The replay itself went wrong.
    Internal {
        /// What happened.
        message: String,
    },
}

impl ReplayOutcome {
    /// Whether the code would go on with this history.
    pub const fn is_ok(&self) -> bool {
        matches!(self, Self::Ok | Self::Extended { .. })
    }

    pub(super) fn of(result: Result<Replayed, ReplayFailure>) -> Self {
        match result {
            Ok(replayed) if replayed.is_exact() => Self::Ok,
            Ok(replayed) => Self::Extended {
                appended: replayed
                    .appended
                    .iter()
                    .map(|entry| entry.event.to_string())
                    .collect(),
            },
            Err(failure) => Self::of_failure(failure),
        }
    }

    fn of_failure(failure: ReplayFailure) -> Self {
        let message = failure.to_string();
        match failure {
            ReplayFailure::Violation(violation) => Self::Violation {
                event_id: violation.event_id,
                command_id: violation.command_id.map(|id| id.to_string()),
                recorded: violation.history.to_string(),
                code: violation.code.as_ref().map(ToString::to_string),
                hint: violation.hint().to_string(),
                message,
            },
            ReplayFailure::Corrupt(corruption) => Self::Corrupt {
                event_id: corruption.event_id,
                message,
            },
            ReplayFailure::Panicked { message, after } => Self::Panicked { after, message },
            ReplayFailure::NonDurableWait { after } | ReplayFailure::Misuse { after, .. } => {
                Self::NotDurable { after, message }
            }
            ReplayFailure::NotRegistered { name, version } => Self::NotRegistered {
                name,
                version: Some(version),
            },
            _ => Self::Internal { message },
        }
    }
}

impl ReplayReport {
    /// Whether the code would go on with every history.
    pub fn is_ok(&self) -> bool {
        self.failures().next().is_none()
    }

    /// The histories that the code would not go on with.
    pub fn failures(&self) -> impl Iterator<Item = &ReplayEntry> {
        self.replays.iter().filter(|entry| !entry.outcome.is_ok())
    }

    /// Panics with the whole report unless [`is_ok`](Self::is_ok).
    #[track_caller]
    pub fn assert_ok(&self) {
        assert!(self.is_ok(), "{self}");
    }
}

impl fmt::Display for ReplayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed = self.failures().count();
        let replayed = self.replays.len() - failed;
        writeln!(f, "replay: {replayed} histories go on, {failed} do not")?;
        for entry in &self.replays {
            if entry.outcome != ReplayOutcome::Ok {
                writeln!(f, "{entry}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for ReplayEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let ReplaySource::File(path) = &self.source {
            write!(f, "{}: ", path.display())?;
        }
        if let (Some(instance), Some(execution)) = (&self.instance, self.execution_id) {
            write!(f, "`{instance}`, execution {execution}: ")?;
        }
        self.outcome.fmt(f)
    }
}

impl fmt::Display for ReplayOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => f.write_str("ok"),
            Self::Extended { appended } => {
                write!(f, "ok, and the code goes on with: {}", appended.join(", "))
            }
            Self::Violation { message, .. }
            | Self::Corrupt { message, .. }
            | Self::NotDurable { message, .. }
            | Self::Internal { message } => f.write_str(message),
            Self::NotRegistered { name, version } => match version {
                Some(version) => write!(f, "orchestration `{name}` {version} is not registered"),
                None => write!(f, "orchestration `{name}` is not registered"),
            },
            Self::Panicked { after, message } => {
                write!(f, "the code panicked after event {after}: {message}")
            }
            Self::Unreadable { reason } => f.write_str(reason),
        }
    }
}
