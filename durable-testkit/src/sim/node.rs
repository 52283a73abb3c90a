//! A node of a simulation: it lives, dies and lives again.
//!
//! A dead node's calls are never answered, so that nothing it does after its
//! death reaches the store.

use std::sync::Arc;
use std::time::Duration;

use durable_runtime::{Registry, Runtime, RuntimeOptions};

use super::clock::SimClock;
use super::life::{Life, LifeKind};
use super::link::Link;
use super::plan::Fault;
use super::world::{Phase, World};

/// What a node is made of, life after life.
pub(crate) struct SimNode {
    pub(crate) world: Arc<World>,
    pub(crate) name: String,
    pub(crate) clock: SimClock,
    pub(crate) registry: Registry,
    pub(crate) options: RuntimeOptions,
}

/// How a life ends.
enum Ending {
    Crash,
    Stop,
}

impl SimNode {
    /// Lives until the simulation is over.
    pub(crate) async fn run(self) {
        let mut number = 0;
        while self.world.phase() != Phase::Over {
            number += 1;
            let is_slow = self
                .world
                .draw(|random| random.chance(self.world.plan.slow_life));
            let who = format!("{}.{number}", self.name);
            let life = Arc::new(Life::new(who, LifeKind::Node { is_slow }));
            tokio::select! {
                biased;
                () = self.live(&life) => {}
                () = self.weather(&life) => {}
            }
            self.outage().await;
        }
    }

    /// One life.
    async fn live(&self, life: &Arc<Life>) {
        let link = Link {
            world: Arc::clone(&self.world),
            life: Arc::clone(life),
            clock: self.clock.clone(),
        };
        let options = RuntimeOptions {
            node: life.who.to_string(),
            ..self.options.clone()
        };
        let start = Runtime::builder(link, self.registry.clone())
            .clock(self.clock.clone())
            .options(options)
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
            ending = self.end_of_life() => ending,
        };
        match ending {
            Ending::Crash => {
                self.note(life, Fault::Crash, String::new());
                life.die();
            }
            Ending::Stop => {
                let bound = self
                    .world
                    .draw(|random| random.up_to(self.world.plan.longest_delay));
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
    async fn end_of_life(&self) -> Ending {
        let plan = &self.world.plan;
        if let (Some(mean), Phase::Faults) = (plan.life, self.world.phase()) {
            let span = self.world.draw(|random| random.around(mean));
            tokio::select! {
                biased;
                () = self.world.reached(Phase::Healed) => {}
                () = tokio::time::sleep(span) => {
                    let is_orderly = self.world.draw(|random| random.chance(plan.orderly_stop));
                    return if is_orderly { Ending::Stop } else { Ending::Crash };
                }
            }
        }
        std::future::pending().await
    }

    /// Spells of bad weather. Never ends.
    async fn weather(&self, life: &Life) {
        let plan = &self.world.plan;
        self.set_clock(life, false);
        while let Some(mean) = plan.weather {
            let span = self.world.draw(|random| random.around(mean));
            tokio::select! {
                biased;
                () = self.world.reached(Phase::Healed) => break,
                () = tokio::time::sleep(span) => {}
            }
            let (kind, spell) = self
                .world
                .draw(|random| (random.below(3), random.up_to(plan.longest_spell)));
            match kind {
                0 => life.mute(spell),
                1 => {
                    life.stall(spell);
                    self.note(life, Fault::Stall, format!("for {spell:?}"));
                }
                _ => self.set_clock(life, true),
            }
        }
        self.world.reached(Phase::Healed).await;
        self.clock.set_error(0, 0);
        std::future::pending::<()>().await;
    }

    /// Sets the clock wrong, within the plan.
    fn set_clock(&self, life: &Life, is_jump: bool) {
        let skew_ms = u64::try_from(self.world.plan.skew.as_millis()).unwrap_or(u64::MAX);
        if skew_ms == 0 || self.world.phase() != Phase::Faults {
            return;
        }
        let (offset_ms, drift_ppm) = self
            .world
            .draw(|random| (random.either_way(skew_ms), random.either_way(500)));
        self.clock.set_error(offset_ms, drift_ppm);
        if is_jump {
            self.note(life, Fault::ClockJump, format!("off by {offset_ms} ms"));
        }
    }

    /// The time between two lives.
    async fn outage(&self) {
        if self.world.phase() == Phase::Over {
            return;
        }
        let longest = self.world.plan.longest_outage;
        let outage = self.world.draw(|random| random.up_to(longest));
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
