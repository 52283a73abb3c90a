//! Which code a node has, and which code something that is ready needs.
//!
//! A session says once what its node can run. The store gives a session nothing that its
//! node lacks, so a node without the code never delays the nodes that have it.

use alloc::collections::{BTreeMap, BTreeSet};
use core::fmt;

use serde::{Deserialize, Serialize};

use super::query::InstanceRecord;
use crate::text::{Name, Version};

/// The code that a node has: orchestrations with their versions, and activities.
///
/// ```
/// use durable_core::provider::{RequiredCode, ServedCode};
///
/// let code = ServedCode::new()
///     .orchestration("order", "1.0.0")
///     .activity("charge");
/// assert!(code.can_run(&RequiredCode::new("order", Some("1.0.0".into()))));
/// assert!(code.can_run(&RequiredCode::new("order", None)));
/// assert!(!code.can_run(&RequiredCode::new("order", Some("2.0.0".into()))));
/// assert!(code.can_run(&RequiredCode::None));
/// assert!(code.has_activity("charge") && !code.has_activity("ship"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServedCode {
    /// The versions of each orchestration.
    pub orchestrations: BTreeMap<Name, BTreeSet<Version>>,
    /// The activities.
    pub activities: BTreeSet<Name>,
}

impl ServedCode {
    /// No code at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a version of an orchestration.
    #[must_use]
    pub fn orchestration(mut self, name: impl Into<Name>, version: impl Into<Version>) -> Self {
        let versions = self.orchestrations.entry(name.into()).or_default();
        versions.insert(version.into());
        self
    }

    /// Adds an activity.
    #[must_use]
    pub fn activity(mut self, name: impl Into<Name>) -> Self {
        self.activities.insert(name.into());
        self
    }

    /// Whether a node with this code can run turns of an instance that needs this.
    pub fn can_run(&self, required: &RequiredCode) -> bool {
        match required {
            RequiredCode::None => true,
            RequiredCode::Orchestration { name, version } => {
                let versions = self.orchestrations.get(name);
                versions.is_some_and(|has| version.as_ref().is_none_or(|one| has.contains(one)))
            }
        }
    }

    /// Whether a node with this code can run this activity.
    pub fn has_activity(&self, name: &str) -> bool {
        self.activities.contains(name)
    }
}

/// The code that a turn of an instance needs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequiredCode {
    /// None: the instance has ended, or is to be terminated, so its code does not run
    /// again. Any node can take its messages.
    None,
    /// An orchestration.
    Orchestration {
        /// Its name.
        name: Name,
        /// Its version; `None` is any, before the first turn of a start that named none.
        version: Option<Version>,
    },
}

impl RequiredCode {
    /// An orchestration in this version, or in any.
    pub fn new(name: impl Into<Name>, version: Option<Version>) -> Self {
        let name = name.into();
        Self::Orchestration { name, version }
    }

    /// What a turn of this instance needs, unless it is to be terminated.
    pub fn of(record: &InstanceRecord) -> Self {
        match record.status.kind().is_ended() {
            true => Self::None,
            false => Self::new(record.name.clone(), record.version.clone()),
        }
    }
}

impl fmt::Display for RequiredCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no code"),
            Self::Orchestration { name, version } => match version {
                Some(version) => write!(f, "`{name}` {version}"),
                None => write!(f, "`{name}`"),
            },
        }
    }
}
