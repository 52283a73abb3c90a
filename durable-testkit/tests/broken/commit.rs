//! Faults of the commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use durable_core::provider::{
    CommitOutcome, Committed, HistoryPage, IdReuse, Lease, OutgoingMessage, Provider,
    ProviderError, ReadyInstances, SessionId, TurnCommit,
};
use durable_core::{EventId, ExecutionId, HistoryEntry, InstanceId, Limits};
use durable_testkit::event_message;

use super::{change, fault, locked};

type Answer = Result<CommitOutcome, ProviderError>;

fault! {
    /// Forgets the messages of a turn.
    HalfCommit {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Answer {
        change(&mut turn, |turn| turn.new_messages.clear());
        self.store.commit(turn).await
    }
}

fault! {
    /// Starts instances although the turn was in conflict.
    LeaksTurnsInConflict {}
    async fn commit(&self, turn: Arc<TurnCommit>) -> Answer {
        let answer = self.store.commit(Arc::clone(&turn)).await;
        if matches!(answer, Ok(CommitOutcome::Conflict { .. })) {
            start_all(&self.store, &turn).await;
        }
        answer
    }
}

fault! {
    /// Starts instances although the turn was invalid.
    LeaksInvalidTurns {}
    async fn commit(&self, turn: Arc<TurnCommit>) -> Answer {
        let answer = self.store.commit(Arc::clone(&turn)).await;
        if matches!(answer, Err(ProviderError::Invalid { .. })) {
            start_all(&self.store, &turn).await;
        }
        answer
    }
}

/// Starts what a turn starts; other messages are refused, and the leak is large enough.
async fn start_all(store: &impl Provider, turn: &TurnCommit) {
    for sent in turn.new_messages.clone() {
        let _ = store
            .start(&sent.target, sent.message, IdReuse::Refuse)
            .await;
    }
}

fault! {
    /// Sends the messages of a repeated commit again.
    AppliesTwice {}
    async fn commit(&self, turn: Arc<TurnCommit>) -> Answer {
        let answer = self.store.commit(Arc::clone(&turn)).await;
        if matches!(answer, Ok(CommitOutcome::AlreadyDone(_))) {
            for outgoing in &turn.new_messages {
                let message = event_message("sent-again");
                let again = OutgoingMessage::new(outgoing.target.clone(), message);
                let _ = self.store.send(again).await;
            }
        }
        answer
    }
}

fault! {
    /// Knows a repeated commit, but not what it claimed.
    ForgetsClaims {}
    async fn commit(&self, turn: Arc<TurnCommit>) -> Answer {
        match self.store.commit(turn).await? {
            CommitOutcome::AlreadyDone(committed) => {
                let committed = Committed::new(committed.has_messages, Vec::new());
                Ok(CommitOutcome::AlreadyDone(committed))
            }
            other => Ok(other),
        }
    }
}

fault! {
    /// Knows no commit again.
    ForgetsCommitIds {}
    async fn commit(&self, turn: Arc<TurnCommit>) -> Answer {
        match self.store.commit(turn).await? {
            CommitOutcome::AlreadyDone(_) => Ok(CommitOutcome::Fenced),
            other => Ok(other),
        }
    }
}

fault! {
    /// Takes a turn from any tail.
    IgnoresTheTail {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Answer {
        let record = self.store.instance(&turn.lease.instance).await?;
        if let (Some(record), true) = (record, turn.events.is_empty()) {
            Arc::make_mut(&mut turn).expected_last_event_id = record.last_event_id;
        }
        self.store.commit(turn).await
    }
}

fault! {
    /// Takes a turn under any lease of the instance.
    ForgetsTheFence { leases: BTreeMap<InstanceId, Lease> }
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        let ready = self.store.fetch_instances(session, max).await?;
        for instance in &ready.instances {
            let lease = instance.lease.clone();
            locked(&self.leases).insert(lease.instance.clone(), lease);
        }
        Ok(ready)
    }

    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Answer {
        if let Some(lease) = locked(&self.leases).get(&turn.lease.instance) {
            Arc::make_mut(&mut turn).lease = lease.clone();
        }
        self.store.commit(turn).await
    }
}

fault! {
    /// Writes events over those that are there.
    OverwritesHistory { written: BTreeMap<(InstanceId, ExecutionId), Vec<HistoryEntry>> }
    async fn commit(&self, turn: Arc<TurnCommit>) -> Answer {
        match self.store.commit(Arc::clone(&turn)).await? {
            CommitOutcome::Conflict { .. } => {
                let key = (turn.lease.instance.clone(), turn.execution_id);
                locked(&self.written).insert(key, turn.events.clone());
                Ok(CommitOutcome::Done(Committed::default()))
            }
            other => Ok(other),
        }
    }

    async fn history(
        &self,
        instance: &InstanceId,
        execution_id: ExecutionId,
        after: EventId,
        max: usize,
    ) -> Result<HistoryPage, ProviderError> {
        let key = (instance.clone(), execution_id);
        let written = locked(&self.written).get(&key).cloned();
        let mut page = self.store.history(instance, execution_id, after, max).await?;
        if let Some(entries) = written {
            page.entries = entries;
        }
        Ok(page)
    }
}

fault! {
    /// Gives up a group of turns at the first one that it does not apply.
    SinksTheGroup { is_sunk: bool }
    async fn commit(&self, turn: Arc<TurnCommit>) -> Answer {
        if *locked(&self.is_sunk) {
            return Err(ProviderError::Unavailable { reason: "rolled back".into() });
        }
        let answer = self.store.commit(turn).await;
        *locked(&self.is_sunk) = !matches!(answer, Ok(CommitOutcome::Done(_)));
        answer
    }
}

fault! {
    /// Accepts invalid turns, without storing them.
    AcceptsInvalidTurns {}
    async fn commit(&self, turn: Arc<TurnCommit>) -> Answer {
        match self.store.commit(turn).await {
            Err(ProviderError::Invalid { .. }) => Ok(CommitOutcome::Done(Committed::default())),
            other => other,
        }
    }
}

fault! {
    /// Looks at the lease of a turn before it looks whether the turn is valid.
    LooksAtTheLeaseFirst {}
    async fn commit(&self, turn: Arc<TurnCommit>) -> Answer {
        if turn.validate(&Limits::default()).is_ok() {
            return self.store.commit(turn).await;
        }
        let empty = TurnCommit::new(
            turn.commit_id,
            turn.lease.clone(),
            turn.execution_id,
            turn.expected_last_event_id,
        );
        self.store.commit(Arc::new(empty)).await
    }
}

fault! {
    /// Takes back what a turn schedules and removes, and accepts the turn.
    TakesBackInOneTurn {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Answer {
        let given = Arc::clone(&turn);
        let taken = Arc::make_mut(&mut turn);
        let removed = given.finished_work.iter().chain(&given.cancelled_work);
        let removed: BTreeSet<_> = removed.chain(&given.cancelled_timers).collect();
        taken.new_work.retain(|work| !removed.contains(&work.source));
        taken.new_timers.retain(|timer| !removed.contains(timer));
        for sources in [
            &mut taken.finished_work,
            &mut taken.cancelled_work,
            &mut taken.cancelled_timers,
        ] {
            sources.retain(|source| given.entry(*source).is_none());
        }
        self.store.commit(turn).await
    }
}

fault! {
    /// Answers a commit and applies it with the next call, if that is another.
    AnswersTooEarly { known: BTreeSet<u128> }
    async fn commit(&self, turn: Arc<TurnCommit>) -> Answer {
        let is_new = locked(&self.known).insert(turn.commit_id.0);
        match is_new && turn.keep_lease {
            true => Ok(CommitOutcome::Done(Committed::default())),
            false => self.store.commit(turn).await,
        }
    }
}
