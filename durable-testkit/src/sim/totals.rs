//! What many simulations came to.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::plan::SimFault;
use super::report::SimReport;

/// What many simulations came to.
///
/// ```
/// # use durable_runtime::{Failure, Orchestration, OrchestrationContext, Registry};
/// # const GREET: Orchestration<String, String> = Orchestration::new("greet");
/// # async fn greet(_: OrchestrationContext, name: String) -> Result<String, Failure> {
/// #     Ok(format!("Hello, {name}!"))
/// # }
/// # let registry = Registry::builder().orchestration(GREET, greet).build()?;
/// use durable_testkit::{SimTotals, Simulation, Workload};
///
/// # let workload = || Workload::new(registry.clone(), |client| async move {
/// #     client.start(GREET, "greet-1", &"Ada".to_owned()).await.map(drop)
/// # });
/// let mut totals = SimTotals::default();
/// for seed in 0..3 {
///     totals.add(&Simulation::new(seed).run(workload()));
/// }
/// assert_eq!(totals.seeds, 3);
/// assert!(totals.broken.is_empty());
/// # Ok::<(), durable_runtime::RegistryError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimTotals {
    /// How many there were.
    pub seeds: u64,
    /// How much virtual time they took.
    pub simulated: Duration,
    /// How many calls reached the stores.
    pub calls: u64,
    /// What went wrong, and how often.
    pub faults: BTreeMap<SimFault, u64>,
    /// The seeds that broke an invariant, and which one.
    pub broken: Vec<(u64, &'static str)>,
}

impl SimTotals {
    /// Adds a simulation.
    pub fn add(&mut self, report: &SimReport) {
        self.seeds += 1;
        self.simulated += report.simulated;
        self.calls += report.calls;
        for (fault, count) in &report.faults {
            *self.faults.entry(*fault).or_insert(0) += count;
        }
        if let Some(invariant) = report.broken() {
            self.broken.push((report.seed, invariant));
        }
    }

    /// How many things went wrong.
    pub fn fault_count(&self) -> u64 {
        self.faults.values().sum()
    }

    /// How fast it went, if it took this long.
    pub fn pace(&self, took: Duration) -> String {
        let minutes = (took.as_secs_f64() / 60.0).max(f64::MIN_POSITIVE);
        format!(
            "per minute {:.1} simulated hours and {:.0} faults",
            self.hours() / minutes,
            self.fault_count() as f64 / minutes
        )
    }

    fn hours(&self) -> f64 {
        self.simulated.as_secs_f64() / 3_600.0
    }
}

impl fmt::Display for SimTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} seeds, {} broken: {:.1} simulated hours, {} calls, {} faults",
            self.seeds,
            self.broken.len(),
            self.hours(),
            self.calls,
            self.fault_count()
        )
    }
}
