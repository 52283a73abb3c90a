//! Reading. Nothing here changes anything.

use std::ops::Bound;

use durable_core::provider::{
    ExecutionRecord, HistoryPage, InboxPage, InboxSeq, InstanceFilter, InstancePage,
    InstanceRecord, OpenTimer, OpenWorkPage, PoisonedPage, PoisonedWork, SourceEvent, WorkKey,
};
use durable_core::{EventId, ExecutionId, HistoryEntry, InstanceId};

use super::state::MemoryState;

impl MemoryState {
    pub(super) fn instance(&self, id: &InstanceId) -> Option<InstanceRecord> {
        self.instances
            .get(id)
            .map(|instance| instance.record.clone())
    }

    pub(super) fn instances(
        &self,
        filter: &InstanceFilter,
        after: Option<&InstanceId>,
        max: usize,
    ) -> InstancePage {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut matching = self
            .instances
            .range::<InstanceId, _>((from, Bound::Unbounded))
            .map(|(_, instance)| &instance.record)
            .filter(|record| filter.matches(record));
        let instances: Vec<InstanceRecord> = matching.by_ref().take(max).cloned().collect();
        let last = instances.last().map(|record| &record.instance).or(after);
        let next = last.cloned().filter(|_| matching.next().is_some());
        let mut page = InstancePage::default();
        page.instances = instances;
        page.next = next;
        page
    }

    pub(super) fn executions(&self, id: &InstanceId) -> Vec<ExecutionRecord> {
        self.histories
            .iter()
            .filter(|((instance, _), _)| instance == id)
            .map(|((_, execution_id), entries)| {
                let last = entries.last();
                let tail = last.map_or(EventId::UNASSIGNED, HistoryEntry::event_id);
                ExecutionRecord::new(*execution_id, tail)
            })
            .collect()
    }

    pub(super) fn inbox(&self, id: &InstanceId, after: InboxSeq, max: usize) -> InboxPage {
        let inbox = self.instances.get(id).map(|instance| &instance.inbox);
        let mut later = inbox.into_iter().flat_map(|inbox| inbox.after(after));
        let mut page = InboxPage::default();
        page.messages = later.by_ref().take(max).collect();
        page.has_more = later.next().is_some();
        page
    }

    pub(super) fn open_work(
        &self,
        id: &InstanceId,
        after: Option<SourceEvent>,
        max: usize,
    ) -> OpenWorkPage {
        let is_later = |source: SourceEvent| after.is_none_or(|after| source > after);
        let mut activities = self.work.open_of(id);
        activities.retain(|activity| is_later(activity.source()));
        let own = self.timers.iter().filter(|((owner, _), _)| owner == id);
        let timers = own
            .filter(|((_, source), _)| is_later(*source))
            .map(|((_, source), timer)| OpenTimer::new(*source, timer.due_ms));
        OpenWorkPage::first(activities, timers.collect(), after, max)
    }

    pub(super) fn poisoned(&self, after: Option<&WorkKey>, max: usize) -> PoisonedPage {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut later = self.poisoned.range((from, Bound::Unbounded));
        let work = later
            .by_ref()
            .take(max)
            .map(|(_, (item, failure))| PoisonedWork::new(item.clone(), failure.clone()));
        let work: Vec<PoisonedWork> = work.collect();
        let last = work.last().map(|last| &last.item.key).or(after);
        let mut page = PoisonedPage::default();
        page.next = last.cloned().filter(|_| later.next().is_some());
        page.work = work;
        page
    }

    pub(super) fn history(
        &self,
        id: &InstanceId,
        execution_id: ExecutionId,
        after: EventId,
        max: usize,
    ) -> HistoryPage {
        let entries = self.histories.get(&(id.clone(), execution_id));
        let mut later = entries
            .into_iter()
            .flatten()
            .filter(|entry| entry.event_id() > after);
        let mut page = HistoryPage::default();
        page.entries = later.by_ref().take(max).cloned().collect();
        page.has_more = later.next().is_some();
        page
    }
}
