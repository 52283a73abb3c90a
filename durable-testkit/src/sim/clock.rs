//! The clocks of a simulation: one true time, and each node's idea of it, by which its
//! handles on the store go.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use durable_core::provider::Clock;
use tokio::time::Instant;

use crate::clock::EPOCH_MS;

/// A node's clock: the true time and an error that grows and jumps.
#[derive(Debug, Clone)]
pub(crate) struct SimClock {
    began: Instant,
    error: Arc<ClockError>,
}

#[derive(Debug, Default)]
struct ClockError {
    offset_ms: AtomicI64,
    /// How many milliseconds it gains in a thousand seconds.
    drift_ppm: AtomicI64,
}

impl SimClock {
    /// A clock that is right.
    pub(crate) fn new(began: Instant) -> Self {
        Self {
            began,
            error: Arc::default(),
        }
    }

    /// Sets how wrong it is from now on; it may jump back.
    pub(crate) fn set_error(&self, offset_ms: i64, drift_ppm: i64) {
        self.error.offset_ms.store(offset_ms, Ordering::Relaxed);
        self.error.drift_ppm.store(drift_ppm, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now_ms(&self) -> u64 {
        let elapsed = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let drift_ppm = self.error.drift_ppm.load(Ordering::Relaxed);
        let gained_ms = elapsed.cast_signed().saturating_mul(drift_ppm) / 1_000_000;
        let offset_ms = self.error.offset_ms.load(Ordering::Relaxed);
        EPOCH_MS
            .saturating_add(elapsed)
            .saturating_add_signed(gained_ms.saturating_add(offset_ms))
    }
}
