//! Removing past executions. Nothing else of their instances changes.

use durable_core::provider::{PruneReport, PruneRequest};
use durable_core::{ExecutionId, InstanceId};

use super::state::MemoryState;

impl MemoryState {
    pub(super) fn prune(&mut self, prune: &PruneRequest) -> PruneReport {
        let meant = self
            .instances
            .iter()
            .filter(|(_, instance)| prune.filter.matches(&instance.record));
        let old: Vec<(InstanceId, ExecutionId)> = meant
            .flat_map(|(id, instance)| self.old_executions(id, instance.record.execution_id, prune))
            .collect();
        let removed = old.len().min(prune.max);
        for execution in &old[..removed] {
            self.remove_execution(execution);
        }
        let mut report = PruneReport::default();
        report.executions = removed;
        report.has_more = removed < old.len();
        report
    }

    /// The executions of an instance that are to go, up to the first that must stay.
    fn old_executions(
        &self,
        id: &InstanceId,
        current: ExecutionId,
        prune: &PruneRequest,
    ) -> Vec<(InstanceId, ExecutionId)> {
        let Some(last) = prune.last_to_go(current) else {
            return Vec::new();
        };
        let stored = (id.clone(), ExecutionId::FIRST)..=(id.clone(), last);
        let work = self.work.of(id);
        self.histories
            .range(stored)
            .take_while(|((_, execution_id), entries)| {
                let ended_at_ms = entries.last().map_or(0, |entry| entry.recorded_at_ms);
                let has_work = work.iter().any(|key| key.execution_id == *execution_id);
                prune.is_old(ended_at_ms) && !has_work
            })
            .map(|(execution, _)| execution.clone())
            .collect()
    }

    fn remove_execution(&mut self, execution: &(InstanceId, ExecutionId)) {
        self.histories.remove(execution);
        let (instance, execution_id) = execution;
        self.poisoned
            .retain(|key, _| key.instance != *instance || key.execution_id != *execution_id);
    }
}
