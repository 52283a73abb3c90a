//! Removing past executions. Nothing else of their instances changes.

use durable_core::filter::{InstanceQuery, Order, PageToken};
use durable_core::provider::{ProviderError, PruneReport, PruneRequest};
use durable_core::{ExecutionId, InstanceId};

use crate::keys::Partition;
use crate::script::{self, Call};
use crate::store::Store;

/// How many histories one script removes at most.
const HISTORIES_TOGETHER: u64 = 100;
/// How many instances are looked at together.
const PAGE: usize = 256;

impl Store {
    pub(crate) async fn prune(&self, prune: &PruneRequest) -> Result<PruneReport, ProviderError> {
        let mut report = PruneReport::default();
        let query = InstanceQuery::new(prune.filter.clone()).ordered(Order::BY_ID);
        let mut next: Option<PageToken> = None;
        loop {
            let page = self.instances(&query, next.as_ref(), PAGE).await?;
            for record in &page.instances {
                if prune.last_to_go(record.execution_id).is_some() {
                    self.prune_one(&record.instance, prune, &mut report).await?;
                }
                if report.has_more {
                    return Ok(report);
                }
            }
            next = page.next;
            if next.is_none() {
                return Ok(report);
            }
        }
    }

    /// Removes old executions of an instance, in batches, as far as the request allows.
    async fn prune_one(
        &self,
        id: &InstanceId,
        prune: &PruneRequest,
        report: &mut PruneReport,
    ) -> Result<(), ProviderError> {
        loop {
            let Some(record) = self.record(id).await? else {
                return Ok(());
            };
            let first = record.first_execution;
            let Some(last) = prune.last_to_go(record.instance.execution_id) else {
                return Ok(());
            };
            let left = u64::try_from(prune.max - report.executions).unwrap_or(u64::MAX);
            // One more than is wanted tells whether there are more.
            let wanted = left.saturating_add(1).min(HISTORIES_TOGETHER);
            let end = last.get().min(first.saturating_add(wanted - 1));
            let old = self.old_executions(id, prune, first, end).await?;
            if old == 0 {
                return Ok(());
            }
            report.has_more = old > left;
            let going = old.min(left);
            if going == 0 {
                return Ok(());
            }
            let call = prune_call(self.partition(id), id, first, first + going);
            let (status, _) = self.call(&call).await?;
            if status != "PRUNED" {
                report.has_more = false;
                return Ok(());
            }
            report.executions += usize::try_from(going).unwrap_or(usize::MAX);
            if report.has_more {
                return Ok(());
            }
        }
    }

    /// How many executions from the first on ended long enough ago and have no work.
    async fn old_executions(
        &self,
        id: &InstanceId,
        prune: &PruneRequest,
        first: u64,
        end: u64,
    ) -> Result<u64, ProviderError> {
        let first_with_work = self.first_execution_with_work(id).await?;
        let end = end.min(first_with_work.map_or(u64::MAX, |execution| execution - 1));
        if prune.ended_before_ms.is_none() {
            return Ok((end + 1).saturating_sub(first));
        }
        for execution in first..=end {
            let ended_at_ms = self
                .last_recorded_ms(id, ExecutionId::new(execution))
                .await?;
            if !prune.is_old(ended_at_ms) {
                return Ok(execution - first);
            }
        }
        Ok((end + 1).saturating_sub(first))
    }
}

/// Removes the executions from `first` up to the one before `next_first`.
fn prune_call<'a>(
    partition: &'a Partition,
    id: &InstanceId,
    first: u64,
    next_first: u64,
) -> Call<'a> {
    let mut call = Call::new(&script::PRUNE, partition);
    call.instance(id).number(first).number(next_first);
    let histories = (first..next_first).map(ExecutionId::new);
    let histories: Vec<String> = histories
        .map(|execution| partition.history(id, execution))
        .collect();
    call.keys.extend(histories);
    call
}
