//! The activities that run on this node, and how to tell them to stop.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use durable_core::InstanceId;
use durable_core::provider::{WorkKey, WorkLease};
use tokio_util::sync::CancellationToken;

/// The activities that run on this node.
#[derive(Debug, Default)]
pub(crate) struct RunningActivities {
    activities: Mutex<HashMap<WorkKey, Attempted>>,
}

#[derive(Debug)]
struct Attempted {
    token: u64,
    cancellation: CancellationToken,
}

impl RunningActivities {
    fn activities(&self) -> MutexGuard<'_, HashMap<WorkKey, Attempted>> {
        self.activities
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// An attempt begins; this token cancels it.
    pub(crate) fn began(&self, lease: &WorkLease, cancellation: CancellationToken) {
        let attempted = Attempted {
            token: lease.token,
            cancellation,
        };
        self.activities().insert(lease.key.clone(), attempted);
    }

    /// An attempt ended.
    pub(crate) fn ended(&self, lease: &WorkLease) {
        let mut activities = self.activities();
        let attempted = activities.get(&lease.key);
        if attempted.is_some_and(|attempted| attempted.token == lease.token) {
            activities.remove(&lease.key);
        }
    }

    /// Cancels these activities: their instances no longer wait for them.
    pub(crate) fn cancel(&self, keys: impl IntoIterator<Item = WorkKey>) {
        let activities = self.activities();
        let cancelled: Vec<CancellationToken> = keys
            .into_iter()
            .filter_map(|key| Some(activities.get(&key)?.cancellation.clone()))
            .collect();
        drop(activities);
        cancelled.iter().for_each(CancellationToken::cancel);
    }

    /// Cancels all activities of this instance.
    pub(crate) fn cancel_all_of(&self, instance: &InstanceId) {
        let keys: Vec<WorkKey> = self
            .activities()
            .keys()
            .filter(|key| key.instance == *instance)
            .cloned()
            .collect();
        self.cancel(keys);
    }
}
