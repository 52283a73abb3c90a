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
use crate::codec::error::{EncodeError, PayloadFault};
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
pub(in crate::codec) use status::{
    read_answer, read_failure, read_status, write_answer, write_failure, write_status,
};

/// What was read, if the kind is of the sort that was asked for.
type Read<T> = Result<Option<T>, PayloadFault>;

fn write(kind: RecordKind, frozen: &impl Serialize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let written = write_sealed(kind.number(), kind.revision(), frozen, out);
    written.map_err(|TooLarge { bytes }| EncodeError::RecordTooLarge {
        kind,
        bytes,
        max_bytes: MAX_ENTRY_BYTES,
    })
}
