//! What this node handed back for want of its code, and how long others may have
//! it to themselves.
//!
//! Each hand-back waits longer than the one before. When the wait is over every
//! node is told at once; one that handed it back, now or lately, holds back a
//! little, so that it does not take what it cannot run from under the nose of one
//! that can. All of them do: otherwise two nodes that lack the code pass it to each
//! other for ever.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use durable_core::InstanceId;
use durable_core::provider::WorkKey;

const FIRST_MS: u64 = 100;
/// Less than a dispatcher waits at most, so that courtesy is not cut short.
const LONGEST_MS: u64 = 30_000;
/// How long others go first when a wait is over.
const COURTESY_MS: u64 = 50;
/// How many hand-backs are remembered before old ones are forgotten.
const REMEMBERED: usize = 10_000;

/// What this node handed back.
#[derive(Debug, Default)]
pub(crate) struct HandBacks {
    handed_back: Mutex<HashMap<HandedBack, Wait>>,
}

/// Something that this node cannot run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum HandedBack {
    Instance(InstanceId),
    Work(WorkKey),
}

#[derive(Debug, Clone, Copy)]
struct Wait {
    times: u32,
    until_ms: u64,
}

impl HandBacks {
    /// When something that is handed back now may be handed out again.
    pub(crate) fn next(&self, what: HandedBack, now_ms: u64) -> u64 {
        let mut handed_back = self.lock();
        if handed_back.len() >= REMEMBERED {
            handed_back.retain(|_, wait| wait.until_ms.saturating_add(LONGEST_MS) > now_ms);
        }
        let wait = handed_back.entry(what).or_insert(Wait {
            times: 0,
            until_ms: 0,
        });
        let delay_ms = FIRST_MS.saturating_mul(1 << wait.times.min(16));
        wait.times = wait.times.saturating_add(1);
        wait.until_ms = now_ms.saturating_add(delay_ms.min(LONGEST_MS));
        wait.until_ms
    }

    /// It found its code here after all.
    pub(crate) fn forget(&self, what: &HandedBack) {
        let mut handed_back = self.lock();
        if !handed_back.is_empty() {
            handed_back.remove(what);
        }
    }

    /// When to look for what is due at this time: a little later if it may be
    /// something that was handed back here.
    pub(crate) fn courteous(&self, due_ms: u64) -> u64 {
        let is_ours = self.lock().values().any(|wait| {
            let last_ms = wait.until_ms.saturating_add(LONGEST_MS);
            (wait.until_ms..=last_ms).contains(&due_ms)
        });
        due_ms.saturating_add(if is_ours { COURTESY_MS } else { 0 })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<HandedBack, Wait>> {
        self.handed_back
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_is_twice_the_one_before_up_to_a_bound() {
        let hand_backs = HandBacks::default();
        let what = HandedBack::Instance("order-7".into());
        let waits: Vec<u64> = (0..11).map(|_| hand_backs.next(what.clone(), 0)).collect();
        let expected = [
            100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000,
        ];
        assert_eq!(waits, expected);
        assert_eq!(hand_backs.courteous(29_999), 29_999);
        assert_eq!(hand_backs.courteous(30_000), 30_050);
        assert_eq!(hand_backs.courteous(60_000), 60_050);
        assert_eq!(hand_backs.courteous(60_001), 60_001);
        hand_backs.forget(&what);
        assert_eq!(hand_backs.next(what, 0), 100);
    }

    #[test]
    fn old_hand_backs_are_forgotten() {
        let hand_backs = HandBacks::default();
        for number in 0..REMEMBERED {
            let instance = InstanceId::from(format!("order-{number}"));
            hand_backs.next(HandedBack::Instance(instance), 0);
        }
        hand_backs.next(HandedBack::Instance("late".into()), 2 * LONGEST_MS);
        assert_eq!(hand_backs.lock().len(), 1);
    }
}
