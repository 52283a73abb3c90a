//! Wake-ups: a version counts everything that somebody may wait for, and the
//! board remembers for each topic the version of its latest change.
//!
//! A fetch returns the version it saw. A wait looks at the board and leaves its
//! bell in the same step, so nothing can happen between the look and the wait.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Weak};

use durable_core::provider::{ProviderError, SessionId, WakeSeq, WakeTopic};
use durable_core::{InstanceId, Name};
use tokio::sync::Notify;

use super::state::State;

/// Something that changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Topic {
    /// A free instance has messages.
    FreeInstances,
    /// An instance that this session holds has messages, or the session ended.
    Session(SessionId),
    /// Work in a queue is ready, or will be at a time that nobody knows yet.
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
pub(super) struct WakeBoard {
    version: u64,
    changes: BTreeMap<Topic, u64>,
    bells: BTreeMap<Topic, Vec<Weak<Notify>>>,
    /// Bells of topics that changed, to be rung when the lock is free.
    to_ring: Vec<Weak<Notify>>,
}

impl WakeBoard {
    pub(super) fn seen(&self) -> WakeSeq {
        WakeSeq(self.version)
    }

    /// Remembers a change and those who wait for it.
    pub(super) fn note(&mut self, topic: Topic) {
        self.version += 1;
        self.to_ring
            .extend(self.bells.remove(&topic).unwrap_or_default());
        self.changes.insert(topic, self.version);
    }

    /// The bells of everything that changed since they were taken last.
    pub(super) fn take_bells(&mut self) -> Vec<Arc<Notify>> {
        let bells = mem::take(&mut self.to_ring);
        bells.iter().filter_map(Weak::upgrade).collect()
    }

    fn has_changed(&self, topic: &Topic, seen: WakeSeq) -> bool {
        self.changes
            .get(topic)
            .is_some_and(|version| *version > seen.0)
    }

    fn leave_bell(&mut self, topic: Topic, bell: &Arc<Notify>) {
        let bells = self.bells.entry(topic).or_default();
        bells.retain(|bell| bell.strong_count() > 0);
        bells.push(Arc::downgrade(bell));
    }
}

impl State {
    /// Answers a wait that is over; otherwise leaves its bell and answers `None`.
    pub(super) fn look_or_leave_bell(
        &mut self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        seen: WakeSeq,
        bell: &Arc<Notify>,
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
            self.wake.leave_bell(topic, bell);
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
