//! The nodes of the standard workload: what each of their lives can do.
//!
//! - Node 1 has the newest code and does everything but hazardous work, so that
//!   everything comes to its end.
//! - Node 2 does hazardous work and nothing else: its crashes are counted, and what
//!   caused too many of them is set aside.
//! - The others draw a release and a duty in each of their lives.

use durable_core::Name;
use durable_runtime::{FaultPolicy, Registry, RegistryError};

use super::code;
use super::uneven::{self, Blasts, CodeRelease, HAZARD, Mended, SPECIAL};
use crate::sim::node_start::NodeStart;
use crate::sim::workload::Effects;

/// How many nodes it takes to finish everything.
pub(super) const LEAST: usize = 2;

/// How often work may take its worker down.
const MAX_CRASHES: u32 = 3;

/// All that a node can be made of.
pub(super) struct NodeParts {
    old: Registry,
    new: Registry,
    effects: Effects,
    blasts: Blasts,
}

impl NodeParts {
    pub(super) fn new(effects: &Effects, mended: &Mended) -> Result<Self, RegistryError> {
        Ok(Self {
            old: all(effects, mended, CodeRelease::Old)?,
            new: all(effects, mended, CodeRelease::New)?,
            effects: effects.clone(),
            blasts: Blasts::default(),
        })
    }

    /// The code of the newest release.
    pub(super) fn newest(&self) -> &Registry {
        &self.new
    }

    /// What a node runs in one of its lives.
    pub(super) fn of(&self, node: &mut NodeStart) -> Registry {
        if node.below(3) == 0 {
            node.options.fault_policy = FaultPolicy::Terminate;
        }
        match node.number() {
            1 => {
                node.options.queues = vec![None, Some(SPECIAL.into())];
                self.new.clone()
            }
            2 => self.of_hazards(node),
            _ => {
                give_duty(node);
                match node.below(3) {
                    0 => self.old.clone(),
                    _ => self.new.clone(),
                }
            }
        }
    }

    fn of_hazards(&self, node: &mut NodeStart) -> Registry {
        node.options.max_turns = 0;
        node.options.max_crashes = MAX_CRASHES;
        node.options.queues = vec![Some(HAZARD.into())];
        let kill = node.kill_switch();
        // Its code was registered before, so that it can be again.
        uneven::hazards(&self.effects, &self.blasts, &kill).unwrap_or_default()
    }
}

fn all(
    effects: &Effects,
    mended: &Mended,
    release: CodeRelease,
) -> Result<Registry, RegistryError> {
    Registry::builder()
        .merge(code::registry(effects)?)
        .merge(uneven::registry(effects, mended, release)?)
        .build()
}

/// Some run only orchestrations, some only activities, and these of some queues.
fn give_duty(node: &mut NodeStart) {
    let special: Option<Name> = Some(SPECIAL.into());
    let duty = node.below(5);
    let options = &mut node.options;
    match duty {
        0 => options.max_activities = 0,
        1 => options.max_turns = 0,
        2 => options.queues = vec![special],
        3 => options.queues = vec![special, None],
        _ => {}
    }
}
