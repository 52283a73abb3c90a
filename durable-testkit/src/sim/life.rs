//! One life of a node, from its start to its death: what its calls go through.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::plan::Fault;
use super::world::{Phase, World};

/// A life of a node, or the client, which lives for ever.
pub(crate) struct Life {
    pub(crate) who: Arc<str>,
    pub(crate) kind: LifeKind,
    is_dead: AtomicBool,
    died: Notify,
    spells: Mutex<Spells>,
}

/// Whose life it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LifeKind {
    /// A node: it may die, and deals with errors itself.
    Node {
        /// Whether every call takes long.
        is_slow: bool,
    },
    /// A client that sends its requests again until it has an answer.
    Client,
}

#[derive(Debug, Default)]
struct Spells {
    mute_until: Option<Instant>,
    stalled_until: Option<Instant>,
}

/// What becomes of one call.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fate {
    pub(crate) before: Duration,
    pub(crate) after: Duration,
    /// How late a late request or a late repetition is.
    pub(crate) late: Duration,
    pub(crate) fault: Option<Fault>,
}

impl Life {
    pub(crate) fn new(who: impl Into<Arc<str>>, kind: LifeKind) -> Self {
        Self {
            who: who.into(),
            kind,
            is_dead: AtomicBool::new(false),
            died: Notify::new(),
            spells: Mutex::default(),
        }
    }

    /// From now on no call of this life is answered.
    pub(crate) fn die(&self) {
        self.is_dead.store(true, Ordering::Relaxed);
        self.died.notify_one();
    }

    /// Waits for its death. Only one may wait.
    pub(crate) async fn death(&self) {
        self.died.notified().await;
    }

    /// Its heartbeats are swallowed for so long.
    pub(crate) fn mute(&self, spell: Duration) {
        self.spells().mute_until = Some(Instant::now() + spell);
    }

    /// Its calls are held up for so long.
    pub(crate) fn stall(&self, spell: Duration) {
        self.spells().stalled_until = Some(Instant::now() + spell);
    }

    pub(crate) fn is_mute(&self) -> bool {
        let until = self.spells().mute_until;
        until.is_some_and(|until| until > Instant::now())
    }

    /// Waits for its turn to call; for ever if it is dead or all is over.
    pub(crate) async fn pass(&self, world: &World, delay: Duration) {
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let stalled_until = self.spells().stalled_until;
        if let Some(until) = stalled_until.filter(|until| *until > Instant::now()) {
            tokio::select! {
                biased;
                () = world.reached(Phase::Healed) => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
        if self.is_dead.load(Ordering::Relaxed) || world.phase() == Phase::Over {
            std::future::pending::<()>().await;
        }
    }

    /// Draws what becomes of a call.
    pub(crate) fn fate(&self, world: &World, may_repeat: bool, may_be_late: bool) -> Fate {
        let mut fate = Fate::default();
        if world.phase() != Phase::Faults {
            return fate;
        }
        let plan = &world.plan;
        world.draw(|random| {
            let is_slow = self.kind == LifeKind::Node { is_slow: true };
            if is_slow || random.chance(plan.delayed) {
                fate.before = random.up_to(plan.longest_delay);
                fate.after = random.up_to(plan.longest_delay);
                fate.fault = Some(Fault::Delayed);
            }
            fate.late = random.up_to(plan.longest_spell);
            let is_client = self.kind == LifeKind::Client;
            let crash = match random.below(3) {
                0 => Fault::CrashBefore,
                1 => Fault::CrashBetween,
                _ => Fault::CrashAfter,
            };
            let repeat = match random.below(2) {
                0 if may_be_late => Fault::LateRepeat,
                _ => Fault::Repeated,
            };
            let draws = [
                (Fault::Unavailable, plan.unavailable, true),
                (Fault::LostRequest, plan.lost_request, true),
                (Fault::LostAnswer, plan.lost_answer, true),
                (Fault::LateRequest, plan.late_request, may_be_late),
                (repeat, plan.repeated_request, may_repeat),
                (crash, plan.crash, !is_client),
            ];
            for (fault, per_ten_thousand, is_possible) in draws {
                if random.chance(per_ten_thousand) && is_possible {
                    fate.fault = Some(fault);
                }
            }
        });
        if let Some(fault) = fate.fault {
            world.count(fault);
        }
        fate
    }

    fn spells(&self) -> std::sync::MutexGuard<'_, Spells> {
        self.spells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
