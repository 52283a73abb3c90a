//! A node of a simulation: it lives, dies and lives again.
//!
//! A dead node's calls are never answered, so that nothing it does after its
//! death reaches the store.

use std::sync::Arc;
use std::time::Duration;

use durable_runtime::{Runtime, RuntimeOptions};

use super::clock::SimClock;
use super::life::{Life, LifeKind};
use super::link::Link;
use super::node_start::{Code, KillSwitch, NodeStart};
use super::plan::Fault;
use super::scope::FaultPlace;
use super::world::{Phase, World};
use crate::random::Stream;

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
    life: Arc<Life>,
    number: u64,
    /// What befalls the node as a whole.
    chance: Stream,
}

/// How a life ends.
enum Ending {
    Crash,
    Stop { bound: Duration },
}

impl SimNode {
    /// Lives until the simulation is over.
    pub(crate) async fn run(self) {
        let mut number = 0;
        while self.world.phase() != Phase::Over {
            number += 1;
            let living = self.begin(number);
            let weather = self.world.stream(&format!("{}/weather", living.life.who));
            tokio::select! {
                biased;
                () = self.live(&living) => {}
                () = self.weather(&living.life, &weather) => {}
            }
            self.outage(&living).await;
        }
    }

    fn begin(&self, number: u64) -> Living {
        let who = format!("node-{}.{number}", self.number);
        let chance = self.world.stream(&who);
        let is_slow = chance.draw(|random| random.chance(self.world.plan.slow_life))
            && self.world.strikes(&FaultPlace::new(format!("{who}/slow")));
        let life = Life::new(&self.world, &who, LifeKind::Node { is_slow });
        Living {
            life: Arc::new(life),
            number,
            chance,
        }
    }

    /// One life.
    async fn live(&self, living: &Living) {
        let life = &living.life;
        let link = Link {
            world: Arc::clone(&self.world),
            life: Arc::clone(life),
            clock: self.clock.clone(),
        };
        let mut start = NodeStart {
            number: self.number,
            life: living.number,
            options: self.options.clone().node(life.who.to_string()),
            chance: self.world.stream(&format!("{}/start", life.who)),
            kill: KillSwitch::new(&self.world, life),
        };
        let registry = (self.code)(&mut start);
        let start = Runtime::builder(link, registry)
            .clock(self.clock.clone())
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
            Ending::Crash => {
                self.note(life, Fault::Crash, String::new());
                life.die();
            }
            Ending::Stop { bound } => {
                self.note(life, Fault::Stop, format!("within {bound:?}"));
                tokio::select! {
                    biased;
                    () = life.death() => {}
                    () = runtime.shutdown(bound) => {}
                }
            }
        }
    }

    /// Waits until the plan ends this life; for ever if it does not.
    async fn end_of_life(&self, living: &Living) -> Ending {
        let plan = &self.world.plan;
        let Some(mean) = plan.life else {
            return std::future::pending().await;
        };
        let (span, is_orderly, bound) = living.chance.draw(|random| {
            (
                random.around(mean),
                random.chance(plan.orderly_stop),
                random.up_to(plan.longest_delay),
            )
        });
        tokio::select! {
            biased;
            () = self.world.reached(Phase::Healed) => {}
            () = tokio::time::sleep(span) => {}
        }
        if !self.world.strikes(&living.life.place("end")) {
            return std::future::pending().await;
        }
        match is_orderly {
            true => Ending::Stop { bound },
            false => Ending::Crash,
        }
    }

    /// Spells of bad weather. Never ends.
    async fn weather(&self, life: &Life, chance: &Stream) {
        let plan = &self.world.plan;
        self.set_clock(life, chance, "clock");
        let mut number = 0;
        while let Some(mean) = plan.weather {
            number += 1;
            let (span, kind, spell) = chance.draw(|random| {
                let (span, kind) = (random.around(mean), random.below(3));
                (span, kind, random.up_to(plan.longest_spell))
            });
            tokio::select! {
                biased;
                () = self.world.reached(Phase::Healed) => break,
                () = tokio::time::sleep(span) => {}
            }
            let place = format!("spell{number}");
            match kind {
                0 if self.world.strikes(&life.place(&place)) => life.mute(spell),
                1 if self.world.strikes(&life.place(&place)) => {
                    life.stall(spell);
                    self.note(life, Fault::Stall, format!("for {spell:?}"));
                }
                0 | 1 => {}
                _ => self.set_clock(life, chance, &place),
            }
        }
        self.world.reached(Phase::Healed).await;
        self.clock.set_error(0, 0);
        std::future::pending::<()>().await;
    }

    /// Sets the clock wrong, within the plan.
    fn set_clock(&self, life: &Life, chance: &Stream, place: &str) {
        let skew_ms = u64::try_from(self.world.plan.skew.as_millis()).unwrap_or(u64::MAX);
        let (offset_ms, drift_ppm) =
            chance.draw(|random| (random.either_way(skew_ms), random.either_way(500)));
        if skew_ms > 0 && self.world.strikes(&life.place(place)) {
            self.clock.set_error(offset_ms, drift_ppm);
            self.note(life, Fault::ClockJump, format!("off by {offset_ms} ms"));
        }
    }

    /// The time between two lives.
    async fn outage(&self, living: &Living) {
        if self.world.phase() == Phase::Over {
            return;
        }
        let longest = self.world.plan.longest_outage;
        let outage = living.chance.draw(|random| random.up_to(longest));
        tokio::select! {
            biased;
            () = self.world.reached(Phase::Healed) => {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            () = tokio::time::sleep(outage) => {}
        }
    }

    fn note(&self, life: &Life, fault: Fault, outcome: String) {
        self.world.count(fault);
        self.world
            .note(&life.who, "node", Vec::new(), Some(fault), outcome);
    }
}
