//! Bytes of records, with errors of the contract.

use std::fmt;

use durable_core::provider::{InstanceStatus, Message, ProviderError, StatusKind, WorkItem};
use durable_core::{
    DecodeError, EncodeError, Failure, HistoryEntry, LimitError, decode_entry, decode_failure,
    decode_message, decode_status, decode_work_item, encode_entry, encode_failure, encode_message,
    encode_status, encode_work_item,
};

type Coded<T> = Result<T, ProviderError>;

pub(crate) fn entry_bytes(entry: &HistoryEntry) -> Coded<Vec<u8>> {
    encode_entry(entry).map_err(|error| not_encoded(&error))
}

pub(crate) fn message_bytes(message: &Message) -> Coded<Vec<u8>> {
    encode_message(message).map_err(|error| not_encoded(&error))
}

pub(crate) fn item_bytes(item: &WorkItem) -> Coded<Vec<u8>> {
    encode_work_item(item).map_err(|error| not_encoded(&error))
}

pub(crate) fn status_bytes(status: &InstanceStatus) -> Coded<Vec<u8>> {
    encode_status(status).map_err(|error| not_encoded(&error))
}

pub(crate) fn failure_bytes(failure: &Failure) -> Coded<Vec<u8>> {
    encode_failure(failure).map_err(|error| not_encoded(&error))
}

pub(crate) fn entry_of(what: impl fmt::Display, bytes: &[u8]) -> Coded<HistoryEntry> {
    decode_entry(bytes).map_err(|error| damaged(what, &error))
}

pub(crate) fn message_of(what: impl fmt::Display, bytes: &[u8]) -> Coded<Message> {
    decode_message(bytes).map_err(|error| damaged(what, &error))
}

pub(crate) fn item_of(what: impl fmt::Display, bytes: &[u8]) -> Coded<WorkItem> {
    decode_work_item(bytes).map_err(|error| damaged(what, &error))
}

pub(crate) fn status_of(what: impl fmt::Display, bytes: &[u8]) -> Coded<InstanceStatus> {
    decode_status(bytes).map_err(|error| damaged(what, &error))
}

pub(crate) fn failure_of(what: impl fmt::Display, bytes: &[u8]) -> Coded<Failure> {
    decode_failure(bytes).map_err(|error| damaged(what, &error))
}

/// The number of a status in the store; never given to another. Scripts know that 2 is
/// suspended and that 3 and more are ended.
pub(crate) const fn status_number(kind: StatusKind) -> &'static str {
    match kind {
        StatusKind::Pending => "0",
        StatusKind::Running => "1",
        StatusKind::Suspended => "2",
        StatusKind::Completed => "3",
        StatusKind::Failed => "4",
        StatusKind::Terminated => "5",
    }
}

/// The status with this number.
pub(crate) fn status_kind(number: &str) -> Option<StatusKind> {
    StatusKind::ALL
        .into_iter()
        .find(|kind| status_number(*kind) == number)
}

fn damaged(what: impl fmt::Display, error: &DecodeError) -> ProviderError {
    ProviderError::Damaged {
        reason: format!("{what}: {error}"),
    }
}

/// What is too large to be encoded is refused like any other payload.
fn not_encoded(error: &EncodeError) -> ProviderError {
    match error {
        EncodeError::EntryTooLarge {
            bytes, max_bytes, ..
        }
        | EncodeError::RecordTooLarge {
            bytes, max_bytes, ..
        } => LimitError::PayloadTooLarge {
            what: "record",
            bytes: *bytes,
            max_bytes: *max_bytes,
        }
        .into(),
        error => ProviderError::Invalid {
            reason: error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_number_of_its_own() {
        for kind in StatusKind::ALL {
            assert_eq!(status_kind(status_number(kind)), Some(kind));
            assert_eq!(kind.is_ended(), status_number(kind) >= "3");
        }
        assert_eq!(status_kind("6"), None);
    }
}
