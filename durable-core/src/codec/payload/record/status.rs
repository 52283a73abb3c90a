//! Statuses, failures and answers.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::super::field::Frozen;
use super::super::parse;
use super::super::parts::{FailureR1, OutcomeR1};
use super::{Read, write};
use crate::codec::error::{EncodeError, PayloadFault};
use crate::codec::record::RecordKind;
use crate::failure::Failure;
use crate::provider::InstanceStatus;
use crate::text::Payload;

frozen! {
    CompletedStatusR1<'a> {
        output: &'a str,
    }
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

/// Appends the answer to a request.
pub(in crate::codec) fn write_answer(
    answer: &Result<Payload, Failure>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    write(RecordKind::RequestAnswer, &OutcomeR1::freeze(answer), out)
}

/// Reads the answer to a request.
pub(in crate::codec) fn read_answer(
    kind: RecordKind,
    payload: &[u8],
) -> Read<Result<Payload, Failure>> {
    match kind {
        RecordKind::RequestAnswer => parse::<OutcomeR1<'_>>(payload)?.thaw().map(Some),
        _ => Ok(None),
    }
}

fn thaw_failure(payload: &[u8]) -> Result<Failure, PayloadFault> {
    parse::<FailureR1<'_>>(payload)?.thaw()
}
