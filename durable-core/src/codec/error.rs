//! Why an entry or a record was not encoded or not decoded.

use core::fmt;

use super::record::RecordKind;
use crate::event::EventKind;

/// An entry was not encoded; nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The event has not been given its position.
    UnassignedEventId {
        /// The kind of the event.
        kind: EventKind,
    },
    /// The entry is too large.
    EntryTooLarge {
        /// The kind of the event.
        kind: EventKind,
        /// How many bytes it would take at least.
        bytes: usize,
        /// The largest that is encoded.
        max_bytes: usize,
    },
    /// The record is too large.
    RecordTooLarge {
        /// What it is.
        kind: RecordKind,
        /// How many bytes it would take at least.
        bytes: usize,
        /// The largest that is encoded.
        max_bytes: usize,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnassignedEventId { kind } => write!(
                f,
                "the {kind} has no event id: only events that have their position in a history \
                 are stored"
            ),
            Self::EntryTooLarge {
                kind,
                bytes,
                max_bytes,
            } => write!(
                f,
                "the {kind} takes {bytes} bytes or more; at most {max_bytes} are stored in one entry: \
                 keep large values elsewhere and pass a reference"
            ),
            Self::RecordTooLarge {
                kind,
                bytes,
                max_bytes,
            } => write!(
                f,
                "the {kind} takes {bytes} bytes or more; at most {max_bytes} are stored in one record: \
                 keep large values elsewhere and pass a reference"
            ),
        }
    }
}

impl core::error::Error for EncodeError {}

/// Bytes are not an entry that this release can read.
///
/// [`TooLong`](Self::TooLong) to [`ChecksumMismatch`](Self::ChecksumMismatch) mean
/// that the bytes are damaged or not an entry at all; the others were written as
/// they are, by a newer release or by something else.
///
/// ```
/// use durable_core::{DecodeError, decode_entry};
///
/// let error = decode_entry(b"DH").unwrap_err();
/// assert_eq!(error, DecodeError::TooShort { bytes: 2, min_bytes: 15 });
/// assert_eq!(
///     error.to_string(),
///     "the entry is damaged: it has 2 bytes, the shortest one has 15",
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// There are more bytes than any entry has.
    TooLong {
        /// How many there are.
        bytes: usize,
        /// The length of the largest entry.
        max_bytes: usize,
    },
    /// There are fewer bytes than any entry has.
    TooShort {
        /// How many there are.
        bytes: usize,
        /// The length of the shortest envelope.
        min_bytes: usize,
    },
    /// The payload is not as long as the header says.
    LengthMismatch {
        /// The length in the header.
        expected: u32,
        /// The length there is.
        found: usize,
    },
    /// The checksum is wrong.
    ChecksumMismatch {
        /// The checksum that was stored.
        expected: u32,
        /// The checksum of the bytes there are.
        found: u32,
    },
    /// The bytes are sealed like an entry but do not begin like one.
    UnknownMagic {
        /// How an entry begins.
        expected: [u8; 2],
        /// How the bytes begin.
        found: [u8; 2],
    },
    /// The envelope has a format version that this release does not know.
    UnknownFormat {
        /// The version that is known.
        expected: u8,
        /// The version of the entry.
        found: u8,
    },
    /// The envelope has flags that this release does not know.
    UnknownFlags {
        /// The flags of the entry.
        flags: u8,
    },
    /// No event kind has this number in this release.
    UnknownKind {
        /// The number of the entry's kind.
        number: u16,
    },
    /// The payload has a revision that this release does not know.
    UnknownRevision {
        /// The kind of the event.
        kind: EventKind,
        /// The newest revision that is known.
        newest: u8,
        /// The revision of the entry.
        found: u8,
    },
    /// The payload is not one of its kind and revision, though its checksum is right.
    InvalidPayload {
        /// The kind of the event.
        kind: EventKind,
        /// The revision of the payload.
        revision: u8,
        /// What is wrong with it.
        fault: PayloadFault,
    },
    /// The bytes are no record of the sort that was asked for, as far as this release
    /// knows.
    UnknownRecord {
        /// What was asked for.
        expected: &'static str,
        /// The number of the kind.
        number: u16,
    },
    /// The record has a revision that this release does not know.
    UnknownRecordRevision {
        /// What it is.
        kind: RecordKind,
        /// The newest revision that is known.
        newest: u8,
        /// The revision of the record.
        found: u8,
    },
    /// The payload is not one of the record's kind and revision, though its checksum
    /// is right.
    InvalidRecord {
        /// What it is.
        kind: RecordKind,
        /// The revision of the payload.
        revision: u8,
        /// What is wrong with it.
        fault: PayloadFault,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes, max_bytes } => write!(
                f,
                "not an entry: it has {bytes} bytes, the largest one has {max_bytes}"
            ),
            Self::TooShort { bytes, min_bytes } => write!(
                f,
                "the entry is damaged: it has {bytes} bytes, the shortest one has {min_bytes}"
            ),
            Self::LengthMismatch { expected, found } => write!(
                f,
                "the entry is damaged: its payload should have {expected} bytes and has {found}"
            ),
            Self::ChecksumMismatch { expected, found } => write!(
                f,
                "the entry is damaged: its checksum should be {expected:#010x} and is {found:#010x}"
            ),
            Self::UnknownMagic { expected, found } => write!(
                f,
                "not an entry: it begins with {found:02x?} instead of {expected:02x?}"
            ),
            Self::UnknownFormat { expected, found } => write!(
                f,
                "the entry has format version {found} and this release reads version {expected}: \
                 upgrade this node"
            ),
            Self::UnknownFlags { flags } => write!(
                f,
                "the entry has the flags {flags:#010b}, of which this release knows none: \
                 upgrade this node"
            ),
            Self::UnknownKind { number } => write!(
                f,
                "the entry is of event kind {number}, which this release does not know: \
                 upgrade this node"
            ),
            Self::UnknownRevision {
                kind,
                newest,
                found,
            } => write!(
                f,
                "the {kind} has payload revision {found} and this release reads 1 to {newest}: \
                 upgrade this node"
            ),
            Self::InvalidPayload {
                kind,
                revision,
                fault,
            } => write!(
                f,
                "the payload of the {kind} is not one of revision {revision}: {fault}"
            ),
            Self::UnknownRecord { expected, number } => write!(
                f,
                "the bytes are of kind {number}, which is no {expected} that this release \
                 knows: upgrade this node"
            ),
            Self::UnknownRecordRevision {
                kind,
                newest,
                found,
            } => write!(
                f,
                "the {kind} has payload revision {found} and this release reads 1 to {newest}: \
                 upgrade this node"
            ),
            Self::InvalidRecord {
                kind,
                revision,
                fault,
            } => write!(
                f,
                "the payload of the {kind} is not one of revision {revision}: {fault}"
            ),
        }
    }
}

impl core::error::Error for DecodeError {}

/// What is wrong with a payload; see [`DecodeError::InvalidPayload`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PayloadFault {
    /// It ends within a field.
    EndsEarly,
    /// There are bytes after the last field.
    TrailingBytes {
        /// How many bytes the fields take.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A text is not UTF-8.
    InvalidText,
    /// An integer does not fit its field.
    InvalidInteger,
    /// A byte that says which form a field has says none of them.
    InvalidTag,
    /// The event id is 0, which is no position.
    UnassignedEventId,
    /// A failure is of a kind that this release does not know, or has the name of a
    /// kind where none belongs.
    UnknownFailureKind {
        /// The code of the kind.
        code: u16,
    },
    /// An id of a trace parent is zero.
    InvalidTraceParent,
}

impl fmt::Display for PayloadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndsEarly => f.write_str("it ends within a field"),
            Self::TrailingBytes { expected, found } => {
                write!(f, "its fields take {expected} bytes and it has {found}")
            }
            Self::InvalidText => f.write_str("a text is not UTF-8"),
            Self::InvalidInteger => f.write_str("an integer does not fit its field"),
            Self::InvalidTag => f.write_str("the tag of a field is none of those allowed"),
            Self::InvalidTraceParent => f.write_str("an id of its trace parent is 0"),
            Self::UnassignedEventId => f.write_str("its event id is 0"),
            Self::UnknownFailureKind { code } => write!(
                f,
                "its failure is of kind {code}, which this release does not know: \
                 upgrade this node"
            ),
        }
    }
}

impl core::error::Error for PayloadFault {}
