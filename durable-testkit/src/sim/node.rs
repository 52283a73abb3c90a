//! A node of a simulation: it lives, dies and lives again.
//!
//! A dead node's calls are never answered, so that nothing it does after its
//! death reaches the store.

use std::sync::Arc;
use std::time::Duration;

use durable_runtime::{Runtime, RuntimeOptions};

use super::chance::Stream;
use super::clock::SimClock;
use super::link;
use super::node_life::{LifeKind, NodeLife};
use super::node_start::{Code, KillSwitch, NodeStart};
use super::plan::SimFault;
use super::scope::FaultPlace;
use super::world::{SimPhase, World};

/// What a node is made of, life after life.
pub(crate) struct SimNode {
    pub(crate) world: Arc<World>,
    pub(crate) number: usize,
    pub(crate) clock: SimClock,
    pub(crate) code: Code,
    pub(crate) options: RuntimeOptions,
}

/// A life as the node sees it: its calls go their own way.
struct Living {
    life: Arc<NodeLife>,
    number: u64,
    /// What befalls the node as a whole.
    chance: Stream,
}

/// How a life ends.
enum NodeEnd {
    Crash,
    Stop { timeout: Duration },
}

impl SimNode {
    /// Lives until the simulation is over.
    pub(crate) async fn run(self) {
        let mut number = 0;
        while self.world.phase() != SimPhase::Over {
            number += 1;
            let living = self.begin(number);
            let degraded = self.world.stream(&format!("{}/degraded", living.life.who));
            tokio::select! {
                biased;
                () = self.live(&living) => {}
                () = self.degrade(&living.life, &degraded) => {}
            }
            self.outage(&living).await;
        }
    }

    fn begin(&self, number: u64) -> Living {
        let who = format!("node-{}.{number}", self.number);
        let chance = self.world.stream(&who);
        let is_slow = chance.draw(|random| random.chance(self.world.plan.slow_life))
            && self.world.strikes(&FaultPlace::new(format!("{who}/slow")));
        let life = NodeLife::new(&self.world, &who, LifeKind::Node { is_slow });
        Living {
            life: Arc::new(life),
            number,
            chance,
        }
    }

    /// One life.
    async fn live(&self, living: &Living) {
        let life = &living.life;
        let link = link::of_node(&self.world, life, self.clock.clone());
        let mut start = NodeStart {
            number: self.number,
            life: living.number,
            options: self.options.clone().node(life.who.to_string()),
            chance: self.world.stream(&format!("{}/start", life.who)),
            kill: KillSwitch::new(&self.world, life),
        };
        let registry = (self.code)(&mut start);
        let start = Runtime::builder(link, registry)
            .options(start.options)
            .start();
        let runtime = tokio::select! {
            biased;
            () = life.death() => return,
            started = start => match started {
                Ok(runtime) => runtime,
                Err(_) => return,
            },
        };
        let ending = tokio::select! {
            biased;
            () = life.death() => return,
            ending = self.end_of_life(living) => ending,
        };
        match ending {
            NodeEnd::Crash => {
                self.note(life, SimFault::Crash, String::new());
                life.die();
            }
            NodeEnd::Stop { timeout } => {
                self.note(life, SimFault::Stop, format!("within {timeout:?}"));
                tokio::select! {
                    biased;
                    () = life.death() => {}
                    () = runtime.shutdown(timeout) => {}
                }
            }
        }
    }

    /// Waits until the plan ends this life; for ever if it does not.
    async fn end_of_life(&self, living: &Living) -> NodeEnd {
        let plan = &self.world.plan;
        let Some(mean) = plan.life else {
            return std::future::pending().await;
        };
        let (span, is_orderly, timeout) = living.chance.draw(|random| {
            (
                random.around(mean),
                random.chance(plan.orderly_stop),
                random.up_to(plan.longest_delay),
            )
        });
        tokio::select! {
            biased;
            () = self.world.reached(SimPhase::Healed) => {}
            () = tokio::time::sleep(span) => {}
        }
        if !self.world.strikes(&living.life.place("end")) {
            return std::future::pending().await;
        }
        match is_orderly {
            true => NodeEnd::Stop { timeout },
            false => NodeEnd::Crash,
        }
    }

    /// Degraded periods, one after the other. Never ends.
    async fn degrade(&self, life: &NodeLife, chance: &Stream) {
        let plan = &self.world.plan;
        self.set_clock(life, chance, "clock");
        let mut number = 0;
        while let Some(mean) = plan.degraded_period_interval {
            number += 1;
            let (span, kind, period) = chance.draw(|random| {
                let (span, kind) = (random.around(mean), random.below(3));
                (span, kind, random.up_to(plan.longest_degraded_period))
            });
            tokio::select! {
                biased;
                () = self.world.reached(SimPhase::Healed) => break,
                () = tokio::time::sleep(span) => {}
            }
            let place = format!("degraded{number}");
            match kind {
                0 if self.world.strikes(&life.place(&place)) => life.mute(period),
                1 if self.world.strikes(&life.place(&place)) => {
                    life.stall(period);
                    self.note(life, SimFault::Stall, format!("for {period:?}"));
                }
                0 | 1 => {}
                _ => self.set_clock(life, chance, &place),
            }
        }
        self.world.reached(SimPhase::Healed).await;
        self.clock.set_error(0, 0);
        std::future::pending::<()>().await;
    }

    /// Sets the clock wrong, within the plan.
    fn set_clock(&self, life: &NodeLife, chance: &Stream, place: &str) {
        let skew_ms = u64::try_from(self.world.plan.skew.as_millis()).unwrap_or(u64::MAX);
        let (offset_ms, drift_ppm) =
            chance.draw(|random| (random.either_way(skew_ms), random.either_way(500)));
        if skew_ms > 0 && self.world.strikes(&life.place(place)) {
            self.clock.set_error(offset_ms, drift_ppm);
            self.note(life, SimFault::ClockJump, format!("off by {offset_ms} ms"));
        }
    }

    /// The time between two lives.
    async fn outage(&self, living: &Living) {
        if self.world.phase() == SimPhase::Over {
            return;
        }
        let longest = self.world.plan.longest_outage;
        let outage = living.chance.draw(|random| random.up_to(longest));
        tokio::select! {
            biased;
            () = self.world.reached(SimPhase::Healed) => {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            () = tokio::time::sleep(outage) => {}
        }
    }

    fn note(&self, life: &NodeLife, fault: SimFault, outcome: String) {
        self.world.count(fault);
        self.world.note(&life.who, "node", Some(fault), outcome);
    }
}
