//! The store's time, as far as this handle knows it without asking.
//!
//! The server's clock decides what is due. A handle estimates it from the times in the
//! server's answers; the estimate is for callers only and never sent to the server. A store
//! that was opened with a clock goes by that one, and its scripts are told the time.

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use durable_core::provider::{Clock, StoreTime};

/// The store's time. It never goes back.
#[derive(Debug)]
pub(crate) struct HandleTime {
    source: TimeSource,
    /// The latest time that was given to a caller, or that stood in an answer.
    latest_ms: AtomicU64,
}

/// Whose clock the store goes by.
enum TimeSource {
    Server(ServerClock),
    Given(Arc<dyn Clock>, Mutex<StoreTime>),
}

impl HandleTime {
    /// The time of a server that said at this moment what time it is.
    pub(crate) fn of_server(server_ms: u64) -> Self {
        Self::new(TimeSource::Server(ServerClock::new(server_ms)))
    }

    /// The time of this clock.
    pub(crate) fn of_clock(clock: Arc<dyn Clock>) -> Self {
        Self::new(TimeSource::Given(clock, Mutex::default()))
    }

    fn new(source: TimeSource) -> Self {
        let latest_ms = AtomicU64::new(0);
        Self { source, latest_ms }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        let now_ms = match &self.source {
            TimeSource::Server(clock) => clock.at(Instant::now()),
            TimeSource::Given(clock, time) => {
                let seen_ms = self.latest_ms.load(Ordering::Relaxed);
                let mut time = time.lock().unwrap_or_else(PoisonError::into_inner);
                time.advance(clock.now_ms(), seen_ms)
            }
        };
        let latest_ms = self.latest_ms.fetch_max(now_ms, Ordering::Relaxed);
        latest_ms.max(now_ms)
    }

    /// What scripts are told; `None` if the server's clock decides.
    pub(crate) fn told_to_scripts(&self) -> Option<u64> {
        match self.source {
            TimeSource::Server(_) => None,
            TimeSource::Given(..) => Some(self.now_ms()),
        }
    }

    /// The server's time stands in an answer that has just come; it was asked for at `sent`.
    pub(crate) fn saw(&self, server_ms: u64, sent: Instant) {
        match &self.source {
            TimeSource::Server(clock) => clock.saw(server_ms, sent, Instant::now()),
            TimeSource::Given(..) => {
                self.latest_ms.fetch_max(server_ms, Ordering::Relaxed);
            }
        }
    }
}

/// An estimate of the server's clock.
///
/// The time in an answer was taken between the moment at which the request was sent and the
/// moment at which the answer came. That bounds the server's time from both sides. The
/// estimate is moved into these bounds by as little as needed, so that a slow answer does not
/// spoil what a fast one has shown, and a clock that was set is followed.
#[derive(Debug)]
struct ServerClock {
    opened: Instant,
    /// The server's time at `opened`, by the estimate.
    opened_at_ms: AtomicI64,
}

impl ServerClock {
    fn new(server_ms: u64) -> Self {
        Self {
            opened: Instant::now(),
            opened_at_ms: AtomicI64::new(signed(server_ms)),
        }
    }

    fn at(&self, moment: Instant) -> u64 {
        let opened_at_ms = self.opened_at_ms.load(Ordering::Relaxed);
        let now_ms = opened_at_ms.saturating_add(self.elapsed_ms(moment));
        u64::try_from(now_ms).unwrap_or(0)
    }

    fn saw(&self, server_ms: u64, sent: Instant, received: Instant) {
        let server_ms = signed(server_ms);
        let latest = server_ms.saturating_sub(self.elapsed_ms(sent));
        // Rounded up: the estimate is not ahead of the server by a part of a millisecond.
        let received_ms = self.elapsed_ms(received).saturating_add(1);
        let earliest = server_ms.saturating_sub(received_ms).min(latest);
        let update = |known: i64| Some(known.clamp(earliest, latest));
        let order = Ordering::Relaxed;
        // The closure never refuses.
        let _ = self.opened_at_ms.fetch_update(order, order, update);
    }

    fn elapsed_ms(&self, moment: Instant) -> i64 {
        let elapsed: Duration = moment.saturating_duration_since(self.opened);
        i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
    }
}

fn signed(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

impl fmt::Debug for TimeSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(clock) => clock.fmt(f),
            Self::Given(..) => f.write_str("Given"),
        }
    }
}

#[cfg(test)]
mod tests {
    use durable_testkit::ManualClock;

    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn an_estimate_goes_on_with_the_local_clock() {
        let clock = ServerClock::new(5_000);
        assert_eq!(clock.at(clock.opened), 5_000);
        assert_eq!(clock.at(clock.opened + ms(70)), 5_070);
    }

    #[test]
    fn a_fast_answer_is_believed_and_a_slow_one_spoils_nothing() {
        let clock = ServerClock::new(5_000);
        let opened = clock.opened;
        clock.saw(5_120, opened + ms(100), opened + ms(101));
        assert_eq!(clock.at(opened + ms(101)), 5_119);
        // The server's time was taken within these 400 ms: nothing contradicts the estimate.
        clock.saw(5_230, opened + ms(200), opened + ms(600));
        assert_eq!(clock.at(opened + ms(600)), 5_618);
    }

    #[test]
    fn a_clock_that_was_set_is_followed() {
        let clock = ServerClock::new(5_000);
        let opened = clock.opened;
        clock.saw(9_000, opened + ms(10), opened + ms(12));
        assert_eq!(clock.at(opened + ms(12)), 8_999);
        clock.saw(3_000, opened + ms(20), opened + ms(22));
        assert_eq!(clock.at(opened + ms(22)), 3_002);
    }

    #[test]
    fn time_never_goes_back() {
        let clock = ManualClock::starting_at(7);
        let time = HandleTime::of_clock(Arc::new(clock.clone()));
        assert_eq!(time.now_ms(), 7);
        clock.set(3);
        assert_eq!((time.now_ms(), time.told_to_scripts()), (7, Some(7)));
        clock.set(5);
        assert_eq!(time.now_ms(), 9, "it goes on as fast as the clock does");
        // Another process is ahead: the time in an answer is the store's.
        time.saw(90, Instant::now());
        assert_eq!((time.now_ms(), time.told_to_scripts()), (90, Some(90)));
        clock.set(100);
        assert_eq!(time.told_to_scripts(), Some(100));

        let time = HandleTime::of_server(5_000);
        let first_ms = time.now_ms();
        time.saw(1_000, Instant::now());
        assert!(time.now_ms() >= first_ms);
        assert_eq!(time.told_to_scripts(), None);
    }
}
