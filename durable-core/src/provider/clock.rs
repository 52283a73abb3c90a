//! Where a store takes its time from.

use alloc::sync::Arc;

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
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now_ms(&self) -> u64 {
        (**self).now_ms()
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
