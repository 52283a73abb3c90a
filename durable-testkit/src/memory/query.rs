//! Reading. Nothing here changes anything.

use std::ops::Bound;

use durable_core::filter::{InstanceQuery, Order, OrderBy, PagePosition, PageToken};
use durable_core::provider::{
    ExecutionRecord, HistoryPage, InboxPage, InboxSeq, InstancePage, InstanceRecord, OpenTimer,
    OpenWorkPage, PoisonedPage, PoisonedWork, ProviderError, RequestAnswer, SourceEvent, WorkKey,
};
use durable_core::{EventId, ExecutionId, HistoryEntry, InstanceId, MessageId};

use super::state::MemoryState;

impl MemoryState {
    pub(super) fn instance(&self, id: &InstanceId) -> Option<InstanceRecord> {
        self.instances
            .get(id)
            .map(|instance| instance.record.clone())
    }

    pub(super) fn answer(&self, id: &InstanceId, message_id: &MessageId) -> Option<RequestAnswer> {
        let answers = &self.instances.get(id)?.answers;
        answers.get(message_id).cloned()
    }

    /// Looks at a bounded number of instances, as other stores do, so that what is tested
    /// with this one knows pages that are not full.
    pub(super) fn instances(
        &self,
        query: &InstanceQuery,
        page: Option<&PageToken>,
        max: usize,
    ) -> Result<InstancePage, ProviderError> {
        query.check()?;
        let after = page.map(|page| page.position_in(query)).transpose()?;
        let all = self.instances.values().map(|instance| &instance.record);
        let mut records: Vec<&InstanceRecord> = all
            .filter(|record| after.is_none_or(|after| is_after(query.order, record, after)))
            .collect();
        records.sort_by(|one, other| query.order.compare(one, other));
        let mut page = InstancePage::default();
        let mut last: Option<&InstanceRecord> = None;
        for (number, record) in records.into_iter().enumerate() {
            let is_meant = query.filter.matches(record);
            let is_full = page.instances.len() >= max.max(1);
            if number >= MOST_LOOKED_AT || (is_full && is_meant) {
                let position = last.map(|last| position_of(query.order, last));
                page.next = position.map(|position| PageToken::after(query, position));
                break;
            }
            if is_meant {
                page.instances.push(record.clone());
            }
            last = Some(record);
        }
        Ok(page)
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

/// How many instances are looked at for a page.
const MOST_LOOKED_AT: usize = 500;

/// The time by which a record is ordered.
const fn time_of(order: Order, record: &InstanceRecord) -> u64 {
    match order.by {
        OrderBy::Created => record.created_at_ms,
        OrderBy::Changed => record.updated_at_ms,
        OrderBy::Id => 0,
    }
}

fn position_of(order: Order, record: &InstanceRecord) -> PagePosition {
    PagePosition::of_instance(time_of(order, record), &record.instance)
}

fn is_after(order: Order, record: &InstanceRecord, position: &PagePosition) -> bool {
    let here = (time_of(order, record), record.instance.as_str());
    let there = (position.time_ms, position.instance.as_str());
    order.direction.apply(here.cmp(&there)).is_gt()
}
