//! Replies on their way from the writer to the tasks that sent the requests.
//!
//! When a thread outside of a runtime wakes a task, tokio wakes a worker for it, which wakes
//! another one to look for more work, and each takes longer than a step of an orchestration.
//! A task that is woken by its I/O driver wakes no other worker. So with
//! [`ReplyPath::IoDriver`](crate::ReplyPath::IoDriver) each runtime with many workers has a
//! [queue of replies](ReplyQueue) and a task that drains it.
//!
//! A runtime polls its I/O driver only while one of its workers is idle, and a worker that
//! blocks can prevent that. So the writer itself delivers what the task did not fetch soon,
//! and every reply to a caller without a queue.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use durable_core::provider::ProviderError;

use super::job::BoxedJob;
use super::notify_fd::FdNotifier;

/// How long the writer leaves replies to a reply task before it delivers them itself.
const REPLY_FALLBACK_AFTER: Duration = Duration::from_millis(1);

/// The reply to one request.
pub(super) struct Reply {
    job: BoxedJob,
    error: Option<ProviderError>,
}

impl Reply {
    /// The reply of a request that was run, or this error.
    pub(super) fn new(job: BoxedJob, error: Option<&ProviderError>) -> Self {
        let error = error.cloned();
        Self { job, error }
    }

    pub(super) fn deliver(self) {
        self.job.answer(self.error.as_ref());
    }
}

/// The replies to the tasks of one tokio runtime.
pub(crate) struct ReplyQueue {
    queued: Mutex<QueuedReplies>,
    notifier: FdNotifier,
}

#[derive(Default)]
struct QueuedReplies {
    replies: Vec<Reply>,
    /// When the oldest of them was pushed.
    since: Option<Instant>,
    /// Whether the reply task runs.
    is_drained: bool,
    /// Whether the store was closed, so that the reply task is to end.
    is_closed: bool,
}

impl ReplyQueue {
    pub(super) fn new(notifier: FdNotifier) -> Self {
        Self {
            queued: Mutex::default(),
            notifier,
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueuedReplies> {
        self.queued.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reply task runs from now on.
    pub(super) fn open(&self) {
        self.lock().is_drained = true;
    }

    /// The reply task ends: delivers what is left, and refuses everything from now on.
    pub(super) fn abandon(&self) {
        self.lock().is_drained = false;
        self.drain();
    }

    /// The store is closed: no reply comes any more.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.notifier.notify();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Pushes a reply and says whether it is the first, so that the task is to be notified;
    /// gives it back if no task runs.
    fn push(&self, reply: Reply) -> Result<bool, Reply> {
        let mut queued = self.lock();
        if !queued.is_drained {
            return Err(reply);
        }
        queued.replies.push(reply);
        let is_first = queued.replies.len() == 1;
        if is_first {
            queued.since = Some(Instant::now());
        }
        Ok(is_first)
    }

    /// When the oldest reply in the queue was pushed.
    fn since(&self) -> Option<Instant> {
        self.lock().since
    }

    /// Delivers what is in the queue.
    pub(super) fn drain(&self) {
        let mut queued = self.lock();
        queued.since = None;
        let replies = std::mem::take(&mut queued.replies);
        drop(queued);
        replies.into_iter().for_each(Reply::deliver);
    }
}

impl fmt::Debug for ReplyQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyQueue").finish_non_exhaustive()
    }
}

/// The writer's side: routes each reply to its queue or straight to its task.
#[derive(Debug, Default)]
pub(super) struct ReplyRouter {
    /// Queues that may hold replies.
    pending: Vec<Arc<ReplyQueue>>,
}

impl ReplyRouter {
    /// Sends the replies of a group.
    pub(super) fn send(
        &mut self,
        replies: impl IntoIterator<Item = (Reply, Option<Arc<ReplyQueue>>)>,
    ) {
        let mut filled = Vec::new();
        for (reply, queue) in replies {
            let Some(queue) = queue else {
                reply.deliver();
                continue;
            };
            match queue.push(reply) {
                Ok(true) => filled.push(queue),
                Ok(false) => {}
                Err(reply) => reply.deliver(),
            }
        }
        for queue in &filled {
            queue.notifier.notify();
        }
        self.pending.extend(filled);
    }

    /// How long the reply tasks still have, if any queue holds replies. Replies whose time
    /// is over are delivered here.
    pub(super) fn fallback_timeout(&mut self) -> Option<Duration> {
        self.pending.retain(|queue| queue.since().is_some());
        let oldest = self
            .pending
            .iter()
            .filter_map(|queue| queue.since())
            .min()?;
        let timeout = REPLY_FALLBACK_AFTER.checked_sub(oldest.elapsed());
        if timeout.is_none() {
            self.deliver_pending();
        }
        timeout
    }

    fn deliver_pending(&mut self) {
        for queue in self.pending.drain(..) {
            queue.drain();
        }
    }
}

impl Drop for ReplyRouter {
    fn drop(&mut self) {
        self.deliver_pending();
    }
}
