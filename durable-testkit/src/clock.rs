//! Clocks for stores under test.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use durable_core::provider::Clock;

/// When virtual time begins unless said otherwise, in milliseconds since the Unix epoch.
pub(crate) const EPOCH_MS: u64 = 1_700_000_000_000;

/// Tokio's own time: it stands still in a paused tokio runtime and jumps to the
/// next timer when nothing else is to be done, so a month takes no time.
///
/// ```
/// use std::time::Duration;
/// use durable_core::provider::Clock;
/// use durable_testkit::TokioClock;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() { // a paused tokio runtime
/// let clock = TokioClock::starting_at(1_700_000_000_000);
/// tokio::time::sleep(Duration::from_secs(30 * 86_400)).await;
/// assert_eq!(clock.now_ms(), 1_702_592_000_000);
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TokioClock {
    started: tokio::time::Instant,
    started_ms: u64,
}

impl TokioClock {
    /// A clock that shows this time now, in milliseconds since the Unix epoch.
    pub fn starting_at(started_ms: u64) -> Self {
        Self {
            started: tokio::time::Instant::now(),
            started_ms,
        }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::starting_at(EPOCH_MS)
    }
}

impl Clock for TokioClock {
    fn now_ms(&self) -> u64 {
        let elapsed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.started_ms.saturating_add(elapsed)
    }
}

/// A clock that only the test moves. Clones show the same time.
///
/// ```
/// use durable_core::provider::Clock;
/// use durable_testkit::ManualClock;
///
/// let clock = ManualClock::default();
/// let before_ms = clock.now_ms();
/// clock.advance(250);
/// assert_eq!(clock.now_ms(), before_ms + 250);
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that shows this time, in milliseconds since the Unix epoch.
    pub fn starting_at(started_ms: u64) -> Self {
        Self(Arc::new(AtomicU64::new(started_ms)))
    }

    /// Moves the clock forward.
    pub fn advance(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }

    /// Sets the clock, also back.
    pub fn set(&self, now_ms: u64) {
        self.0.store(now_ms, Ordering::Relaxed);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::starting_at(EPOCH_MS)
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
