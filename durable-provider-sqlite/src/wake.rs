//! Wake-ups: the board remembers for each topic the version of its latest change.
//!
//! The writer gives every change the next version while it works, and publishes all
//! of a group when the group is on disk. A fetch returns the version that it saw
//! within its transaction. A wait looks at the board and leaves its bell in the same
//! step, so nothing can happen between the look and the wait.
//!
//! The board is bounded: of instances it remembers the latest few thousand changes and ends,
//! and whoever looked before those is told to look again.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use durable_core::provider::{ProviderError, SessionId, WakeSeq, WakeTopic};
use durable_core::{InstanceId, Name};
use tokio::sync::Notify;

/// How many changes and ends of instances are remembered.
const REMEMBERED_INSTANCES: usize = 8_192;

/// Something that changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
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
    /// Another process changed something.
    Elsewhere,
}

impl Topic {
    fn is_of_one_instance(&self) -> bool {
        matches!(self, Self::Instance(_) | Self::End(_))
    }
}

/// A topic and the version of its change.
pub(crate) type Note = (Topic, u64);

/// What changed when, and who wants to know.
#[derive(Debug, Default)]
pub(crate) struct Board {
    inner: Mutex<Inner>,
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
struct Inner {
    published: u64,
    changes: HashMap<Topic, u64>,
    /// Those of single instances: only the latest.
    instances: HashMap<Topic, u64>,
    /// Changes of instances up to this version are forgotten.
    forgotten: u64,
    bells: HashMap<Topic, Vec<Weak<Notify>>>,
    sweep_at: usize,
    /// The sessions that live.
    sessions: HashSet<SessionId>,
}

impl Board {
    /// Makes a group's changes known and rings whoever waits for them.
    pub(crate) fn publish(&self, notes: Vec<Note>, version: u64) {
        let mut bells = Vec::new();
        let mut inner = self.lock();
        inner.published = inner.published.max(version);
        for (topic, version) in notes {
            match topic {
                Topic::Elsewhere => bells.extend(inner.bells.drain().flat_map(|(_, bells)| bells)),
                _ => bells.extend(inner.bells.remove(&topic).unwrap_or_default()),
            }
            inner.remember(topic, version);
        }
        drop(inner);
        for bell in bells.iter().filter_map(Weak::upgrade) {
            bell.notify_one();
        }
    }

    /// Makes known which sessions live.
    pub(crate) fn set_sessions(&self, sessions: HashSet<SessionId>) {
        self.lock().sessions = sessions;
    }

    /// Answers a wait that is over; otherwise leaves its bell and answers `None`.
    pub(crate) fn look_or_leave_bell(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        seen: WakeSeq,
        bell: &Arc<Notify>,
    ) -> Result<Option<WakeSeq>, ProviderError> {
        let mut inner = self.lock();
        if let Some(session) = session
            && !inner.sessions.contains(&session)
        {
            return Err(ProviderError::SessionLost { session });
        }
        let topics = topics(session, topic);
        if topics.iter().any(|topic| inner.has_changed(topic, seen)) {
            return Ok(Some(WakeSeq(inner.published)));
        }
        for topic in topics.into_iter().chain(session.map(Topic::Session)) {
            inner.leave_bell(topic, bell);
        }
        Ok(None)
    }

    /// Whether anybody waits.
    pub(crate) fn has_waiters(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// Counts a waiter until the answer is dropped; says whether it is the first.
    pub(crate) fn wait(self: &Arc<Self>) -> (Waiting, bool) {
        let before = self.waiting.fetch_add(1, Ordering::AcqRel);
        (Waiting(Arc::clone(self)), before == 0)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody waits.
#[derive(Debug)]
pub(crate) struct Waiting(Arc<Board>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Inner {
    fn remember(&mut self, topic: Topic, version: u64) {
        if !topic.is_of_one_instance() {
            self.changes.insert(topic, version);
            return;
        }
        if self.instances.len() >= REMEMBERED_INSTANCES {
            self.forgotten = self
                .instances
                .drain()
                .map(|(_, version)| version)
                .max()
                .unwrap_or(0);
        }
        self.instances.insert(topic, version);
    }

    fn has_changed(&self, topic: &Topic, seen: WakeSeq) -> bool {
        let is_later = |version: Option<&u64>| version.is_some_and(|version| *version > seen.0);
        let changed = match topic.is_of_one_instance() {
            true => self.forgotten > seen.0 || is_later(self.instances.get(topic)),
            false => is_later(self.changes.get(topic)),
        };
        changed || is_later(self.changes.get(&Topic::Elsewhere))
    }

    fn leave_bell(&mut self, topic: Topic, bell: &Arc<Notify>) {
        if self.bells.len() > self.sweep_at {
            self.bells
                .retain(|_, bells| bells.iter().any(|bell| bell.strong_count() > 0));
            self.sweep_at = (self.bells.len() * 2).max(1_024);
        }
        let bells = self.bells.entry(topic).or_default();
        bells.retain(|bell| bell.strong_count() > 0);
        bells.push(Arc::downgrade(bell));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn look(board: &Board, topic: &WakeTopic, seen: u64) -> Option<WakeSeq> {
        let bell = Arc::new(Notify::new());
        board
            .look_or_leave_bell(None, topic, WakeSeq(seen), &bell)
            .unwrap()
    }

    #[test]
    fn a_change_is_seen_until_it_was_looked_at() {
        let board = Board::default();
        assert_eq!(look(&board, &WakeTopic::Timers, 0), None);
        board.publish(vec![(Topic::Timers, 1)], 1);
        assert_eq!(look(&board, &WakeTopic::Timers, 0), Some(WakeSeq(1)));
        assert_eq!(look(&board, &WakeTopic::Timers, 1), None);
        board.publish(vec![(Topic::Elsewhere, 2)], 2);
        assert_eq!(look(&board, &WakeTopic::Timers, 1), Some(WakeSeq(2)));
    }

    #[test]
    fn who_waits_for_an_end_is_not_told_of_other_changes() {
        let board = Board::default();
        let end = WakeTopic::End("a".into());
        board.publish(vec![(Topic::Instance("a".into()), 1)], 1);
        board.publish(vec![(Topic::End("b".into()), 2)], 2);
        assert_eq!(look(&board, &end, 0), None);
        board.publish(vec![(Topic::End("a".into()), 3)], 3);
        assert_eq!(look(&board, &end, 2), Some(WakeSeq(3)));
        assert_eq!(look(&board, &end, 3), None);
    }

    #[test]
    fn forgotten_instances_are_looked_at_again() {
        let board = Board::default();
        let first = InstanceId::from("order-0");
        let interests = [WakeTopic::Instance(first.clone()), WakeTopic::End(first)];
        for version in 1..=REMEMBERED_INSTANCES as u64 + 1 {
            let instance = InstanceId::from(format!("order-{}", version - 1));
            board.publish(vec![(Topic::Instance(instance), version)], version);
        }
        for topic in interests {
            assert!(look(&board, &topic, 1).is_some(), "it may have changed");
            let latest = REMEMBERED_INSTANCES as u64 + 1;
            assert_eq!(look(&board, &topic, latest), None);
        }
    }

    #[test]
    fn bells_of_those_who_went_are_swept() {
        let board = Board::default();
        for number in 0..10_000 {
            look(&board, &WakeTopic::Instance(format!("{number}").into()), 0);
        }
        assert!(board.lock().bells.len() < 3_000);
    }
}
