//! Turn commits: prepared, sent, and their answers read.

use durable_core::provider::{CommitOutcome, Committed, Lease, ProviderError, TurnCommit};
use durable_core::{EventId, ExecutionId};

use crate::reply::Reply;
use crate::store::Store;
use crate::turn;

impl Store {
    pub(crate) async fn commit(&self, turn: &TurnCommit) -> Result<CommitOutcome, ProviderError> {
        let call = turn::prepare(self, turn)?;
        let (status, mut reply) = self.call(&call).await?;
        let outcome = match status.as_str() {
            "DONE" => CommitOutcome::Done(committed(&mut reply, &turn.lease)?),
            "AGAIN" => CommitOutcome::AlreadyDone(committed(&mut reply, &turn.lease)?),
            "FENCED" => CommitOutcome::Fenced,
            "CONFLICT" => CommitOutcome::Conflict {
                execution_id: ExecutionId::new(reply.number()?),
                last_event_id: EventId::new(reply.number()?),
            },
            "BROKEN" => return Err(broken(turn, &reply.text()?)),
            other => return Err(Self::unexpected_status(&call, other)),
        };
        let applied = matches!(
            outcome,
            CommitOutcome::Done(_) | CommitOutcome::AlreadyDone(_)
        );
        if applied && self.partitions.len() > 1 && self.sends_elsewhere(turn) {
            self.relay_from(call.partition).await;
        }
        Ok(outcome)
    }

    fn sends_elsewhere(&self, turn: &TurnCommit) -> bool {
        let own = self.partition(&turn.lease.instance).number;
        turn.new_messages
            .iter()
            .any(|outgoing| self.partition(&outgoing.target).number != own)
    }
}

fn committed(reply: &mut Reply, lease: &Lease) -> Result<Committed, ProviderError> {
    Ok(Committed {
        now_ms: reply.number()?,
        has_messages: reply.flag()?,
        claimed: reply.claimed(lease.session)?,
    })
}

/// The stored history does not end where the record says: a key was removed or replaced.
fn broken(turn: &TurnCommit, found: &str) -> ProviderError {
    ProviderError::Damaged {
        reason: format!(
            "the history of `{}`, execution {}, ends at {found} and not at event {}",
            turn.lease.instance, turn.execution_id, turn.expected_last_event_id
        ),
    }
}
