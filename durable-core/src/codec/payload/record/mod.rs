//! The payloads of records: one frozen struct for each kind and revision, and how it
//! is made and read.
//!
//! The names and types of the fields in their order are the format. A field that a
//! public type gains or loses does not compile here, which is the reminder that its
//! payload needs a new revision.

use alloc::vec::Vec;

use serde::Serialize;

use super::{TooLarge, write_sealed};
use crate::codec::MAX_ENTRY_BYTES;
use crate::codec::error::{DecodeError, EncodeError, PayloadFault};
use crate::codec::record::RecordKind;

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

/// A frozen struct from fields of the same names.
macro_rules! freeze {
    ($name:ident { $( $field:ident ),* }) => {
        $name { $( $field: Frozen::freeze($field), )* }
    };
}

mod message;
mod status;

pub(in crate::codec) use message::{read_message, write_message};
pub(in crate::codec) use status::{read_failure, read_status, write_failure, write_status};

/// The revision that is written of a kind; those before it are read for ever.
const fn newest_revision(kind: RecordKind) -> u8 {
    match kind {
        RecordKind::TerminateMessage => 2,
        _ => 1,
    }
}

/// A payload out of its envelope.
#[derive(Clone, Copy)]
pub(in crate::codec) struct Sealed<'a> {
    pub(in crate::codec) kind: RecordKind,
    pub(in crate::codec) revision: u8,
    pub(in crate::codec) payload: &'a [u8],
}

/// What was read, if the kind is of the sort that was asked for.
type Read<T> = Result<Option<T>, PayloadFault>;

/// Refuses a revision that this release does not know.
pub(in crate::codec) fn check_revision(kind: RecordKind, found: u8) -> Result<(), DecodeError> {
    let newest = newest_revision(kind);
    if (1..=newest).contains(&found) {
        return Ok(());
    }
    Err(DecodeError::UnknownRecordRevision {
        kind,
        newest,
        found,
    })
}

fn write(kind: RecordKind, frozen: &impl Serialize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let written = write_sealed(kind.number(), newest_revision(kind), frozen, out);
    written.map_err(|TooLarge { bytes }| EncodeError::RecordTooLarge {
        kind,
        bytes,
        max_bytes: MAX_ENTRY_BYTES,
    })
}
