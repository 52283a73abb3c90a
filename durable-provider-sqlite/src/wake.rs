//! Wake-ups: the registry of what changed, which sessions live, and how many callers wait.
//!
//! The writer gives every change the next version while it works, and publishes all changes
//! of a group when the group is on disk. A fetch returns the version that it saw within its
//! transaction.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use durable_core::provider::{
    Change, ProviderError, ServedCode, SessionId, WakeRegistry, WakeSource,
};

/// A change and its version.
pub(crate) type VersionedChange = (Change, u64);

/// What changed when, and who wants to know.
#[derive(Debug, Default)]
pub(crate) struct Wakeups {
    published: Mutex<Published>,
    waiting: AtomicUsize,
}

/// What the writer made known.
#[derive(Debug, Default)]
struct Published {
    registry: WakeRegistry,
    /// The sessions that live, with their code; `None` is any.
    sessions: HashMap<SessionId, Option<Arc<ServedCode>>>,
}

impl Wakeups {
    /// Makes a group's changes known and wakes the callers that wait for them.
    pub(crate) fn publish(&self, changes: Vec<VersionedChange>, version: u64) {
        let woken = self.with_registry(|registry| {
            registry.publish(changes, version);
            registry.take_woken()
        });
        woken.into_iter().for_each(Waker::wake);
    }

    /// Makes known which sessions live.
    pub(crate) fn set_sessions(&self, sessions: HashMap<SessionId, Option<Arc<ServedCode>>>) {
        self.lock().sessions = sessions;
    }

    /// Whether a caller waits for a change.
    pub(crate) fn has_waiters(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// Counts a waiter until the answer is dropped; says whether it is the first.
    pub(crate) fn wait(self: &Arc<Self>) -> (Waiting, bool) {
        let before = self.waiting.fetch_add(1, Ordering::AcqRel);
        (Waiting(Arc::clone(self)), before == 0)
    }

    fn lock(&self) -> MutexGuard<'_, Published> {
        self.published
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl WakeSource for Wakeups {
    fn with_registry<T>(&self, job: impl FnOnce(&mut WakeRegistry) -> T) -> T {
        job(&mut self.lock().registry)
    }

    fn check_session(&self, session: SessionId) -> Result<(), ProviderError> {
        match self.lock().sessions.contains_key(&session) {
            true => Ok(()),
            false => Err(ProviderError::SessionLost { session }),
        }
    }

    fn code_of(&self, session: SessionId) -> Option<Arc<ServedCode>> {
        self.lock().sessions.get(&session).cloned().flatten()
    }
}

/// A caller waits for a change.
#[derive(Debug)]
pub(crate) struct Waiting(Arc<Wakeups>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use durable_core::provider::{WakeSeq, WakeTopic};

    use super::*;

    #[tokio::test]
    async fn a_wait_ends_with_its_change_or_its_session() {
        let wakeups = Wakeups::default();
        let session = SessionId(1);
        wakeups.set_sessions(HashMap::from([(session, None)]));
        let timers = WakeTopic::Timers;
        let mut first = std::pin::pin!(wakeups.wait_for_change(Some(session), &timers, WakeSeq(0)));
        assert!(futures::poll!(&mut first).is_pending());
        wakeups.publish(vec![(Change::Timers, 2)], 3);
        assert_eq!(first.await, Ok(WakeSeq(3)));
        let mut second =
            std::pin::pin!(wakeups.wait_for_change(Some(session), &timers, WakeSeq(3)));
        assert!(futures::poll!(&mut second).is_pending());
        wakeups.set_sessions(HashMap::new());
        wakeups.publish(vec![(Change::Session(session), 4)], 4);
        assert_eq!(second.await, Err(ProviderError::SessionLost { session }));
    }

    #[test]
    fn waiters_are_counted_until_they_go() {
        let wakeups = Arc::<Wakeups>::default();
        assert!(!wakeups.has_waiters());
        let (first, is_first) = wakeups.wait();
        let (second, is_second_first) = wakeups.wait();
        assert_eq!((is_first, is_second_first), (true, false));
        drop(first);
        assert!(wakeups.has_waiters());
        drop(second);
        assert!(!wakeups.has_waiters());
    }
}
