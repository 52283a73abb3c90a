//! Seeded randomness for tests: the same seed throws the same numbers.

/// SplitMix64.
#[derive(Debug, Clone)]
pub(crate) struct Dice {
    state: u64,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635,
        }
    }

    /// Dice of the same seed for another purpose.
    pub(crate) fn of(seed: u64, purpose: &str) -> Self {
        let salt = purpose.bytes().fold(7_u64, |salt, byte| {
            salt.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        Self::new(seed ^ salt)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below this one.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// A time to wait: often the same as others, so that things happen at once.
    pub(crate) fn delay_ms(&mut self) -> u64 {
        const TIMES: [u64; 8] = [0, 0, 1, 2, 5, 5, 10, 30];
        let index = usize::try_from(self.below(8)).unwrap();
        TIMES[index]
    }
}
