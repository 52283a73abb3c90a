//! Wake-ups: the board remembers for each topic when it last changed.
//!
//! Scripts publish what they changed; one connection listens and notes it here. Versions
//! are this process's own: a fetch takes the version before it asks, so whatever is noted
//! later may have come after it. When the listener was away, everything may have changed.
//!
//! The board is bounded: of instances and sessions it remembers the latest few thousand
//! changes, and whoever looked before those is told to look again.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use durable_core::provider::{ProviderError, SessionId, WakeSeq, WakeTopic};
use tokio::sync::Notify;

use crate::keys::queue_topic;

/// How many topics are remembered.
const REMEMBERED: usize = 8_192;

/// What changed when, and who wants to know.
#[derive(Debug, Default)]
pub(crate) struct Board {
    inner: Mutex<Inner>,
    /// Rung when an outbox has something.
    pub(crate) outbox: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    version: u64,
    changes: HashMap<String, u64>,
    /// Changes up to this version are forgotten.
    forgotten: u64,
    bells: HashMap<String, Vec<Weak<Notify>>>,
    sweep_at: usize,
    /// Sessions that are known to have ended.
    ended: HashSet<SessionId>,
}

impl Board {
    /// How far has been noted.
    pub(crate) fn seen(&self) -> WakeSeq {
        WakeSeq(self.lock().version)
    }

    /// Notes what a script published: `length:topic` after `length:topic`.
    pub(crate) fn note(&self, mut published: &str) {
        let mut topics = Vec::new();
        while let Some((length, rest)) = published.split_once(':') {
            let length = length.parse().unwrap_or(usize::MAX);
            let Some((topic, rest)) = rest.split_at_checked(length) else {
                break;
            };
            topics.push(topic);
            published = rest;
        }
        let mut bells = Vec::new();
        let mut inner = self.lock();
        for topic in topics {
            if topic == "o" {
                self.outbox.notify_one();
                continue;
            }
            if let Some(Ok(session)) = topic.strip_prefix('e').map(str::parse) {
                inner.end(SessionId(session));
            }
            bells.extend(inner.bells.remove(topic).unwrap_or_default());
            inner.remember(topic);
        }
        drop(inner);
        ring(&bells);
    }

    /// Notes that a session has ended.
    pub(crate) fn note_end(&self, session: SessionId) {
        let topic = ending(session);
        self.note(&format!("{}:{topic}", topic.len()));
    }

    /// Notes that anything may have changed.
    pub(crate) fn note_everything(&self) {
        let mut inner = self.lock();
        inner.version += 1;
        inner.forgotten = inner.version;
        inner.changes.clear();
        let bells: Vec<_> = inner.bells.drain().flat_map(|(_, bells)| bells).collect();
        drop(inner);
        self.outbox.notify_one();
        ring(&bells);
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
            && inner.ended.contains(&session)
        {
            return Err(ProviderError::SessionLost { session });
        }
        let topics = topics(session, topic);
        if topics.iter().any(|topic| inner.has_changed(topic, seen)) {
            return Ok(Some(WakeSeq(inner.version)));
        }
        for topic in topics {
            inner.leave_bell(topic, bell);
        }
        Ok(None)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn remember(&mut self, topic: &str) {
        self.version += 1;
        if self.changes.len() >= REMEMBERED {
            self.changes.clear();
            self.forgotten = self.version - 1;
        }
        self.changes.insert(topic.to_owned(), self.version);
    }

    fn end(&mut self, session: SessionId) {
        if self.ended.len() >= REMEMBERED {
            self.ended.clear();
        }
        self.ended.insert(session);
    }

    fn has_changed(&self, topic: &str, seen: WakeSeq) -> bool {
        let changed = self.changes.get(topic).copied().unwrap_or(0);
        self.forgotten > seen.0 || changed > seen.0
    }

    fn leave_bell(&mut self, topic: String, bell: &Arc<Notify>) {
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

/// What is published when a session ends.
fn ending(session: SessionId) -> String {
    format!("e{}", session.0)
}

fn ring(bells: &[Weak<Notify>]) {
    for bell in bells.iter().filter_map(Weak::upgrade) {
        bell.notify_one();
    }
}

/// What a wait is for; the end of its session ends it too.
fn topics(session: Option<SessionId>, topic: &WakeTopic) -> Vec<String> {
    let wanted = match topic {
        WakeTopic::Instances => ["f".to_owned()]
            .into_iter()
            .chain(session.map(|session| format!("s{}", session.0)))
            .collect(),
        WakeTopic::Work(queues) => queues
            .iter()
            .map(|queue| queue_topic(queue.as_ref()))
            .collect(),
        WakeTopic::Timers => vec!["t".to_owned()],
        WakeTopic::Instance(instance) => vec![format!("i{instance}")],
        WakeTopic::End(instance) => vec![format!("d{instance}")],
    };
    wanted.into_iter().chain(session.map(ending)).collect()
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
        board.note("1:f1:t");
        assert_eq!(look(&board, &WakeTopic::Timers, 0), Some(WakeSeq(2)));
        assert_eq!(look(&board, &WakeTopic::Timers, 2), None);
        assert_eq!(look(&board, &WakeTopic::Instances, 0), Some(WakeSeq(2)));
        board.note_everything();
        assert_eq!(look(&board, &WakeTopic::Timers, 2), Some(WakeSeq(3)));
        assert_eq!(look(&board, &WakeTopic::Timers, 3), None);
    }

    #[test]
    fn the_end_of_a_session_is_told_to_its_waits_only() {
        let board = Board::default();
        let bell = Arc::new(Notify::new());
        let look = |session| {
            let session = Some(SessionId(session));
            board.look_or_leave_bell(session, &WakeTopic::Timers, WakeSeq(0), &bell)
        };
        board.note("2:e7");
        let session = SessionId(7);
        assert_eq!(look(7), Err(ProviderError::SessionLost { session }));
        assert_eq!(look(8), Ok(None));
        board.note_end(SessionId(8));
        assert!(look(8).is_err());
    }

    #[test]
    fn who_waits_for_an_end_is_not_told_of_other_changes() {
        let board = Board::default();
        let end = WakeTopic::End("a".into());
        board.note("2:ia2:db");
        assert_eq!(look(&board, &end, 0), None);
        board.note("2:da");
        assert_eq!(look(&board, &end, 2), Some(WakeSeq(3)));
        assert_eq!(look(&board, &end, 3), None);
    }

    #[test]
    fn hostile_names_and_torn_bells_do_no_harm() {
        let board = Board::default();
        let topic = WakeTopic::Instance("a:1:t".into());
        board.note("6:ia:1:t9:");
        assert!(look(&board, &topic, 0).is_some());
        assert_eq!(look(&board, &WakeTopic::Timers, 0), None);
        board.note("x:y");
        board.note("3:iü");
        assert!(look(&board, &WakeTopic::Instance("ü".into()), 1).is_some());
    }

    #[test]
    fn forgotten_instances_are_looked_at_again() {
        let board = Board::default();
        for number in 0..=REMEMBERED {
            let topic = format!("i{number}");
            board.note(&format!("{}:{topic}", topic.len()));
        }
        assert!(look(&board, &WakeTopic::Instance("0".into()), 1).is_some());
        let latest = REMEMBERED as u64 + 1;
        assert_eq!(look(&board, &WakeTopic::Instance("0".into()), latest), None);
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
