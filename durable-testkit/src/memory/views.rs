//! The views of instances.

use std::ops::Bound;

use durable_core::provider::{Change, TurnCommit, ViewPage, ViewRecord};
use durable_core::{CUSTOM_STATUS_VIEW, InstanceId, Name};

use super::state::MemoryState;

impl MemoryState {
    /// Changes the views that a turn changes.
    pub(super) fn change_views(&mut self, turn: &TurnCommit) {
        let id = &turn.lease.instance;
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        for update in &turn.update.views {
            let Some(change) = turn.view_change(update) else {
                continue;
            };
            let name = update.name.clone();
            let view = change.value.map(|value| {
                let at_ms = change.changed_at_ms;
                ViewRecord::new(name.clone(), value.clone(), update.source, at_ms)
            });
            if name == CUSTOM_STATUS_VIEW {
                instance.record.custom_status = change.value.cloned();
                self.wake.note(Change::Instance(id.clone()));
            }
            match view {
                Some(view) => instance.views.insert(name, view),
                None => instance.views.remove(&name),
            };
            self.wake.note(Change::Views(id.clone()));
        }
    }

    pub(super) fn view(&self, id: &InstanceId, name: &Name) -> Option<ViewRecord> {
        self.instances.get(id)?.views.get(name).cloned()
    }

    pub(super) fn views(&self, id: &InstanceId, after: Option<&Name>, max: usize) -> ViewPage {
        let Some(instance) = self.instances.get(id) else {
            return ViewPage::default();
        };
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let later = instance.views.range::<Name, _>((from, Bound::Unbounded));
        ViewPage::first(later.map(|(_, view)| view.clone()).collect(), after, max)
    }
}
