//! Removing ended instances. Their highest execution id stays.

use durable_core::provider::{ProviderError, PurgeReport, PurgeRequest, StatusKind};
use durable_core::{ExecutionId, InstanceId};

use crate::record::Record;
use crate::script::{self, Call};
use crate::store::Store;

/// How many histories one script removes at most.
const HISTORIES_TOGETHER: u64 = 100;

impl Store {
    pub(crate) async fn purge(&self, purge: &PurgeRequest) -> Result<PurgeReport, ProviderError> {
        let mut filter = purge.filter.clone();
        if filter.statuses.is_empty() {
            filter.statuses = StatusKind::ALL.into();
        }
        filter.statuses.retain(|kind| kind.is_ended());
        let mut report = PurgeReport::default();
        if filter.statuses.is_empty() {
            return Ok(report);
        }
        let mut after: Option<InstanceId> = None;
        loop {
            // One more than is wanted tells whether there are more.
            let left = purge.max - report.instances;
            let page = self
                .instances(&filter, after.as_ref(), left.saturating_add(1))
                .await?;
            for record in page.instances.iter().take(left) {
                report.instances += usize::from(self.purge_one(&record.instance).await?);
            }
            report.has_more = page.instances.len() > left;
            after = page.next;
            if after.is_none() || report.instances >= purge.max {
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
            let mut call = self.purge_call(id, &record);
            if record.has_streams {
                // It has ended: no more are added.
                for stream in self.stream_names(id).await? {
                    call.keys.push(call.partition.stream(id, &stream));
                }
            }
            let (status, _) = self.call(&call).await?;
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
        call
    }
}
