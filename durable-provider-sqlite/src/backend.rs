//! Where requests go: to the writer's thread and the readers of a file, or, in
//! memory, to the one connection there is, at once and in the caller's own task.

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use durable_core::provider::ProviderError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::error::Step;
use crate::options::SqliteOptions;
use crate::reader::Readers;
use crate::statistics::Counters;
use crate::store::Store;
use crate::wake::{Board, Waiting};
use crate::writer::{BoxedJob, Core, Outlives, Postmen, Writer, job};

/// A store, whatever it lives in.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) board: Arc<Board>,
    pub(crate) counters: Arc<Counters>,
    home: Home,
}

#[derive(Debug)]
enum Home {
    File {
        writer: Writer,
        postmen: Postmen,
        readers: Readers,
    },
    Memory(Box<Mutex<Core>>),
}

/// An answer that will come when the step is on disk.
#[derive(Debug)]
pub(crate) struct Answer<T>(oneshot::Receiver<Result<T, ProviderError>>);

impl<T> Future for Answer<T> {
    type Output = Result<T, ProviderError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(|answer| {
            answer.unwrap_or_else(|_| {
                Err(ProviderError::Unknown {
                    reason: "the writer ended without an answer".into(),
                })
            })
        })
    }
}

impl Backend {
    pub(crate) fn open(path: &Path, options: SqliteOptions) -> Result<Self, ProviderError> {
        let (board, counters) = (Arc::<Board>::default(), Arc::<Counters>::default());
        let core = Core::open(path, options, Arc::clone(&board), Arc::clone(&counters))?;
        let writer = Writer::spawn(core, options, Arc::clone(&board))?;
        let readers = Readers::spawn(path, options)?;
        Ok(Self {
            board,
            counters,
            home: Home::File {
                writer,
                postmen: Postmen::default(),
                readers,
            },
        })
    }

    pub(crate) fn open_in_memory(options: SqliteOptions) -> Result<Self, ProviderError> {
        let (board, counters) = (Arc::<Board>::default(), Arc::<Counters>::default());
        let core = Core::open_in_memory(options, Arc::clone(&board), Arc::clone(&counters))?;
        Ok(Self {
            board,
            counters,
            home: Home::Memory(Box::new(Mutex::new(core))),
        })
    }

    /// Hands a step to the writer; requests are run in the order in which they are
    /// handed over.
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        now_ms: Option<u64>,
        step: impl FnMut(&mut Store<'_, '_>) -> Step<T> + Send + 'static,
    ) -> Answer<T> {
        self.run(job(now_ms, Outlives::PowerCut, step))
    }

    /// Hands a step at this time to the writer.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        now_ms: u64,
        step: impl FnMut(&mut Store<'_, '_>) -> Step<T> + Send + 'static,
    ) -> Answer<T> {
        self.submit(Some(now_ms), step)
    }

    /// As [`write`](Self::write), for a step whose changes mean nothing after a power
    /// cut, so that nobody need wait for the disk.
    pub(crate) fn hold<T: Send + 'static>(
        &self,
        now_ms: u64,
        step: impl FnMut(&mut Store<'_, '_>) -> Step<T> + Send + 'static,
    ) -> Answer<T> {
        self.run(job(Some(now_ms), Outlives::Process, step))
    }

    fn run<T>(
        &self,
        (job, answer): (BoxedJob, oneshot::Receiver<Result<T, ProviderError>>),
    ) -> Answer<T> {
        match &self.home {
            Home::File {
                writer, postmen, ..
            } => writer.send(job, postmen.here()),
            Home::Memory(core) => core
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .run_and_answer(vec![job]),
        }
        Answer(answer)
    }

    /// Runs a query.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> Step<T> + Send + 'static,
    ) -> Result<T, ProviderError> {
        match &self.home {
            Home::File { readers, .. } => readers.read(query).await,
            Home::Memory(core) => {
                let core = core.lock().unwrap_or_else(PoisonError::into_inner);
                let connection = core.connection().ok_or_else(|| ProviderError::Unusable {
                    reason: "the store in memory is gone".into(),
                })?;
                query(connection).map_err(crate::error::Fault::into_provider_error)
            }
        }
    }

    /// Counts somebody who waits for news, and has the writer look for it elsewhere.
    pub(crate) fn waiting(&self) -> Waiting {
        let (waiting, is_first) = self.board.wait();
        if let (true, Home::File { writer, .. }) = (is_first, &self.home) {
            writer.look();
        }
        waiting
    }
}
