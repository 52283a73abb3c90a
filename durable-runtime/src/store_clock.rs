//! The store's clock, as far as a node knows it from the store's answers.
//!
//! A store with a clock of its own may be ahead of this node or behind it. One that
//! goes by the clocks of its callers never goes back, so it stands still while a
//! node whose clock is behind is the only one that talks to it: then nothing falls
//! due before this node's own clock has caught up, and asking sooner is in vain.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long the store's time is the same before it is taken to stand still.
const STANDS_STILL_MS: u64 = 50;

/// The store's clock, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct StoreClock {
    seen: Mutex<Seen>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    store_ms: u64,
    /// Our time when the store told its time.
    at_ms: u64,
    /// Our time when the store's time was first seen to be what it is.
    since_ms: u64,
}

impl StoreClock {
    /// The store told its time.
    pub(crate) fn saw(&self, store_ms: u64, our_ms: u64) {
        let mut seen = self.seen();
        let is_same = seen.store_ms == store_ms && seen.since_ms <= our_ms;
        *seen = Seen {
            store_ms,
            at_ms: our_ms,
            since_ms: if is_same { seen.since_ms } else { our_ms },
        };
    }

    /// The store's time.
    pub(crate) fn now_ms(&self, our_ms: u64) -> u64 {
        let seen = self.seen();
        our_ms.wrapping_add(seen.store_ms.wrapping_sub(seen.at_ms))
    }

    /// How long it is until something is due by the store's clock.
    pub(crate) fn until(&self, due_ms: u64, our_ms: u64) -> Duration {
        let seen = *self.seen();
        let stands_still = seen.at_ms.saturating_sub(seen.since_ms) >= STANDS_STILL_MS;
        let now_ms = match stands_still {
            true => our_ms,
            false => self.now_ms(our_ms),
        };
        Duration::from_millis(due_ms.saturating_sub(now_ms))
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn an_unknown_store_has_our_time() {
        assert_eq!(StoreClock::default().now_ms(7), 7);
    }

    #[test]
    fn a_store_that_is_ahead_or_behind_goes_on_with_us() {
        let clock = StoreClock::default();
        clock.saw(5_000, 1_000);
        assert_eq!(clock.now_ms(1_010), 5_010);
        assert_eq!(clock.until(5_100, 1_010), ms(90));
        clock.saw(900, 1_020);
        assert_eq!(clock.now_ms(1_030), 910);
        assert_eq!(clock.until(900, 1_030), ms(0));
    }

    #[test]
    fn what_is_due_by_a_store_that_stands_still_waits_for_our_clock() {
        let clock = StoreClock::default();
        clock.saw(5_000, 1_000);
        clock.saw(5_000, 1_049);
        assert_eq!(clock.until(5_001, 1_049), ms(1));
        clock.saw(5_000, 1_050);
        assert_eq!(clock.until(5_001, 1_050), ms(3_951));
        clock.saw(5_001, 1_060);
        assert_eq!(clock.until(5_002, 1_060), ms(1));
    }

    #[test]
    fn our_clock_may_go_back() {
        let clock = StoreClock::default();
        clock.saw(5_000, 5_000);
        clock.saw(5_000, 1_000);
        assert_eq!(clock.until(5_001, 1_000), ms(1));
        clock.saw(5_000, 1_050);
        assert_eq!(clock.until(5_001, 1_050), ms(3_951));
    }
}
