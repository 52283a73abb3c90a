//! Randomness that is the same in every replay.
//!
//! SplitMix64 over a seed from instance and execution. The algorithm is frozen:
//! another one would give running orchestrations other numbers after an upgrade.

use durable_core::provider::SessionId;
use durable_core::{ExecutionId, InstanceId};

/// A stream of numbers that depends on nothing but its seed.
#[derive(Debug, Clone)]
pub(crate) struct SeededRandom {
    state: u64,
}

impl SeededRandom {
    /// The stream of one execution.
    pub(crate) fn of_execution(instance: &InstanceId, execution_id: ExecutionId) -> Self {
        const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
        let state = instance
            .bytes()
            .chain(execution_id.get().to_le_bytes())
            .fold(FNV_OFFSET, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME)
            });
        Self { state }
    }

    /// The stream of one session of a node.
    pub(crate) const fn of_session(session: SessionId) -> Self {
        Self { state: session.0 }
    }

    /// Makes the stream depend on one more number.
    pub(crate) fn mix(&mut self, number: u64) {
        self.state ^= number;
        self.state = self.next_u64();
    }

    /// The next number.
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next sixteen bytes.
    pub(crate) fn next_bytes(&mut self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.next_u64().to_le_bytes());
        bytes[8..].copy_from_slice(&self.next_u64().to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_an_execution_never_changes() {
        let mut random = SeededRandom::of_execution(&"order-7".into(), ExecutionId::FIRST);
        let drawn: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        let mut again = SeededRandom::of_execution(&"order-7".into(), ExecutionId::FIRST);
        assert_eq!(drawn, (0..3).map(|_| again.next_u64()).collect::<Vec<_>>());
        let mut next = SeededRandom::of_execution(&"order-7".into(), ExecutionId::new(2));
        assert_ne!(drawn[0], next.next_u64());
    }
}
