//! What a simulation came to.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use super::plan::SimFault;
use super::scope::{FaultPlace, SimScope};
use super::timeline::SimTimeline;
use crate::invariant::InvariantViolation;
use crate::memory::Snapshot;

/// How many lines of the timeline a failure shows.
const SHOWN_LINES: usize = 150;

/// What a simulation came to.
///
/// ```
/// # use durable_runtime::{Failure, Orchestration, OrchestrationContext, Registry};
/// # const GREET: Orchestration<String, String> = Orchestration::new("greet");
/// # async fn greet(_: OrchestrationContext, name: String) -> Result<String, Failure> {
/// #     Ok(format!("Hello, {name}!"))
/// # }
/// # let registry = Registry::builder().orchestration(GREET, greet).build()?;
/// use durable_testkit::{Simulation, Workload};
///
/// # let workload = Workload::new(registry, |client| async move {
/// #     client.start(GREET, "greet-1", &"Ada".to_owned()).await.map(drop)
/// # });
/// let report = Simulation::new(7).run(workload);
/// report.assert_ok();
/// assert_eq!(report.snapshot.instances.len(), 1);
/// assert_eq!(report.command(), "cargo xtask sim --seed 7");
/// # Ok::<(), durable_runtime::RegistryError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct SimReport {
    /// The seed of the run.
    pub seed: u64,
    /// How much of it took place.
    pub scope: SimScope,
    /// How many nodes there were.
    pub nodes: usize,
    /// The parts of the workload that ran.
    pub parts: BTreeSet<u64>,
    /// Where something went wrong.
    pub struck: BTreeSet<FaultPlace>,
    /// How much virtual time it took.
    pub simulated: Duration,
    /// How many calls reached the store.
    pub calls: u64,
    /// What went wrong, and how often.
    pub faults: BTreeMap<SimFault, u64>,
    /// Everything that happened.
    pub timeline: SimTimeline,
    /// What the store holds at the end, with all histories.
    pub snapshot: Snapshot,
    /// The invariant that was broken first.
    pub failure: Option<SimFailure>,
}

/// A broken invariant.
///
/// [`SimReport::failure`] has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimFailure {
    /// The name of the invariant.
    pub invariant: &'static str,
    /// How it was broken.
    pub violation: InvariantViolation,
}

impl SimReport {
    /// Whether every invariant held.
    pub fn is_ok(&self) -> bool {
        self.failure.is_none()
    }

    /// How many things went wrong.
    pub fn fault_count(&self) -> u64 {
        self.faults.values().sum()
    }

    /// The name of the invariant that was broken.
    pub fn broken(&self) -> Option<&'static str> {
        self.failure.as_ref().map(|failure| failure.invariant)
    }

    /// The command that runs it again, if it ran the standard workload.
    pub fn command(&self) -> String {
        let seed = self.seed;
        match self.scope == SimScope::default() {
            true => format!("cargo xtask sim --seed {seed}"),
            false => format!("cargo xtask sim --seed {seed} --scope '{}'", self.scope),
        }
    }

    /// Panics with the seed and the timeline if an invariant was broken.
    #[track_caller]
    #[expect(clippy::panic, reason = "a test calls it to fail")]
    pub fn assert_ok(&self) {
        if !self.is_ok() {
            panic!("{self}");
        }
    }
}

impl fmt::Display for SimReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (calls, faults) = (self.calls, self.fault_count());
        let (seed, simulated) = (self.seed, self.simulated.as_secs());
        let Some(SimFailure {
            invariant,
            violation,
        }) = &self.failure
        else {
            return write!(
                f,
                "seed {seed}: ok, {simulated} s simulated, {calls} calls, {faults} faults"
            );
        };
        let instance = violation.instance.as_ref();
        writeln!(f, "seed {seed}: `{invariant}` is broken: {violation}\n")?;
        if let Some(instance) = instance {
            for ((id, execution_id), entries) in &self.snapshot.histories {
                if id != instance {
                    continue;
                }
                writeln!(f, "history of {instance}, execution {execution_id}:")?;
                for entry in entries {
                    let event = serde_json::to_string(&entry.event).map_err(|_| fmt::Error)?;
                    let at = entry.recorded_at_ms;
                    writeln!(f, "{:>6} {at} {event}", entry.event_id().get())?;
                }
            }
            if let Some(record) = self.snapshot.instances.get(instance) {
                writeln!(f, "\n{record:?}\n")?;
            }
        }
        f.write_str(&self.timeline.excerpt(instance, SHOWN_LINES))?;
        write!(f, "\nrerun: {}", self.command())
    }
}
