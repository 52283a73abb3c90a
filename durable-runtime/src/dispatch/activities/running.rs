//! The activities that run on this node, and how to tell them to stop.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use durable_core::InstanceId;
use durable_core::provider::{WorkKey, WorkLease};
use tokio_util::sync::CancellationToken;

/// The activities that run on this node.
#[derive(Debug, Default)]
pub(crate) struct RunningActivities {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    activities: HashMap<WorkKey, Attempted>,
    /// What the store reported last as cancelled: an attempt of it may be about to begin.
    cancelled_elsewhere: HashSet<WorkKey>,
}

#[derive(Debug)]
struct Attempted {
    token: u64,
    cancellation: CancellationToken,
}

impl RunningActivities {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An attempt begins; this token cancels it.
    pub(crate) fn began(&self, lease: &WorkLease, cancellation: &CancellationToken) {
        let attempted = Attempted {
            token: lease.token,
            cancellation: cancellation.clone(),
        };
        let mut state = self.state();
        state.activities.insert(lease.key.clone(), attempted);
        let is_cancelled = state.cancelled_elsewhere.contains(&lease.key);
        drop(state);
        if is_cancelled {
            cancellation.cancel();
        }
    }

    /// An attempt ended.
    pub(crate) fn ended(&self, lease: &WorkLease) {
        let mut state = self.state();
        let attempted = state.activities.get(&lease.key);
        if attempted.is_some_and(|attempted| attempted.token == lease.token) {
            state.activities.remove(&lease.key);
        }
    }

    /// Cancels what the store reports: all work that this session holds and that was
    /// cancelled.
    pub(crate) fn cancelled_elsewhere(&self, keys: Vec<WorkKey>) {
        self.state().cancelled_elsewhere = keys.iter().cloned().collect();
        self.cancel(keys);
    }

    /// Cancels these activities: their instances no longer wait for them.
    pub(crate) fn cancel(&self, keys: impl IntoIterator<Item = WorkKey>) {
        let state = self.state();
        let cancelled: Vec<CancellationToken> = keys
            .into_iter()
            .filter_map(|key| Some(state.activities.get(&key)?.cancellation.clone()))
            .collect();
        drop(state);
        cancelled.iter().for_each(CancellationToken::cancel);
    }

    /// Cancels all activities of this instance.
    pub(crate) fn cancel_all_of(&self, instance: &InstanceId) {
        let keys: Vec<WorkKey> = self
            .state()
            .activities
            .keys()
            .filter(|key| key.instance == *instance)
            .cloned()
            .collect();
        self.cancel(keys);
    }
}

#[cfg(test)]
mod tests {
    use durable_core::provider::{SessionId, SourceEvent};
    use durable_core::{EventId, ExecutionId};

    use super::*;

    fn lease(event_id: u64) -> WorkLease {
        let source = SourceEvent::new(ExecutionId::FIRST, EventId::new(event_id));
        WorkLease {
            key: WorkKey::new("order-7".into(), source),
            session: SessionId(1),
            token: 1,
        }
    }

    #[test]
    fn an_attempt_that_begins_after_its_cancellation_was_reported_is_cancelled_at_once() {
        let running = RunningActivities::default();
        running.cancelled_elsewhere(vec![lease(2).key]);
        let tokens = [2, 3].map(|event_id| {
            let token = CancellationToken::new();
            running.began(&lease(event_id), &token);
            token
        });
        assert_eq!(
            tokens.each_ref().map(CancellationToken::is_cancelled),
            [true, false]
        );
        running.cancelled_elsewhere(vec![lease(3).key]);
        assert!(tokens[1].is_cancelled());
    }
}
