//! What happened in a simulation, in order, for people and for comparing runs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use durable_core::InstanceId;

use super::plan::SimFault;

/// One thing that happened.
///
/// See the example of [`SimTimeline`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimTimelineEntry {
    /// When, since the simulation began.
    pub at: Duration,
    /// The node, with the number of its life, or the client.
    pub who: Arc<str>,
    /// What it did.
    pub what: String,
    /// What went wrong.
    pub fault: Option<SimFault>,
    /// What it asked for, and how it ended.
    pub outcome: String,
}

impl fmt::Display for SimTimelineEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, who, what) = (self.at.as_secs_f64(), &self.who, &self.what);
        write!(f, "{at:>10.3}  {who:<10} {what:<16}")?;
        if let Some(fault) = self.fault {
            write!(f, " [{fault}]")?;
        }
        write!(f, " {}", self.outcome)
    }
}

/// Everything that happened.
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
/// let timeline = &report.timeline;
/// assert!(timeline.entries().iter().any(|entry| entry.what == "commit"));
/// let excerpt = timeline.excerpt(Some(&"greet-1".into()), 100);
/// assert!(excerpt.contains("greet-1"));
/// # Ok::<(), durable_runtime::RegistryError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimTimeline {
    entries: Vec<SimTimelineEntry>,
}

impl SimTimeline {
    /// What happened, in order.
    pub fn entries(&self) -> &[SimTimelineEntry] {
        &self.entries
    }

    pub(crate) fn add(&mut self, entry: SimTimelineEntry) {
        self.entries.push(entry);
    }

    /// The last part of what concerns an instance, or of everything: at most this
    /// many lines.
    pub fn excerpt(&self, instance: Option<&InstanceId>, lines: usize) -> String {
        let concerned: Vec<&SimTimelineEntry> = self
            .entries
            .iter()
            .filter(|entry| entry.concerns(instance))
            .collect();
        let left_out = concerned.len().saturating_sub(lines);
        let mut text = String::new();
        if left_out > 0 {
            text.push_str(&format!("{left_out} earlier lines left out\n"));
        }
        for entry in &concerned[left_out..] {
            text.push_str(&format!("{entry}\n"));
        }
        text
    }
}

impl SimTimelineEntry {
    /// Whether it is about this instance, or about a node as a whole.
    fn concerns(&self, instance: Option<&InstanceId>) -> bool {
        let Some(instance) = instance else {
            return true;
        };
        let is_of_a_node = matches!(
            self.fault,
            Some(
                SimFault::Crash
                    | SimFault::Stop
                    | SimFault::Stall
                    | SimFault::ClockJump
                    | SimFault::Killed
            )
        );
        self.outcome.contains(instance.as_str()) || is_of_a_node
    }
}

impl fmt::Display for SimTimeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for entry in &self.entries {
            writeln!(f, "{entry}")?;
        }
        Ok(())
    }
}
