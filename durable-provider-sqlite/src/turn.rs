//! What the caller's task makes ready before the writer is bothered: requests are
//! checked, measured and encoded here, so the writer only writes.

use std::sync::Arc;

use durable_core::provider::{
    Lease, Message, MessageBody, OutgoingMessage, ProviderError, Release, StartInstance,
    TurnCommit, WorkKey, WorkLease, WorkResult, WorkSettlement,
};
use durable_core::{ExecutionId, Failure, InstanceId, Limits, MessageId, Payload};

use crate::codec::{Entries, failure_bytes, message_bytes, status_bytes};

type Prepared<T> = Result<T, ProviderError>;

/// A turn that does not contradict itself, and the bytes of what it stores.
#[derive(Debug)]
pub(crate) struct PreparedTurn {
    pub(crate) turn: Arc<TurnCommit>,
    pub(crate) events: Entries,
    pub(crate) next_execution: Option<(ExecutionId, Entries)>,
    /// Those of the turn's messages, in their order.
    message_bytes: Vec<Vec<u8>>,
    pub(crate) status: Option<Vec<u8>>,
    pub(crate) blocked: Option<Vec<u8>>,
}

impl PreparedTurn {
    pub(crate) fn new(turn: Arc<TurnCommit>, limits: &Limits) -> Prepared<Self> {
        turn.validate(limits)?;
        let events = Entries::encode(&turn.events)?;
        let next_execution = match &turn.next_execution {
            Some(next) => Some((next.execution_id, Entries::encode(&next.events)?)),
            None => None,
        };
        let message_bytes = turn
            .new_messages
            .iter()
            .map(|outgoing| message_bytes(&outgoing.message))
            .collect::<Prepared<_>>()?;
        let status = turn.update.status.as_ref().map(status_bytes).transpose()?;
        let blocked = turn.update.blocked.as_ref();
        let blocked = blocked.map(failure_bytes).transpose()?;
        Ok(Self {
            turn,
            events,
            next_execution,
            message_bytes,
            status,
            blocked,
        })
    }

    /// The messages that the turn sends, and their bytes.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (&OutgoingMessage, &[u8])> {
        let bytes = self.message_bytes.iter().map(Vec::as_slice);
        self.turn.new_messages.iter().zip(bytes)
    }
}

/// A message that a client sends, and its bytes.
#[derive(Debug)]
pub(crate) struct PreparedMessage {
    pub(crate) target: InstanceId,
    pub(crate) message_id: MessageId,
    bytes: Vec<u8>,
    hurry: Hurry,
}

/// What a message does to an instance that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hurry {
    /// It ends the instance without its code.
    pub(crate) is_hard_stop: bool,
    /// An instance that has not begun hears of it at once.
    pub(crate) ends_delay: bool,
}

impl Hurry {
    const fn of(body: &MessageBody) -> Self {
        Self {
            is_hard_stop: body.is_hard_stop(),
            ends_delay: body.ends_delay(),
        }
    }
}

/// A message on its way into an inbox.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutgoingBytes<'a> {
    pub(crate) message_id: &'a MessageId,
    pub(crate) bytes: &'a [u8],
    pub(crate) hurry: Hurry,
}

impl<'a> OutgoingBytes<'a> {
    pub(crate) fn of(message: &'a Message, bytes: &'a [u8]) -> Self {
        Self {
            message_id: &message.message_id,
            bytes,
            hurry: Hurry::of(&message.body),
        }
    }
}

impl PreparedMessage {
    pub(crate) fn new(outgoing: OutgoingMessage, limits: &Limits) -> Prepared<Self> {
        outgoing.check_sent_by_client()?;
        let OutgoingMessage {
            target, message, ..
        } = outgoing;
        limits.check_message(&target, &message)?;
        Self::of(target, message)
    }

    fn of(target: InstanceId, message: Message) -> Prepared<Self> {
        Ok(Self {
            target,
            bytes: message_bytes(&message)?,
            hurry: Hurry::of(&message.body),
            message_id: message.message_id,
        })
    }

    pub(crate) fn bytes(&self) -> OutgoingBytes<'_> {
        OutgoingBytes {
            message_id: &self.message_id,
            bytes: &self.bytes,
            hurry: self.hurry,
        }
    }
}

/// A start that a client asks for, and the bytes of its message.
#[derive(Debug)]
pub(crate) struct PreparedStart {
    message_id: MessageId,
    start: StartInstance,
    bytes: Vec<u8>,
    /// What an instance gets that runs.
    pub(crate) messages: Vec<PreparedMessage>,
}

impl PreparedStart {
    pub(crate) fn new(id: &InstanceId, message: Message, limits: &Limits) -> Prepared<Self> {
        limits.check_message(id, &message)?;
        let bytes = message_bytes(&message)?;
        let MessageBody::Start(start) = message.body else {
            return invalid(format!("the message that starts `{id}` is no start"));
        };
        let prepare = |message| PreparedMessage::of(id.clone(), message);
        let messages = start.messages().map(prepare).collect::<Prepared<_>>()?;
        Ok(Self {
            message_id: message.message_id,
            start,
            bytes,
            messages,
        })
    }

    pub(crate) fn request(&self) -> StartRequest<'_> {
        StartRequest {
            message_id: &self.message_id,
            start: &self.start,
            bytes: &self.bytes,
        }
    }
}

/// A start, by a client or by a turn, and the bytes of its message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartRequest<'a> {
    pub(crate) message_id: &'a MessageId,
    pub(crate) start: &'a StartInstance,
    pub(crate) bytes: &'a [u8],
}

impl<'a> StartRequest<'a> {
    /// The start that a message asks for, if it is one.
    pub(crate) fn of(message: &'a Message, bytes: &'a [u8]) -> Option<Self> {
        match &message.body {
            MessageBody::Start(start) => Some(Self {
                message_id: &message.message_id,
                start,
                bytes,
            }),
            _ => None,
        }
    }
}

/// A lease on its way back.
#[derive(Debug)]
pub(crate) struct Returned {
    pub(crate) lease: Lease,
    pub(crate) not_before_ms: u64,
    /// What kept its holder from running the instance.
    pub(crate) blocked: Option<Vec<u8>>,
}

impl Returned {
    pub(crate) fn prepare(releases: Vec<Release>, limits: &Limits) -> Prepared<Vec<Self>> {
        for release in &releases {
            limits.check_release(release)?;
        }
        releases.into_iter().map(Self::new).collect()
    }

    fn new(release: Release) -> Prepared<Self> {
        Ok(Self {
            lease: release.lease,
            not_before_ms: release.not_before_ms.unwrap_or(0),
            blocked: release.blocked.as_ref().map(failure_bytes).transpose()?,
        })
    }
}

/// Work on its way back.
#[derive(Debug)]
pub(crate) struct PreparedSettlement {
    pub(crate) lease: WorkLease,
    pub(crate) settling: Settling,
}

/// What becomes of the work.
#[derive(Debug)]
pub(crate) enum Settling {
    /// It goes, and its instance gets the result.
    Finished(ResultMessage),
    /// It becomes a dead letter with this failure, and its instance gets the failure.
    Poisoned(Vec<u8>, ResultMessage),
    /// It is ready again from this time on.
    Freed {
        not_before_ms: u64,
        /// The failure of the attempt, if it counts, as it is kept.
        failed: Option<FailedAttempt>,
    },
}

/// An attempt that failed and is to be made again: why, unless that is not kept.
#[derive(Debug)]
pub(crate) struct FailedAttempt(pub(crate) Option<Vec<u8>>);

/// The message that carries a result. Its id follows from the key of the work, so that it
/// can be in the inbox only once.
#[derive(Debug)]
pub(crate) struct ResultMessage {
    pub(crate) message_id: MessageId,
    pub(crate) bytes: Vec<u8>,
}

impl PreparedSettlement {
    pub(crate) fn new(settlement: WorkSettlement, limits: &Limits) -> Prepared<Self> {
        let WorkSettlement { lease, result, .. } = settlement;
        limits.check_work_result(&result)?;
        let settling = match result {
            WorkResult::Finished(result) => {
                Settling::Finished(ResultMessage::new(&lease.key, result)?)
            }
            WorkResult::Poisoned(failure) => Settling::Poisoned(
                failure_bytes(&failure)?,
                ResultMessage::new(&lease.key, Err(failure))?,
            ),
            WorkResult::Retry {
                not_before_ms,
                failure,
            } => {
                let kept = limits.retained_failure(&failure).map(failure_bytes);
                Settling::Freed {
                    not_before_ms,
                    failed: Some(FailedAttempt(kept.transpose()?)),
                }
            }
            WorkResult::HandedBack { not_before_ms } => Settling::Freed {
                not_before_ms: not_before_ms.unwrap_or(0),
                failed: None,
            },
        };
        Ok(Self { lease, settling })
    }
}

impl ResultMessage {
    fn new(key: &WorkKey, result: Result<Payload, Failure>) -> Prepared<Self> {
        let (execution_id, source_event_id) = (key.execution_id, key.event_id);
        let message_id = MessageId::from(format!("activity/{execution_id}/{source_event_id}"));
        let body = MessageBody::ActivityFinished {
            execution_id,
            source_event_id,
            result,
        };
        let message = Message::new(message_id, body);
        Ok(Self {
            bytes: message_bytes(&message)?,
            message_id: message.message_id,
        })
    }
}

fn invalid<T>(reason: String) -> Prepared<T> {
    Err(ProviderError::Invalid { reason })
}
