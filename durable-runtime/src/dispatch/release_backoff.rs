//! Backoff for instances and work that this node claimed and cannot read for now, because
//! its payload codec has no key for them or cannot be reached.
//!
//! The node releases such a thing with a delay that doubles each time. When the delay
//! is over the store notifies every node at once; a node that could not read it lately
//! waits a little longer than the others, so that a node that can claims first.
//! All nodes that cannot do so: otherwise two of them would claim it in turns for ever.
//! (Code that a node lacks is no reason: the store gives the node only what it has the
//! code for.)

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use durable_core::InstanceId;
use durable_core::provider::WorkKey;

const FIRST_MS: u64 = 100;
/// Less than a dispatcher waits at most, so that yielding is not cut short.
const LONGEST_MS: u64 = 30_000;
/// How much longer than others this node waits when a delay is over.
const YIELD_MS: u64 = 50;
/// How many things are remembered before old ones are forgotten.
const REMEMBERED: usize = 10_000;

/// What this node released because it could not read it.
#[derive(Debug, Default)]
pub(crate) struct ReleaseBackoff {
    waits: Mutex<HashMap<BackoffKey, ReleaseWait>>,
}

/// Something that this node cannot read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum BackoffKey {
    Instance(InstanceId),
    Work(WorkKey),
}

#[derive(Debug, Clone, Copy)]
struct ReleaseWait {
    times: u32,
    until_ms: u64,
}

impl ReleaseBackoff {
    /// When something that is released now may be claimed again.
    pub(crate) fn next(&self, what: BackoffKey, now_ms: u64) -> u64 {
        let mut waits = self.lock();
        if waits.len() >= REMEMBERED {
            waits.retain(|_, wait| wait.until_ms.saturating_add(LONGEST_MS) > now_ms);
        }
        let wait = waits.entry(what).or_insert(ReleaseWait {
            times: 0,
            until_ms: 0,
        });
        let delay_ms = FIRST_MS.saturating_mul(1 << wait.times.min(16));
        wait.times = wait.times.saturating_add(1);
        wait.until_ms = now_ms.saturating_add(delay_ms.min(LONGEST_MS));
        wait.until_ms
    }

    /// It could be read here after all.
    pub(crate) fn forget(&self, what: &BackoffKey) {
        let mut waits = self.lock();
        if !waits.is_empty() {
            waits.remove(what);
        }
    }

    /// When to look for what is due at this time: a little later if it may be
    /// something that this node released.
    pub(crate) fn yield_to_others(&self, due_ms: u64) -> u64 {
        let is_ours = self.lock().values().any(|wait| {
            let last_ms = wait.until_ms.saturating_add(LONGEST_MS);
            (wait.until_ms..=last_ms).contains(&due_ms)
        });
        due_ms.saturating_add(if is_ours { YIELD_MS } else { 0 })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<BackoffKey, ReleaseWait>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_is_twice_the_one_before_up_to_a_bound() {
        let backoff = ReleaseBackoff::default();
        let what = BackoffKey::Instance("order-7".into());
        let waits: Vec<u64> = (0..11).map(|_| backoff.next(what.clone(), 0)).collect();
        let expected = [
            100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000,
        ];
        assert_eq!(waits, expected);
        assert_eq!(backoff.yield_to_others(29_999), 29_999);
        assert_eq!(backoff.yield_to_others(30_000), 30_050);
        assert_eq!(backoff.yield_to_others(60_000), 60_050);
        assert_eq!(backoff.yield_to_others(60_001), 60_001);
        backoff.forget(&what);
        assert_eq!(backoff.next(what, 0), 100);
    }

    #[test]
    fn old_waits_are_forgotten() {
        let backoff = ReleaseBackoff::default();
        for number in 0..REMEMBERED {
            let instance = InstanceId::from(format!("order-{number}"));
            backoff.next(BackoffKey::Instance(instance), 0);
        }
        backoff.next(BackoffKey::Instance("late".into()), 2 * LONGEST_MS);
        assert_eq!(backoff.lock().len(), 1);
    }
}
