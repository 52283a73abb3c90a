//! Messages.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::super::field::Frozen;
use super::super::parse;
use super::super::parts::{FailureR1, OutcomeR1, ParentR1};
use super::{Read, Sealed, write};
use crate::codec::error::EncodeError;
use crate::codec::record::RecordKind;
use crate::failure::{Failure, FailureKind};
use crate::provider::{Message, MessageBody, StartInstance};

frozen! {
    StartMessageR1<'a> {
        message_id: &'a str,
        name: &'a str,
        version: Option<&'a str>,
        input: &'a str,
        #[serde(borrow)]
        parent: Option<ParentR1<'a>>,
    }

    FinishedMessageR1<'a> {
        message_id: &'a str,
        execution_id: u64,
        source_event_id: u64,
        #[serde(borrow)]
        result: OutcomeR1<'a>,
    }

    TimerFiredMessageR1<'a> {
        message_id: &'a str,
        execution_id: u64,
        source_event_id: u64,
        fire_at_ms: u64,
    }

    ExternalRaisedMessageR1<'a> {
        message_id: &'a str,
        name: &'a str,
        data: &'a str,
    }

    PromiseSettledMessageR1<'a> {
        message_id: &'a str,
        execution_id: u64,
        number: u64,
        #[serde(borrow)]
        resolution: OutcomeR1<'a>,
    }

    ReasonMessageR1<'a> {
        message_id: &'a str,
        reason: &'a str,
    }

    TerminateMessageR2<'a> {
        message_id: &'a str,
        #[serde(borrow)]
        failure: FailureR1<'a>,
    }
}

/// Appends a message.
pub(in crate::codec) fn write_message(
    message: &Message,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let Message { message_id, body } = message;
    match body {
        MessageBody::Start(StartInstance {
            name,
            version,
            input,
            parent,
        }) => {
            let frozen = freeze!(StartMessageR1 {
                message_id,
                name,
                version,
                input,
                parent
            });
            write(RecordKind::StartMessage, &frozen, out)
        }
        MessageBody::ActivityFinished {
            execution_id,
            source_event_id,
            result,
        } => {
            let frozen = freeze!(FinishedMessageR1 {
                message_id,
                execution_id,
                source_event_id,
                result
            });
            write(RecordKind::ActivityFinishedMessage, &frozen, out)
        }
        MessageBody::TimerFired {
            execution_id,
            source_event_id,
            fire_at_ms,
        } => {
            let frozen = freeze!(TimerFiredMessageR1 {
                message_id,
                execution_id,
                source_event_id,
                fire_at_ms
            });
            write(RecordKind::TimerFiredMessage, &frozen, out)
        }
        MessageBody::SubOrchestrationFinished {
            execution_id,
            source_event_id,
            result,
        } => {
            let frozen = freeze!(FinishedMessageR1 {
                message_id,
                execution_id,
                source_event_id,
                result
            });
            write(RecordKind::SubOrchestrationFinishedMessage, &frozen, out)
        }
        MessageBody::ExternalRaised { name, data } => {
            let frozen = freeze!(ExternalRaisedMessageR1 {
                message_id,
                name,
                data
            });
            write(RecordKind::ExternalRaisedMessage, &frozen, out)
        }
        MessageBody::PromiseSettled {
            execution_id,
            number,
            resolution,
        } => {
            let frozen = freeze!(PromiseSettledMessageR1 {
                message_id,
                execution_id,
                number,
                resolution
            });
            write(RecordKind::PromiseSettledMessage, &frozen, out)
        }
        MessageBody::Cancel { reason } => {
            let frozen = freeze!(ReasonMessageR1 { message_id, reason });
            write(RecordKind::CancelMessage, &frozen, out)
        }
        MessageBody::Terminate { failure } => {
            let frozen = freeze!(TerminateMessageR2 {
                message_id,
                failure
            });
            write(RecordKind::TerminateMessage, &frozen, out)
        }
    }
}

/// Reads a message.
pub(in crate::codec) fn read_message(sealed: Sealed<'_>) -> Read<Message> {
    let payload = sealed.payload;
    let (message_id, body) = match sealed.kind {
        RecordKind::StartMessage => {
            let frozen: StartMessageR1<'_> = parse(payload)?;
            let start = StartInstance {
                name: Frozen::thaw(frozen.name)?,
                version: Frozen::thaw(frozen.version)?,
                input: Frozen::thaw(frozen.input)?,
                parent: Frozen::thaw(frozen.parent)?,
            };
            (frozen.message_id, MessageBody::Start(start))
        }
        RecordKind::ActivityFinishedMessage => {
            let frozen: FinishedMessageR1<'_> = parse(payload)?;
            let body = MessageBody::ActivityFinished {
                execution_id: Frozen::thaw(frozen.execution_id)?,
                source_event_id: Frozen::thaw(frozen.source_event_id)?,
                result: Frozen::thaw(frozen.result)?,
            };
            (frozen.message_id, body)
        }
        RecordKind::TimerFiredMessage => {
            let frozen: TimerFiredMessageR1<'_> = parse(payload)?;
            let body = MessageBody::TimerFired {
                execution_id: Frozen::thaw(frozen.execution_id)?,
                source_event_id: Frozen::thaw(frozen.source_event_id)?,
                fire_at_ms: frozen.fire_at_ms,
            };
            (frozen.message_id, body)
        }
        RecordKind::SubOrchestrationFinishedMessage => {
            let frozen: FinishedMessageR1<'_> = parse(payload)?;
            let body = MessageBody::SubOrchestrationFinished {
                execution_id: Frozen::thaw(frozen.execution_id)?,
                source_event_id: Frozen::thaw(frozen.source_event_id)?,
                result: Frozen::thaw(frozen.result)?,
            };
            (frozen.message_id, body)
        }
        RecordKind::ExternalRaisedMessage => {
            let frozen: ExternalRaisedMessageR1<'_> = parse(payload)?;
            let body = MessageBody::ExternalRaised {
                name: Frozen::thaw(frozen.name)?,
                data: Frozen::thaw(frozen.data)?,
            };
            (frozen.message_id, body)
        }
        RecordKind::PromiseSettledMessage => {
            let frozen: PromiseSettledMessageR1<'_> = parse(payload)?;
            let body = MessageBody::PromiseSettled {
                execution_id: Frozen::thaw(frozen.execution_id)?,
                number: frozen.number,
                resolution: Frozen::thaw(frozen.resolution)?,
            };
            (frozen.message_id, body)
        }
        RecordKind::CancelMessage => {
            let frozen: ReasonMessageR1<'_> = parse(payload)?;
            let reason = Frozen::thaw(frozen.reason)?;
            (frozen.message_id, MessageBody::Cancel { reason })
        }
        RecordKind::TerminateMessage if sealed.revision == 1 => {
            let frozen: ReasonMessageR1<'_> = parse(payload)?;
            let failure = Failure::new(FailureKind::Terminated, frozen.reason);
            (frozen.message_id, MessageBody::Terminate { failure })
        }
        RecordKind::TerminateMessage => {
            let frozen: TerminateMessageR2<'_> = parse(payload)?;
            let failure = Frozen::thaw(frozen.failure)?;
            (frozen.message_id, MessageBody::Terminate { failure })
        }
        _ => return Ok(None),
    };
    let message_id = Frozen::thaw(message_id)?;
    Ok(Some(Message { message_id, body }))
}
