//! Sends a commit again until the store has said whether it was applied.

use std::sync::Arc;
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
pub(super) async fn commit(node: &Node, turn: &Arc<TurnCommit>) -> Result<Committed, NotCommitted> {
    let began = Instant::now();
    let mut backoff = Backoff::default();
    let mut may_be_applied = false;
    loop {
        let error = match node.provider.commit(Arc::clone(turn)).await {
            Ok(CommitOutcome::Done(committed) | CommitOutcome::AlreadyDone(committed)) => {
                metrics::counter!("durable_commits_total").increment(1);
                metrics::histogram!("durable_commit_seconds").record(began.elapsed());
                return Ok(committed);
            }
            Ok(CommitOutcome::Fenced | CommitOutcome::Conflict { .. }) => {
                metrics::counter!("durable_commits_rejected_total").increment(1);
                if may_be_applied && turn.claim.max > 0 {
                    node.mark_session_uncertain();
                }
                return Err(NotCommitted::Lost);
            }
            Err(error) => error,
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
