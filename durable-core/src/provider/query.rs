//! Reading: instances, executions, histories; and removing what is no longer
//! needed.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::attribute::Attributes;
use crate::event::Parent;
use crate::failure::Failure;
use crate::history::HistoryEntry;
use crate::id::{EventId, ExecutionId};
use crate::text::{InstanceId, Name, Payload, Version};

/// Where an instance stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum InstanceStatus {
    /// It was asked to start; no turn has run yet.
    Pending,
    /// It runs, or waits for something.
    Running,
    /// It is stopped and nothing is lost: it goes on when a client resumes it.
    Suspended {
        /// Why.
        failure: Failure,
    },
    /// It returned a value.
    Completed {
        /// The value.
        output: Payload,
    },
    /// It returned a failure.
    Failed {
        /// The failure.
        failure: Failure,
    },
    /// It was ended from outside.
    Terminated {
        /// Why.
        failure: Failure,
    },
}

impl InstanceStatus {
    /// The status without what it carries.
    pub const fn kind(&self) -> StatusKind {
        match self {
            Self::Pending => StatusKind::Pending,
            Self::Running => StatusKind::Running,
            Self::Suspended { .. } => StatusKind::Suspended,
            Self::Completed { .. } => StatusKind::Completed,
            Self::Failed { .. } => StatusKind::Failed,
            Self::Terminated { .. } => StatusKind::Terminated,
        }
    }
}

/// An [`InstanceStatus`] without what it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum StatusKind {
    /// It was asked to start; no turn has run yet.
    Pending,
    /// It runs, or waits for something.
    Running,
    /// It is stopped until a client resumes it.
    Suspended,
    /// It returned a value.
    Completed,
    /// It returned a failure.
    Failed,
    /// It was ended from outside.
    Terminated,
}

impl StatusKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Running,
        Self::Suspended,
        Self::Completed,
        Self::Failed,
        Self::Terminated,
    ];

    /// Whether the instance will do nothing more.
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Terminated)
    }

    /// Whether the instance has ended, or does nothing before a client resumes it.
    pub const fn is_stopped(self) -> bool {
        self.is_ended() || matches!(self, Self::Suspended)
    }
}

impl fmt::Display for StatusKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Suspended => "suspended",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Terminated => "terminated",
        })
    }
}

/// What is known of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InstanceRecord {
    /// Its id.
    pub instance: InstanceId,
    /// Its current, or last, execution.
    pub execution_id: ExecutionId,
    /// The orchestration.
    pub name: Name,
    /// The version that the execution runs; before its first turn the version
    /// that was asked for, if one was.
    pub version: Option<Version>,
    /// Where it stands.
    pub status: InstanceStatus,
    /// What keeps it from going on just now, although it is not suspended.
    pub blocked: Option<Failure>,
    /// What the code said of itself.
    pub custom_status: Option<Payload>,
    /// What it can be found by.
    pub attributes: Attributes,
    /// Who waits for it.
    pub parent: Option<Parent>,
    /// The tail of the current execution's history.
    pub last_event_id: EventId,
    /// When it is to begin, if its start is delayed and it has run no turn.
    pub begins_at_ms: Option<u64>,
    /// When it was started.
    pub created_at_ms: u64,
    /// When it last changed: never before the latest entry of its history was recorded.
    pub updated_at_ms: u64,
}

impl InstanceRecord {
    /// An instance that was asked to start and has run no turn.
    pub const fn pending(
        instance: InstanceId,
        execution_id: ExecutionId,
        name: Name,
        created_at_ms: u64,
    ) -> Self {
        Self {
            instance,
            execution_id,
            name,
            version: None,
            status: InstanceStatus::Pending,
            blocked: None,
            custom_status: None,
            attributes: Attributes::new(),
            parent: None,
            last_event_id: EventId::UNASSIGNED,
            begins_at_ms: None,
            created_at_ms,
            updated_at_ms: created_at_ms,
        }
    }
}

/// One execution of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExecutionRecord {
    /// Which one.
    pub execution_id: ExecutionId,
    /// The tail of its history.
    pub last_event_id: EventId,
}

impl ExecutionRecord {
    /// An execution with this tail.
    pub const fn new(execution_id: ExecutionId, last_event_id: EventId) -> Self {
        Self {
            execution_id,
            last_event_id,
        }
    }
}

/// A part of a history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HistoryPage {
    /// The entries, in order.
    pub entries: Vec<HistoryEntry>,
    /// Whether there were more when the page was read.
    pub has_more: bool,
}

/// Which instances to list. An empty filter lists all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct InstanceFilter {
    /// Only this orchestration.
    pub name: Option<Name>,
    /// Only these statuses; empty is any.
    pub statuses: Vec<StatusKind>,
    /// Only ids that begin with this.
    pub id_prefix: Option<String>,
    /// Only those that changed before this time.
    pub updated_before_ms: Option<u64>,
}

impl InstanceFilter {
    /// Lists all instances.
    pub fn all() -> Self {
        Self::default()
    }

    /// Only this orchestration.
    #[must_use]
    pub fn name(mut self, name: impl Into<Name>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Only instances with one of these statuses; none is any.
    #[must_use]
    pub fn statuses(mut self, statuses: impl IntoIterator<Item = StatusKind>) -> Self {
        self.statuses = statuses.into_iter().collect();
        self
    }

    /// Only ids that begin with this.
    #[must_use]
    pub fn id_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.id_prefix = Some(prefix.into());
        self
    }

    /// Only those that changed before this time, in milliseconds since the Unix epoch.
    #[must_use]
    pub const fn updated_before_ms(mut self, time_ms: u64) -> Self {
        self.updated_before_ms = Some(time_ms);
        self
    }

    /// Whether an instance is meant.
    pub fn matches(&self, record: &InstanceRecord) -> bool {
        let is_named = self.name.as_ref().is_none_or(|name| *name == record.name);
        let has_status = self.statuses.is_empty() || self.statuses.contains(&record.status.kind());
        let has_prefix = self
            .id_prefix
            .as_ref()
            .is_none_or(|prefix| record.instance.starts_with(prefix.as_str()));
        let is_old = self
            .updated_before_ms
            .is_none_or(|time| record.updated_at_ms < time);
        is_named && has_status && has_prefix && is_old
    }
}

/// A part of a list of instances.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct InstancePage {
    /// The instances, by id.
    pub instances: Vec<InstanceRecord>,
    /// The id to go on after, if there is more.
    pub next: Option<InstanceId>,
}

/// What to remove. Only ended instances are ever removed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PurgeRequest {
    /// Which instances.
    pub filter: InstanceFilter,
    /// At most this many at once.
    pub max: usize,
}

impl PurgeRequest {
    /// Removes at most `max` of the ended instances that the filter means.
    pub const fn new(filter: InstanceFilter, max: usize) -> Self {
        Self { filter, max }
    }
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PurgeReport {
    /// How many instances, with everything that belongs to them.
    pub instances: usize,
    /// Whether there are more.
    pub has_more: bool,
}

/// Which past executions to remove. The current execution of an instance, which is the last
/// one of an ended instance, is never removed.
///
/// ```
/// use durable_core::ExecutionId;
/// use durable_core::provider::{InstanceFilter, PruneRequest};
///
/// let prune = PruneRequest::new(InstanceFilter::all(), 1_000).keep(3);
/// assert_eq!(prune.last_to_go(ExecutionId::new(9)), Some(ExecutionId::new(6)));
/// assert_eq!(prune.last_to_go(ExecutionId::new(3)), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PruneRequest {
    /// Of which instances.
    pub filter: InstanceFilter,
    /// How many executions of each instance stay at least: the latest ones, and the current
    /// one among them.
    pub keep: usize,
    /// Only executions whose last entry was recorded before this time.
    pub ended_before_ms: Option<u64>,
    /// At most this many executions at once.
    pub max: usize,
}

impl PruneRequest {
    /// Removes at most `max` past executions of the instances that the filter means.
    pub const fn new(filter: InstanceFilter, max: usize) -> Self {
        Self {
            filter,
            keep: 1,
            ended_before_ms: None,
            max,
        }
    }

    /// Keeps so many executions of each instance, the current one among them.
    #[must_use]
    pub const fn keep(mut self, executions: usize) -> Self {
        self.keep = executions;
        self
    }

    /// Only executions that ended before this time, in milliseconds since the Unix epoch.
    #[must_use]
    pub const fn ended_before_ms(mut self, time_ms: u64) -> Self {
        self.ended_before_ms = Some(time_ms);
        self
    }

    /// The latest execution that is not among those to keep, if this is the current one.
    pub fn last_to_go(&self, current: ExecutionId) -> Option<ExecutionId> {
        let keep = u64::try_from(self.keep.max(1)).unwrap_or(u64::MAX);
        let last = current.get().saturating_sub(keep);
        (last > 0).then(|| ExecutionId::new(last))
    }

    /// Whether an execution whose last entry was recorded then ended long enough ago.
    pub fn is_old(&self, last_recorded_ms: u64) -> bool {
        self.ended_before_ms
            .is_none_or(|time_ms| last_recorded_ms < time_ms)
    }
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PruneReport {
    /// How many executions, with their histories and their dead letters.
    pub executions: usize,
    /// Whether there are more.
    pub has_more: bool,
}
