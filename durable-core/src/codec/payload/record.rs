//! The payloads of records: one frozen struct for each kind, and how it is made and
//! read.
//!
//! The names and types of the fields in their order are the format. A field that a
//! public type gains or loses does not compile here, which is the reminder that its
//! payload needs a new revision.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::field::Frozen;
use super::parts::{ActivityOptionsR1, FailureR1, OutcomeR1, ParentR1};
use super::{TooLarge, parse, write_sealed};
use crate::codec::MAX_ENTRY_BYTES;
use crate::codec::error::{DecodeError, EncodeError, PayloadFault};
use crate::codec::record::RecordKind;
use crate::failure::Failure;
use crate::provider::{InstanceStatus, Message, MessageBody, StartInstance, WorkItem, WorkKey};

/// The revision that is written of every kind; there are no earlier ones yet.
const REVISION: u8 = 1;

/// What was read, if the kind is of the sort that was asked for.
type Read<T> = Result<Option<T>, PayloadFault>;

/// Defines frozen structs.
macro_rules! frozen {
    ($( $name:ident $(<$lifetime:lifetime>)? {
        $( $(#[$meta:meta])* $field:ident: $type:ty, )*
    } )*) => {$(
        #[derive(Serialize, Deserialize)]
        struct $name $(<$lifetime>)? {
            $( $(#[$meta])* $field: $type, )*
        }
    )*};
}

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

    WorkItemR1<'a> {
        instance: &'a str,
        execution_id: u64,
        event_id: u64,
        name: &'a str,
        input: &'a str,
        #[serde(borrow)]
        options: ActivityOptionsR1<'a>,
        scheduled_at_ms: u64,
    }

    CompletedStatusR1<'a> {
        output: &'a str,
    }
}

/// A frozen struct from fields of the same names.
macro_rules! freeze {
    ($name:ident { $( $field:ident ),* }) => {
        $name { $( $field: Frozen::freeze($field), )* }
    };
}

/// Refuses a revision that this release does not know.
pub(in crate::codec) fn check_revision(kind: RecordKind, found: u8) -> Result<(), DecodeError> {
    if found == REVISION {
        return Ok(());
    }
    Err(DecodeError::UnknownRecordRevision {
        kind,
        newest: REVISION,
        found,
    })
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
        MessageBody::Terminate { reason } => {
            let frozen = freeze!(ReasonMessageR1 { message_id, reason });
            write(RecordKind::TerminateMessage, &frozen, out)
        }
    }
}

/// Reads a message.
pub(in crate::codec) fn read_message(kind: RecordKind, payload: &[u8]) -> Read<Message> {
    let (message_id, body) = match kind {
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
        RecordKind::TerminateMessage => {
            let frozen: ReasonMessageR1<'_> = parse(payload)?;
            let reason = Frozen::thaw(frozen.reason)?;
            (frozen.message_id, MessageBody::Terminate { reason })
        }
        _ => return Ok(None),
    };
    let message_id = Frozen::thaw(message_id)?;
    Ok(Some(Message { message_id, body }))
}

/// Appends a work item.
pub(in crate::codec) fn write_work_item(
    item: &WorkItem,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let WorkItem {
        key:
            WorkKey {
                instance,
                execution_id,
                event_id,
            },
        name,
        input,
        options,
        scheduled_at_ms,
    } = item;
    let frozen = freeze!(WorkItemR1 {
        instance,
        execution_id,
        event_id,
        name,
        input,
        options,
        scheduled_at_ms
    });
    write(RecordKind::WorkItem, &frozen, out)
}

/// Reads a work item.
pub(in crate::codec) fn read_work_item(kind: RecordKind, payload: &[u8]) -> Read<WorkItem> {
    if kind != RecordKind::WorkItem {
        return Ok(None);
    }
    let frozen: WorkItemR1<'_> = parse(payload)?;
    Ok(Some(WorkItem {
        key: WorkKey {
            instance: Frozen::thaw(frozen.instance)?,
            execution_id: Frozen::thaw(frozen.execution_id)?,
            event_id: Frozen::thaw(frozen.event_id)?,
        },
        name: Frozen::thaw(frozen.name)?,
        input: Frozen::thaw(frozen.input)?,
        options: Frozen::thaw(frozen.options)?,
        scheduled_at_ms: frozen.scheduled_at_ms,
    }))
}

/// Appends a status.
pub(in crate::codec) fn write_status(
    status: &InstanceStatus,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match status {
        InstanceStatus::Pending => write(RecordKind::PendingStatus, &(), out),
        InstanceStatus::Running => write(RecordKind::RunningStatus, &(), out),
        InstanceStatus::Suspended { failure } => write(
            RecordKind::SuspendedStatus,
            &FailureR1::freeze(failure),
            out,
        ),
        InstanceStatus::Completed { output } => {
            let frozen = freeze!(CompletedStatusR1 { output });
            write(RecordKind::CompletedStatus, &frozen, out)
        }
        InstanceStatus::Failed { failure } => {
            write(RecordKind::FailedStatus, &FailureR1::freeze(failure), out)
        }
        InstanceStatus::Terminated { failure } => write(
            RecordKind::TerminatedStatus,
            &FailureR1::freeze(failure),
            out,
        ),
    }
}

/// Reads a status.
pub(in crate::codec) fn read_status(kind: RecordKind, payload: &[u8]) -> Read<InstanceStatus> {
    let status = match kind {
        RecordKind::PendingStatus => {
            parse::<()>(payload)?;
            InstanceStatus::Pending
        }
        RecordKind::RunningStatus => {
            parse::<()>(payload)?;
            InstanceStatus::Running
        }
        RecordKind::SuspendedStatus => InstanceStatus::Suspended {
            failure: thaw_failure(payload)?,
        },
        RecordKind::CompletedStatus => {
            let frozen: CompletedStatusR1<'_> = parse(payload)?;
            let output = Frozen::thaw(frozen.output)?;
            InstanceStatus::Completed { output }
        }
        RecordKind::FailedStatus => InstanceStatus::Failed {
            failure: thaw_failure(payload)?,
        },
        RecordKind::TerminatedStatus => InstanceStatus::Terminated {
            failure: thaw_failure(payload)?,
        },
        _ => return Ok(None),
    };
    Ok(Some(status))
}

/// Appends a failure.
pub(in crate::codec) fn write_failure(
    failure: &Failure,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    write(RecordKind::Failure, &FailureR1::freeze(failure), out)
}

/// Reads a failure.
pub(in crate::codec) fn read_failure(kind: RecordKind, payload: &[u8]) -> Read<Failure> {
    match kind {
        RecordKind::Failure => thaw_failure(payload).map(Some),
        _ => Ok(None),
    }
}

fn thaw_failure(payload: &[u8]) -> Result<Failure, PayloadFault> {
    parse::<FailureR1<'_>>(payload)?.thaw()
}

fn write(kind: RecordKind, frozen: &impl Serialize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let written = write_sealed(kind.number(), REVISION, frozen, out);
    written.map_err(|TooLarge { bytes }| EncodeError::RecordTooLarge {
        kind,
        bytes,
        max_bytes: MAX_ENTRY_BYTES,
    })
}
