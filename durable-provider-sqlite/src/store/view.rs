//! The views of an instance. A turn that changes none writes nothing here.

use durable_core::CUSTOM_STATUS_VIEW;
use durable_core::provider::{Change, TurnCommit};
use rusqlite::params;

use super::Store;
use crate::error::Step;
use crate::number::int;
use crate::sql;

impl Store<'_, '_> {
    /// Changes the views that a turn changes.
    pub(super) fn change_views(&mut self, key: i64, turn: &TurnCommit) -> Step<()> {
        let id = &turn.lease.instance;
        for update in &turn.update.views {
            let Some(change) = turn.view_change(update) else {
                continue;
            };
            let name = update.name.as_str();
            match change.value {
                Some(value) => {
                    let row = params![
                        key,
                        name,
                        int(update.source.execution_id.get()),
                        int(update.source.event_id.get()),
                        int(change.changed_at_ms),
                        value.as_str(),
                    ];
                    self.run(sql::VIEW_PUBLISH, row)?;
                }
                None => {
                    self.run(sql::VIEW_CLEAR, params![key, name])?;
                }
            }
            // The record shows it.
            if name == CUSTOM_STATUS_VIEW {
                self.note(Change::Instance(id.clone()));
            }
        }
        if !turn.update.views.is_empty() {
            self.note(Change::Views(id.clone()));
        }
        Ok(())
    }
}
