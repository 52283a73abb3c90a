//! The store's time as this process keeps it: the clock that the store was opened with,
//! and never behind what the file says.
//!
//! The writer and every handle of this process share it, so what a handle says the time is
//! never lies ahead of a commit that follows.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use durable_core::provider::{Clock, ClockHold, StoreTime};

/// The store's time.
pub(crate) struct StoreClock {
    clock: Arc<dyn Clock>,
    time: Mutex<StoreTime>,
}

impl StoreClock {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            time: Mutex::default(),
        }
    }

    /// The time now, in milliseconds since the Unix epoch.
    pub(crate) fn now_ms(&self) -> u64 {
        self.now_after(0)
    }

    /// Keeps virtual time from passing while a thread of the store works.
    pub(crate) fn hold(&self) -> Option<ClockHold> {
        self.clock.hold()
    }

    /// The time now that the file says it was `seen_ms`.
    pub(crate) fn now_after(&self, seen_ms: u64) -> u64 {
        let mut time = self.time.lock().unwrap_or_else(PoisonError::into_inner);
        // Read within the lock: times that are out of order would be taken for a clock that
        // was set back.
        time.advance(self.clock.now_ms(), seen_ms)
    }
}

impl fmt::Debug for StoreClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreClock").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use durable_testkit::ManualClock;

    use super::*;

    #[test]
    fn the_time_is_never_behind_the_file_and_goes_on_with_the_clock() {
        let manual = ManualClock::starting_at(100);
        let clock = StoreClock::new(Arc::new(manual.clone()));
        assert_eq!(clock.now_ms(), 100);
        assert_eq!(clock.now_after(400), 400);
        manual.set(150);
        assert_eq!(clock.now_ms(), 450);
        manual.set(0);
        assert_eq!(clock.now_ms(), 450);
        manual.set(1_000);
        assert_eq!((clock.now_ms(), clock.now_after(0)), (1_000, 1_000));
    }
}
