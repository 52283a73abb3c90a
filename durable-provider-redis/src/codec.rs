//! Bytes of records, with errors of the contract.

use std::fmt;

use durable_core::provider::{
    InstanceStatus, Message, ProviderError, StatusKind, WorkItem, WorkKey,
};
use durable_core::{
    EncodeError, Failure, HistoryEntry, LimitError, Payload, decode_answer, decode_entry,
    decode_failure, decode_message, decode_status, encode_answer, encode_entry, encode_failure,
    encode_message, encode_status,
};

pub(crate) fn entry_bytes(entry: &HistoryEntry) -> Result<Vec<u8>, ProviderError> {
    encode_entry(entry).map_err(|error| not_encoded(&error))
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
    decode_answer(bytes).map_err(|error| damaged(what, error))
}

pub(crate) fn entry_of(
    what: impl fmt::Display,
    bytes: &[u8],
) -> Result<HistoryEntry, ProviderError> {
    decode_entry(bytes).map_err(|error| damaged(what, error))
}

pub(crate) fn message_of(what: impl fmt::Display, bytes: &[u8]) -> Result<Message, ProviderError> {
    decode_message(bytes).map_err(|error| damaged(what, error))
}

/// A work item as scripts keep it, `number:entry`: which activity call of its execution it
/// is, and the history entry that scheduled it.
pub(crate) fn item_of(
    what: impl fmt::Display,
    key: &WorkKey,
    stored: &[u8],
) -> Result<WorkItem, ProviderError> {
    let parts = || {
        let colon = stored.iter().position(|byte| *byte == b':')?;
        let (number, entry) = stored.split_at_checked(colon)?;
        let number: u64 = std::str::from_utf8(number).ok()?.parse().ok()?;
        Some((number, entry.get(1..)?))
    };
    let (number, entry) =
        parts().ok_or_else(|| damaged(&what, "the number of the call is missing"))?;
    let entry = entry_of(&what, entry)?;
    WorkItem::scheduled_by(key.instance.clone(), key.execution_id, &entry, number)
        .filter(|item| item.key == *key)
        .ok_or_else(|| damaged(&what, "the entry is not the one that scheduled it"))
}

pub(crate) fn status_of(
    what: impl fmt::Display,
    bytes: &[u8],
) -> Result<InstanceStatus, ProviderError> {
    decode_status(bytes).map_err(|error| damaged(what, error))
}

pub(crate) fn failure_of(what: impl fmt::Display, bytes: &[u8]) -> Result<Failure, ProviderError> {
    decode_failure(bytes).map_err(|error| damaged(what, error))
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

fn damaged(what: impl fmt::Display, error: impl fmt::Display) -> ProviderError {
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
    use durable_core::provider::SourceEvent;
    use durable_core::{ActivityOptions, Event, EventId, ExecutionId};

    use super::*;

    #[test]
    fn work_items_are_read_from_the_entries_that_scheduled_them() {
        let entry = HistoryEntry::new(
            7,
            Event::ActivityScheduled {
                event_id: EventId::new(2),
                execution_id: ExecutionId::FIRST,
                name: "charge".into(),
                input: "12".into(),
                options: ActivityOptions::default(),
            },
        );
        let source = SourceEvent::new(ExecutionId::FIRST, EventId::new(2));
        let key = WorkKey::new("a:b".into(), source);
        let bytes = entry_bytes(&entry).unwrap();
        let stored = |number: &str| [number.as_bytes(), b":", &bytes].concat();
        let expected = WorkItem::scheduled_by("a:b".into(), ExecutionId::FIRST, &entry, 3);
        assert_eq!(item_of("it", &key, &stored("3")).ok(), expected);
        let other = WorkKey::new(
            "a:b".into(),
            SourceEvent::new(ExecutionId::FIRST, EventId::new(3)),
        );
        for (key, stored) in [
            (&key, stored("x")),
            (&key, b"3".to_vec()),
            (&key, b"3:nonsense".to_vec()),
            (&key, Vec::new()),
            (&other, stored("3")),
        ] {
            let answer = item_of("it", key, &stored);
            assert!(
                matches!(&answer, Err(ProviderError::Damaged { reason }) if reason.starts_with("it: ")),
                "{answer:?}"
            );
        }
    }

    #[test]
    fn every_status_has_a_number_of_its_own() {
        for kind in StatusKind::ALL {
            assert_eq!(status_kind(status_number(kind)), Some(kind));
            assert_eq!(kind.is_ended(), status_number(kind) >= "3");
        }
        assert_eq!(status_kind("6"), None);
    }
}
