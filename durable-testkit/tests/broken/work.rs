//! Faults of work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use durable_core::provider::{
    ClaimedWork, CommitOutcome, HeartbeatOutcome, Message, MessageBody, OutgoingMessage,
    PoisonedPage, Provider, ProviderError, SessionId, SettleOutcome, TurnCommit, WorkBatch,
    WorkKey, WorkLease, WorkResult, WorkSettlement,
};
use durable_core::{ActivityOptions, EarlierAttempts, Name, Payload};

use super::{change, fault, locked};

type Answer = Result<CommitOutcome, ProviderError>;

fault! {
    /// Hands work that is held to every other session too.
    HandsWorkTwice { held: Vec<ClaimedWork> }
    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Result<WorkBatch, ProviderError> {
        let mut batch = self.store.fetch_work(session, queues, max).await?;
        let mut held = locked(&self.held);
        let others = held.iter().filter(|it| it.lease.session != session);
        let others: Vec<ClaimedWork> = others.cloned().collect();
        held.extend(batch.work.clone());
        batch.work.extend(others);
        Ok(batch)
    }
}

fault! {
    /// Loses the work of a session that died.
    LosesDeadWork {}
    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Result<WorkBatch, ProviderError> {
        let mut batch = self.store.fetch_work(session, queues, max).await?;
        batch.work.retain(|work| work.crashes == 0);
        Ok(batch)
    }
}

fault! {
    /// Retries at once.
    LosesRetryDelays {}
    async fn settle_work(
        &self,
        mut settlement: WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        if let WorkResult::Retry { not_before_ms, .. } = &mut settlement.result {
            *not_before_ms = 0;
        }
        self.store.settle_work(settlement).await
    }
}

fault! {
    /// Does not count attempts.
    ForgetsAttempts {}
    async fn settle_work(
        &self,
        mut settlement: WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        if let WorkResult::Retry { not_before_ms, .. } = settlement.result {
            let not_before_ms = Some(not_before_ms);
            settlement.result = WorkResult::HandedBack { not_before_ms };
        }
        self.store.settle_work(settlement).await
    }
}

fault! {
    /// Tells every result as that of a first attempt.
    HidesEarlierAttempts {}
    async fn settle_work(
        &self,
        settlement: WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        let first = settlement.after(EarlierAttempts::NONE);
        self.store.settle_work(first).await
    }
}

fault! {
    /// Takes a result from any session.
    TrustsZombies {}
    async fn settle_work(
        &self,
        settlement: WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        let outcome = self.store.settle_work(settlement.clone()).await?;
        let (SettleOutcome::LeaseLost, WorkResult::Finished(result)) =
            (outcome, settlement.result)
        else {
            return Ok(outcome);
        };
        let key = settlement.lease.key;
        let body = MessageBody::ActivityFinished {
            execution_id: key.execution_id,
            source_event_id: key.event_id,
            result,
            earlier_attempts: EarlierAttempts::NONE,
        };
        let message = Message::new(format!("zombie of {}", key.event_id).into(), body);
        let outgoing = OutgoingMessage::new(key.instance, message);
        let _ = self.store.send(outgoing).await?;
        Ok(SettleOutcome::Settled)
    }
}

fault! {
    /// Says that a lease is lost, and applies its settlement under the one that is not.
    SettlesForZombies { leases: BTreeMap<WorkKey, WorkLease> }
    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Result<WorkBatch, ProviderError> {
        let batch = self.store.fetch_work(session, queues, max).await?;
        let leases = batch.work.iter().map(|work| work.lease.clone());
        locked(&self.leases).extend(leases.map(|lease| (lease.key.clone(), lease)));
        Ok(batch)
    }

    async fn settle_work(
        &self,
        settlement: WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        let outcome = self.store.settle_work(settlement.clone()).await?;
        let lease = locked(&self.leases).get(&settlement.lease.key).cloned();
        if let (SettleOutcome::LeaseLost, Some(lease)) = (outcome, lease) {
            let again = WorkSettlement::new(lease, settlement.result);
            let _ = self.store.settle_work(again).await?;
        }
        Ok(outcome)
    }

    async fn heartbeat_work(
        &self,
        lease: &WorkLease,
        details: Payload,
    ) -> Result<HeartbeatOutcome, ProviderError> {
        let outcome = self.store.heartbeat_work(lease, details.clone()).await?;
        let held = locked(&self.leases).get(&lease.key).cloned();
        if let (HeartbeatOutcome::LeaseLost, Some(held)) = (outcome, held) {
            let _ = self.store.heartbeat_work(&held, details).await?;
        }
        Ok(outcome)
    }
}

fault! {
    /// Forgets what an attempt left behind.
    ForgetsHeartbeats {}
    async fn heartbeat_work(
        &self,
        lease: &WorkLease,
        _details: Payload,
    ) -> Result<HeartbeatOutcome, ProviderError> {
        self.store.heartbeat_work(lease, "null".into()).await
    }
}

fault! {
    /// Does not cancel work.
    ForgetsCancellations {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Answer {
        change(&mut turn, |turn| turn.cancelled_work.clear());
        self.store.commit(turn).await
    }
}

fault! {
    /// Takes the default queue for all queues.
    MixesQueues {}
    async fn fetch_work(
        &self,
        session: SessionId,
        _queues: &[Option<Name>],
        max: usize,
    ) -> Result<WorkBatch, ProviderError> {
        let all = ["gpu", "GPU", "default", "None"].map(|name| Some(Name::from(name)));
        let all: Vec<Option<Name>> = all.into_iter().chain([None]).collect();
        self.store.fetch_work(session, &all, max).await
    }
}

fault! {
    /// Claims only what the turn itself scheduled.
    ClaimsOnlyNewWork {}
    async fn commit(&self, turn: Arc<TurnCommit>) -> Answer {
        let id = turn.lease.instance.clone();
        let mut outcome = self.store.commit(turn).await?;
        if let CommitOutcome::Done(committed) = &mut outcome {
            committed.claimed.retain(|work| work.item.key.instance == id);
        }
        Ok(outcome)
    }
}

fault! {
    /// Leaves finished work in its queue.
    KeepsFinishedWork {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Answer {
        change(&mut turn, |turn| turn.finished_work.clear());
        self.store.commit(turn).await
    }
}

fault! {
    /// Sets poison aside without telling its instance.
    SwallowsPoison {}
    async fn settle_work(
        &self,
        mut settlement: WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        if let WorkResult::Poisoned(failure) = settlement.result {
            settlement.result = WorkResult::Retry {
                not_before_ms: u64::MAX,
                failure,
            };
        }
        self.store.settle_work(settlement).await
    }
}

fault! {
    /// Counts the work that a commit claims instead of keeping its number.
    CountsClaimedWork {}
    async fn commit(&self, turn: Arc<TurnCommit>) -> Answer {
        let mut outcome = self.store.commit(turn).await?;
        if let CommitOutcome::Done(committed) = &mut outcome {
            for (claimed, number) in committed.claimed.iter_mut().zip(0..) {
                claimed.item.number = number;
            }
        }
        Ok(outcome)
    }
}

fault! {
    /// Takes the crash of a session for a new schedule of its work.
    SchedulesAnew {}
    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Result<WorkBatch, ProviderError> {
        let mut batch = self.store.fetch_work(session, queues, max).await?;
        for work in batch.work.iter_mut().filter(|work| work.crashes > 0) {
            work.item.scheduled_at_ms = self.store.now_ms();
        }
        Ok(batch)
    }
}

fault! {
    /// Looks for the event of work in the current execution.
    LooksInOneExecution {}
    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Result<WorkBatch, ProviderError> {
        let mut batch = self.store.fetch_work(session, queues, max).await?;
        for work in &mut batch.work {
            let record = self.store.instance(&work.item.key.instance).await?;
            if record.is_some_and(|record| record.execution_id != work.item.key.execution_id) {
                work.item.input = "null".into();
            }
        }
        Ok(batch)
    }
}

fault! {
    /// Keeps dead letters without their options.
    StripsDeadLetters {}
    async fn poisoned(
        &self,
        after: Option<&WorkKey>,
        max: usize,
    ) -> Result<PoisonedPage, ProviderError> {
        let mut page = self.store.poisoned(after, max).await?;
        for letter in &mut page.work {
            letter.item.options = ActivityOptions::default();
        }
        Ok(page)
    }
}

fault! {
    /// Knows the options of work only in the process that scheduled it.
    KeepsOptionsInMemory { scheduled: BTreeSet<WorkKey> }
    async fn commit(&self, turn: Arc<TurnCommit>) -> Answer {
        let added = turn.new_work.iter();
        let keys = added.map(|work| WorkKey::new(turn.lease.instance.clone(), work.source));
        locked(&self.scheduled).extend(keys);
        self.store.commit(turn).await
    }

    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Result<WorkBatch, ProviderError> {
        let mut batch = self.store.fetch_work(session, queues, max).await?;
        let scheduled = locked(&self.scheduled);
        for work in &mut batch.work {
            if !scheduled.contains(&work.item.key) {
                work.item.options.total_timeout_ms = None;
            }
        }
        Ok(batch)
    }
}
