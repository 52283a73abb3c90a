//! How an activity is to be run: recorded in its scheduling event, carried by its
//! work item, acted on by the worker. Plain integers, so that options compare
//! and encode exactly.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::text::Name;
use crate::trace::TraceParent;

/// How an activity is run.
///
/// ```
/// use core::time::Duration;
///
/// use durable_core::{ActivityOptions, RetryPolicy};
///
/// let options = ActivityOptions::default()
///     .retry(RetryPolicy::attempts(5))
///     .attempt_timeout(Duration::from_secs(30));
/// assert_eq!(options.attempt_timeout_ms, Some(30_000));
/// assert_eq!(options.queue, None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ActivityOptions {
    /// The queue whose workers may take it. Default: `None`, the default queue.
    pub queue: Option<Name>,
    /// When and how often to try again. Default: never.
    pub retry: RetryPolicy,
    /// How long one attempt may take, in milliseconds. Default: `None`, without a limit.
    pub attempt_timeout_ms: Option<u64>,
    /// How long the call may take in milliseconds: its wait for a worker, all attempts and
    /// the waits between them. The store has a timer for it. Default: `None`, without a
    /// limit.
    pub total_timeout_ms: Option<u64>,
    /// The trace that the call belongs to: that of its instance, which the cursor sets. Default:
    /// `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_parent: Option<TraceParent>,
}

impl ActivityOptions {
    /// Lets only the workers of this queue take it.
    #[must_use]
    pub fn queue(mut self, queue: impl Into<Name>) -> Self {
        self.queue = Some(queue.into());
        self
    }

    /// Tries again when an attempt failed.
    #[must_use]
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Ends each attempt after this time, in whole milliseconds, at least one.
    #[must_use]
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt_timeout_ms = Some(whole_ms(timeout).max(1));
        self
    }

    /// Gives up after this time, all attempts and the waits between them together, in
    /// whole milliseconds, at least one.
    #[must_use]
    pub fn total_timeout(mut self, timeout: Duration) -> Self {
        self.total_timeout_ms = Some(whole_ms(timeout).max(1));
        self
    }

    /// When the total timeout of a call that was scheduled at this time has passed.
    pub const fn deadline_ms(&self, scheduled_at_ms: u64) -> Option<u64> {
        match self.total_timeout_ms {
            Some(total_ms) => Some(scheduled_at_ms.saturating_add(total_ms)),
            None => None,
        }
    }
}

/// When and how often a failed activity is tried again.
///
/// The wait before attempt `n + 1` is `first_backoff_ms` multiplied `n - 1` times
/// by `backoff_percent`, at most `max_backoff_ms`, shortened by up to
/// `jitter_percent` of itself.
///
/// ```
/// use core::time::Duration;
///
/// use durable_core::RetryPolicy;
///
/// const PATIENT: RetryPolicy = RetryPolicy::attempts(4)
///     .first_backoff(Duration::from_secs(1))
///     .max_backoff(Duration::from_secs(60));
/// assert_eq!(PATIENT.backoff_ms(1), 1_000);
/// assert_eq!(PATIENT.backoff_ms(2), 2_000);
/// assert_eq!(RetryPolicy::NEVER.max_attempts, 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// How many attempts there are in all; 1 means no retry. Default: 1.
    pub max_attempts: u32,
    /// The wait after the first failed attempt, in milliseconds. Default: 100.
    pub first_backoff_ms: u64,
    /// By how much each wait grows over the one before, in percent. Default: 200, which
    /// doubles it.
    pub backoff_percent: u32,
    /// The longest wait, in milliseconds. Default: 60,000.
    pub max_backoff_ms: u64,
    /// How much of a wait is random, from 0 to 100 percent. Default: 20.
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

    /// Waits so long after the first failed attempt, in whole milliseconds.
    #[must_use]
    pub const fn first_backoff(self, wait: Duration) -> Self {
        Self {
            first_backoff_ms: whole_ms(wait),
            ..self
        }
    }

    /// Makes each wait so many percent of the one before: 100 keeps it, 200 doubles it.
    #[must_use]
    pub const fn backoff_percent(self, percent: u32) -> Self {
        Self {
            backoff_percent: percent,
            ..self
        }
    }

    /// Never waits longer, in whole milliseconds.
    #[must_use]
    pub const fn max_backoff(self, wait: Duration) -> Self {
        Self {
            max_backoff_ms: whole_ms(wait),
            ..self
        }
    }

    /// Shortens each wait by a random part of it, up to so many percent.
    #[must_use]
    pub const fn jitter_percent(self, percent: u32) -> Self {
        Self {
            jitter_percent: percent,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_built_from_the_defaults() {
        let options = ActivityOptions::default()
            .queue("gpu")
            .retry(
                RetryPolicy::attempts(3)
                    .backoff_percent(150)
                    .jitter_percent(0),
            )
            .attempt_timeout(Duration::from_micros(10))
            .total_timeout(Duration::MAX);
        assert_eq!(options.queue.as_deref(), Some("gpu"));
        assert_eq!(
            options.attempt_timeout_ms,
            Some(1),
            "none is lost in rounding"
        );
        assert_eq!(options.total_timeout_ms, Some(u64::MAX));
        let waits = [1, 2, 3].map(|failed| options.retry.backoff_ms(failed));
        assert_eq!(waits, [100, 150, 225]);
        assert_eq!(options.retry.jitter_percent, 0);
        assert_eq!(ActivityOptions::default().retry, RetryPolicy::NEVER);
    }
}
