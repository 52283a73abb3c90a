//! Waiting for results, which durust leaves to its users.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bench_harness::Problem;
use durust::provider::{HistoryEventData, StreamHistoryRequest};
use durust::{DurableBackend, EventId, RunId, SqliteBackend, WorkerEvent};
use tokio::sync::{Mutex as AsyncMutex, Notify};

/// A net below the worker's events.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// The runs that were started, and who waits for them.
pub(crate) struct Results {
    backend: SqliteBackend,
    runs: Mutex<HashMap<String, RunId>>,
    /// The run that is waited for, and its bell.
    watched: Arc<(Mutex<Option<RunId>>, Notify)>,
    turn: AsyncMutex<()>,
}

impl Results {
    pub(crate) fn new(backend: SqliteBackend) -> Self {
        Self {
            backend,
            runs: Mutex::default(),
            watched: Arc::default(),
            turn: AsyncMutex::default(),
        }
    }

    /// Rings when a task of the watched run was committed.
    pub(crate) fn sink(&self) -> impl Fn(WorkerEvent<'_>) + Send + Sync + 'static {
        let watched = Arc::clone(&self.watched);
        move |event| {
            if let WorkerEvent::WorkflowTaskCommitted { run_id } = event
                && lock(&watched.0).as_ref() == Some(run_id)
            {
                watched.1.notify_one();
            }
        }
    }

    pub(crate) fn expect(&self, id: &str, run: RunId) {
        lock(&self.runs).insert(id.to_owned(), run);
    }

    pub(crate) fn expected(&self, id: &str) -> Option<RunId> {
        lock(&self.runs).get(id).cloned()
    }

    /// Waits for the result of a run, after those who came before.
    pub(crate) async fn wait(&self, run: &RunId) -> Result<u64, Problem> {
        let _turn = self.turn.lock().await;
        *lock(&self.watched.0) = Some(run.clone());
        let mut seen = EventId::ZERO;
        loop {
            if let Some(result) = self.look(run, &mut seen).await? {
                return Ok(result);
            }
            let _ = tokio::time::timeout(LOOK_AGAIN, self.watched.1.notified()).await;
        }
    }

    /// Reads what is new in the history of a run.
    async fn look(&self, run: &RunId, seen: &mut EventId) -> Result<Option<u64>, Problem> {
        loop {
            let request = StreamHistoryRequest {
                run_id: run.clone(),
                after_event_id: *seen,
                up_to_event_id: EventId(u64::MAX >> 1),
                max_events: 1_000,
                max_bytes: usize::MAX,
            };
            let events = self.backend.stream_history(request).await?.events;
            let Some(last) = events.last() else {
                return Ok(None);
            };
            *seen = last.event_id;
            match &last.data {
                HistoryEventData::WorkflowCompleted { result } => {
                    return Ok(Some(durust::decode_payload(result)?));
                }
                HistoryEventData::WorkflowFailed { .. } => {
                    return Err(format!("{run:?} failed: {:?}", last.data).into());
                }
                _ => {}
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
