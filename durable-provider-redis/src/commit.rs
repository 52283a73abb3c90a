//! Turn commits: prepared, sent, and their answers read.

use std::collections::BTreeSet;
use std::sync::Arc;

use durable_core::provider::{CommitOutcome, Committed, Lease, ProviderError, TurnCommit};
use durable_core::{EventId, ExecutionId};
use futures::future::join_all;

use crate::error::unexpected;
use crate::reply::Reply;
use crate::store::Store;
use crate::turn;

impl Store {
    /// Commits a turn, in a call that it shares with others that are on their way.
    pub(crate) async fn commit(
        self: &Arc<Self>,
        turn: &TurnCommit,
    ) -> Result<CommitOutcome, ProviderError> {
        turn.validate(&self.options.limits)?;
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
        let is_applied = matches!(
            outcome,
            CommitOutcome::Done(_) | CommitOutcome::AlreadyDone(_)
        );
        if is_applied && self.partitions.len() > 1 && self.sends_elsewhere(turn) {
            self.relay_from(partition).await;
            self.relay_receipts(turn).await;
        }
        Ok(outcome)
    }

    async fn committed(
        &self,
        reply: &mut Reply,
        lease: &Lease,
    ) -> Result<Committed, ProviderError> {
        let has_messages = reply.flag()?;
        let claimed = self.readable(reply.claimed(lease.session)?).await;
        Ok(Committed::new(has_messages, claimed))
    }

    /// Brings back the receipts that other partitions gave for messages of a turn.
    async fn relay_receipts(&self, turn: &TurnCommit) {
        let own = self.partition(&turn.lease.instance).number;
        let messages = turn.new_messages.iter();
        let targets = messages
            .filter(|outgoing| outgoing.receipt.is_some())
            .map(|outgoing| self.partition(&outgoing.target).number);
        let others: BTreeSet<usize> = targets.filter(|number| *number != own).collect();
        let others = others
            .into_iter()
            .filter_map(|number| self.partitions.get(number));
        join_all(others.map(|partition| self.relay_from(partition))).await;
    }

    fn sends_elsewhere(&self, turn: &TurnCommit) -> bool {
        let own = self.partition(&turn.lease.instance).number;
        turn.new_messages
            .iter()
            .any(|outgoing| self.partition(&outgoing.target).number != own)
    }
}

/// A command failed inside the turn: for a key that holds something else, or for a reason
/// that was not foreseen, after which only a look can tell.
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
