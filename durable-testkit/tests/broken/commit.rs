//! Faults of the commit.

use std::collections::{BTreeMap, BTreeSet};

use durable_core::provider::{
    CommitOutcome, Committed, HistoryPage, Lease, OutgoingMessage, Provider, ProviderError,
    ReadyInstances, SessionId, TurnCommit,
};
use durable_core::{EventId, ExecutionId, HistoryEntry, InstanceId};
use durable_testkit::event_message;

use super::{fault, locked};

type Answers = Vec<Result<CommitOutcome, ProviderError>>;

fault! {
    /// Forgets the messages of a turn.
    HalfCommit {}
    async fn commit(&self, mut turns: Vec<TurnCommit>) -> Answers {
        for turn in &mut turns {
            turn.new_messages.clear();
        }
        self.store.commit(turns).await
    }
}

fault! {
    /// Starts instances although the turn was refused.
    LeaksRefusedTurns {}
    async fn commit(&self, turns: Vec<TurnCommit>) -> Answers {
        let answers = self.store.commit(turns.clone()).await;
        for (turn, answer) in turns.into_iter().zip(&answers) {
            if !matches!(answer, Ok(CommitOutcome::Conflict { .. })) {
                continue;
            }
            for OutgoingMessage { target, message } in turn.new_messages {
                let reuse = durable_core::provider::IdReuse::Refuse;
                // Only starts are accepted here; that is enough of a leak.
                let _ = self.store.start(&target, message, reuse, 0).await;
            }
        }
        answers
    }
}

fault! {
    /// Sends the messages of a repeated commit again.
    AppliesTwice {}
    async fn commit(&self, turns: Vec<TurnCommit>) -> Answers {
        let answers = self.store.commit(turns.clone()).await;
        for (turn, answer) in turns.into_iter().zip(&answers) {
            if !matches!(answer, Ok(CommitOutcome::AlreadyDone(_))) {
                continue;
            }
            for outgoing in turn.new_messages {
                let message = event_message("sent-again");
                let again = OutgoingMessage { message, ..outgoing };
                let _ = self.store.send(vec![again], 0).await;
            }
        }
        answers
    }
}

fault! {
    /// Knows a repeated commit, but not what it claimed.
    ForgetsClaims {}
    async fn commit(&self, turns: Vec<TurnCommit>) -> Answers {
        let answers = self.store.commit(turns).await.into_iter();
        answers
            .map(|answer| match answer {
                Ok(CommitOutcome::AlreadyDone(committed)) => {
                    let claimed = Vec::new();
                    Ok(CommitOutcome::AlreadyDone(Committed { claimed, ..committed }))
                }
                other => other,
            })
            .collect()
    }
}

fault! {
    /// Knows no commit again.
    ForgetsCommitIds {}
    async fn commit(&self, turns: Vec<TurnCommit>) -> Answers {
        let answers = self.store.commit(turns).await.into_iter();
        answers
            .map(|answer| match answer {
                Ok(CommitOutcome::AlreadyDone(_)) => Ok(CommitOutcome::Fenced),
                other => other,
            })
            .collect()
    }
}

fault! {
    /// Takes a turn from any tail.
    IgnoresTheTail {}
    async fn commit(&self, mut turns: Vec<TurnCommit>) -> Answers {
        for turn in &mut turns {
            let record = self.store.instance(&turn.lease.instance).await;
            if let (Ok(Some(record)), true) = (record, turn.events.is_empty()) {
                turn.expected_last_event_id = record.last_event_id;
            }
        }
        self.store.commit(turns).await
    }
}

fault! {
    /// Takes a turn under any lease of the instance.
    ForgetsTheFence { leases: BTreeMap<InstanceId, Lease> }
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError> {
        let ready = self.store.fetch_instances(session, max, now_ms).await?;
        for instance in &ready.instances {
            let lease = instance.lease.clone();
            locked(&self.leases).insert(lease.instance.clone(), lease);
        }
        Ok(ready)
    }

    async fn commit(&self, mut turns: Vec<TurnCommit>) -> Answers {
        for turn in &mut turns {
            if let Some(lease) = locked(&self.leases).get(&turn.lease.instance) {
                turn.lease = lease.clone();
            }
        }
        self.store.commit(turns).await
    }
}

fault! {
    /// Writes events over those that are there.
    OverwritesHistory { written: BTreeMap<(InstanceId, ExecutionId), Vec<HistoryEntry>> }
    async fn commit(&self, turns: Vec<TurnCommit>) -> Answers {
        let answers = self.store.commit(turns.clone()).await;
        turns
            .into_iter()
            .zip(answers)
            .map(|(turn, answer)| match answer {
                Ok(CommitOutcome::Conflict { .. }) => {
                    let key = (turn.lease.instance, turn.execution_id);
                    locked(&self.written).insert(key, turn.events);
                    Ok(CommitOutcome::Done(Committed::default()))
                }
                other => other,
            })
            .collect()
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
        match written {
            Some(entries) => Ok(HistoryPage { entries, has_more: false }),
            None => self.store.history(instance, execution_id, after, max).await,
        }
    }
}

fault! {
    /// Gives up a batch at the first turn that it does not apply.
    SinksTheBatch {}
    async fn commit(&self, turns: Vec<TurnCommit>) -> Answers {
        let mut answers = Vec::new();
        for turn in turns {
            let is_sunk = answers.iter().any(|answer| !matches!(answer, Ok(CommitOutcome::Done(_))));
            if is_sunk {
                answers.push(Err(ProviderError::Unavailable { reason: "rolled back".into() }));
            } else {
                answers.extend(self.store.commit(vec![turn]).await);
            }
        }
        answers
    }
}

fault! {
    /// Accepts events with gaps, without storing them.
    AcceptsGaps {}
    async fn commit(&self, turns: Vec<TurnCommit>) -> Answers {
        let answers = self.store.commit(turns).await.into_iter();
        answers
            .map(|answer| match answer {
                Err(ProviderError::Invalid { .. }) => Ok(CommitOutcome::Done(Committed::default())),
                other => other,
            })
            .collect()
    }
}

fault! {
    /// Answers a commit and applies it with the next call, if that is another.
    AnswersTooEarly { known: BTreeSet<u128> }
    async fn commit(&self, turns: Vec<TurnCommit>) -> Answers {
        let mut answers = Vec::new();
        for turn in turns {
            let is_new = locked(&self.known).insert(turn.commit_id.0);
            if is_new && turn.keep_lease {
                answers.push(Ok(CommitOutcome::Done(Committed::default())));
            } else {
                answers.extend(self.store.commit(vec![turn]).await);
            }
        }
        answers
    }
}
