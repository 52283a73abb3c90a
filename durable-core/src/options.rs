//! How an activity is to be run: recorded in its scheduling event, carried by its
//! work item, acted on by the worker. Plain integers, so that options compare
//! and encode exactly.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::text::Name;

/// How an activity is run.
///
/// ```
/// use durable_core::{ActivityOptions, RetryPolicy};
///
/// let options = ActivityOptions {
///     retry: RetryPolicy { max_attempts: 5, ..RetryPolicy::default() },
///     attempt_timeout_ms: Some(30_000),
///     ..ActivityOptions::default()
/// };
/// assert_eq!(options.queue, None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ActivityOptions {
    /// The queue whose workers may take it; `None` is the default queue.
    pub queue: Option<Name>,
    /// When and how often to try again.
    pub retry: RetryPolicy,
    /// How long one attempt may take.
    pub attempt_timeout_ms: Option<u64>,
    /// How long all attempts and the waits between them may take.
    pub total_timeout_ms: Option<u64>,
}

/// When and how often a failed activity is tried again.
///
/// The wait before attempt `n + 1` is `first_backoff_ms` multiplied `n - 1` times
/// by `backoff_percent`, at most `max_backoff_ms`, shortened by up to
/// `jitter_percent` of itself.
///
/// ```
/// use durable_core::RetryPolicy;
///
/// use core::time::Duration;
///
/// const PATIENT: RetryPolicy = RetryPolicy::attempts(4)
///     .first_backoff(Duration::from_secs(1))
///     .max_backoff(Duration::from_secs(60));
/// assert_eq!(PATIENT.backoff_ms(1), 1_000);
/// assert_eq!(PATIENT.backoff_ms(2), 2_000);
/// assert_eq!(RetryPolicy::NEVER.max_attempts, 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// How many attempts there are in all; 1 means no retry.
    pub max_attempts: u32,
    /// The wait after the first failed attempt.
    pub first_backoff_ms: u64,
    /// By how much each wait grows over the one before: 200 doubles it.
    pub backoff_percent: u32,
    /// The longest wait.
    pub max_backoff_ms: u64,
    /// How much of a wait is random, from 0 to 100.
    pub jitter_percent: u32,
}

impl RetryPolicy {
    /// One attempt only.
    pub const NEVER: Self = Self {
        max_attempts: 1,
        first_backoff_ms: 100,
        backoff_percent: 200,
        max_backoff_ms: 60_000,
        jitter_percent: 20,
    };

    /// So many attempts in all, with waits that begin at 100 ms, double, and end at a
    /// minute.
    pub const fn attempts(max_attempts: u32) -> Self {
        Self {
            max_attempts,
            ..Self::NEVER
        }
    }

    /// Waits so long after the first failed attempt.
    #[must_use]
    pub const fn first_backoff(self, wait: Duration) -> Self {
        Self {
            first_backoff_ms: whole_ms(wait),
            ..self
        }
    }

    /// Never waits longer.
    #[must_use]
    pub const fn max_backoff(self, wait: Duration) -> Self {
        Self {
            max_backoff_ms: whole_ms(wait),
            ..self
        }
    }

    /// The wait after `failed_attempts` failures, before jitter.
    pub fn backoff_ms(&self, failed_attempts: u32) -> u64 {
        let mut wait = self.first_backoff_ms.min(self.max_backoff_ms);
        for _ in 1..failed_attempts {
            let grown = wait.saturating_mul(u64::from(self.backoff_percent)) / 100;
            if grown == wait {
                break;
            }
            wait = grown.min(self.max_backoff_ms);
            if wait == self.max_backoff_ms || wait == 0 {
                break;
            }
        }
        wait
    }
}

/// As many as there are, or as fit.
const fn whole_ms(duration: Duration) -> u64 {
    let ms = duration.as_millis();
    if ms > u64::MAX as u128 {
        u64::MAX
    } else {
        ms as u64
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::NEVER
    }
}
