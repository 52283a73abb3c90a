//! Wake-ups: a version counts every change that a caller may wait for, and the
//! registry remembers for each topic the version of its latest change.
//!
//! A fetch returns the version it saw. A wait looks at the registry and leaves its
//! notifier in the same step, so nothing can happen between the look and the wait.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Weak};

use durable_core::provider::{ProviderError, SessionId, WakeSeq, WakeTopic};
use durable_core::{InstanceId, Name};
use tokio::sync::Notify;

use super::state::MemoryState;

/// Something that changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Topic {
    /// A free instance has messages.
    FreeInstances,
    /// An instance that this session holds has messages, or the session ended.
    Session(SessionId),
    /// Work in a queue is ready, or will be at a time that no waiter knows yet.
    Work(Option<Name>),
    /// The first timer that is due is another.
    Timers,
    /// An instance's status, execution or custom status changed.
    Instance(InstanceId),
    /// An instance ended.
    End(InstanceId),
}

/// What changed when, and who wants to know.
#[derive(Debug, Default)]
pub(super) struct WakeRegistry {
    version: u64,
    changes: BTreeMap<Topic, u64>,
    waiters: BTreeMap<Topic, Vec<Weak<Notify>>>,
    /// Waiters of topics that changed, to be woken when the lock is free.
    to_wake: Vec<Weak<Notify>>,
}

impl WakeRegistry {
    pub(super) fn seen(&self) -> WakeSeq {
        WakeSeq(self.version)
    }

    /// Remembers a change and those who wait for it.
    pub(super) fn note(&mut self, topic: Topic) {
        self.version += 1;
        self.to_wake
            .extend(self.waiters.remove(&topic).unwrap_or_default());
        self.changes.insert(topic, self.version);
    }

    /// The waiters for everything that changed since they were taken last.
    pub(super) fn take_changed_waiters(&mut self) -> Vec<Arc<Notify>> {
        let waiters = mem::take(&mut self.to_wake);
        waiters.iter().filter_map(Weak::upgrade).collect()
    }

    fn has_changed(&self, topic: &Topic, seen: WakeSeq) -> bool {
        self.changes
            .get(topic)
            .is_some_and(|version| *version > seen.0)
    }

    fn register_waiter(&mut self, topic: Topic, notifier: &Arc<Notify>) {
        let waiters = self.waiters.entry(topic).or_default();
        waiters.retain(|notifier| notifier.strong_count() > 0);
        waiters.push(Arc::downgrade(notifier));
    }
}

impl MemoryState {
    /// Answers a wait that is over; otherwise registers its notifier and answers `None`.
    pub(super) fn look_or_register(
        &mut self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        seen: WakeSeq,
        notifier: &Arc<Notify>,
    ) -> Result<Option<WakeSeq>, ProviderError> {
        if let Some(session) = session {
            self.live_session(session)?;
        }
        let topics = topics(session, topic);
        if topics
            .iter()
            .any(|topic| self.wake.has_changed(topic, seen))
        {
            return Ok(Some(self.wake.seen()));
        }
        for topic in topics.into_iter().chain(session.map(Topic::Session)) {
            self.wake.register_waiter(topic, notifier);
        }
        Ok(None)
    }
}

fn topics(session: Option<SessionId>, topic: &WakeTopic) -> Vec<Topic> {
    match topic {
        WakeTopic::Instances => [Topic::FreeInstances]
            .into_iter()
            .chain(session.map(Topic::Session))
            .collect(),
        WakeTopic::Work(queues) => queues.iter().cloned().map(Topic::Work).collect(),
        WakeTopic::Timers => vec![Topic::Timers],
        WakeTopic::Instance(instance) => vec![Topic::Instance(instance.clone())],
        WakeTopic::End(instance) => vec![Topic::End(instance.clone())],
    }
}
