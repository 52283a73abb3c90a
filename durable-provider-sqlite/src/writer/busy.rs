//! Waiting for another process that writes: growing pauses with jitter, and a timeout.
//! There is no fairness between processes; the jitter keeps them out of step.

use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_micros(200);
const MAX_PAUSE: Duration = Duration::from_millis(10);

/// Tries again while the file is busy, up to `timeout`.
pub(super) fn retry<T>(
    timeout: Duration,
    mut attempt: impl FnMut() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let mut jitter = None;
    let mut pause = FIRST_PAUSE;
    loop {
        let result = attempt();
        let is_busy = matches!(
            &result,
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
        );
        if !is_busy {
            return result;
        }
        let (began, random) = jitter.get_or_insert_with(|| (Instant::now(), Random::new()));
        if began.elapsed() >= timeout {
            return result;
        }
        std::thread::sleep(random.up_to(pause));
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

/// Good enough to be out of step with others.
struct Random(u64);

impl Random {
    fn new() -> Self {
        use std::hash::{BuildHasher, RandomState};
        Self(RandomState::new().hash_one(std::process::id()) | 1)
    }

    /// Between a quarter and the whole.
    fn up_to(&mut self, pause: Duration) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let share = (self.0 % 768) as u32 + 256;
        pause * share / 1024
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_within_its_bounds() {
        let mut random = Random::new();
        for _ in 0..1_000 {
            let pause = random.up_to(Duration::from_millis(4));
            assert!(pause >= Duration::from_millis(1) && pause <= Duration::from_millis(4));
        }
    }

    #[test]
    fn what_is_not_busy_is_tried_once() {
        let mut attempts = 0;
        let result = retry(Duration::from_secs(9), || {
            attempts += 1;
            Err::<(), _>(rusqlite::Error::InvalidQuery)
        });
        assert!(result.is_err());
        assert_eq!(attempts, 1);
    }
}
