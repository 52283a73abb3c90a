//! Clocks for stores under test.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use durable_core::provider::{Clock, ClockHold};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::Instant;

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
///
/// It shows the time of the runtime in which it was made on every thread, also on the threads
/// of a store.
#[derive(Debug, Clone)]
pub struct TokioClock {
    started: Instant,
    started_ms: u64,
    /// None outside of a runtime.
    runtime: Option<Handle>,
}

impl TokioClock {
    /// A clock that shows this time now, in milliseconds since the Unix epoch.
    pub fn starting_at(started_ms: u64) -> Self {
        Self {
            started: Instant::now(),
            started_ms,
            runtime: Handle::try_current().ok(),
        }
    }

    /// The time of the clock's runtime, on whatever thread.
    fn now(&self) -> Instant {
        let _entered = self.runtime.as_ref().map(Handle::enter);
        Instant::now()
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::starting_at(EPOCH_MS)
    }
}

impl Clock for TokioClock {
    fn now_ms(&self) -> u64 {
        let elapsed = self.now().saturating_duration_since(self.started);
        let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        self.started_ms.saturating_add(elapsed_ms)
    }

    /// Tokio does not move a paused clock while a blocking task runs. Only a runtime with one
    /// thread can be paused.
    fn hold(&self) -> Option<ClockHold> {
        let can_be_paused =
            |runtime: &&Handle| runtime.runtime_flavor() == RuntimeFlavor::CurrentThread;
        let runtime = self.runtime.as_ref().filter(can_be_paused)?;
        let (until_dropped, is_dropped) = mpsc::sync_channel::<()>(0);
        runtime.spawn_blocking(move || is_dropped.recv());
        Some(ClockHold::new(until_dropped))
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
