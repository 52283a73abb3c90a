//! Connections that read, each with a thread of its own. They see what was committed
//! and never block the writer.
//!
//! A connection has a schema, a page cache and a heap of its own, and most stores are
//! read quickly and seldom. So the first reader takes every query that it can; another
//! one opens its connection only when a query has waited for longer than quick ones
//! take, and from then on it takes them at once, too.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use durable_core::provider::ProviderError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::connection;
use crate::error::Step;
use crate::options::SqliteOptions;

/// How long a query waits before a reader opens a connection for it, although another
/// reader has one.
const EXTRA_READER_AFTER: Duration = Duration::from_millis(20);

/// What a reader is asked; it says whether its connection is still to be trusted.
type Query = Box<dyn FnOnce(Result<&Connection, ProviderError>) -> bool + Send>;

/// The threads that read. They end when this is dropped.
#[derive(Debug)]
pub(crate) struct Readers {
    queue: Arc<QueryQueue>,
}

impl Readers {
    pub(crate) fn spawn(path: &Path, options: &Arc<SqliteOptions>) -> Result<Self, ProviderError> {
        let readers = Self {
            queue: Arc::default(),
        };
        for number in 0..options.readers.max(1) {
            let (path, queue) = (path.to_owned(), Arc::clone(&readers.queue));
            let options = Arc::clone(options);
            let is_first = number == 0;
            std::thread::Builder::new()
                .name("durable-sqlite-reader".into())
                .spawn(move || serve(&path, &options, &queue, is_first))
                .map_err(|error| ProviderError::Unavailable {
                    reason: format!("a reader's thread cannot be started: {error}"),
                })?;
        }
        Ok(readers)
    }

    /// Runs a query on a reader.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> Step<T> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let (reply, answer) = oneshot::channel();
        let query: Query = Box::new(move |connection| {
            let (result, is_sound) = match connection.map(query) {
                Ok(Ok(value)) => (Ok(value), true),
                Ok(Err(fault)) => {
                    let is_sound = !fault.spoils_connection();
                    (Err(fault.into_provider_error()), is_sound)
                }
                Err(error) => (Err(error), true),
            };
            // The caller may have stopped waiting.
            let _ = reply.send(result);
            is_sound
        });
        self.queue.push(query);
        let gone = |_| ProviderError::Unavailable {
            reason: "the reader gave no answer".into(),
        };
        answer.await.map_err(gone)?
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.queue.close();
    }
}

fn serve(path: &Path, options: &SqliteOptions, queue: &QueryQueue, is_first: bool) {
    let mut open: Option<Connection> = None;
    loop {
        let next = match is_first || open.is_some() {
            true => queue.take(),
            false => queue.take_waiting(),
        };
        let Some(query) = next else {
            return;
        };
        let connection = match open.take() {
            Some(connection) => Ok(connection),
            None => connection::open_reader(path, options),
        };
        match connection {
            Ok(connection) => {
                let is_sound = catch_unwind(AssertUnwindSafe(|| query(Ok(&connection))));
                if is_sound.unwrap_or(false) {
                    open = Some(connection);
                }
            }
            Err(error) => {
                query(Err(error));
            }
        }
    }
}

/// Queries that wait for a reader.
#[derive(Debug, Default)]
struct QueryQueue {
    waiting: Mutex<WaitingQueries>,
    /// Rung for readers that take a query at once.
    arrived: Condvar,
    /// Rung for readers that take a query when it has waited.
    delayed: Condvar,
}

#[derive(Default)]
struct WaitingQueries {
    /// In the order in which they came, and when that was.
    queries: VecDeque<(Instant, Query)>,
    /// How many readers have nothing to do and take a query at once.
    idle: usize,
    closed: bool,
}

impl QueryQueue {
    fn push(&self, query: Query) {
        let mut waiting = self.lock();
        waiting.queries.push_back((Instant::now(), query));
        let is_taken_at_once = waiting.queries.len() <= waiting.idle;
        drop(waiting);
        match is_taken_at_once {
            true => self.arrived.notify_one(),
            false => self.delayed.notify_one(),
        }
    }

    /// No more queries come.
    fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_all();
        self.delayed.notify_all();
    }

    /// The next query, as soon as there is one; `None` when no more come.
    fn take(&self) -> Option<Query> {
        let mut waiting = self.lock();
        loop {
            if let Some((_, query)) = waiting.queries.pop_front() {
                return Some(query);
            }
            if waiting.closed {
                return None;
            }
            waiting.idle += 1;
            waiting = self
                .arrived
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
            waiting.idle -= 1;
        }
    }

    /// A query that has waited for long, as soon as there is one; `None` when no more
    /// come.
    fn take_waiting(&self) -> Option<Query> {
        let mut waiting = self.lock();
        loop {
            let waited = waiting.queries.front().map(|(since, _)| since.elapsed());
            waiting = match waited.map(|waited| EXTRA_READER_AFTER.saturating_sub(waited)) {
                Some(Duration::ZERO) => return Some(waiting.queries.pop_front()?.1),
                Some(longer) => {
                    let woken = self.delayed.wait_timeout(waiting, longer);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None if waiting.closed => return None,
                None => {
                    let woken = self.delayed.wait(waiting);
                    woken.unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, WaitingQueries> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for WaitingQueries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WaitingQueries")
            .field("queries", &self.queries.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn query() -> Query {
        Box::new(|_| true)
    }

    /// Readers of an empty store.
    fn readers(count: usize) -> (tempfile::TempDir, Readers) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let options = Arc::new(SqliteOptions::default().readers(count));
        drop(connection::open_writer(&path, &options).unwrap());
        let readers = Readers::spawn(&path, &options).unwrap();
        (folder, readers)
    }

    #[test]
    fn a_query_is_taken_at_once_or_after_a_while() {
        let queue = QueryQueue::default();
        queue.push(query());
        assert!(queue.take().is_some());
        let began = Instant::now();
        queue.push(query());
        assert!(queue.take_waiting().is_some());
        assert!(began.elapsed() >= EXTRA_READER_AFTER);
        queue.push(query());
        queue.close();
        assert!(queue.take().is_some(), "what came is still answered");
        assert!(queue.take().is_none());
        assert!(queue.take_waiting().is_none());
    }

    #[tokio::test]
    async fn a_slow_query_keeps_no_other_one_waiting() {
        let (_folder, readers) = readers(2);
        let (end, ended) = mpsc::channel::<()>();
        let slow = readers.read(move |_| {
            ended.recv().unwrap();
            Ok(())
        });
        let quick = readers.read(move |_| {
            end.send(()).unwrap();
            Ok(())
        });
        assert_eq!(tokio::join!(slow, quick), (Ok(()), Ok(())));
    }
    #[tokio::test]
    async fn a_query_that_panics_harms_no_other_one() {
        let (_folder, readers) = readers(1);
        let lost = readers.read::<()>(|_| panic!("a bug")).await;
        assert!(matches!(lost, Err(ProviderError::Unavailable { .. })));
        assert_eq!(readers.read(|_| Ok(7)).await, Ok(7));
    }
}
