//! Removing ended instances. Their highest execution id stays.

use durable_core::InstanceId;
use durable_core::provider::Change;
use rusqlite::params;

use super::Store;
use crate::error::Step;
use crate::number::int;
use crate::sql;

impl Store<'_, '_> {
    /// Removes those of these instances that have ended; answers how many.
    pub(crate) fn purge(&mut self, ids: &[InstanceId]) -> Step<usize> {
        let mut removed = 0;
        for id in ids {
            let Some(instance) = self.find(id)? else {
                continue;
            };
            if !instance.status.is_ended() {
                continue;
            }
            let highest = int(instance.execution_id.get());
            self.run(sql::PURGED_KEEP, params![id.as_str(), highest])?;
            for statement in sql::REMOVE_INSTANCE {
                self.run(statement, [instance.key])?;
            }
            self.state.forget_key(id);
            self.note(Change::Instance(id.clone()));
            removed += 1;
        }
        if removed > 0 {
            self.state.on_removed();
        }
        Ok(removed)
    }
}
