//! What a workload expects of its instances.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use durable_core::provider::InstanceStatus;
use durable_core::{InstanceId, Payload};

/// An end that an instance may come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expected {
    /// It returns this.
    Output(Payload),
    /// It is ended from outside.
    Terminated,
}

impl Expected {
    pub(crate) fn is_met(&self, status: &InstanceStatus) -> bool {
        match (self, status) {
            (Self::Output(expected), InstanceStatus::Completed { output }) => expected == output,
            (Self::Terminated, InstanceStatus::Terminated { .. }) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(output) => write!(f, "output {output}"),
            Self::Terminated => f.write_str("termination"),
        }
    }
}

/// The ends that instances may come to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expectations {
    ends: Arc<Mutex<BTreeMap<InstanceId, Vec<Expected>>>>,
}

impl Expectations {
    pub(crate) fn add(&self, instance: InstanceId, end: Expected) {
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        ends.entry(instance).or_default().push(end);
    }

    pub(crate) fn all(&self) -> BTreeMap<InstanceId, Vec<Expected>> {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        ends.clone()
    }
}
