//! Turn commits: prepared, sent, and their answers read.

use std::collections::BTreeMap;
use std::sync::Arc;

use durable_core::provider::{CommitOutcome, Committed, Lease, ProviderError, TurnCommit};
use durable_core::{EventId, ExecutionId};
use futures::future::join_all;

use crate::error::unexpected;
use crate::reply::Reply;
use crate::store::Store;
use crate::turn;

type Answer = Result<CommitOutcome, ProviderError>;

impl Store {
    /// Commits turns; answers in their order. Turns of different instances are on their way
    /// together, in shared calls; the order among those of one instance is kept.
    pub(crate) async fn commit_all(self: &Arc<Self>, turns: &[TurnCommit]) -> Vec<Answer> {
        if let [turn] = turns {
            return vec![self.commit(turn).await];
        }
        let mut instances: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, turn) in turns.iter().enumerate() {
            let id = turn.lease.instance.as_str();
            instances.entry(id).or_default().push(place);
        }
        let groups = instances.into_values().map(|places| async move {
            let mut answers = Vec::with_capacity(places.len());
            for place in places {
                answers.push((place, self.commit(&turns[place]).await));
            }
            answers
        });
        let answers = join_all(groups).await;
        let mut answers: Vec<(usize, Answer)> = answers.into_iter().flatten().collect();
        answers.sort_by_key(|(place, _)| *place);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    async fn commit(self: &Arc<Self>, turn: &TurnCommit) -> Result<CommitOutcome, ProviderError> {
        let partition = self.partition(&turn.lease.instance);
        let prepared = turn::prepare(self, partition, turn)?;
        let mut reply = self.commit_together(partition, prepared).await?;
        let outcome = match reply.text()?.as_str() {
            "DONE" => CommitOutcome::Done(self.committed(&mut reply, &turn.lease).await?),
            "AGAIN" => CommitOutcome::AlreadyDone(self.committed(&mut reply, &turn.lease).await?),
            "FENCED" => CommitOutcome::Fenced,
            "CONFLICT" => CommitOutcome::Conflict {
                execution_id: ExecutionId::new(reply.number()?),
                last_event_id: EventId::new(reply.number()?),
            },
            "BROKEN" => return Err(broken(turn, &reply.text()?)),
            "FAILED" => return Err(failed(turn, &reply.text()?)),
            other => return Err(unexpected(format_args!("`{other}` from commit"))),
        };
        let applied = matches!(
            outcome,
            CommitOutcome::Done(_) | CommitOutcome::AlreadyDone(_)
        );
        if applied && self.partitions.len() > 1 && self.sends_elsewhere(turn) {
            self.relay_from(partition).await;
        }
        Ok(outcome)
    }

    async fn committed(
        &self,
        reply: &mut Reply,
        lease: &Lease,
    ) -> Result<Committed, ProviderError> {
        Ok(Committed {
            now_ms: reply.number()?,
            has_messages: reply.flag()?,
            claimed: self.readable(reply.claimed(lease.session)?).await,
        })
    }

    fn sends_elsewhere(&self, turn: &TurnCommit) -> bool {
        let own = self.partition(&turn.lease.instance).number;
        turn.new_messages
            .iter()
            .any(|outgoing| self.partition(&outgoing.target).number != own)
    }
}

/// A command failed inside the turn: for a key that holds something else, or for a reason
/// that nobody foresaw, after which only a look can tell.
fn failed(turn: &TurnCommit, error: &str) -> ProviderError {
    let reason = format!("a commit of `{}`: {error}", turn.lease.instance);
    match error.starts_with("WRONGTYPE") {
        true => ProviderError::Damaged { reason },
        false => ProviderError::Unknown { reason },
    }
}

/// The stored history is not as long as the record says: a key was removed or replaced.
fn broken(turn: &TurnCommit, found: &str) -> ProviderError {
    ProviderError::Damaged {
        reason: format!(
            "the history of `{}`, execution {}, has {found} entries and not {}",
            turn.lease.instance, turn.execution_id, turn.expected_last_event_id
        ),
    }
}
