//! The layer between the node and the store: it sees every commit, keeps what was
//! recorded, and lets accidents happen where they were asked for.
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
    CommitOutcome, FiredTimers, OutgoingMessage, Provider, ProviderError, ReadyInstances,
    SessionId, SessionOptions, TurnCommit, WakeSeq, WakeTopic, WorkBatch, WorkSettlement,
};
use durable_core::{InstanceId, Name};
use durable_runtime::Clock;
use futures::future::{Either, select};

use super::watched::{Accident, Watched, entries_of};
use crate::{Layer, MemoryProvider};

/// The store as one node sees it.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) watched: Arc<Watched>,
    /// Which node this is: as many as crashed before it.
    life: u64,
}

impl Watch {
    pub(super) fn new(watched: Arc<Watched>) -> Self {
        let life = watched.state().crashes;
        Self { watched, life }
    }

    /// Lets the node die here.
    async fn die<T>(&self) -> T {
        if let Err(error) = self.watched.crash().await {
            debug_assert!(false, "a session could not be closed: {error}");
        }
        pending().await
    }

    /// A dead node hears nothing more.
    async fn outlive(&self) {
        self.watched.calls.fetch_add(1, Ordering::Relaxed);
        self.watched.news.notify_one();
        if self.watched.state().crashes != self.life {
            pending::<()>().await;
        }
    }

    async fn commit_one(&self, mut turn: TurnCommit) -> Result<CommitOutcome, ProviderError> {
        let recorded = entries_of(&turn);
        if !self.watched.due(&recorded, false).is_empty() {
            return self.die().await;
        }
        if self.watched.gate.is_some() {
            turn.claim.max = 0;
        }
        let answer = self.watched.store.commit(vec![turn]).await.pop();
        let outcome = answer.ok_or_else(|| ProviderError::Unknown {
            reason: "the store gave no answer".into(),
        })??;
        if matches!(outcome, CommitOutcome::Done(_)) {
            let due = self.watched.due(&recorded, true);
            self.watched.state().recorded.extend(recorded);
            self.happen(due).await?;
        }
        Ok(outcome)
    }

    async fn happen(&self, due: Vec<(InstanceId, Accident)>) -> Result<(), ProviderError> {
        let mut dies = false;
        for (target, accident) in due {
            match accident {
                Accident::CrashBefore | Accident::CrashAfter => dies = true,
                Accident::Tell(message) => {
                    let now_ms = self.watched.clock.now_ms();
                    let outgoing = vec![OutgoingMessage { target, message }];
                    self.watched.store.send(outgoing, now_ms).await?;
                }
            }
        }
        if dies { self.die().await } else { Ok(()) }
    }
}

#[async_trait]
impl Layer for Watch {
    type Inner = MemoryProvider;

    fn inner(&self) -> &MemoryProvider {
        &self.watched.store
    }

    async fn open_session(
        &self,
        options: SessionOptions,
        now_ms: u64,
    ) -> Result<SessionId, ProviderError> {
        self.outlive().await;
        let session = self.watched.store.open_session(options, now_ms).await?;
        self.watched.state().session = Some(session);
        Ok(session)
    }

    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError> {
        self.outlive().await;
        let ready = self.watched.store.fetch_instances(session, max, now_ms);
        ready.await
    }

    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
        now_ms: u64,
    ) -> Result<WorkBatch, ProviderError> {
        self.outlive().await;
        let store = &self.watched.store;
        let Some(gate) = &self.watched.gate else {
            return store.fetch_work(session, queues, max, now_ms).await;
        };
        let mut batch = store
            .fetch_work(session, queues, usize::MAX, now_ms)
            .await?;
        let mut state = gate.state();
        state.keep_work(std::mem::take(&mut batch.work));
        batch.work = state.passing_work(max);
        Ok(batch)
    }

    async fn settle_work(
        &self,
        settlements: Vec<WorkSettlement>,
        now_ms: u64,
    ) -> Result<Vec<bool>, ProviderError> {
        self.outlive().await;
        for settlement in &settlements {
            if self.watched.is_in_vain(&settlement.lease.key) {
                return self.die().await;
            }
        }
        self.watched.store.settle_work(settlements, now_ms).await
    }

    async fn fire_timers(&self, max: usize, now_ms: u64) -> Result<FiredTimers, ProviderError> {
        self.outlive().await;
        let store = &self.watched.store;
        let Some(gate) = &self.watched.gate else {
            return store.fire_timers(max, now_ms).await;
        };
        let max = usize::from(gate.state().passes_timer());
        let fired = store.fire_timers(max, now_ms).await?;
        // When the next one fires is for somebody else to say.
        Ok(FiredTimers {
            next_due_ms: None,
            ..fired
        })
    }

    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        let news = self.watched.store.wait(session, topic, seen);
        let let_through = match (&self.watched.gate, topic) {
            (Some(gate), WakeTopic::Work(_)) => gate.work.notified(),
            (Some(gate), WakeTopic::Timers) => gate.timers.notified(),
            _ => return news.await,
        };
        match select(news, pin!(let_through)).await {
            Either::Left((news, _)) => news,
            Either::Right(((), _)) => Ok(seen),
        }
    }

    async fn commit(&self, turns: Vec<TurnCommit>) -> Vec<Result<CommitOutcome, ProviderError>> {
        self.outlive().await;
        let mut answers = Vec::with_capacity(turns.len());
        for turn in turns {
            answers.push(self.commit_one(turn).await);
        }
        answers
    }
}
