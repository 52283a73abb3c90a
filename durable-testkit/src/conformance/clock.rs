//! The time that checks live in.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Whose time the store goes by.
///
/// ```
/// use durable_testkit::{Clock, ModelTest, MemoryOptions, MemoryProvider, StoreClock};
///
/// // A store that goes by its own clock, as a server does.
/// let options = MemoryOptions { clock: StoreClock::Own, ..MemoryOptions::default() };
/// let test = ModelTest::new(move || async move { MemoryProvider::with_options(options) });
/// assert!(test.clock(Clock::WALL).cases(3).run().is_ok());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The caller's `now_ms`: checks move it as they like, and nothing waits.
    Virtual,
    /// The store's own: checks wait until `short` has passed where something must
    /// become due. Long enough that a check reaches its next line meanwhile.
    Wall {
        /// The wait.
        short: Duration,
    },
}

impl Clock {
    /// The store's own clock, with waits of half a second.
    pub const WALL: Self = Self::Wall {
        short: Duration::from_millis(500),
    };
}

/// A [`Clock`] at work.
#[derive(Debug)]
pub(super) struct Ticker {
    clock: Clock,
    virtual_now_ms: AtomicU64,
}

impl Ticker {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            virtual_now_ms: AtomicU64::new(1_700_000_000_000),
        }
    }

    pub(super) fn clock(&self) -> Clock {
        self.clock
    }

    /// What to pass as `now_ms`.
    pub(super) fn now_ms(&self) -> u64 {
        match self.clock {
            Clock::Virtual => self.virtual_now_ms.load(Ordering::Relaxed),
            Clock::Wall { .. } => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH);
                let millis = since.unwrap_or_default().as_millis();
                u64::try_from(millis).unwrap_or(u64::MAX)
            }
        }
    }

    /// How long something short takes: a delay, a heartbeat bound.
    pub(super) fn short_ms(&self) -> u64 {
        match self.clock {
            Clock::Virtual => 1_000,
            Clock::Wall { short } => u64::try_from(short.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Lets time pass.
    pub(super) async fn advance(&self, ms: u64) {
        match self.clock {
            Clock::Virtual => {
                self.virtual_now_ms.fetch_add(ms, Ordering::Relaxed);
            }
            Clock::Wall { .. } => tokio::time::sleep(Duration::from_millis(ms)).await,
        }
    }

    /// Lets something short pass for sure.
    pub(super) async fn pass_short(&self) {
        let margin_ms = match self.clock {
            Clock::Virtual => 1,
            Clock::Wall { .. } => 20,
        };
        self.advance(self.short_ms() + margin_ms).await;
    }

    /// Lets enough time pass that what happens now is later than what was.
    pub(super) async fn tick(&self) {
        self.advance(2).await;
    }
}
