//! The envelope: what stands around every payload, and its checksum.
//!
//! It knows nothing of what it holds except that a kind has a number. [`open`] vouches for
//! the bytes: a payload that it gives is one that was sealed.

use alloc::vec::Vec;

use crc::{CRC_32_ISCSI, Crc, Table};

use super::MAX_ENTRY_BYTES;
use super::error::DecodeError;

const MAGIC: [u8; 2] = *b"DH";
const FORMAT_VERSION: u8 = 1;
const NO_FLAGS: u8 = 0;

const HEADER_BYTES: usize = 11;
const CHECKSUM_BYTES: usize = 4;

/// What the envelope adds to a payload.
pub(super) const OVERHEAD_BYTES: usize = HEADER_BYTES + CHECKSUM_BYTES;

/// CRC-32C, sixteen bytes at a time.
static CHECKSUM: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

// The length of every payload that is let through fits its field.
const _: () = assert!(MAX_ENTRY_BYTES <= u32::MAX as usize);

/// An envelope whose length and checksum are right and whose header is understood.
#[derive(Debug)]
pub(super) struct Opened<'a> {
    pub(super) kind: u16,
    pub(super) revision: u8,
    pub(super) payload: &'a [u8],
}

/// Appends an envelope around the `payload_bytes` bytes that `write_payload` appends.
pub(super) fn seal<E>(
    kind: u16,
    revision: u8,
    payload_bytes: usize,
    out: &mut Vec<u8>,
    write_payload: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    debug_assert!(payload_bytes <= MAX_ENTRY_BYTES - OVERHEAD_BYTES);
    let start = out.len();
    out.extend_from_slice(&header(kind, revision, payload_bytes as u32));
    write_payload(out)?;
    debug_assert_eq!(out.len(), start + HEADER_BYTES + payload_bytes);
    let checksum = CHECKSUM.checksum(&out[start..]);
    out.extend_from_slice(&checksum.to_le_bytes());
    Ok(())
}

fn header(kind: u16, revision: u8, payload_bytes: u32) -> [u8; HEADER_BYTES] {
    let [kind_low, kind_high] = kind.to_le_bytes();
    let [a, b, c, d] = payload_bytes.to_le_bytes();
    let [magic_0, magic_1] = MAGIC;
    [
        magic_0,
        magic_1,
        FORMAT_VERSION,
        kind_low,
        kind_high,
        revision,
        NO_FLAGS,
        a,
        b,
        c,
        d,
    ]
}

/// Takes the envelope off: the length must be right, then the checksum, then the
/// header must be one that this release understands. What the kind means is the
/// caller's to say.
pub(super) fn open(bytes: &[u8]) -> Result<Opened<'_>, DecodeError> {
    if bytes.len() > MAX_ENTRY_BYTES {
        return Err(DecodeError::TooLong {
            bytes: bytes.len(),
            max_bytes: MAX_ENTRY_BYTES,
        });
    }
    let too_short = DecodeError::TooShort {
        bytes: bytes.len(),
        min_bytes: OVERHEAD_BYTES,
    };
    let Some((sealed, stored_checksum)) = bytes.split_last_chunk::<CHECKSUM_BYTES>() else {
        return Err(too_short);
    };
    let Some((header, payload)) = sealed.split_first_chunk::<HEADER_BYTES>() else {
        return Err(too_short);
    };
    let [
        magic_0,
        magic_1,
        format_version,
        kind_low,
        kind_high,
        revision,
        flags,
        a,
        b,
        c,
        d,
    ] = *header;

    let claimed_bytes = u32::from_le_bytes([a, b, c, d]);
    if payload.len() != claimed_bytes as usize {
        return Err(DecodeError::LengthMismatch {
            expected: claimed_bytes,
            found: payload.len(),
        });
    }

    let expected = u32::from_le_bytes(*stored_checksum);
    let found = CHECKSUM.checksum(sealed);
    if found != expected {
        return Err(DecodeError::ChecksumMismatch { expected, found });
    }

    let magic = [magic_0, magic_1];
    if magic != MAGIC {
        return Err(DecodeError::UnknownMagic {
            expected: MAGIC,
            found: magic,
        });
    }
    if format_version != FORMAT_VERSION {
        return Err(DecodeError::UnknownFormat {
            expected: FORMAT_VERSION,
            found: format_version,
        });
    }
    if flags != NO_FLAGS {
        return Err(DecodeError::UnknownFlags { flags });
    }
    Ok(Opened {
        kind: u16::from_le_bytes([kind_low, kind_high]),
        revision,
        payload,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_of_the_catalogue() {
        assert_eq!(CHECKSUM.checksum(b"123456789"), 0xE306_9283);
    }
}
