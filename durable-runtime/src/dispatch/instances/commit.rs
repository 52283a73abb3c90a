//! Sends a commit again until the store has said whether it was applied.

use std::time::Instant;

use durable_core::provider::{CommitOutcome, Committed, ProviderError, TurnCommit};

use crate::dispatch::wait::{self, Backoff};
use crate::node::Node;

/// Why a commit was not applied, as far as is known.
#[derive(Debug)]
pub(super) enum NotCommitted {
    /// The lease was lost, or the history has another tail: drop the execution.
    Lost,
    /// The session ended before the store said whether it was applied.
    Unknown,
    /// The store refuses it and always will.
    Refused(ProviderError),
}

/// Commits a turn. The commit id makes it safe to send it again.
///
/// A commit does not tell the store our time, so a store that goes by the time of
/// its callers answers with an old one: nothing is learned from it.
pub(super) async fn commit(node: &Node, turn: &TurnCommit) -> Result<Committed, NotCommitted> {
    let began = Instant::now();
    let mut backoff = Backoff::default();
    let mut may_be_applied = false;
    loop {
        let answer = node.provider.commit(vec![turn.clone()]).await.pop();
        let error = match answer {
            Some(Ok(CommitOutcome::Done(committed) | CommitOutcome::AlreadyDone(committed))) => {
                metrics::counter!("durable_commits_total").increment(1);
                metrics::histogram!("durable_commit_seconds").record(began.elapsed());
                return Ok(committed);
            }
            Some(Ok(CommitOutcome::Fenced | CommitOutcome::Conflict { .. })) => {
                metrics::counter!("durable_commits_rejected_total").increment(1);
                if may_be_applied && turn.claim.max > 0 {
                    node.mark_session_uncertain();
                }
                return Err(NotCommitted::Lost);
            }
            Some(Err(error)) => error,
            None => ProviderError::Unknown {
                reason: "the store gave no answer".into(),
            },
        };
        if !wait::is_passing(&error) {
            return Err(NotCommitted::Refused(error));
        }
        may_be_applied |= !error.is_retryable();
        wait::out_error(node, &mut backoff, &error).await;
        if node.ended.is_cancelled() {
            return Err(match may_be_applied {
                true => NotCommitted::Unknown,
                false => NotCommitted::Lost,
            });
        }
    }
}
