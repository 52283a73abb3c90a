//! The wake registry: what changed when in a store, and which tasks wait for it.
//!
//! Providers share it. It has no lock of its own: a provider keeps it behind whatever
//! lock it has and lends it through [`WakeSource`]. A wait looks at the registry and
//! leaves its waker in one step, so nothing can happen between the look and the wait.
//!
//! The registry is bounded: of single instances and sessions it remembers the latest few
//! thousand changes, and a caller that saw only what came before those is told to look
//! again.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use super::change::{Change, Subject};
use super::code::ServedCode;
use super::error::ProviderError;
use super::lease::SessionId;
use super::wake::{WakeSeq, WakeTopic};

/// How many changes of single instances and sessions are remembered.
const REMEMBERED: usize = 8_192;

/// What changed when, and who waits for it.
///
/// Changes are counted by versions. A store in memory notes a change as it happens
/// ([`note`](Self::note)); a store that commits in groups gives changes their versions
/// while it works and publishes them when the group is durable
/// ([`publish`](Self::publish)).
#[derive(Debug, Default)]
pub struct WakeRegistry {
    version: u64,
    /// The version of the latest change of everything that there are few of.
    changes: BTreeMap<Subject, u64>,
    /// The same of single instances and sessions: only the latest.
    recent: BTreeMap<Subject, u64>,
    /// Changes of single instances and sessions up to this version are forgotten.
    forgotten: u64,
    waiting: BTreeMap<WaiterId, Waker>,
    waiting_for: BTreeSet<(Subject, WaiterId)>,
    next_waiter: u64,
    woken: Vec<Waker>,
}

/// A task that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct WaiterId(u64);

impl WakeRegistry {
    /// Up to where changes are known here.
    pub fn seen(&self) -> WakeSeq {
        WakeSeq(self.version)
    }

    /// How many tasks wait.
    pub fn waiters(&self) -> usize {
        self.waiting.len()
    }

    /// Notes a change that happens now.
    pub fn note(&mut self, change: Change) {
        self.version += 1;
        self.remember(change, self.version);
    }

    /// Makes changes known, each with the version that it was given, and everything up
    /// to `version` with them.
    pub fn publish(&mut self, changes: impl IntoIterator<Item = (Change, u64)>, version: u64) {
        self.version = self.version.max(version);
        for (change, version) in changes {
            self.remember(change, version);
        }
    }

    /// The wakers of the tasks whose waits are over. Wake them when the lock is free.
    #[must_use]
    pub fn take_woken(&mut self) -> Vec<Waker> {
        core::mem::take(&mut self.woken)
    }

    fn remember(&mut self, change: Change, version: u64) {
        Subject::of_change(change).for_each(|subject| self.remember_subject(subject, version));
    }

    fn remember_subject(&mut self, subject: Subject, version: u64) {
        self.wake(&subject);
        if !subject.is_of_one() {
            self.changes.insert(subject, version);
            return;
        }
        if self.recent.len() >= REMEMBERED {
            let latest = self.recent.values().copied().max();
            self.forgotten = self.forgotten.max(latest.unwrap_or(0));
            self.recent.clear();
        }
        self.recent.insert(subject, version);
    }

    fn wake(&mut self, subject: &Subject) {
        if self.waiting.is_empty() {
            return;
        }
        let from = (subject.clone(), WaiterId(0));
        let to = (subject.clone(), WaiterId(u64::MAX));
        let waiters: Vec<WaiterId> = self
            .waiting_for
            .range(from..=to)
            .map(|(_, waiter)| *waiter)
            .collect();
        // A waiter stays registered: it looks again, and leaves when it has its answer.
        let wakers = waiters.iter().filter_map(|waiter| self.waiting.get(waiter));
        self.woken.extend(wakers.cloned());
    }

    fn has_changed(&self, subject: &Subject, since: WakeSeq) -> bool {
        let is_later = |version: Option<&u64>| version.is_some_and(|version| *version > since.0);
        if subject.is_of_one() {
            self.forgotten > since.0 || is_later(self.recent.get(subject))
        } else {
            is_later(self.changes.get(subject))
        }
    }

    /// Leaves a waker; gives back the one that it replaces.
    fn register(&mut self, waiter: &mut Waiter, waker: &Waker) -> Option<Waker> {
        if let Some(id) = waiter.id {
            return self.waiting.insert(id, waker.clone());
        }
        let id = WaiterId(self.next_waiter);
        self.next_waiter += 1;
        waiter.id = Some(id);
        for subject in waiter.all_subjects() {
            self.waiting_for.insert((subject, id));
        }
        self.waiting.insert(id, waker.clone())
    }

    /// Removes a waiter; gives back its waker.
    fn unregister(&mut self, waiter: &mut Waiter) -> Option<Waker> {
        let id = waiter.id.take()?;
        for subject in waiter.all_subjects() {
            self.waiting_for.remove(&(subject, id));
        }
        self.waiting.remove(&id)
    }
}

/// Lends a provider's [`WakeRegistry`], which is behind the provider's own lock.
pub trait WakeSource: Sync {
    /// Uses the registry while the lock is held.
    fn with_registry<T>(&self, job: impl FnOnce(&mut WakeRegistry) -> T) -> T;

    /// Whether a session lives. A provider notes [`Change::Session`] when one ends.
    ///
    /// # Errors
    ///
    /// [`ProviderError::SessionLost`] if it has ended.
    fn check_session(&self, session: SessionId) -> Result<(), ProviderError>;

    /// The code of a session's node; `None` if it runs any code, or is not known here.
    fn code_of(&self, session: SessionId) -> Option<Arc<ServedCode>>;

    /// Waits as [`Provider::wait`](super::Provider::wait) promises.
    fn wait_for_change(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        since: WakeSeq,
    ) -> WaitForChange<'_, Self>
    where
        Self: Sized,
    {
        let code = session.and_then(|session| self.code_of(session));
        WaitForChange {
            source: self,
            waiter: Waiter {
                id: None,
                session,
                subjects: Subject::of_topic(session, code.as_deref(), topic),
                since,
            },
        }
    }
}

#[derive(Debug)]
struct Waiter {
    id: Option<WaiterId>,
    session: Option<SessionId>,
    subjects: Vec<Subject>,
    since: WakeSeq,
}

impl Waiter {
    /// What ends the wait, and the end of the session.
    fn all_subjects(&self) -> impl Iterator<Item = Subject> {
        let session = self.session.map(Change::Session).map(Subject::Change);
        self.subjects.iter().cloned().chain(session)
    }
}

/// The future of [`WakeSource::wait_for_change`].
#[derive(Debug)]
#[must_use]
pub struct WaitForChange<'a, S: WakeSource> {
    source: &'a S,
    waiter: Waiter,
}

impl<S: WakeSource> Future for WaitForChange<'_, S> {
    type Output = Result<WakeSeq, ProviderError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { source, waiter } = &mut *self;
        let (seen, _replaced) = source.with_registry(|registry| {
            let mut subjects = waiter.subjects.iter();
            if subjects.any(|subject| registry.has_changed(subject, waiter.since)) {
                return (Some(registry.seen()), None);
            }
            (None, registry.register(waiter, cx.waker()))
        });
        // After the waker is there: the end of the session wakes it.
        if let Some(session) = waiter.session {
            source.check_session(session)?;
        }
        match seen {
            Some(seen) => Poll::Ready(Ok(seen)),
            None => Poll::Pending,
        }
    }
}

impl<S: WakeSource> Drop for WaitForChange<'_, S> {
    fn drop(&mut self) {
        if self.waiter.id.is_some() {
            let (source, waiter) = (self.source, &mut self.waiter);
            let waker = source.with_registry(|registry| registry.unregister(waiter));
            drop(waker);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::format;
    use alloc::task::Wake;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Mutex;

    use super::*;
    use crate::provider::RequiredCode;
    use crate::text::Name;

    #[derive(Default)]
    struct Store {
        registry: Mutex<WakeRegistry>,
        ended: Mutex<BTreeSet<SessionId>>,
        code: Option<Arc<ServedCode>>,
    }

    impl Store {
        fn note(&self, change: Change) {
            let woken = self.with_registry(|registry| {
                registry.note(change);
                registry.take_woken()
            });
            woken.into_iter().for_each(Waker::wake);
        }

        fn wait(&self, topic: &WakeTopic, since: u64) -> Waiting<'_> {
            let count = Arc::new(Count::default());
            Waiting {
                wait: Box::pin(self.wait_for_change(Some(SessionId(1)), topic, WakeSeq(since))),
                waker: Waker::from(Arc::clone(&count)),
                count,
            }
        }

        fn registered(&self) -> (usize, usize) {
            self.with_registry(|registry| (registry.waiters(), registry.waiting_for.len()))
        }
    }

    impl WakeSource for Store {
        fn with_registry<T>(&self, job: impl FnOnce(&mut WakeRegistry) -> T) -> T {
            job(&mut self.registry.lock().unwrap())
        }

        fn check_session(&self, session: SessionId) -> Result<(), ProviderError> {
            match self.ended.lock().unwrap().contains(&session) {
                true => Err(ProviderError::SessionLost { session }),
                false => Ok(()),
            }
        }

        fn code_of(&self, _: SessionId) -> Option<Arc<ServedCode>> {
            self.code.clone()
        }
    }

    fn ready(name: &str, version: &str) -> Change {
        Change::FreeInstance(RequiredCode::new(name, Some(version.into())))
    }

    fn work(queue: Option<&str>, activity: &str) -> Change {
        Change::Work {
            queue: queue.map(Name::from),
            activity: activity.into(),
        }
    }

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    struct Waiting<'a> {
        wait: Pin<Box<WaitForChange<'a, Store>>>,
        waker: Waker,
        count: Arc<Count>,
    }

    impl Waiting<'_> {
        fn poll(&mut self) -> Poll<Result<WakeSeq, ProviderError>> {
            self.wait
                .as_mut()
                .poll(&mut Context::from_waker(&self.waker))
        }

        fn wakes(&self) -> usize {
            self.count.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn a_change_ends_a_wait_until_it_was_seen() {
        let store = Store::default();
        let mut wait = store.wait(&WakeTopic::Timers, 0);
        assert_eq!(wait.poll(), Poll::Pending);
        store.note(ready("order", "1.0.0"));
        assert_eq!((wait.wakes(), wait.poll()), (0, Poll::Pending));
        store.note(Change::Timers);
        assert_eq!(
            (wait.wakes(), wait.poll()),
            (1, Poll::Ready(Ok(WakeSeq(2))))
        );
        let mut later = store.wait(&WakeTopic::Timers, 2);
        assert_eq!(later.poll(), Poll::Pending);
        store.note(Change::Everything);
        assert_eq!(
            (later.wakes(), later.poll()),
            (1, Poll::Ready(Ok(WakeSeq(3))))
        );
    }

    #[test]
    fn a_session_is_told_of_what_its_code_can_run_and_of_nothing_else() {
        let code = ServedCode::new()
            .orchestration("order", "1.0.0")
            .activity("charge");
        let store = Store {
            code: Some(Arc::new(code)),
            ..Store::default()
        };
        let mut instances = store.wait(&WakeTopic::Instances, 0);
        let mut work_of_queue = store.wait(&WakeTopic::Work([Some("gpu".into())].into()), 0);
        let others = [
            ready("order", "2.0.0"),
            ready("bill", "1.0.0"),
            Change::FreeInstance(RequiredCode::new("bill", None)),
            work(None, "charge"),
            work(Some("gpu"), "ship"),
        ];
        for change in others {
            store.note(change);
            assert_eq!((instances.wakes(), instances.poll()), (0, Poll::Pending));
            let told = (work_of_queue.wakes(), work_of_queue.poll());
            assert_eq!(told, (0, Poll::Pending));
        }
        store.note(work(Some("gpu"), "charge"));
        assert_eq!(work_of_queue.poll(), Poll::Ready(Ok(WakeSeq(6))));
        assert_eq!(instances.poll(), Poll::Pending);
        let own = [
            ready("order", "1.0.0"),
            Change::FreeInstance(RequiredCode::new("order", None)),
            Change::FreeInstance(RequiredCode::None),
            Change::Session(SessionId(1)),
        ];
        for (change, before) in own.into_iter().zip(6..) {
            let mut wait = store.wait(&WakeTopic::Instances, before);
            assert_eq!(wait.poll(), Poll::Pending);
            store.note(change);
            let told = Poll::Ready(Ok(WakeSeq(before + 1)));
            assert_eq!((wait.wakes(), wait.poll()), (1, told));
        }
    }

    #[test]
    fn a_wait_for_an_end_is_not_told_of_other_changes() {
        let store = Store::default();
        let mut wait = store.wait(&WakeTopic::Stop("a".into()), 0);
        for change in [Change::Instance("a".into()), Change::Stop("b".into())] {
            store.note(change);
            assert_eq!((wait.wakes(), wait.poll()), (0, Poll::Pending));
        }
        store.note(Change::Stop("a".into()));
        assert_eq!(
            (wait.wakes(), wait.poll()),
            (1, Poll::Ready(Ok(WakeSeq(3))))
        );
    }

    #[test]
    fn a_cancellation_is_told_to_the_session_that_holds_the_work() {
        let store = Store::default();
        let mut wait = store.wait(&WakeTopic::Cancellations, 0);
        for change in [
            Change::Cancellations(SessionId(2)),
            Change::Session(SessionId(1)),
        ] {
            store.note(change);
            assert_eq!(wait.poll(), Poll::Pending);
        }
        store.note(Change::Cancellations(SessionId(1)));
        assert_eq!(wait.poll(), Poll::Ready(Ok(WakeSeq(3))));
    }

    #[test]
    fn the_end_of_the_session_ends_every_wait_of_it() {
        let store = Store::default();
        let mut wait = store.wait(&WakeTopic::Timers, 0);
        assert_eq!(wait.poll(), Poll::Pending);
        let session = SessionId(1);
        store.ended.lock().unwrap().insert(session);
        store.note(Change::Session(session));
        let lost = Poll::Ready(Err(ProviderError::SessionLost { session }));
        assert_eq!((wait.wakes(), wait.poll()), (1, lost));
    }

    #[test]
    fn published_changes_have_the_versions_that_they_were_given() {
        let store = Store::default();
        let changes = [(Change::Timers, 3), (work(None, "charge"), 5)];
        store.with_registry(|registry| registry.publish(changes, 6));
        let mut timers = store.wait(&WakeTopic::Timers, 3);
        let mut work = store.wait(&WakeTopic::Work([None, Some("gpu".into())].into()), 3);
        assert_eq!(timers.poll(), Poll::Pending);
        assert_eq!(work.poll(), Poll::Ready(Ok(WakeSeq(6))));
    }

    #[test]
    fn forgotten_instances_are_looked_at_again() {
        let store = Store::default();
        let latest = REMEMBERED as u64 + 1;
        for number in 0..latest {
            store.note(Change::Instance(format!("order-{number}").into()));
        }
        for topic in [
            WakeTopic::Instance("order-0".into()),
            WakeTopic::Stop("order-0".into()),
        ] {
            let told = store.wait(&topic, 1).poll();
            assert_eq!(
                told,
                Poll::Ready(Ok(WakeSeq(latest))),
                "it may have changed"
            );
            assert_eq!(store.wait(&topic, latest).poll(), Poll::Pending);
        }
    }

    #[test]
    fn a_wait_that_is_over_or_dropped_leaves_nothing() {
        let store = Store::default();
        let queues = WakeTopic::Work([None, Some("gpu".into())].into());
        let mut dropped = store.wait(&queues, 0);
        let mut ended = store.wait(&WakeTopic::Instances, 0);
        assert_eq!(
            (dropped.poll(), ended.poll()),
            (Poll::Pending, Poll::Pending)
        );
        assert_eq!(store.registered(), (2, 4 + 3));
        store.note(ready("order", "1.0.0"));
        assert!(ended.poll().is_ready());
        drop((dropped, ended));
        assert_eq!(store.registered(), (0, 0));
    }
}
