//! Finding the least of a broken seed's run that still breaks the same invariant.
//!
//! It runs the seed again and again with parts of the workload, faults and nodes
//! left out. It knows nothing of what they are: what is left is tried, and kept if
//! the same invariant breaks.

use std::collections::BTreeSet;

use super::report::SimReport;
use super::scope::SimScope;

/// Runs a simulation, and if it breaks an invariant, runs it again with less and less
/// until nothing more can be left out or `max_runs` runs are made. The smallest run
/// that breaks the same invariant, or `None` if the first one broke none.
///
/// `run` runs the same seed and workload each time, with the scope that it is given.
/// First whole parts of the workload are left out, then faults, then nodes.
///
/// ```
/// use durable_runtime::{Failure, Orchestration, OrchestrationContext, Registry};
/// use durable_testkit::{Simulation, Workload, smallest_failure};
///
/// const DOUBLE: Orchestration<u64, u64> = Orchestration::new("double");
///
/// /// It knows no number above 5.
/// async fn double(_: OrchestrationContext, number: u64) -> Result<u64, Failure> {
///     Ok(2 * number.min(5))
/// }
///
/// let registry = Registry::builder().orchestration(DOUBLE, double).build()?;
/// let workload = || Workload::new(registry.clone(), |client| async move {
///     for (number, client) in client.parts(9) {
///         let id = format!("double-{number}");
///         client.expect_output(id.as_str(), &(2 * number));
///         client.start(DOUBLE, id, &number).await?;
///     }
///     Ok(())
/// });
/// let smallest = smallest_failure(100, |scope| {
///     Simulation::new(7).scope(scope).run(workload())
/// });
/// let smallest = smallest.map(|report| report.scope.to_string());
/// assert_eq!(smallest.as_deref(), Some("nodes=1 parts=8 faults="));
/// # Ok::<(), durable_runtime::RegistryError>(())
/// ```
pub fn smallest_failure(
    max_runs: usize,
    run: impl FnMut(SimScope) -> SimReport,
) -> Option<SimReport> {
    let mut run = run;
    let found = run(SimScope::default());
    let invariant = found.broken()?;
    let scope = SimScope {
        nodes: Some(found.nodes),
        parts: Some(found.parts.clone()),
        faults: Some(found.struck.clone()),
    };
    let mut search = Search {
        run,
        runs_left: max_runs.saturating_sub(1),
        invariant,
        best: SimReport { scope, ..found },
    };
    search.leave_out(|scope| &mut scope.parts);
    search.leave_out(|scope| &mut scope.faults);
    search.fewer_nodes();
    search.leave_out(|scope| &mut scope.faults);
    Some(search.best)
}

struct Search<R> {
    run: R,
    runs_left: usize,
    invariant: &'static str,
    best: SimReport,
}

impl<R: FnMut(SimScope) -> SimReport> Search<R> {
    /// Runs this much; whether it fails in the same way, and then it is the best.
    fn fails(&mut self, scope: SimScope) -> bool {
        if self.runs_left == 0 {
            return false;
        }
        self.runs_left -= 1;
        let report = (self.run)(scope);
        let is_same = report.broken() == Some(self.invariant);
        if is_same {
            self.best = report;
        }
        is_same
    }

    /// Leaves out as many items as can be: all at once, then in halves, in quarters
    /// and so on down to single ones.
    fn leave_out<T: Ord + Clone>(
        &mut self,
        items: impl Fn(&mut SimScope) -> &mut Option<BTreeSet<T>>,
    ) {
        let mut left: Vec<T> = match items(&mut self.best.scope.clone()) {
            Some(left) => left.iter().cloned().collect(),
            None => return,
        };
        let mut size = left.len();
        while size > 0 {
            let mut from = 0;
            while from < left.len() {
                let end = (from + size).min(left.len());
                let fewer: Vec<T> = [&left[..from], &left[end..]].concat();
                let mut scope = self.best.scope.clone();
                *items(&mut scope) = Some(fewer.iter().cloned().collect());
                if self.fails(scope) {
                    left = fewer;
                } else {
                    from = end;
                }
            }
            size /= 2;
        }
    }

    fn fewer_nodes(&mut self) {
        for nodes in 1..self.best.nodes {
            let scope = SimScope {
                nodes: Some(nodes),
                ..self.best.scope.clone()
            };
            if self.fails(scope) {
                // The workload may need more than that.
                self.best.scope.nodes = Some(self.best.nodes);
                return;
            }
        }
    }
}
