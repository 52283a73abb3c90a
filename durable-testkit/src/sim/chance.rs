//! What the simulator draws: chances, times and clock errors.
//!
//! Each part of a simulation has a stream of its own, so that what one part leaves out
//! does not change what befalls the others: that is what makes shrinking work.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::random::Random;

/// The numbers of one part of a simulation: they follow from the seed and its name.
#[derive(Debug)]
pub(crate) struct Stream {
    random: Mutex<Random>,
}

impl Stream {
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        // FNV-1a, so that names that differ give seeds that differ.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let mut mixed = Random::new(seed ^ hash);
        Self {
            random: Mutex::new(Random::new(mixed.next())),
        }
    }

    pub(crate) fn draw<T>(&self, draw: impl FnOnce(&mut Random) -> T) -> T {
        draw(&mut self.random.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Random {
    /// Whether something happens that happens this often in ten thousand times.
    pub(crate) fn chance(&mut self, per_ten_thousand: u32) -> bool {
        self.below(10_000) < u64::from(per_ten_thousand)
    }

    /// A time up to this one; short ones are as likely as long ones.
    pub(crate) fn up_to(&mut self, longest: Duration) -> Duration {
        let longest_ms = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
        let scale = self.below(u64::from(longest_ms.max(1).ilog2()) + 2);
        let bound = (1u64 << scale.min(63)).min(longest_ms.saturating_add(1));
        Duration::from_millis(self.below(bound))
    }

    /// A time around this one: between a quarter of it and twice as much.
    pub(crate) fn around(&mut self, mean: Duration) -> Duration {
        mean.mul_f64((25 + self.below(175)) as f64 / 100.0)
    }

    /// A number between minus this one and this one.
    pub(crate) fn either_way(&mut self, most: u64) -> i64 {
        let most = most.min(u64::from(u32::MAX));
        self.below(2 * most + 1).cast_signed() - most.cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_gives_a_stream_of_its_own() {
        let draw = |seed, name| Stream::new(seed, name).draw(Random::next);
        assert_eq!(draw(7, "node-1.1"), draw(7, "node-1.1"));
        assert_ne!(draw(7, "node-1.1"), draw(7, "node-1.2"));
        assert_ne!(draw(7, "node-1.1"), draw(8, "node-1.1"));
    }

    #[test]
    fn bounds_are_kept() {
        let mut random = Random::new(1);
        for _ in 0..1_000 {
            assert!(random.up_to(Duration::from_millis(5)) <= Duration::from_millis(5));
            assert!((-4..=4).contains(&random.either_way(4)));
        }
    }
}
