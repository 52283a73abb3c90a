//! Envelopes made by hand, right to the checksum, around whatever payload a test
//! wants to get past it. It is written from the description of the format and
//! shares no code with the codec.

use durable_core::EventKind;

/// How many bytes stand before the payload.
pub(crate) const HEADER_BYTES: usize = 11;
/// How many bytes stand after it.
pub(crate) const CHECKSUM_BYTES: usize = 4;
/// Where the header has the revision of the payload.
pub(crate) const REVISION_AT: usize = 5;

/// The parts of an entry; the length and the checksum follow from them.
#[derive(Debug, Clone)]
pub(crate) struct Envelope {
    pub(crate) magic: [u8; 2],
    pub(crate) format_version: u8,
    pub(crate) kind: u16,
    pub(crate) revision: u8,
    pub(crate) flags: u8,
    pub(crate) payload: Vec<u8>,
}

impl Envelope {
    /// An envelope of today's format around a payload.
    pub(crate) fn new(kind: EventKind, revision: u8, payload: impl Into<Vec<u8>>) -> Self {
        Self {
            magic: *b"DH",
            format_version: 1,
            kind: kind.number(),
            revision,
            flags: 0,
            payload: payload.into(),
        }
    }

    /// Takes an entry apart.
    pub(crate) fn take_apart(bytes: &[u8]) -> Self {
        Self {
            magic: [bytes[0], bytes[1]],
            format_version: bytes[2],
            kind: u16::from_le_bytes([bytes[3], bytes[4]]),
            revision: bytes[REVISION_AT],
            flags: bytes[6],
            payload: bytes[HEADER_BYTES..bytes.len() - CHECKSUM_BYTES].to_vec(),
        }
    }

    /// The entry.
    pub(crate) fn seal(&self) -> Vec<u8> {
        let mut bytes = self.magic.to_vec();
        bytes.push(self.format_version);
        bytes.extend(self.kind.to_le_bytes());
        bytes.push(self.revision);
        bytes.push(self.flags);
        bytes.extend((self.payload.len() as u32).to_le_bytes());
        bytes.extend(&self.payload);
        bytes.extend(crc32c(&bytes).to_le_bytes());
        bytes
    }
}

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut remainder = u32::MAX;
    for byte in bytes {
        remainder ^= u32::from(*byte);
        for _ in 0..8 {
            let carry = if remainder & 1 == 1 { 0x82F6_3B78 } else { 0 };
            remainder = (remainder >> 1) ^ carry;
        }
    }
    !remainder
}
