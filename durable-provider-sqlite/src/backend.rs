//! Where requests go: to the writer's thread and the readers of a file, or, in
//! memory, to the one connection there is, at once and in the caller's own task.

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use durable_core::provider::{ProviderError, SessionId, WakeSeq, WakeTopic};
use rusqlite::Connection;
use tokio::sync::{Notify, oneshot};

use crate::error::Step;
use crate::options::{ReplyPath, SqliteOptions};
use crate::reader::Readers;
use crate::statistics::Counters;
use crate::store::Store;
use crate::wake::{Board, Waiting};
use crate::writer::{
    BoxedJob, GroupCommit, Outlives, ReplyTasks, Writer, WriterHealth, closed, job,
};

/// A store, whatever it lives in.
#[derive(Debug)]
pub(crate) struct Backend {
    board: Arc<Board>,
    pub(crate) counters: Arc<Counters>,
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
pub(crate) struct ReplyFuture<T>(oneshot::Receiver<Result<T, ProviderError>>);

impl<T> Future for ReplyFuture<T> {
    type Output = Result<T, ProviderError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(|answer| {
            answer.unwrap_or_else(|_| {
                Err(ProviderError::Unknown {
                    reason: "the writer ended without a reply".into(),
                })
            })
        })
    }
}

impl Backend {
    pub(crate) fn open(path: &Path, options: SqliteOptions) -> Result<Self, ProviderError> {
        let (board, counters) = (Arc::<Board>::default(), Arc::<Counters>::default());
        let health = Arc::new(WriterHealth::new(Arc::clone(&board)));
        let group_commit =
            GroupCommit::open(path, options, Arc::clone(&board), Arc::clone(&counters))?;
        let writer = Writer::spawn(group_commit, options, Arc::clone(&board), &health)?;
        let readers = Readers::spawn(path, options)?;
        let reply_tasks = match options.reply_path {
            ReplyPath::Direct => None,
            ReplyPath::IoDriver => Some(ReplyTasks::default()),
        };
        Ok(Self {
            board,
            counters,
            health,
            home: Home::File {
                writer,
                reply_tasks,
                readers,
            },
        })
    }

    pub(crate) fn open_in_memory(options: SqliteOptions) -> Result<Self, ProviderError> {
        let (board, counters) = (Arc::<Board>::default(), Arc::<Counters>::default());
        let health = Arc::new(WriterHealth::new(Arc::clone(&board)));
        let group_commit =
            GroupCommit::open_in_memory(options, Arc::clone(&board), Arc::clone(&counters))?;
        Ok(Self {
            board,
            counters,
            health,
            home: Home::Memory(Box::new(Mutex::new(group_commit))),
        })
    }

    /// Sends a step to the writer; steps are run in the order in which they are sent.
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        now_ms: Option<u64>,
        step: impl FnMut(&mut Store<'_, '_>) -> Step<T> + Send + 'static,
    ) -> ReplyFuture<T> {
        self.run(job(now_ms, Outlives::PowerCut, step))
    }

    /// Sends a step at this time to the writer.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        now_ms: u64,
        step: impl FnMut(&mut Store<'_, '_>) -> Step<T> + Send + 'static,
    ) -> ReplyFuture<T> {
        self.submit(Some(now_ms), step)
    }

    /// As [`write`](Self::write), for a step that only changes leases: a power cut ends all
    /// sessions, so the caller need not wait for the disk.
    pub(crate) fn write_leases<T: Send + 'static>(
        &self,
        now_ms: u64,
        step: impl FnMut(&mut Store<'_, '_>) -> Step<T> + Send + 'static,
    ) -> ReplyFuture<T> {
        self.run(job(Some(now_ms), Outlives::Process, step))
    }

    fn run<T>(
        &self,
        (job, answer): (BoxedJob, oneshot::Receiver<Result<T, ProviderError>>),
    ) -> ReplyFuture<T> {
        match &self.home {
            Home::File {
                writer,
                reply_tasks,
                ..
            } => {
                let queue = reply_tasks.as_ref().and_then(ReplyTasks::queue_here);
                writer.send(job, queue);
            }
            Home::Memory(group_commit) => {
                let watch = self.health.watch();
                group_commit
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .run_and_answer(vec![job]);
                watch.finish();
            }
        }
        ReplyFuture(answer)
    }

    /// Runs a query.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> Step<T> + Send + 'static,
    ) -> Result<T, ProviderError> {
        match &self.home {
            Home::File { readers, .. } => readers.read(query).await,
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
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        let _waiting = self.waiting();
        let bell = Arc::new(Notify::new());
        loop {
            self.health.check()?;
            if let Some(seen) = (self.board).look_or_leave_bell(session, topic, seen, &bell)? {
                return Ok(seen);
            }
            bell.notified().await;
        }
    }

    /// Counts a caller that waits for a change, and has the writer poll other processes.
    fn waiting(&self) -> Waiting {
        let (waiting, is_first) = self.board.wait();
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
        backend.submit(None, |_| panic!("on purpose"))
    }

    fn is_unusable<T>(result: &Result<T, ProviderError>) -> bool {
        matches!(result, Err(ProviderError::Unusable { .. }))
    }

    #[tokio::test]
    async fn a_thread_that_panicked_refuses_every_request_and_every_wait() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let backend = Backend::open(&path, SqliteOptions::default()).unwrap();
        let opened = WakeSeq(u64::MAX);
        let mut wait = std::pin::pin!(backend.wait(None, &WakeTopic::Timers, opened));
        assert!(futures::poll!(&mut wait).is_pending());
        let panicked = panic_on_purpose(&backend).await;
        assert!(matches!(panicked, Err(ProviderError::Unknown { .. })));
        assert!(is_unusable(&wait.await));
        assert!(is_unusable(&backend.submit(None, |_| Ok(())).await));
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
        let backend = Arc::new(Backend::open_in_memory(SqliteOptions::default()).unwrap());
        let opened = WakeSeq(u64::MAX);
        let mut wait = std::pin::pin!(backend.wait(None, &WakeTopic::Timers, opened));
        assert!(futures::poll!(&mut wait).is_pending());
        let panicking = Arc::clone(&backend);
        let panicked = tokio::spawn(async move { panic_on_purpose(&panicking).await });
        assert!(panicked.await.unwrap_err().is_panic());
        assert!(is_unusable(&wait.await));
        assert!(is_unusable(&backend.submit(None, |_| Ok(())).await));
        assert!(is_unusable(&backend.read(|_| Ok(())).await));
    }
}
