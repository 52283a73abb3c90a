//! The time that checks live in.

use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::{Clock, SystemClock};

use crate::clock::ManualClock;

/// Which clock the stores under test go by.
///
/// ```
/// use durable_testkit::{MemoryProvider, ModelTest, StoreClock};
///
/// // A store that has its own clock, as a server does.
/// ModelTest::new(|_| async { MemoryProvider::new() })
///     .clock(StoreClock::WALL)
///     .cases(3)
///     .run()
///     .unwrap();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreClock {
    /// The one that a store is given when it is opened: a [`ManualClock`]. Checks move it
    /// as they like, and nothing waits.
    Virtual,
    /// The store's own, such as a server's: checks wait until `short` has passed where
    /// something must become due. The clock that a store is given is the system's.
    Wall {
        /// The wait: long enough that a check reaches its next line meanwhile.
        short: Duration,
    },
}

impl StoreClock {
    /// The store's own clock, with waits of half a second.
    pub const WALL: Self = Self::Wall {
        short: Duration::from_millis(500),
    };

    /// Whether checks move the clock.
    pub(crate) fn is_virtual(self) -> bool {
        self == Self::Virtual
    }
}

/// A [`StoreClock`] at work.
#[derive(Debug, Clone)]
pub(crate) struct TestTime {
    pub(crate) clock: StoreClock,
    /// The clock of the stores, if it is virtual.
    pub(crate) manual: ManualClock,
}

impl TestTime {
    pub(crate) fn new(clock: StoreClock) -> Self {
        Self {
            clock,
            manual: ManualClock::default(),
        }
    }

    /// What a store is opened with.
    pub(crate) fn given(&self) -> Arc<dyn Clock> {
        match self.clock {
            StoreClock::Virtual => Arc::new(self.manual.clone()),
            StoreClock::Wall { .. } => Arc::new(SystemClock),
        }
    }

    /// How long something short takes: a delay, a session's timeout.
    pub(super) fn short_ms(&self) -> u64 {
        match self.clock {
            StoreClock::Virtual => 1_000,
            StoreClock::Wall { short } => u64::try_from(short.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// How far a handle's time may be from the store's: a handle on a server is off by as
    /// much as an answer takes to arrive.
    pub(super) fn skew_ms(&self) -> u64 {
        match self.clock {
            StoreClock::Virtual => 0,
            StoreClock::Wall { .. } => 100,
        }
    }

    /// Lets time pass.
    pub(super) async fn advance(&self, ms: u64) {
        match self.clock {
            StoreClock::Virtual => self.manual.advance(ms),
            StoreClock::Wall { .. } => tokio::time::sleep(Duration::from_millis(ms)).await,
        }
    }

    /// Lets something short pass for sure.
    pub(super) async fn pass_short(&self) {
        self.advance(self.short_ms() + self.skew_ms() + 1).await;
    }

    /// Lets enough time pass that what happens now is later than what was.
    pub(super) async fn tick(&self) {
        self.advance(2).await;
    }
}
