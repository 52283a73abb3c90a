//! The layer between the node and the store: it sees every commit, keeps what was
//! recorded, and lets accidents happen where they were asked for.
//!
//! A node that is to die never hears from the store again: the call in which it dies
//! does not return, its session is closed, so nothing that it still does counts,
//! and it opens no other.

use std::future::pending;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use durable_core::provider::{
    CommitOutcome, FiredTimers, Interest, Message, MessageBody, OutgoingMessage, Provider,
    ProviderError, ReadyInstances, SessionId, SessionOptions, StatusKind, TurnCommit, WakeSeq,
    WorkBatch,
};
use durable_core::{ExecutionId, Failure, HistoryEntry, InstanceId, Name};
use durable_runtime::{Clock, TokioClock};
use futures::future::{Either, select};
use tokio::sync::{Notify, mpsc};

use super::conductor::Chosen;
use super::gate::Gate;
use super::moment::AtEvent;
use crate::{Layer, MemoryProvider};

/// So many times in a row the node is given a chance to do something before it is
/// taken to have nothing to do.
const CHANCES: usize = 64;

/// What happens when a moment has come.
#[derive(Debug, Clone)]
pub(super) enum Accident {
    /// The node dies before the event is stored.
    CrashBefore,
    /// The node dies after the event is stored, and never learns that it is.
    CrashAfter,
    /// The instance is told something.
    Tell(Message),
}

/// An entry that was recorded.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    pub(super) instance: InstanceId,
    pub(super) execution_id: ExecutionId,
    pub(super) entry: HistoryEntry,
}

/// What outlives the nodes of an environment.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) store: MemoryProvider,
    pub(super) clock: TokioClock,
    /// Where things wait, if somebody chooses their order.
    pub(super) gate: Option<Arc<Gate>>,
    /// The node made a call.
    pub(super) news: Notify,
    /// Rises with every call that the node makes: while it does, something happens.
    pub(super) calls: AtomicU64,
    state: Mutex<State>,
    crashes: mpsc::UnboundedSender<()>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) recorded: Vec<Recorded>,
    pub(super) accidents: Vec<(AtEvent, Accident)>,
    pub(super) crashes: u64,
    pub(super) chosen: Vec<Chosen>,
    session: Option<SessionId>,
}

impl Watched {
    pub(super) fn new(
        clock: TokioClock,
        gate: Option<Arc<Gate>>,
        crashes: mpsc::UnboundedSender<()>,
    ) -> Self {
        Self {
            store: MemoryProvider::new(),
            clock,
            gate,
            news: Notify::new(),
            calls: AtomicU64::new(0),
            state: Mutex::default(),
            crashes,
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The node dies; another one will be started.
    pub(super) async fn crash(&self) -> Result<(), ProviderError> {
        let session = {
            let mut state = self.state();
            state.crashes += 1;
            state.session.take()
        };
        if let Some(gate) = &self.gate {
            gate.state().forget_work();
        }
        if let Some(session) = session {
            self.end(session).await?;
        }
        // Without a receiver the environment is gone, and its node with it.
        let _ = self.crashes.send(());
        Ok(())
    }

    /// Ends a session as a store does that notices a dead process at once: what it
    /// held is to run again, with or without a message.
    async fn end(&self, session: SessionId) -> Result<(), ProviderError> {
        let now_ms = self.clock.now_ms();
        let snapshot = self.store.snapshot();
        self.store.close_session(session, now_ms).await?;
        for (id, instance) in snapshot.instances {
            let is_stopped = instance.record.status.kind() == StatusKind::Suspended;
            if instance.holder == Some(session) && !is_stopped {
                let reason = Failure::application("crash", "its node died");
                let _ = self.store.suspend(&id, reason, now_ms).await?;
                let _ = self.store.resume(&id, now_ms).await?;
            }
        }
        Ok(())
    }

    /// Lets everything happen that happens without time passing.
    pub(super) async fn settle(&self) {
        let mut before = None;
        loop {
            let calls = self.calls.load(Ordering::Relaxed);
            if before.replace(calls) == Some(calls) {
                return;
            }
            for _ in 0..CHANCES {
                tokio::task::yield_now().await;
            }
        }
    }

    /// The accidents whose moment comes with these entries, before they are stored
    /// or after.
    fn due(&self, recorded: &[Recorded], is_stored: bool) -> Vec<(InstanceId, Accident)> {
        let mut due = Vec::new();
        let mut state = self.state();
        for Recorded {
            instance, entry, ..
        } in recorded
        {
            state.accidents.retain_mut(|(moment, accident)| {
                let is_meant = matches!(accident, Accident::CrashBefore) != is_stored;
                let has_come = is_meant && moment.has_come(instance, entry);
                if has_come {
                    due.push((instance.clone(), accident.clone()));
                }
                !has_come
            });
        }
        due
    }
}

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
        interest: &Interest,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        let news = self.watched.store.wait(session, interest, seen);
        let let_through = match (&self.watched.gate, interest) {
            (Some(gate), Interest::Work(_)) => gate.work.notified(),
            (Some(gate), Interest::Timers) => gate.timers.notified(),
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

/// What a turn records, of its execution and of the next one.
fn entries_of(turn: &TurnCommit) -> Vec<Recorded> {
    let of = |execution_id, entries: &[HistoryEntry]| -> Vec<Recorded> {
        let recorded = |entry: &HistoryEntry| Recorded {
            instance: turn.lease.instance.clone(),
            execution_id,
            entry: entry.clone(),
        };
        entries.iter().map(recorded).collect()
    };
    let mut recorded = of(turn.execution_id, &turn.events);
    if let Some(next) = &turn.next_execution {
        recorded.extend(of(next.execution_id, &next.events));
    }
    recorded
}

/// A message that an environment sends.
pub(super) fn message(number: u64, body: MessageBody) -> Message {
    Message {
        message_id: format!("environment-{number}").into(),
        body,
    }
}
