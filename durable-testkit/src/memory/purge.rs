//! Removing ended instances. Their highest execution id stays.

use durable_core::InstanceId;
use durable_core::provider::{Change, PurgeReport, PurgeRequest};

use super::state::MemoryState;

impl MemoryState {
    pub(super) fn purge(&mut self, purge: &PurgeRequest) -> PurgeReport {
        let mut ended: Vec<(u64, InstanceId)> = self
            .instances
            .iter()
            .filter(|(_, instance)| instance.is_ended() && purge.filter.matches(&instance.record))
            .map(|(id, instance)| (instance.record.updated_at_ms, id.clone()))
            .collect();
        ended.sort_unstable();
        let removed = ended.len().min(purge.max);
        for (_, id) in &ended[..removed] {
            self.remove_instance(id);
        }
        let mut report = PurgeReport::default();
        report.instances = removed;
        report.has_more = removed < ended.len();
        report
    }

    fn remove_instance(&mut self, id: &InstanceId) {
        self.instances.remove(id);
        self.histories.retain(|(instance, _), _| instance != id);
        for key in self.work.of(id) {
            self.work.remove(&key);
        }
        self.poisoned.retain(|key, _| key.instance != *id);
        self.drop_timers_of(id);
        self.wake.note(Change::Instance(id.clone()));
    }
}
