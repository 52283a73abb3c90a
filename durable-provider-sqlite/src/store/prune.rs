//! Removing past executions. Nothing else of their instances changes.

use durable_core::{ExecutionId, InstanceId};

use super::Store;
use crate::error::Step;
use crate::number::int;
use crate::sql;

/// A past execution that is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OldExecution {
    pub(crate) instance: InstanceId,
    pub(crate) execution_id: ExecutionId,
}

impl Store<'_, '_> {
    /// Removes those of these executions that are still past ones without work; answers how
    /// many.
    pub(crate) fn prune(&mut self, executions: &[OldExecution]) -> Step<usize> {
        let mut removed = 0;
        for old in executions {
            let Some(instance) = self.find(&old.instance)? else {
                continue;
            };
            let execution = [instance.key, int(old.execution_id.get())];
            let is_past = old.execution_id < instance.execution_id;
            if !is_past || self.finds(sql::WORK_OF_EXECUTION, execution)? {
                continue;
            }
            let mut changed = 0;
            for statement in sql::REMOVE_EXECUTION {
                changed = self.run(statement, execution)?;
            }
            // The last statement removes the execution itself.
            removed += changed;
        }
        Ok(removed)
    }
}
