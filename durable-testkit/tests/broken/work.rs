//! Faults of work.

use durable_core::Name;
use durable_core::Payload;
use durable_core::provider::{
    ClaimedWork, CommitOutcome, Message, MessageBody, OutgoingMessage, Provider, ProviderError,
    SessionId, TurnCommit, WorkBatch, WorkLease, WorkResult, WorkSettlement,
};

use super::{fault, locked};

fault! {
    /// Hands work that is held to every other session too.
    HandsWorkTwice { held: Vec<ClaimedWork> }
    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
        now_ms: u64,
    ) -> Result<WorkBatch, ProviderError> {
        let mut batch = self.store.fetch_work(session, queues, max, now_ms).await?;
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
        now_ms: u64,
    ) -> Result<WorkBatch, ProviderError> {
        let mut batch = self.store.fetch_work(session, queues, max, now_ms).await?;
        batch.work.retain(|work| work.crashes == 0);
        Ok(batch)
    }
}

fault! {
    /// Retries at once.
    LosesRetryDelays {}
    async fn settle_work(
        &self,
        mut settlements: Vec<WorkSettlement>,
        now_ms: u64,
    ) -> Result<Vec<bool>, ProviderError> {
        for settlement in &mut settlements {
            if let WorkResult::Retry { not_before_ms } = &mut settlement.result {
                *not_before_ms = 0;
            }
        }
        self.store.settle_work(settlements, now_ms).await
    }
}

fault! {
    /// Does not count attempts.
    ForgetsAttempts {}
    async fn settle_work(
        &self,
        mut settlements: Vec<WorkSettlement>,
        now_ms: u64,
    ) -> Result<Vec<bool>, ProviderError> {
        for settlement in &mut settlements {
            if let WorkResult::Retry { not_before_ms } = settlement.result {
                let not_before_ms = Some(not_before_ms);
                settlement.result = WorkResult::HandedBack { not_before_ms };
            }
        }
        self.store.settle_work(settlements, now_ms).await
    }
}

fault! {
    /// Takes a result from any session.
    TrustsZombies {}
    async fn settle_work(
        &self,
        settlements: Vec<WorkSettlement>,
        now_ms: u64,
    ) -> Result<Vec<bool>, ProviderError> {
        let mut answers = self.store.settle_work(settlements.clone(), now_ms).await?;
        for (settlement, answer) in settlements.into_iter().zip(&mut answers) {
            if let (false, WorkResult::Finished(result)) = (*answer, settlement.result) {
                let key = settlement.lease.key;
                let message = Message {
                    message_id: format!("zombie of {}", key.event_id).into(),
                    body: MessageBody::ActivityFinished {
                        execution_id: key.execution_id,
                        source_event_id: key.event_id,
                        result,
                    },
                };
                let outgoing = OutgoingMessage { target: key.instance, message };
                self.store.send(vec![outgoing], now_ms).await?;
                *answer = true;
            }
        }
        Ok(answers)
    }
}

fault! {
    /// Forgets what an attempt left behind.
    ForgetsHeartbeats {}
    async fn heartbeat_work(
        &self,
        lease: &WorkLease,
        _details: Payload,
        now_ms: u64,
    ) -> Result<bool, ProviderError> {
        self.store.heartbeat_work(lease, "null".into(), now_ms).await
    }
}

fault! {
    /// Does not cancel work.
    ForgetsCancellations {}
    async fn commit(
        &self,
        mut turns: Vec<TurnCommit>,
    ) -> Vec<Result<CommitOutcome, ProviderError>> {
        for turn in &mut turns {
            turn.cancelled_work.clear();
        }
        self.store.commit(turns).await
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
        now_ms: u64,
    ) -> Result<WorkBatch, ProviderError> {
        let all = ["gpu", "GPU", "default", "None"].map(|name| Some(Name::from(name)));
        let all: Vec<Option<Name>> = all.into_iter().chain([None]).collect();
        self.store.fetch_work(session, &all, max, now_ms).await
    }
}

fault! {
    /// Claims only what the turn itself scheduled.
    ClaimsOnlyNewWork {}
    async fn commit(
        &self,
        turns: Vec<TurnCommit>,
    ) -> Vec<Result<CommitOutcome, ProviderError>> {
        let ids: Vec<_> = turns.iter().map(|turn| turn.lease.instance.clone()).collect();
        let mut answers = self.store.commit(turns).await;
        for (answer, id) in answers.iter_mut().zip(ids) {
            if let Ok(CommitOutcome::Done(committed)) = answer {
                committed.claimed.retain(|work| work.item.key.instance == id);
            }
        }
        answers
    }
}

fault! {
    /// Leaves finished work in its queue.
    KeepsFinishedWork {}
    async fn commit(
        &self,
        mut turns: Vec<TurnCommit>,
    ) -> Vec<Result<CommitOutcome, ProviderError>> {
        for turn in &mut turns {
            turn.finished_work.clear();
        }
        self.store.commit(turns).await
    }
}

fault! {
    /// Sets poison aside without telling anybody.
    SwallowsPoison {}
    async fn settle_work(
        &self,
        mut settlements: Vec<WorkSettlement>,
        now_ms: u64,
    ) -> Result<Vec<bool>, ProviderError> {
        for settlement in &mut settlements {
            if matches!(settlement.result, WorkResult::Poisoned(_)) {
                let not_before_ms = u64::MAX;
                settlement.result = WorkResult::Retry { not_before_ms };
            }
        }
        self.store.settle_work(settlements, now_ms).await
    }
}
