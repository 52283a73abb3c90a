//! Damaged bytes are reported as damaged: every flipped bit, every missing and
//! every additional byte, and bytes that never were an entry.
#![cfg(test)]

mod support;

use durable_core::{DecodeError, decode_entry, encode_entry};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use support::golden::goldens;
use support::strategy::any_entry;

#[test]
fn every_flipped_bit_of_every_golden_file_is_noticed() {
    for (name, golden) in goldens() {
        let mut bytes = golden.bytes.clone();
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_damage(&bytes, &format!("{name}, bit {bit}"));
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn every_truncation_of_every_golden_file_is_noticed() {
    for (name, golden) in goldens() {
        for length in 0..golden.bytes.len() {
            assert_damage(&golden.bytes[..length], &format!("{name}, {length} bytes"));
            assert_damage(
                &golden.bytes[length + 1..],
                &format!("{name}, without {length}"),
            );
        }
    }
}

#[test]
fn every_additional_byte_is_noticed() {
    for (name, golden) in goldens() {
        for byte in 0..=u8::MAX {
            let after = [golden.bytes.as_slice(), &[byte]].concat();
            assert_damage(&after, &format!("{name} and {byte}"));
            let before = [&[byte], golden.bytes.as_slice()].concat();
            assert_damage(&before, &format!("{byte} and {name}"));
        }
        let twice = [golden.bytes.as_slice(), &golden.bytes].concat();
        assert_damage(&twice, &format!("{name} twice"));
    }
}

#[test]
fn pages_of_one_byte_are_damage() {
    for byte in 0..=u8::MAX {
        for length in [0, 1, 14, 15, 16, 100, 4096] {
            assert_damage(&vec![byte; length], &format!("{length} times {byte}"));
        }
    }
}

proptest! {
    #[test]
    fn a_flipped_bit_of_any_entry_is_noticed(entry in any_entry(), bit in any::<Index>()) {
        let mut bytes = encode_entry(&entry).unwrap();
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert_damage(&bytes, "flipped");
    }

    #[test]
    fn a_burst_of_wrong_bits_is_noticed(
        entry in any_entry(),
        at in any::<Index>(),
        burst in 1_u32..,
    ) {
        let mut bytes = encode_entry(&entry).unwrap();
        let at = at.index(bytes.len() - 3);
        for (byte, wrong) in bytes[at..].iter_mut().zip(burst.to_le_bytes()) {
            *byte ^= wrong;
        }
        assert_damage(&bytes, "burst");
    }

    #[test]
    fn a_cut_and_an_extension_of_any_entry_are_noticed(
        entry in any_entry(),
        cut in any::<Index>(),
        more in vec(any::<u8>(), 1..40),
    ) {
        let bytes = encode_entry(&entry).unwrap();
        assert_damage(&bytes[..cut.index(bytes.len())], "cut");
        assert_damage(&[bytes, more].concat(), "extended");
    }

    #[test]
    fn random_bytes_are_damage(bytes in vec(any::<u8>(), 0..200)) {
        assert_damage(&bytes, "random");
    }
}

#[track_caller]
fn assert_damage(bytes: &[u8], what: &str) {
    let decoded = decode_entry(bytes);
    assert!(
        matches!(
            decoded,
            Err(DecodeError::TooShort { .. }
                | DecodeError::LengthMismatch { .. }
                | DecodeError::ChecksumMismatch { .. })
        ),
        "{what}: {decoded:?}"
    );
}
