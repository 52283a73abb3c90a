//! Answers on their way from the writer to those who asked.
//!
//! To wake a task from another thread, tokio wakes a worker for it, which wakes another
//! one to look for more, and each takes longer than a step of an orchestration. A task that
//! hears of its I/O wakes nobody else. So each runtime with many workers has a
//! [postbox](Postbox), and a task there that empties it.
//!
//! A runtime looks after its I/O only while one of its workers is idle: one that blocks
//! can keep it from that. So what nobody fetched soon is delivered by the writer itself,
//! as is everything for whoever has no postbox.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use durable_core::provider::ProviderError;

use super::bell::Bell;
use super::job::BoxedJob;

/// How long the writer leaves letters in a postbox.
const PATIENCE: Duration = Duration::from_millis(1);

/// An answer.
pub(super) struct Letter {
    job: BoxedJob,
    error: Option<ProviderError>,
}

impl Letter {
    /// The answer of a request that was run, or this error.
    pub(super) fn new(job: BoxedJob, error: Option<&ProviderError>) -> Self {
        let error = error.cloned();
        Self { job, error }
    }

    pub(super) fn deliver(self) {
        self.job.answer(self.error.as_ref());
    }
}

/// Where the answers for one tokio runtime are left.
pub(crate) struct Postbox {
    inner: Mutex<Inner>,
    bell: Bell,
}

#[derive(Default)]
struct Inner {
    letters: Vec<Letter>,
    /// Since when there are any.
    since: Option<Instant>,
    /// Somebody comes when the bell rings.
    is_attended: bool,
    /// Nothing will be left any more.
    is_closed: bool,
}

impl Postbox {
    pub(super) fn new(bell: Bell) -> Self {
        Self {
            inner: Mutex::default(),
            bell,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody will come when the bell rings.
    pub(super) fn attend(&self) {
        self.lock().is_attended = true;
    }

    /// Nobody will come any more.
    pub(super) fn abandon(&self) {
        self.lock().is_attended = false;
        self.empty();
    }

    /// Nothing will be left here any more.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.bell.ring();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Leaves a letter, and says whether it is the first, for which the bell is to be rung;
    /// gives it back if nobody comes for it.
    fn leave(&self, letter: Letter) -> Result<bool, Letter> {
        let mut inner = self.lock();
        if !inner.is_attended {
            return Err(letter);
        }
        inner.letters.push(letter);
        let is_first = inner.letters.len() == 1;
        if is_first {
            inner.since = Some(Instant::now());
        }
        Ok(is_first)
    }

    /// Since when there are letters, if there are any.
    fn since(&self) -> Option<Instant> {
        self.lock().since
    }

    /// Delivers what is there.
    pub(super) fn empty(&self) {
        let mut inner = self.lock();
        inner.since = None;
        let letters = std::mem::take(&mut inner.letters);
        drop(inner);
        letters.into_iter().for_each(Letter::deliver);
    }
}

impl fmt::Debug for Postbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postbox").finish_non_exhaustive()
    }
}

/// The postboxes in which the writer left something.
#[derive(Debug, Default)]
pub(super) struct Mail {
    left_in: Vec<Arc<Postbox>>,
}

impl Mail {
    /// Sends the answers of a group.
    pub(super) fn send(
        &mut self,
        letters: impl IntoIterator<Item = (Letter, Option<Arc<Postbox>>)>,
    ) {
        let mut rung = Vec::new();
        for (letter, postbox) in letters {
            let Some(postbox) = postbox else {
                letter.deliver();
                continue;
            };
            match postbox.leave(letter) {
                Ok(true) => rung.push(postbox),
                Ok(false) => {}
                Err(letter) => letter.deliver(),
            }
        }
        for postbox in &rung {
            postbox.bell.ring();
        }
        self.left_in.extend(rung);
    }

    /// How long what was not fetched may still wait, if there is anything. What waited too
    /// long is delivered.
    pub(super) fn patience(&mut self) -> Option<Duration> {
        self.left_in.retain(|postbox| postbox.since().is_some());
        let oldest = self.left_in.iter().filter_map(|postbox| postbox.since());
        let patience = PATIENCE.checked_sub(oldest.min()?.elapsed());
        if patience.is_none() {
            self.deliver();
        }
        patience
    }

    /// Delivers what was not fetched.
    fn deliver(&mut self) {
        for postbox in self.left_in.drain(..) {
            postbox.empty();
        }
    }
}

impl Drop for Mail {
    fn drop(&mut self) {
        self.deliver();
    }
}
