//! Payloads: what is stored for an event or a record of each kind, in each revision.
//!
//! [`current`] is the table of today's events, [`record`] of today's other records,
//! [`field`] and [`parts`] say how the types that stand in events are written. The
//! bytes of a payload are those of bincode's standard configuration; no other
//! module of the project knows that.
//!
//! Text is borrowed on both ways: from the event while it is encoded, from the bytes
//! while they are decoded, so a text costs one allocation when it becomes part of
//! an event and none before.

mod current;
mod field;
mod parts;
pub(super) mod record;

use alloc::vec::Vec;

use bincode::config::{Configuration, Limit, LittleEndian, Varint};
use bincode::enc::write::Writer;
use bincode::error::{DecodeError as ReadError, EncodeError as WriteError};
use serde::{Deserialize, Serialize};

use super::error::{EncodeError, PayloadFault};
use super::{MAX_ENTRY_BYTES, envelope};
use crate::event::Event;
use crate::history::HistoryEntry;
use crate::id::EventId;

pub(super) use current::{decode, encode};

/// bincode counts an integer as its full width against the limit, however short it
/// is written: up to eight bytes for one.
const COUNTED_PER_BYTE: usize = 8;

/// The limit is a second line: a payload is never longer than an entry, and reads
/// never go beyond it.
const CONFIG: Configuration<LittleEndian, Varint, Limit<{ MAX_ENTRY_BYTES * COUNTED_PER_BYTE }>> =
    bincode::config::standard().with_limit();

/// What every payload begins with, and the fields of its kind.
#[derive(Serialize, Deserialize)]
struct EntryPayload<B> {
    event_id: u64,
    recorded_at_ms: u64,
    body: B,
}

/// Appends the entry, whose event has the frozen form `body`.
fn write<B: Serialize>(
    entry: &HistoryEntry,
    revision: u8,
    body: B,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let kind = entry.event.kind();
    let payload = EntryPayload {
        event_id: entry.event_id().get(),
        recorded_at_ms: entry.recorded_at_ms,
        body,
    };
    write_sealed(kind.number(), revision, &payload, out).map_err(|TooLarge { bytes }| {
        EncodeError::EntryTooLarge {
            kind,
            bytes,
            max_bytes: MAX_ENTRY_BYTES,
        }
    })
}

/// A payload does not fit: it would take this many bytes or more, sealed.
struct TooLarge {
    bytes: usize,
}

/// Appends a payload in its envelope.
///
/// It is counted first and written then: one allocation of the right size, and
/// nothing is written of what is too large.
fn write_sealed(
    kind: u16,
    revision: u8,
    payload: &impl Serialize,
    out: &mut Vec<u8>,
) -> Result<(), TooLarge> {
    let mut count = Count { bytes: 0 };
    put(payload, &mut count)
        .and_then(|()| {
            out.reserve(count.bytes + envelope::OVERHEAD_BYTES);
            envelope::seal(kind, revision, count.bytes, out, |out| {
                put(payload, Append(out))
            })
        })
        .map_err(|_| TooLarge {
            bytes: count.bytes.saturating_add(envelope::OVERHEAD_BYTES),
        })
}

/// Frozen payloads are integers, text and lists that know their length: only a
/// writer can refuse them, and the only one that does is [`Count`].
fn put(record: &impl Serialize, writer: impl Writer) -> Result<(), WriteError> {
    bincode::serde::encode_into_writer(record, writer, CONFIG)
}

/// Counts the bytes of a payload and refuses to go beyond what an entry can hold.
struct Count {
    bytes: usize,
}

impl Writer for Count {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > MAX_ENTRY_BYTES - envelope::OVERHEAD_BYTES {
            return Err(WriteError::UnexpectedEnd);
        }
        Ok(())
    }
}

/// Appends the bytes of a payload.
struct Append<'a>(&'a mut Vec<u8>);

impl Writer for Append<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// Reads a payload whose fields are those of `B`, and lets `thaw` make the event.
fn read<'a, B: Deserialize<'a>>(
    payload: &'a [u8],
    thaw: impl FnOnce(EventId, B) -> Result<Event, PayloadFault>,
) -> Result<HistoryEntry, PayloadFault> {
    let record: EntryPayload<B> = parse(payload)?;
    let event_id = EventId::new(record.event_id);
    if event_id == EventId::UNASSIGNED {
        return Err(PayloadFault::UnassignedEventId);
    }
    Ok(HistoryEntry {
        recorded_at_ms: record.recorded_at_ms,
        event: thaw(event_id, record.body)?,
    })
}

/// Reads the frozen form of a payload, which must take every byte.
fn parse<'a, B: Deserialize<'a>>(payload: &'a [u8]) -> Result<B, PayloadFault> {
    let (frozen, consumed) =
        bincode::serde::borrow_decode_from_slice(payload, CONFIG).map_err(|error| fault(&error))?;
    if consumed != payload.len() {
        return Err(PayloadFault::TrailingBytes {
            expected: consumed,
            found: payload.len(),
        });
    }
    Ok(frozen)
}

fn fault(error: &ReadError) -> PayloadFault {
    match error {
        ReadError::UnexpectedEnd { .. }
        | ReadError::LimitExceeded
        | ReadError::OutsideUsizeRange(_) => PayloadFault::EndsEarly,
        ReadError::Utf8 { .. } => PayloadFault::InvalidText,
        ReadError::InvalidIntegerType { .. } => PayloadFault::InvalidInteger,
        // A bool or an option that is neither 0 nor 1; serde's own error is that of
        // an enum without such a variant.
        _ => PayloadFault::InvalidTag,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventKind;

    /// How a payload of an earlier revision is read, on an invented one: a
    /// `StateSet` that had no value yet.
    #[test]
    fn an_earlier_shape_is_read_as_the_event_of_today() {
        #[derive(Serialize, Deserialize)]
        struct StateSetR0<'a> {
            key: &'a str,
        }

        let entry = HistoryEntry {
            recorded_at_ms: 5,
            event: Event::StateSet {
                event_id: EventId::new(2),
                key: "cart".into(),
                value: "null".into(),
            },
        };
        let mut bytes = Vec::new();
        write(&entry, 0, StateSetR0 { key: "cart" }, &mut bytes).unwrap();
        let opened = envelope::open(&bytes).unwrap();
        let number = EventKind::StateSet.number();
        assert_eq!((opened.kind, opened.revision), (number, 0));

        let upcast = read(opened.payload, |event_id, StateSetR0 { key }| {
            Ok(Event::StateSet {
                event_id,
                key: key.into(),
                value: "null".into(),
            })
        });
        assert_eq!(upcast, Ok(entry));
    }

    /// The shortest fields are those that are counted as longest: a length of 0.
    #[test]
    fn the_limit_is_as_wide_as_the_widest_count_of_a_payload() {
        const TEXTS: usize = 100;
        const BYTES: usize = 1 + TEXTS;
        let texts = [""; TEXTS].to_vec();
        let bytes = bincode::serde::encode_to_vec(&texts, CONFIG).unwrap();
        assert_eq!(bytes.len(), BYTES);

        let exact = bincode::config::standard().with_limit::<{ BYTES * COUNTED_PER_BYTE }>();
        let (read, _): (Vec<&str>, usize) =
            bincode::serde::borrow_decode_from_slice(&bytes, exact).unwrap();
        assert_eq!(read, texts);

        let less = bincode::config::standard().with_limit::<{ BYTES * COUNTED_PER_BYTE - 1 }>();
        let refused: Result<(Vec<&str>, usize), _> =
            bincode::serde::borrow_decode_from_slice(&bytes, less);
        assert!(matches!(refused, Err(ReadError::LimitExceeded)));
    }
}
