//! The orchestrations that every contender implements, and what they must return.
//!
//! | program | input | what it does | output |
//! |---|---|---|---|
//! | chain | `n` | [`add`] as an activity `n` times, one after the other, from 0 | `n` |
//! | fan-out | `n` | `n` activities [`add`]`(0)` at once, waits for all, sums up | `n` |
//! | one | `n` | one activity | `n + 1` |
//! | gated | `n` | two activities, one event with a number, two activities | `n + 4 + event` |
//! | mixed | `n` | activity, event, activity, timer, child, activity | `n + 3 + event +` [`CHILD`] |
//!
//! Payloads are numbers: it is the engine that is measured, not the serializer.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The number that every event carries.
pub const EVENT: u64 = 100;
/// What the child of `mixed` adds.
const CHILD: u64 = 1_000;
/// How long the timer of `mixed` takes.
pub const TIMER: Duration = Duration::from_millis(10);

/// When activities ran.
static STAMPS: Mutex<Vec<Instant>> = Mutex::new(Vec::new());

/// An orchestration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Activities one after the other.
    Chain,
    /// Activities at once.
    FanOut,
    /// One activity.
    One,
    /// Half of the work before an event, half after it.
    Gated,
    /// A little of everything.
    Mixed,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Chain,
        Self::FanOut,
        Self::One,
        Self::Gated,
        Self::Mixed,
    ];

    /// The name it is registered by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::FanOut => "fan-out",
            Self::One => "one",
            Self::Gated => "gated",
            Self::Mixed => "mixed",
        }
    }

    /// What it must return.
    #[must_use]
    pub const fn output(self, input: u64) -> u64 {
        match self {
            Self::Chain | Self::FanOut => input,
            Self::One => input + 1,
            Self::Gated => input + 4 + EVENT,
            Self::Mixed => input + 3 + EVENT + CHILD,
        }
    }
}

/// The body of every activity: one more, and the time is noted.
#[must_use]
pub fn add(number: u64) -> u64 {
    let now = Instant::now();
    let mut stamps = STAMPS.lock().unwrap_or_else(PoisonError::into_inner);
    stamps.push(now);
    number + 1
}

/// The body of the child of `mixed`.
#[must_use]
pub const fn child(number: u64) -> u64 {
    number + CHILD
}

/// How many activities ran in this process.
pub(crate) fn activities() -> usize {
    STAMPS.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// Forgets what ran before.
pub(crate) fn forget_stamps() {
    let mut stamps = STAMPS.lock().unwrap_or_else(PoisonError::into_inner);
    stamps.clear();
}

/// When each activity ran in this process.
pub(crate) fn stamps() -> Vec<Instant> {
    let stamps = STAMPS.lock().unwrap_or_else(PoisonError::into_inner);
    stamps.clone()
}
