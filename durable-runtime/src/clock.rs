//! Time, so that tests and simulations can bring their own.

use std::time::{Duration, SystemTime};

use async_trait::async_trait;

/// Where a node takes its time from.
#[async_trait]
pub trait Clock: Send + Sync + 'static {
    /// The time, in milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;

    /// Waits.
    async fn sleep(&self, duration: Duration);
}

/// The system's time and tokio's timers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| {
                u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
            })
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// Tokio's own time: it stands still in a paused tokio runtime and jumps to the
/// next timer when nothing else is to be done, so a month takes no time.
///
/// ```
/// use std::time::Duration;
/// use durable_runtime::{Clock, TokioClock};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() { // a paused tokio runtime
/// let clock = TokioClock::starting_at(1_700_000_000_000);
/// clock.sleep(Duration::from_secs(30 * 86_400)).await;
/// assert_eq!(clock.now_ms(), 1_702_592_000_000);
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TokioClock {
    started: tokio::time::Instant,
    started_ms: u64,
}

impl TokioClock {
    /// A clock that shows this time now.
    pub fn starting_at(started_ms: u64) -> Self {
        Self {
            started: tokio::time::Instant::now(),
            started_ms,
        }
    }
}

#[async_trait]
impl Clock for TokioClock {
    fn now_ms(&self) -> u64 {
        let elapsed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.started_ms.saturating_add(elapsed)
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
