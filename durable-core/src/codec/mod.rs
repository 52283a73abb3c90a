//! The bytes of a history entry, and of the other records that a store keeps
//! (messages, work items, statuses, failures).
//!
//! Each is an envelope around a payload; all integers of the envelope are
//! little endian:
//!
//! | bytes | what |
//! |---|---|
//! | 2 | magic, `DH` |
//! | 1 | format version, 1 |
//! | 2 | kind: [`EventKind::number`](crate::EventKind::number) below 256, [`RecordKind::number`] from there on |
//! | 1 | revision of that kind's payload, from 1 |
//! | 1 | flags, 0: none is known yet |
//! | 4 | length of the payload |
//! | n | payload: the fields of the kind; before those of an event its id and recorded time |
//! | 4 | CRC-32C of everything before it |
//!
//! Bytes are judged from the outside in: the length first, then the checksum,
//! then what the header means, then the payload. So an accident (a torn write, a
//! flipped bit) is always reported as damage, and what is reported as unknown was
//! really written that way, by a newer release.
//!
//! What holds:
//!
//! - What is encoded decodes again to an equal value, and every byte is accounted
//!   for: nothing may be missing and nothing may be left over.
//! - Whatever the bytes, decoding does not panic, does not recurse and allocates no
//!   more than a small multiple of their length, also when the checksum is right.
//! - The public types are not the format: each kind and revision has a frozen
//!   struct of its own (see `payload`), so a change of [`Event`](crate::Event)
//!   either leaves the bytes as they are or does not compile.
//!
//! A later format version may give the flags a meaning and change the payload, but
//! keeps the place of magic, version, length and checksum: an older release must be
//! able to tell damage from news.
//!
//! # A new revision of a payload
//!
//! There is one revision of every kind so far. The next one is made like this:
//!
//! 1. Move the struct of the kind from `payload/current.rs` (of a message from
//!    `payload/record/message.rs`) to a file `payload/retired.rs`, with a conversion by
//!    hand into today's type. It stays there for ever. What the table of current
//!    payloads does not know, it asks of that file before it answers
//!    [`DecodeError::UnknownRevision`].
//! 2. Give the line in the table the new fields and the next revision number (records
//!    have it in `record.rs`). A part that changes its shape (`FailureR1`) gets a new
//!    struct (`FailureR2`) beside the old one, and every kind that holds it a new
//!    revision.
//! 3. Add the golden file of the new revision (`tests/codec_golden.rs` says how).
//!    Those of older revisions are never touched: they prove that old bytes are
//!    still read.
//!
//! A new kind, and a new code of a failure kind, need no new revision: a release
//! that does not know them refuses the entry and says so.

mod envelope;
mod error;
mod payload;
mod record;

use alloc::vec::Vec;

pub use error::{DecodeError, EncodeError, PayloadFault};
pub use record::{
    RecordKind, decode_answer, decode_failure, decode_message, decode_status, encode_answer,
    encode_failure, encode_message, encode_status,
};

use crate::event::EventKind;
use crate::history::HistoryEntry;
use crate::id::EventId;

/// The largest encoded entry or record, envelope included: 64 MiB.
pub const MAX_ENTRY_BYTES: usize = 64 * 1024 * 1024;

/// Encodes an entry. What is encoded can always be decoded.
///
/// # Errors
///
/// [`EncodeError::UnassignedEventId`] for an entry that has no position yet, and
/// [`EncodeError::EntryTooLarge`] for one that is larger than [`MAX_ENTRY_BYTES`].
///
/// ```
/// use durable_core::{Event, EventId, HistoryEntry, decode_entry, encode_entry};
///
/// let completed = Event::ActivityCompleted {
///     event_id: EventId::new(3),
///     source_event_id: EventId::new(2),
///     result: "42".into(),
///     earlier_attempts: durable_core::EarlierAttempts::NONE,
/// };
/// let entry = HistoryEntry::new(1_700_000_000_000, completed);
/// let bytes = encode_entry(&entry)?;
/// assert_eq!(decode_entry(&bytes)?, entry);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub fn encode_entry(entry: &HistoryEntry) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    encode_entry_into(entry, &mut bytes)?;
    Ok(bytes)
}

/// Appends an encoded entry to `out`, which keeps its content.
///
/// # Errors
///
/// Those of [`encode_entry`]; `out` is then left as it was.
///
/// ```
/// use durable_core::{Event, EventId, HistoryEntry, encode_entry, encode_entry_into};
///
/// let cleared = Event::StateCleared { event_id: EventId::new(2), key: "cart".into() };
/// let entry = HistoryEntry::new(0, cleared);
/// let mut out = b"before".to_vec();
/// encode_entry_into(&entry, &mut out)?;
/// assert_eq!(out[6..], encode_entry(&entry)?);
/// # Ok::<(), durable_core::EncodeError>(())
/// ```
pub fn encode_entry_into(entry: &HistoryEntry, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    if entry.event_id() == EventId::UNASSIGNED {
        return Err(EncodeError::UnassignedEventId {
            kind: entry.event.kind(),
        });
    }
    payload::encode(entry, out)
}

/// Decodes an entry; `bytes` must be exactly what [`encode_entry`] returned, in
/// this release or an earlier one.
///
/// # Errors
///
/// What is wrong with the bytes: damage, or a kind or revision that this release does
/// not know.
///
/// ```
/// use durable_core::{DecodeError, Event, EventId, HistoryEntry, decode_entry, encode_entry};
///
/// let marked = Event::PatchMarked { event_id: EventId::new(4), patch_id: "fees".into() };
/// let entry = HistoryEntry::new(7, marked);
/// let mut bytes = encode_entry(&entry)?;
/// assert_eq!(decode_entry(&bytes).as_ref(), Ok(&entry));
///
/// bytes[12] ^= 0b100;
/// assert!(matches!(decode_entry(&bytes), Err(DecodeError::ChecksumMismatch { .. })));
/// # Ok::<(), durable_core::EncodeError>(())
/// ```
pub fn decode_entry(bytes: &[u8]) -> Result<HistoryEntry, DecodeError> {
    let opened = envelope::open(bytes)?;
    let Some(kind) = EventKind::from_number(opened.kind) else {
        return Err(DecodeError::UnknownKind {
            number: opened.kind,
        });
    };
    payload::decode(kind, opened.revision, opened.payload)
}
