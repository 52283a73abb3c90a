//! Items that an attempt of an activity emits, on their way into the store.
//!
//! A task sends them in batches: what is emitted while one batch is being stored goes with the
//! next. Every item has a number, so a batch that is sent again adds nothing twice.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use durable_core::provider::{
    EmitOutcome, EmitRequest, Provider, ProviderError, StreamPush, WorkLease,
};
use durable_core::{Failure, FailureKind};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How many items wait for the batch before them; who emits more waits.
const WAITING: usize = 1_024;
/// How many items go together.
const BATCH: usize = 256;
/// How often a batch is sent again if the store does not answer, and after which time.
const TRIES: u32 = 10;
const BACKOFF: Duration = Duration::from_millis(50);

/// The items of one attempt.
#[derive(Debug, Default)]
pub(crate) struct Emitter {
    state: Mutex<EmitterState>,
    /// Why no more items are taken.
    failed: Arc<OnceLock<Failure>>,
}

#[derive(Debug, Default)]
enum EmitterState {
    /// Nothing was emitted yet.
    #[default]
    Unused,
    Open {
        items: Sender<StreamPush>,
        task: JoinHandle<()>,
    },
    /// The attempt has ended.
    Closed,
}

/// Where items go.
pub(crate) struct Target {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) lease: WorkLease,
    pub(crate) attempt: u32,
    /// Cancels the attempt when its lease is lost.
    pub(crate) cancellation: CancellationToken,
}

impl Emitter {
    fn state(&self) -> MutexGuard<'_, EmitterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an item; waits while too many others do.
    pub(crate) async fn emit(
        &self,
        item: StreamPush,
        target: impl FnOnce() -> Target,
    ) -> Result<(), Failure> {
        let items = self.items(target)?;
        match items.send(item).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.failure()),
        }
    }

    fn items(&self, target: impl FnOnce() -> Target) -> Result<Sender<StreamPush>, Failure> {
        let mut state = self.state();
        match &*state {
            EmitterState::Open { items, .. } => Ok(items.clone()),
            EmitterState::Closed => Err(self.failure()),
            EmitterState::Unused => {
                let (items, waiting) = mpsc::channel(WAITING);
                let (target, failed) = (target(), Arc::clone(&self.failed));
                let task = tokio::spawn(async move {
                    if let Err(failure) = send_all(&target, waiting).await {
                        // The first reason counts.
                        let _ = failed.set(failure);
                    }
                });
                *state = EmitterState::Open {
                    items: items.clone(),
                    task,
                };
                Ok(items)
            }
        }
    }

    /// The attempt has ended: the future waits until all items are stored. `None` if there were
    /// none.
    pub(crate) fn close(
        self: &Arc<Self>,
    ) -> Option<impl Future<Output = Result<(), Failure>> + use<>> {
        let state = std::mem::replace(&mut *self.state(), EmitterState::Closed);
        let EmitterState::Open { items, task } = state else {
            return None;
        };
        drop(items);
        let failed = Arc::clone(&self.failed);
        Some(async move {
            if let Err(error) = task.await {
                return Err(Failure::new(FailureKind::Storage, error.to_string()));
            }
            failed.get().cloned().map_or(Ok(()), Err)
        })
    }

    fn failure(&self) -> Failure {
        let ended = || Failure::cancelled("the attempt has ended");
        self.failed.get().cloned().unwrap_or_else(ended)
    }
}

impl Drop for Emitter {
    fn drop(&mut self) {
        if let EmitterState::Open { task, .. } = &*self.state() {
            task.abort();
        }
    }
}

/// Sends what comes, until no more will.
async fn send_all(target: &Target, mut waiting: Receiver<StreamPush>) -> Result<(), Failure> {
    let mut first_number = 0;
    let mut items = Vec::new();
    while waiting.recv_many(&mut items, BATCH).await > 0 {
        let count = items.len() as u64;
        let mut request = EmitRequest::new(target.lease.clone(), std::mem::take(&mut items));
        request.attempt = target.attempt;
        request.first_number = first_number;
        send(target, request).await?;
        first_number += count;
    }
    Ok(())
}

async fn send(target: &Target, request: EmitRequest) -> Result<(), Failure> {
    let mut tries = 0;
    loop {
        tries += 1;
        match target.provider.emit(request.clone()).await {
            Ok(EmitOutcome::Added) => return Ok(()),
            Ok(EmitOutcome::LeaseLost) => {
                target.cancellation.cancel();
                return Err(Failure::cancelled(
                    "the work was cancelled, or another session has claimed it",
                ));
            }
            Err(ProviderError::Unavailable { .. } | ProviderError::Unknown { .. })
                if tries < TRIES =>
            {
                tokio::time::sleep(BACKOFF).await;
            }
            Err(error) => return Err(Failure::new(FailureKind::Storage, error.to_string())),
        }
    }
}
