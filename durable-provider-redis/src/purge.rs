//! Removing ended instances. Their highest execution id stays.

use durable_core::filter::{Direction, Filter, InstanceQuery, Order, OrderBy, PageToken};
use durable_core::provider::{ProviderError, PurgeReport, PurgeRequest};
use durable_core::{ExecutionId, InstanceId};

use crate::record::Record;
use crate::script::{self, Call};
use crate::store::Store;

/// How many histories one script removes at most.
const HISTORIES_TOGETHER: u64 = 100;

impl Store {
    pub(crate) async fn purge(&self, purge: &PurgeRequest) -> Result<PurgeReport, ProviderError> {
        let ended = purge.filter.clone().and(Filter::ended());
        let order = Order::new(OrderBy::Changed, Direction::Ascending);
        let query = InstanceQuery::new(ended).ordered(order);
        let mut report = PurgeReport::default();
        let mut next: Option<PageToken> = None;
        loop {
            let left = purge.max - report.instances;
            let page = self.instances(&query, next.as_ref(), left).await?;
            report.has_more = page.next.is_some() || page.instances.len() > left;
            for record in page.instances.iter().take(left) {
                report.instances += usize::from(self.purge_one(&record.instance).await?);
            }
            next = page.next;
            if next.is_none() || report.instances >= purge.max {
                return Ok(report);
            }
        }
    }

    /// Removes an instance; says whether it was this call that did.
    async fn purge_one(&self, id: &InstanceId) -> Result<bool, ProviderError> {
        loop {
            let Some(record) = self.record(id).await? else {
                return Ok(false);
            };
            if !record.instance.status.kind().is_ended() {
                return Ok(false);
            }
            let (status, _) = self.call(&self.purge_call(id, &record)).await?;
            match status.as_str() {
                "GONE" => return Ok(true),
                "MORE" => {}
                _ => return Ok(false),
            }
        }
    }

    /// Removes the oldest histories, and with the last of them the instance.
    fn purge_call<'a>(&'a self, id: &InstanceId, record: &Record) -> Call<'a> {
        let (first, last) = (record.first_execution, record.instance.execution_id.get());
        let end = last.min(first.saturating_add(HISTORIES_TOGETHER - 1));
        let mut call = Call::new(&script::PURGE, self.partition(id));
        call.instance(id)
            .number(last)
            .number(record.instance.updated_at_ms)
            .optional((end < last).then(|| (end + 1).to_string()));
        let histories = (first..=end).map(ExecutionId::new);
        let histories = histories.map(|execution| call.partition.history(id, execution));
        let histories: Vec<String> = histories.collect();
        call.keys.extend(histories);
        if end == last {
            call.keys.push(call.partition.answers(id));
        }
        call
    }
}
