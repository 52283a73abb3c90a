//! The watchdog: finds user code that holds a worker thread because it blocks or never
//! yields.
//!
//! Each poll of user code is noted when it begins and when it ends. The watchdog looks at
//! regular intervals, and counts how often it has found a poll: it reads no clock, so a
//! process or a machine that was halted is not taken for code that blocks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use durable_core::provider::WorkKey;
use durable_core::{InstanceId, Name};
use slab::Slab;

use crate::execution::{StopCause, StopRequest};
use crate::node::Node;

/// How often the watchdog looks within the blocking threshold.
const LOOKS_PER_THRESHOLD: u32 = 4;
/// The shortest interval between two looks.
const MIN_INTERVAL: Duration = Duration::from_millis(1);

/// The polls of user code that are under way on a node.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    polls: Mutex<Slab<Poll>>,
}

#[derive(Debug)]
struct Poll {
    code: UserCode,
    /// How often the watchdog has found it.
    looks: u32,
}

/// What is polled.
#[derive(Debug, Clone)]
pub(crate) enum UserCode {
    /// The code of an orchestration.
    Orchestration { instance: InstanceId, name: Name },
    /// The code of an activity.
    Activity { key: WorkKey, name: Name },
}

/// A poll that is under way, until it is dropped.
#[derive(Debug)]
pub(crate) struct Polling {
    watchdog: Arc<Watchdog>,
    key: usize,
}

impl Drop for Polling {
    fn drop(&mut self) {
        self.watchdog.polls().try_remove(self.key);
    }
}

impl Watchdog {
    fn polls(&self) -> MutexGuard<'_, Slab<Poll>> {
        self.polls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A poll of this code begins.
    pub(crate) fn polling(self: &Arc<Self>, code: UserCode) -> Polling {
        Polling {
            key: self.polls().insert(Poll { code, looks: 0 }),
            watchdog: Arc::clone(self),
        }
    }

    /// Looks at what is polled; the code that is still there, and how many intervals it has
    /// been there at least.
    fn look(&self) -> Vec<(UserCode, u32)> {
        let mut held = Vec::new();
        for (_, poll) in self.polls().iter_mut() {
            if poll.looks > 0 {
                held.push((poll.code.clone(), poll.looks));
            }
            poll.looks = poll.looks.saturating_add(1);
        }
        held
    }
}

/// Looks until the session ends.
pub(crate) async fn watch(node: Arc<Node>, watchdog: Arc<Watchdog>) {
    let interval = (node.options.blocking_threshold / LOOKS_PER_THRESHOLD).max(MIN_INTERVAL);
    let timeout = node.options.session_timeout.as_nanos();
    let last_look = u32::try_from(timeout.div_ceil(interval.as_nanos())).unwrap_or(u32::MAX);
    loop {
        tokio::select! {
            biased;
            () = node.ended.cancelled() => return,
            () = tokio::time::sleep(interval) => {}
        }
        for (code, intervals) in watchdog.look() {
            let held = interval.saturating_mul(intervals);
            if is_report_due(intervals) {
                report(&code, held, intervals == LOOKS_PER_THRESHOLD);
            }
            if intervals == last_look {
                stop(&node, code, held);
            }
        }
    }
}

/// Code that goes on holding its thread is reported again when it has held it twice as long.
fn is_report_due(intervals: u32) -> bool {
    intervals.is_multiple_of(LOOKS_PER_THRESHOLD)
        && (intervals / LOOKS_PER_THRESHOLD).is_power_of_two()
}

fn report(code: &UserCode, held: Duration, is_first: bool) {
    let label = match code {
        UserCode::Orchestration { instance, name } => {
            tracing::warn!(
                orchestration = %name, %instance, ?held,
                "an orchestration holds its worker thread: what blocks or computes for long \
                 belongs into an activity, in `tokio::task::spawn_blocking`"
            );
            "orchestration"
        }
        UserCode::Activity { key, name } => {
            tracing::warn!(
                activity = %name, instance = %key.instance, event = %key.event_id, ?held,
                "an activity holds its worker thread: what blocks or computes for long belongs \
                 into `tokio::task::spawn_blocking`"
            );
            "activity"
        }
    };
    if is_first {
        metrics::counter!("durable_blocking_code_total", "code" => label).increment(1);
    }
}

/// An orchestration that has not yielded for so long never will: it is stopped in the store,
/// so that its record says why, and so that it takes no thread of another node. An activity
/// may take as long as it likes.
fn stop(node: &Node, code: UserCode, held: Duration) {
    let UserCode::Orchestration { instance, name } = code else {
        return;
    };
    let cause = StopCause::NeverYields {
        orchestration: name,
        held,
    };
    // The receiver is gone when the session has ended.
    let _ = node.stop_requests.send(StopRequest { instance, cause });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(name: &str) -> UserCode {
        UserCode::Orchestration {
            instance: "a".into(),
            name: name.into(),
        }
    }

    fn found(watchdog: &Watchdog) -> Vec<(Name, u32)> {
        let held = watchdog.look().into_iter();
        held.map(|(code, intervals)| match code {
            UserCode::Orchestration { name, .. } | UserCode::Activity { name, .. } => {
                (name, intervals)
            }
        })
        .collect()
    }

    #[test]
    fn a_poll_is_found_for_as_long_as_it_is_under_way() {
        let watchdog = Arc::<Watchdog>::default();
        let long = watchdog.polling(code("long"));
        assert_eq!(found(&watchdog), [], "it may have begun just now");
        let short = watchdog.polling(code("short"));
        assert_eq!(found(&watchdog), [("long".into(), 1)]);
        drop(short);
        let next = watchdog.polling(code("next"));
        assert_eq!(found(&watchdog), [("long".into(), 2)], "`next` is new");
        drop(long);
        assert_eq!(found(&watchdog), [("next".into(), 1)]);
        drop(next);
        assert_eq!(found(&watchdog), []);
    }

    #[test]
    fn reports_become_rare_while_a_poll_goes_on() {
        let due: Vec<u32> = (1..=40).filter(|looks| is_report_due(*looks)).collect();
        assert_eq!(due, [4, 8, 16, 32]);
    }
}
