//! Where requests go: to the writer's thread and the readers of a file, or, in
//! memory, to the one connection there is, at once and in the caller's own task.

use std::future::poll_fn;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use durable_core::provider::{ClockHold, ProviderError, SessionId, WakeSeq, WakeSource, WakeTopic};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::error::Step;
use crate::options::{ReplyPath, SqliteOptions};
use crate::reader::Readers;
use crate::statistics::Statistics;
use crate::store::Store;
use crate::wake::Waiting;
use crate::writer::{
    BoxedJob, GroupCommit, Outlives, ReplyTasks, SharedParts, Writer, WriterHealth, closed, job,
};

/// A store, whatever it lives in.
#[derive(Debug)]
pub(crate) struct Backend {
    shared: SharedParts,
    health: Arc<WriterHealth>,
    home: Home,
}

#[derive(Debug)]
enum Home {
    File {
        writer: Writer,
        /// None if the writer replies directly.
        reply_tasks: Option<ReplyTasks>,
        readers: Readers,
    },
    Memory(Box<Mutex<GroupCommit>>),
}

/// The reply that will come when the step is on disk.
#[derive(Debug)]
pub(crate) struct ReplyFuture<T> {
    answer: oneshot::Receiver<Result<T, ProviderError>>,
    /// Until the reply has come.
    hold: Option<ClockHold>,
}

impl<T> Future for ReplyFuture<T> {
    type Output = Result<T, ProviderError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.answer).poll(cx).map(|answer| {
            self.hold = None;
            answer.unwrap_or_else(|_| {
                Err(ProviderError::Unknown {
                    reason: "the writer ended without a reply".into(),
                })
            })
        })
    }
}

impl Backend {
    pub(crate) fn open(path: &Path, options: &Arc<SqliteOptions>) -> Result<Self, ProviderError> {
        let shared = SharedParts::new(options);
        let health = Arc::new(WriterHealth::new(Arc::clone(&shared.wakeups)));
        let group_commit = GroupCommit::open(path, options, shared.clone())?;
        let wakeups = Arc::clone(&shared.wakeups);
        let writer = Writer::spawn(group_commit, options, wakeups, &health)?;
        let readers = Readers::spawn(path, options)?;
        let reply_tasks = match options.reply_path {
            ReplyPath::Direct => None,
            ReplyPath::IoDriver => Some(ReplyTasks::default()),
        };
        Ok(Self {
            shared,
            health,
            home: Home::File {
                writer,
                reply_tasks,
                readers,
            },
        })
    }

    pub(crate) fn open_in_memory(options: &Arc<SqliteOptions>) -> Result<Self, ProviderError> {
        let shared = SharedParts::new(options);
        let health = Arc::new(WriterHealth::new(Arc::clone(&shared.wakeups)));
        let group_commit = GroupCommit::open_in_memory(options, shared.clone())?;
        Ok(Self {
            shared,
            health,
            home: Home::Memory(Box::new(Mutex::new(group_commit))),
        })
    }

    /// The store's time.
    pub(crate) fn now_ms(&self) -> u64 {
        self.shared.clock.now_ms()
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.shared.counters.read()
    }

    /// Sends a step to the writer; steps are run in the order in which they are sent.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        step: impl FnMut(&mut Store<'_, '_>) -> Step<T> + Send + 'static,
    ) -> ReplyFuture<T> {
        self.run(job(Outlives::PowerCut, step))
    }

    /// As [`write`](Self::write), for a step that only changes leases: a power cut ends all
    /// sessions, so the caller need not wait for the disk.
    pub(crate) fn write_leases<T: Send + 'static>(
        &self,
        step: impl FnMut(&mut Store<'_, '_>) -> Step<T> + Send + 'static,
    ) -> ReplyFuture<T> {
        self.run(job(Outlives::Process, step))
    }

    fn run<T>(
        &self,
        (job, answer): (BoxedJob, oneshot::Receiver<Result<T, ProviderError>>),
    ) -> ReplyFuture<T> {
        let hold = match &self.home {
            Home::File {
                writer,
                reply_tasks,
                ..
            } => {
                let hold = self.shared.clock.hold();
                let queue = reply_tasks.as_ref().and_then(ReplyTasks::queue_here);
                writer.send(job, queue);
                hold
            }
            Home::Memory(group_commit) => {
                let watch = self.health.watch();
                group_commit
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .run_and_answer(vec![job]);
                watch.finish();
                None
            }
        };
        ReplyFuture { answer, hold }
    }

    /// Runs a query.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> Step<T> + Send + 'static,
    ) -> Result<T, ProviderError> {
        match &self.home {
            Home::File { readers, .. } => {
                let _hold = self.shared.clock.hold();
                readers.read(query).await
            }
            Home::Memory(group_commit) => {
                let group_commit = group_commit.lock().unwrap_or_else(PoisonError::into_inner);
                let connection = group_commit.connection().ok_or_else(closed)?;
                query(connection).map_err(crate::error::Fault::into_provider_error)
            }
        }
    }

    /// Waits for a change of a topic after this one.
    pub(crate) async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        since: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        let _waiting = self.waiting();
        let wait = self.shared.wakeups.wait_for_change(session, topic, since);
        let mut wait = pin!(wait);
        poll_fn(|cx| {
            let polled = wait.as_mut().poll(cx);
            // After the waker is there: a panic wakes it.
            self.health.check()?;
            polled
        })
        .await
    }

    /// Counts a caller that waits for a change, and has the writer poll other processes.
    fn waiting(&self) -> Waiting {
        let (waiting, is_first) = self.shared.wakeups.wait();
        if let (true, Home::File { writer, .. }) = (is_first, &self.home) {
            writer.poll();
        }
        waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request within which the writer panics.
    fn panic_on_purpose(backend: &Backend) -> ReplyFuture<()> {
        backend.write(|_| panic!("on purpose"))
    }

    fn is_unusable<T>(result: &Result<T, ProviderError>) -> bool {
        matches!(result, Err(ProviderError::Unusable { .. }))
    }

    #[tokio::test]
    async fn a_thread_that_panicked_refuses_every_request_and_every_wait() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let backend = Backend::open(&path, &Arc::default()).unwrap();
        let opened = WakeSeq(u64::MAX);
        let mut wait = std::pin::pin!(backend.wait(None, &WakeTopic::Timers, opened));
        assert!(futures::poll!(&mut wait).is_pending());
        let panicked = panic_on_purpose(&backend).await;
        assert!(matches!(panicked, Err(ProviderError::Unknown { .. })));
        assert!(is_unusable(&wait.await));
        assert!(is_unusable(&backend.write(|_| Ok(())).await));
        let again = backend.wait(None, &WakeTopic::Timers, WakeSeq(0)).await;
        assert!(is_unusable(&again));
        let tables = "SELECT count(*) FROM sqlite_schema";
        let count = backend.read(move |connection| {
            let count: i64 = connection.query_row(tables, [], |row| row.get(0))?;
            Ok(count)
        });
        assert!(count.await.unwrap() > 0, "what was stored can be read");
    }

    #[tokio::test]
    async fn a_store_in_memory_that_panicked_refuses_every_request_and_every_wait() {
        let backend = Arc::new(Backend::open_in_memory(&Arc::default()).unwrap());
        let opened = WakeSeq(u64::MAX);
        let mut wait = std::pin::pin!(backend.wait(None, &WakeTopic::Timers, opened));
        assert!(futures::poll!(&mut wait).is_pending());
        let panicking = Arc::clone(&backend);
        let panicked = tokio::spawn(async move { panic_on_purpose(&panicking).await });
        assert!(panicked.await.unwrap_err().is_panic());
        assert!(is_unusable(&wait.await));
        assert!(is_unusable(&backend.write(|_| Ok(())).await));
        assert!(is_unusable(&backend.read(|_| Ok(())).await));
    }
}
