//! Where a store takes its time from.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

/// A store's clock, given to the store when it is opened.
///
/// A store goes by one clock: everything that is due is due by it, and every record and
/// event is stamped with it. Nodes and clients ask the store
/// ([`Provider::now_ms`](super::Provider::now_ms)) and have no clock of their own. Tests
/// give a store a virtual one.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use durable_core::provider::Clock;
///
/// /// Moved by hand.
/// struct ManualClock(AtomicU64);
///
/// impl Clock for ManualClock {
///     fn now_ms(&self) -> u64 {
///         self.0.load(Ordering::Relaxed)
///     }
/// }
/// # assert_eq!(ManualClock(AtomicU64::new(7)).now_ms(), 7);
/// ```
pub trait Clock: Send + Sync + 'static {
    /// The time, in milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;

    /// Keeps the clock from being moved until the hold is dropped.
    ///
    /// A store that works on threads of its own holds its clock while a caller waits for an
    /// answer: virtual time that passes when no task can go on must not pass meanwhile. Real
    /// time cannot be held; the default holds nothing.
    fn hold(&self) -> Option<ClockHold> {
        None
    }
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now_ms(&self) -> u64 {
        (**self).now_ms()
    }

    fn hold(&self) -> Option<ClockHold> {
        (**self).hold()
    }
}

/// Holds a clock while it lives; see [`Clock::hold`].
pub struct ClockHold(#[expect(dead_code, reason = "it is dropped")] Box<dyn Send + Sync>);

impl ClockHold {
    /// A hold that ends when this is dropped.
    pub fn new(until_dropped: impl Send + Sync + 'static) -> Self {
        Self(Box::new(until_dropped))
    }
}

impl fmt::Debug for ClockHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClockHold").finish_non_exhaustive()
    }
}

/// The system's clock. Only with the feature `std`.
#[cfg(feature = "std")]
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[cfg(feature = "std")]
impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }
}

/// The time of a store that several processes share, as one of its handles keeps it.
///
/// It follows the clock of the handle. While that clock is behind what was seen in the
/// store, because another process was ahead or the clock was set back, the time goes on
/// from there as fast as the clock does: it never goes back and never stands still.
///
/// ```
/// use durable_core::provider::StoreTime;
///
/// let mut time = StoreTime::default();
/// assert_eq!(time.advance(1_000, 0), 1_000);
/// // Another process is 5 seconds ahead.
/// assert_eq!(time.advance(1_010, 6_010), 6_010);
/// assert_eq!(time.advance(1_030, 6_010), 6_030);
/// // The clock is set back, and then right again.
/// assert_eq!(time.advance(200, 0), 6_030);
/// assert_eq!(time.advance(250, 0), 6_080);
/// assert_eq!(time.advance(7_000, 0), 7_000);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct StoreTime {
    last_ms: u64,
    /// What the clock showed then.
    clock_ms: u64,
}

impl StoreTime {
    /// The store's time now that the clock shows `clock_ms` and the latest time seen in
    /// the store is `seen_ms`.
    pub fn advance(&mut self, clock_ms: u64, seen_ms: u64) -> u64 {
        let passed_ms = clock_ms.saturating_sub(self.clock_ms);
        let went_on_ms = self.last_ms.saturating_add(passed_ms);
        self.last_ms = if clock_ms >= self.last_ms.max(seen_ms) {
            clock_ms
        } else {
            went_on_ms.max(seen_ms)
        };
        self.clock_ms = clock_ms;
        self.last_ms
    }
}
