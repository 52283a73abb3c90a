//! One life of a node, from its start to its death: what its calls go through.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::chance::Stream;
use super::plan::{FaultPlan, SimFault};
use super::scope::FaultPlace;
use super::world::{SimPhase, World};
use crate::random::Random;

/// A life of a node, or the client, which lives for ever.
pub(crate) struct NodeLife {
    pub(crate) who: Arc<str>,
    pub(crate) kind: LifeKind,
    /// What befalls its calls; what befalls the node is another stream.
    calls: Stream,
    call_count: AtomicU64,
    is_dead: AtomicBool,
    died: Notify,
    degraded_periods: Mutex<DegradedPeriods>,
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
struct DegradedPeriods {
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
    pub(crate) fault: Option<SimFault>,
}

impl NodeLife {
    pub(crate) fn new(world: &World, who: &str, kind: LifeKind) -> Self {
        Self {
            who: who.into(),
            kind,
            calls: world.stream(&format!("{who}/calls")),
            call_count: AtomicU64::new(0),
            is_dead: AtomicBool::new(false),
            died: Notify::new(),
            degraded_periods: Mutex::default(),
        }
    }

    /// A place in this life.
    pub(crate) fn place(&self, what: impl std::fmt::Display) -> FaultPlace {
        FaultPlace::new(format!("{}/{what}", self.who))
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
    pub(crate) fn mute(&self, period: Duration) {
        self.degraded_periods().mute_until = Some(Instant::now() + period);
    }

    /// Its calls are held up for so long.
    pub(crate) fn stall(&self, period: Duration) {
        self.degraded_periods().stalled_until = Some(Instant::now() + period);
    }

    pub(crate) fn is_mute(&self) -> bool {
        let until = self.degraded_periods().mute_until;
        until.is_some_and(|until| until > Instant::now())
    }

    /// Waits for its turn to call; for ever if it is dead or all is over.
    pub(crate) async fn pass(&self, world: &World, delay: Duration) {
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let stalled_until = self.degraded_periods().stalled_until;
        if let Some(until) = stalled_until.filter(|until| *until > Instant::now()) {
            tokio::select! {
                biased;
                () = world.reached(SimPhase::Healed) => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
        if self.is_dead.load(Ordering::Relaxed) || world.phase() == SimPhase::Over {
            std::future::pending::<()>().await;
        }
    }

    /// Draws what becomes of a call. As much is drawn for every call, whatever the
    /// scope leaves out.
    pub(crate) fn fate(&self, world: &World, may_repeat: bool) -> Fate {
        if world.phase() != SimPhase::Faults {
            return Fate::default();
        }
        let number = self.call_count.fetch_add(1, Ordering::Relaxed) + 1;
        let drawn = self
            .calls
            .draw(|random| draw_fate(random, &world.plan, self.kind, may_repeat));
        let is_slow = self.kind == LifeKind::Node { is_slow: true };
        let fate = match drawn.fault {
            // The place of all these delays is the slow life.
            Some(SimFault::Delayed) if is_slow => drawn,
            Some(_) if world.strikes(&self.place(number)) => drawn,
            Some(_) if is_slow => Fate {
                fault: Some(SimFault::Delayed),
                ..drawn
            },
            _ => Fate::default(),
        };
        if let Some(fault) = fate.fault {
            world.count(fault);
        }
        fate
    }

    fn degraded_periods(&self) -> std::sync::MutexGuard<'_, DegradedPeriods> {
        self.degraded_periods
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn draw_fate(random: &mut Random, plan: &FaultPlan, kind: LifeKind, may_repeat: bool) -> Fate {
    let mut fate = Fate::default();
    if kind == (LifeKind::Node { is_slow: true }) || random.chance(plan.delayed) {
        fate.before = random.up_to(plan.longest_delay);
        fate.after = random.up_to(plan.longest_delay);
        fate.fault = Some(SimFault::Delayed);
    }
    fate.late = random.up_to(plan.longest_degraded_period);
    let crash = match random.below(3) {
        0 => SimFault::CrashBefore,
        1 => SimFault::CrashBetween,
        _ => SimFault::CrashAfter,
    };
    let repeat = match random.below(2) {
        0 => SimFault::LateRepeat,
        _ => SimFault::Repeated,
    };
    let draws = [
        (SimFault::Unavailable, plan.unavailable, true),
        (SimFault::LostRequest, plan.lost_request, true),
        (SimFault::LostAnswer, plan.lost_answer, true),
        (SimFault::LateRequest, plan.late_request, may_repeat),
        (repeat, plan.repeated_request, may_repeat),
        (crash, plan.crash, kind != LifeKind::Client),
    ];
    for (fault, per_ten_thousand, is_possible) in draws {
        if random.chance(per_ten_thousand) && is_possible {
            fate.fault = Some(fault);
        }
    }
    fate
}
