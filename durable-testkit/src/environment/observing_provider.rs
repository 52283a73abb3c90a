//! The layer between the node and the store: it sees every commit, keeps what was
//! recorded, and performs the actions whose triggers fire.
//!
//! A node that is to die never hears from the store again: the call in which it dies
//! does not return, its session is closed, so nothing that it still does counts,
//! and it opens no other.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use durable_core::provider::{
    CommitOutcome, FiredTimers, Layer, OutgoingMessage, Provider, ProviderError, ReadyInstances,
    SessionId, SessionOptions, SettleOutcome, TurnCommit, WakeSeq, WakeTopic, WorkBatch,
    WorkSettlement,
};
use durable_core::{InstanceId, Name};
use futures::future::{Either, select};

use super::observed_store::{ObservedStore, TriggeredAction, entries_of};
use crate::MemoryProvider;

/// The store as one node sees it.
#[derive(Debug)]
pub(super) struct ObservingProvider {
    pub(super) observed: Arc<ObservedStore>,
    /// Which node this is: as many as crashed before it.
    life: u64,
}

impl ObservingProvider {
    pub(super) fn new(observed: Arc<ObservedStore>) -> Self {
        let life = observed.state().crashes;
        Self { observed, life }
    }

    /// Lets the node die here.
    async fn die<T>(&self) -> T {
        if let Err(error) = self.observed.crash().await {
            debug_assert!(false, "a session could not be closed: {error}");
        }
        pending().await
    }

    /// A dead node hears nothing more.
    async fn outlive(&self) {
        self.observed.calls.fetch_add(1, Ordering::Relaxed);
        self.observed.news.notify_one();
        if self.observed.state().crashes != self.life {
            pending::<()>().await;
        }
    }

    async fn commit_observed(
        &self,
        mut turn: Arc<TurnCommit>,
    ) -> Result<CommitOutcome, ProviderError> {
        let recorded = entries_of(&turn);
        if !self.observed.due(&recorded, false).is_empty() {
            return self.die().await;
        }
        if self.observed.gate.is_some() {
            Arc::make_mut(&mut turn).claim.max = 0;
        }
        let outcome = self.observed.store.commit(turn).await?;
        if matches!(outcome, CommitOutcome::Done(_)) {
            let due = self.observed.due(&recorded, true);
            self.observed.state().recorded.extend(recorded);
            self.happen(due).await?;
        }
        Ok(outcome)
    }

    async fn happen(&self, due: Vec<(InstanceId, TriggeredAction)>) -> Result<(), ProviderError> {
        let mut dies = false;
        for (target, action) in due {
            match action {
                TriggeredAction::CrashBefore | TriggeredAction::CrashAfter => dies = true,
                TriggeredAction::Tell(message) => {
                    let outgoing = OutgoingMessage::new(target, message);
                    // Told to an instance that has ended, it means nothing.
                    let _ = self.observed.store.send(outgoing).await?;
                }
            }
        }
        if dies { self.die().await } else { Ok(()) }
    }
}

#[async_trait]
impl Layer for ObservingProvider {
    type Inner = MemoryProvider;

    fn inner(&self) -> &MemoryProvider {
        &self.observed.store
    }

    async fn open_session(&self, options: SessionOptions) -> Result<SessionId, ProviderError> {
        self.outlive().await;
        let session = self.observed.store.open_session(options).await?;
        self.observed.state().session = Some(session);
        Ok(session)
    }

    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        self.outlive().await;
        let ready = self.observed.store.fetch_instances(session, max);
        ready.await
    }

    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Result<WorkBatch, ProviderError> {
        self.outlive().await;
        let store = &self.observed.store;
        let Some(gate) = &self.observed.gate else {
            return store.fetch_work(session, queues, max).await;
        };
        let mut batch = store.fetch_work(session, queues, usize::MAX).await?;
        let mut state = gate.state();
        state.keep_work(std::mem::take(&mut batch.work));
        batch.work = state.passing_work(max);
        Ok(batch)
    }

    async fn settle_work(
        &self,
        settlement: WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        self.outlive().await;
        if self.observed.is_in_vain(&settlement.lease.key) {
            return self.die().await;
        }
        self.observed.store.settle_work(settlement).await
    }

    async fn fire_timers(&self, max: usize) -> Result<FiredTimers, ProviderError> {
        self.outlive().await;
        let store = &self.observed.store;
        let Some(gate) = &self.observed.gate else {
            return store.fire_timers(max).await;
        };
        let max = usize::from(gate.state().passes_timer());
        let mut fired = store.fire_timers(max).await?;
        // The scheduler decides when the next one fires.
        fired.next_due_ms = None;
        Ok(fired)
    }

    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        since: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        let news = self.observed.store.wait(session, topic, since);
        let let_through = match (&self.observed.gate, topic) {
            (Some(gate), WakeTopic::Work(_)) => gate.work.notified(),
            (Some(gate), WakeTopic::Timers) => gate.timers.notified(),
            _ => return news.await,
        };
        match select(news, pin!(let_through)).await {
            Either::Left((news, _)) => news,
            Either::Right(((), _)) => Ok(since),
        }
    }

    async fn commit(&self, turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        self.outlive().await;
        self.commit_observed(turn).await
    }
}
