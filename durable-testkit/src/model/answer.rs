//! Answers as they are compared: without the numbers and texts that each side may
//! choose for itself (session ids, tokens, places, derived message ids, reasons).

use durable_core::provider::{
    ClaimedWork, CommitId, CommitOutcome, Committed, FiredTimers, HeartbeatOutcome, Message,
    MessageBody, ProviderError, PruneReport, PurgeReport, ReadyInstance, SendOutcome,
    SettleOutcome, StartOutcome, WorkItem, WorkKey,
};
use durable_core::{EventId, ExecutionId, InstanceId, LimitError, Payload};

use crate::message::comparable;

/// What one side answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ComparedAnswer {
    /// There was nothing to call.
    Nothing,
    /// The call has no answer but that it was made.
    Done,
    CancelledWork(Vec<WorkKey>),
    Started(StartOutcome),
    Sent(SendOutcome),
    Ready(Vec<ComparedInstance>),
    Committed(ComparedCommit),
    Claimed(Vec<ComparedWork>),
    Settled(SettleOutcome),
    Heartbeat(HeartbeatOutcome),
    Fired {
        fired: usize,
        next_due_ms: Option<u64>,
    },
    Purged(PurgeReport),
    Pruned(PruneReport),
    Listed(Vec<InstanceId>),
    Refused(Refusal),
}

/// An instance that was handed out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ComparedInstance {
    instance: InstanceId,
    execution_id: ExecutionId,
    last_event_id: EventId,
    last_commit_id: Option<CommitId>,
    messages: Vec<String>,
    crashes: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ComparedCommit {
    Done {
        has_messages: bool,
        claimed: Vec<ComparedWork>,
    },
    AlreadyDone {
        claimed: Vec<ComparedWork>,
    },
    Fenced,
    Conflict(ExecutionId, EventId),
}

/// Work that was handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ComparedWork {
    item: WorkItem,
    attempt: u32,
    crashes: u32,
    heartbeat: Option<Payload>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    SessionLost,
    Invalid,
    Limit(LimitError),
    /// What no script should meet.
    Unexpected(String),
}

impl ComparedAnswer {
    /// An answer or a refusal.
    pub(super) fn of<T>(answer: Result<T, ProviderError>, told: impl FnOnce(T) -> Self) -> Self {
        match answer {
            Ok(answer) => told(answer),
            Err(ProviderError::SessionLost { .. }) => Self::Refused(Refusal::SessionLost),
            Err(ProviderError::Invalid { .. }) => Self::Refused(Refusal::Invalid),
            Err(ProviderError::Refused(limit)) => Self::Refused(Refusal::Limit(limit)),
            Err(other) => Self::Refused(Refusal::Unexpected(other.to_string())),
        }
    }

    pub(super) fn ready(instances: &[ReadyInstance]) -> Self {
        let mut ready: Vec<ComparedInstance> = instances.iter().map(ComparedInstance::of).collect();
        ready.sort();
        Self::Ready(ready)
    }

    pub(super) fn started(outcome: StartOutcome) -> Self {
        Self::Started(comparable(outcome))
    }

    pub(super) fn fired(fired: FiredTimers) -> Self {
        Self::Fired {
            fired: fired.fired,
            next_due_ms: fired.next_due_ms,
        }
    }

    pub(super) fn claimed(work: &[ClaimedWork]) -> Self {
        Self::Claimed(claims(work))
    }

    pub(super) fn committed(outcome: &CommitOutcome) -> Self {
        Self::Committed(match outcome {
            CommitOutcome::Done(committed) => ComparedCommit::Done {
                has_messages: committed.has_messages,
                claimed: claims(&committed.claimed),
            },
            CommitOutcome::AlreadyDone(Committed { claimed, .. }) => ComparedCommit::AlreadyDone {
                claimed: claims(claimed),
            },
            CommitOutcome::Fenced => ComparedCommit::Fenced,
            CommitOutcome::Conflict {
                execution_id,
                last_event_id,
            } => ComparedCommit::Conflict(*execution_id, *last_event_id),
        })
    }
}

impl ComparedInstance {
    fn of(ready: &ReadyInstance) -> Self {
        let messages = ready.messages.iter();
        Self {
            instance: ready.lease.instance.clone(),
            execution_id: ready.execution_id,
            last_event_id: ready.last_event_id,
            last_commit_id: ready.last_commit_id,
            messages: messages.map(|queued| described(&queued.message)).collect(),
            crashes: ready.crashes,
        }
    }
}

/// A message as JSON, which shows payloads. An id that the provider derived may be any.
fn described(message: &Message) -> String {
    let has_derived_id = matches!(
        message.body,
        MessageBody::ActivityFinished { .. } | MessageBody::TimerFired { .. }
    );
    let message_id = (!has_derived_id).then_some(&message.message_id);
    serde_json::json!({ "message_id": message_id, "body": message.body }).to_string()
}

fn claims(work: &[ClaimedWork]) -> Vec<ComparedWork> {
    let claims = work.iter().map(|claimed| ComparedWork {
        item: claimed.item.clone(),
        attempt: claimed.attempt,
        crashes: claimed.crashes,
        heartbeat: claimed.heartbeat.clone(),
    });
    claims.collect()
}
