//! Wake-ups: what scripts publish is noted in the wake registry.
//!
//! Scripts publish topics; one connection listens and notes them here as changes. Versions
//! are this process's own: a fetch takes the version before it asks, so whatever is noted
//! later may have come after it. When the listener was away, everything may have changed.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use durable_core::provider::{
    Change, ProviderError, ServedCode, SessionId, WakeRegistry, WakeSeq, WakeSource,
};
use tokio::sync::Notify;

use crate::code::{code_of, work_in_lane};

/// How many ended sessions are remembered.
const REMEMBERED_SESSIONS: usize = 8_192;

/// The changes that this process knows of, and the tasks that wait for some.
#[derive(Debug, Default)]
pub(crate) struct Wakeups {
    state: Mutex<WakeState>,
    /// Notified when an outbox has messages.
    pub(crate) outbox: Notify,
}

#[derive(Debug, Default)]
struct WakeState {
    registry: WakeRegistry,
    /// Sessions that are known to have ended.
    ended: HashSet<SessionId>,
    /// The code of the sessions that were opened here, unless they run any.
    codes: HashMap<SessionId, Arc<ServedCode>>,
}

/// What a script published.
#[derive(Debug, PartialEq, Eq)]
enum Topic {
    Change(Change),
    SessionEnd(SessionId),
    Outbox,
}

impl Wakeups {
    /// Up to where changes are known.
    pub(crate) fn seen(&self) -> WakeSeq {
        self.lock().registry.seen()
    }

    /// Notes what a script published.
    pub(crate) fn note_published(&self, published: &str) {
        let topics: Vec<Topic> = topics(published).filter_map(Topic::parse).collect();
        if topics.contains(&Topic::Outbox) {
            self.outbox.notify_one();
        }
        self.update(|state| {
            for topic in topics {
                match topic {
                    Topic::Change(change) => state.registry.note(change),
                    Topic::SessionEnd(session) => state.end(session),
                    Topic::Outbox => {}
                }
            }
        });
    }

    /// Notes which code the node of a new session has; `None` is any.
    pub(crate) fn note_code(&self, session: SessionId, code: Option<ServedCode>) {
        if let Some(code) = code {
            self.lock().codes.insert(session, Arc::new(code));
        }
    }

    /// Notes that a session has ended.
    pub(crate) fn note_end(&self, session: SessionId) {
        self.update(|state| state.end(session));
    }

    /// Notes that anything may have changed.
    pub(crate) fn note_everything(&self) {
        self.update(|state| state.registry.note(Change::Everything));
        self.outbox.notify_one();
    }

    /// Changes the state, and wakes the tasks whose waits are over when the lock is free.
    fn update(&self, job: impl FnOnce(&mut WakeState)) {
        let mut state = self.lock();
        job(&mut state);
        let woken = state.registry.take_woken();
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, WakeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WakeSource for Wakeups {
    fn with_registry<T>(&self, job: impl FnOnce(&mut WakeRegistry) -> T) -> T {
        job(&mut self.lock().registry)
    }

    fn check_session(&self, session: SessionId) -> Result<(), ProviderError> {
        match self.lock().ended.contains(&session) {
            true => Err(ProviderError::SessionLost { session }),
            false => Ok(()),
        }
    }

    fn code_of(&self, session: SessionId) -> Option<Arc<ServedCode>> {
        self.lock().codes.get(&session).cloned()
    }
}

impl WakeState {
    fn end(&mut self, session: SessionId) {
        if self.ended.len() >= REMEMBERED_SESSIONS {
            self.ended.clear();
        }
        self.ended.insert(session);
        self.codes.remove(&session);
        self.registry.note(Change::Session(session));
    }
}

impl Topic {
    /// Reads a topic as `prelude.lua` writes it; `None` if this release does not know it.
    fn parse(topic: &str) -> Option<Self> {
        let session = |id: &str| id.parse().ok().map(SessionId);
        let (sort, rest) = topic.split_at_checked(1)?;
        let change = match sort {
            "f" => Change::FreeInstance(code_of(rest)?),
            "t" => Change::Timers,
            "w" => work_in_lane(rest)?,
            "s" => Change::Session(session(rest)?),
            "c" => Change::Cancellations(session(rest)?),
            "i" => Change::Instance(rest.into()),
            "v" => Change::Views(rest.into()),
            "n" => Change::Streams(rest.into()),
            "d" => Change::Stop(rest.into()),
            "e" => return session(rest).map(Self::SessionEnd),
            "o" => return Some(Self::Outbox),
            _ => return None,
        };
        Some(Self::Change(change))
    }
}

/// The topics in what was published: `length:topic` after `length:topic`.
fn topics(mut published: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (length, rest) = published.split_once(':')?;
        let (topic, rest) = rest.split_at_checked(length.parse().ok()?)?;
        published = rest;
        Some(topic)
    })
}

#[cfg(test)]
mod tests {
    use durable_core::provider::{RequiredCode, WakeTopic};
    use futures::FutureExt;

    use super::*;

    type Waited = Option<Result<WakeSeq, ProviderError>>;

    fn wait(wakeups: &Wakeups, session: Option<u64>, topic: &WakeTopic, since: u64) -> Waited {
        let session = session.map(SessionId);
        let wait = wakeups.wait_for_change(session, topic, WakeSeq(since));
        wait.now_or_never()
    }

    fn parsed(published: &str) -> Vec<Topic> {
        topics(published).filter_map(Topic::parse).collect()
    }

    #[test]
    fn every_topic_is_read() {
        let published = "2:f-10:f5:-:order15:f5:5:order1.0.01:t\
                         11:w6:-:charge14:w6:3:chargegpu3:s123:c122:e71:o2:ia2:va2:na2:db";
        let work = |queue: Option<&str>| Change::Work {
            queue: queue.map(Into::into),
            activity: "charge".into(),
        };
        let changes = [
            Change::FreeInstance(RequiredCode::None),
            Change::FreeInstance(RequiredCode::new("order", None)),
            Change::FreeInstance(RequiredCode::new("order", Some("1.0.0".into()))),
            Change::Timers,
            work(None),
            work(Some("gpu")),
            Change::Session(SessionId(12)),
            Change::Cancellations(SessionId(12)),
        ];
        let mut expected: Vec<Topic> = changes.into_iter().map(Topic::Change).collect();
        expected.extend([Topic::SessionEnd(SessionId(7)), Topic::Outbox]);
        expected.push(Topic::Change(Change::Instance("a".into())));
        expected.push(Topic::Change(Change::Views("a".into())));
        expected.push(Topic::Change(Change::Streams("a".into())));
        expected.push(Topic::Change(Change::Stop("b".into())));
        assert_eq!(parsed(published), expected);
    }

    #[test]
    fn hostile_names_and_torn_topics_do_no_harm() {
        let change = |id: &str| Topic::Change(Change::Instance(id.into()));
        assert_eq!(parsed("6:ia:1:t9:"), [change("a:1:t")]);
        assert_eq!(parsed("3:iü"), [change("ü")]);
        for torn in [
            "", "x:y", "2:iü", "0:", "1:x", "2:sx", "1:s", ":1:t", "99:t", "1:f", "1:w", "2:w-",
        ] {
            assert_eq!(parsed(torn), [], "{torn}");
        }
    }

    #[test]
    fn what_was_published_ends_the_waits_for_it() {
        let wakeups = Wakeups::default();
        wakeups.note_published("2:f-1:t");
        let seen = WakeSeq(2);
        assert_eq!(wakeups.seen(), seen);
        assert_eq!(wait(&wakeups, None, &WakeTopic::Timers, 0), Some(Ok(seen)));
        assert_eq!(wait(&wakeups, None, &WakeTopic::Timers, 2), None);
        wakeups.note_everything();
        let seen = WakeSeq(3);
        assert_eq!(wait(&wakeups, None, &WakeTopic::Timers, 2), Some(Ok(seen)));
        assert!(wakeups.outbox.notified().now_or_never().is_some());
        wakeups.note_published("1:o");
        assert!(wakeups.outbox.notified().now_or_never().is_some());
        assert_eq!(wakeups.seen(), seen);
    }

    #[test]
    fn a_session_that_was_opened_here_is_told_of_its_code_only_until_it_ends() {
        let wakeups = Wakeups::default();
        let code = ServedCode::new().orchestration("order", "1.0.0");
        wakeups.note_code(SessionId(7), Some(code.clone()));
        wakeups.note_code(SessionId(8), None);
        wakeups.note_published("15:f5:5:order2.0.0");
        let wait = |session| wait(&wakeups, Some(session), &WakeTopic::Instances, 0);
        let seen = Some(Ok(WakeSeq(1)));
        assert_eq!((wait(7), wait(8), wait(9)), (None, seen.clone(), seen));
        assert_eq!(wakeups.code_of(SessionId(7)), Some(Arc::new(code)));
        wakeups.note_end(SessionId(7));
        assert_eq!(wakeups.code_of(SessionId(7)), None);
    }

    #[test]
    fn the_end_of_a_session_is_told_to_its_waits_only() {
        let wakeups = Wakeups::default();
        wakeups.note_published("2:e7");
        let wait = |session| wait(&wakeups, Some(session), &WakeTopic::Timers, 0);
        let lost = |session| {
            let session = SessionId(session);
            Some(Err(ProviderError::SessionLost { session }))
        };
        assert_eq!((wait(7), wait(8)), (lost(7), None));
        wakeups.note_end(SessionId(8));
        assert_eq!((wait(7), wait(8)), (lost(7), lost(8)));
    }
}
