//! Bytes of records, with errors of the contract.

use std::fmt;

use durable_core::provider::{
    InstanceStatus, Message, ProviderError, SourceEvent, StatusKind, WorkItem,
};
use durable_core::{
    EventId, Failure, HistoryEntry, InstanceId, Payload, decode_answer, decode_entry,
    decode_failure, decode_message, decode_status, encode_answer, encode_entry_into,
    encode_failure, encode_message, encode_status,
};

use crate::error::{damaged, not_encoded};

/// Several entries in one buffer.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Entries {
    pub(crate) fn encode(entries: &[HistoryEntry]) -> Result<Self, ProviderError> {
        let mut encoded = Self::default();
        for entry in entries {
            encode_entry_into(entry, &mut encoded.bytes).map_err(|error| not_encoded(&error))?;
            encoded.ends.push(encoded.bytes.len());
        }
        Ok(encoded)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let entry = self.bytes.get(start..*end).unwrap_or_default();
            start = *end;
            entry
        })
    }
}

pub(crate) fn message_bytes(message: &Message) -> Result<Vec<u8>, ProviderError> {
    encode_message(message).map_err(|error| not_encoded(&error))
}

pub(crate) fn status_bytes(status: &InstanceStatus) -> Result<Vec<u8>, ProviderError> {
    encode_status(status).map_err(|error| not_encoded(&error))
}

pub(crate) fn failure_bytes(failure: &Failure) -> Result<Vec<u8>, ProviderError> {
    encode_failure(failure).map_err(|error| not_encoded(&error))
}

pub(crate) fn answer_bytes(answer: &Result<Payload, Failure>) -> Result<Vec<u8>, ProviderError> {
    encode_answer(answer).map_err(|error| not_encoded(&error))
}

pub(crate) fn answer_of(
    what: impl fmt::Display,
    bytes: &[u8],
) -> Result<Result<Payload, Failure>, ProviderError> {
    decode_answer(bytes).map_err(|error| damaged(what, &error))
}

pub(crate) fn message_of(what: impl fmt::Display, bytes: &[u8]) -> Result<Message, ProviderError> {
    decode_message(bytes).map_err(|error| damaged(what, &error))
}

/// The entry at this position of a history.
pub(crate) fn entry_of(
    what: impl fmt::Display,
    event_id: EventId,
    bytes: &[u8],
) -> Result<HistoryEntry, ProviderError> {
    let entry = decode_entry(bytes).map_err(|error| damaged(&what, &error))?;
    if entry.event_id() == event_id {
        return Ok(entry);
    }
    Err(ProviderError::Damaged {
        reason: format!("{what}: the entry of event {} is there", entry.event_id()),
    })
}

/// The work that this entry of an instance's history scheduled.
pub(crate) fn work_item_of(
    instance: &InstanceId,
    source: SourceEvent,
    number: u64,
    entry: Option<&[u8]>,
) -> Result<WorkItem, ProviderError> {
    let (execution_id, event_id) = (source.execution_id, source.event_id);
    let what = format_args!("`{instance}`, execution {execution_id}, event {event_id}");
    let Some(bytes) = entry else {
        return Err(ProviderError::Damaged {
            reason: format!("{what}: the entry that scheduled work is not stored"),
        });
    };
    let entry = entry_of(what, event_id, bytes)?;
    let item = WorkItem::scheduled_by(instance.clone(), execution_id, &entry, number);
    item.ok_or_else(|| ProviderError::Damaged {
        reason: format!("{what}: the entry that work names schedules none"),
    })
}

pub(crate) fn status_of(
    what: impl fmt::Display,
    bytes: &[u8],
) -> Result<InstanceStatus, ProviderError> {
    decode_status(bytes).map_err(|error| damaged(what, &error))
}

pub(crate) fn failure_of(what: impl fmt::Display, bytes: &[u8]) -> Result<Failure, ProviderError> {
    decode_failure(bytes).map_err(|error| damaged(what, &error))
}

/// The number of a status in the file; never given to another.
pub(crate) const fn status_number(kind: StatusKind) -> i64 {
    match kind {
        StatusKind::Pending => 0,
        StatusKind::Running => 1,
        StatusKind::Suspended => 2,
        StatusKind::Completed => 3,
        StatusKind::Failed => 4,
        StatusKind::Terminated => 5,
    }
}

/// The status with this number.
pub(crate) fn status_kind(number: i64) -> Option<StatusKind> {
    StatusKind::ALL
        .into_iter()
        .find(|kind| status_number(*kind) == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_number_of_its_own() {
        for kind in StatusKind::ALL {
            assert_eq!(status_kind(status_number(kind)), Some(kind));
        }
        assert_eq!(status_kind(6), None);
    }
}
