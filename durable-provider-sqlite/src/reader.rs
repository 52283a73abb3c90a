//! Connections that read, each with a thread of its own. They see what was committed
//! and never block the writer.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use durable_core::provider::ProviderError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::connection;
use crate::error::Step;
use crate::options::SqliteOptions;

/// What a reader is asked; it says whether its connection is still to be trusted.
type Query = Box<dyn FnOnce(Result<&Connection, ProviderError>) -> bool + Send>;

/// The threads that read. They end when this is dropped.
#[derive(Debug)]
pub(crate) struct Readers {
    queries: Sender<Query>,
}

impl Readers {
    pub(crate) fn spawn(path: &Path, options: SqliteOptions) -> Result<Self, ProviderError> {
        let (queries, received) = mpsc::channel();
        let received = Arc::new(Mutex::new(received));
        for _ in 0..options.readers.max(1) {
            let (path, received) = (path.to_owned(), Arc::clone(&received));
            std::thread::Builder::new()
                .name("durable-sqlite-reader".into())
                .spawn(move || serve(&path, options, &received))
                .map_err(|error| ProviderError::Unavailable {
                    reason: format!("a reader's thread cannot be started: {error}"),
                })?;
        }
        Ok(Self { queries })
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
            // Whoever asked may be gone.
            let _ = reply.send(result);
            is_sound
        });
        let gone = || ProviderError::Unavailable {
            reason: "the readers have ended".into(),
        };
        self.queries.send(query).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

fn serve(path: &Path, options: SqliteOptions, queries: &Mutex<Receiver<Query>>) {
    let mut open: Option<Connection> = None;
    loop {
        let next = queries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok(query) = next else {
            return;
        };
        let connection = match open.take() {
            Some(connection) => Ok(connection),
            None => connection::open_reader(path, &options),
        };
        match connection {
            Ok(connection) => {
                if query(Ok(&connection)) {
                    open = Some(connection);
                }
            }
            Err(error) => {
                query(Err(error));
            }
        }
    }
}
