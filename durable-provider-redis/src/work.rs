//! Work: claiming it, settling it.

use std::collections::{BTreeMap, VecDeque};

use durable_core::provider::{
    ClaimedWork, HeartbeatOutcome, ProviderError, SessionId, SettleOutcome, WorkBatch, WorkLease,
    WorkResult, WorkSettlement,
};
use durable_core::{Limits, Name, Payload};
use futures::future::join_all;

use crate::codec::{failure_bytes, message_bytes};
use crate::keys::{Partition, work_text};
use crate::script::{self, Args, Call};
use crate::store::Store;

/// How much work one fetch claims at most.
const MAX_FETCH: usize = 500;

impl Store {
    pub(crate) async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Result<WorkBatch, ProviderError> {
        let max = max.min(MAX_FETCH);
        let mut batch = WorkBatch::default();
        batch.seen = self.wakeups.seen();
        let order = self.order_of_work(session, queues, max).await?;
        let claims = self
            .shares(&order, max)
            .into_iter()
            .map(|(partition, share)| {
                let mut call = Call::new(&script::CLAIM_WORK, partition);
                call.declare_session(session);
                call.args.number(session.0).count(share).queues(queues);
                async move { (partition.number, self.call_of(session, &call).await) }
            });
        let mut claimed: BTreeMap<usize, VecDeque<ClaimedWork>> = BTreeMap::new();
        let mut away = None;
        for (number, answer) in join_all(claims).await {
            let mut reply = match answer {
                Ok(reply) => reply,
                Err(error @ ProviderError::Unavailable { .. }) => {
                    away = Some(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let due_ms = reply.maybe_time()?;
            batch.next_due_ms = batch.next_due_ms.into_iter().chain(due_ms).min();
            let work = self.readable(reply.list()?.claimed(session)?).await;
            claimed.insert(number, work.into());
        }
        if let (true, Some(error)) = (claimed.is_empty(), away) {
            return Err(error);
        }
        let next = |number: &usize| claimed.get_mut(number).and_then(VecDeque::pop_front);
        batch.work = order.iter().filter_map(next).collect();
        batch.work.extend(claimed.into_values().flatten());
        Ok(batch)
    }

    /// The partitions that the oldest work is in, one after the other; of a store with one
    /// partition nothing needs to be known.
    async fn order_of_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Result<Vec<usize>, ProviderError> {
        if self.partitions.len() == 1 {
            return Ok(Vec::new());
        }
        let peek = |partition| {
            let mut call = Call::new(&script::PEEK_WORK, partition);
            call.declare_session(session);
            call.args.count(max).queues(queues);
            call
        };
        let mut ready: Vec<(u64, u64, usize)> = Vec::new();
        for (partition, mut reply) in self.call_everywhere(None, peek).await? {
            let mut found = reply.list()?;
            while !found.is_empty() {
                ready.push((found.number()?, found.number()?, partition.number));
            }
        }
        ready.sort_unstable();
        Ok(ready
            .into_iter()
            .take(max)
            .map(|(_, _, number)| number)
            .collect())
    }

    /// How much to claim from each partition. Those with nothing are asked too: they say
    /// when something is due.
    fn shares(&self, order: &[usize], max: usize) -> Vec<(&Partition, usize)> {
        let share = |partition: &Partition| match self.partitions.len() {
            1 => max,
            _ => order
                .iter()
                .filter(|number| **number == partition.number)
                .count(),
        };
        let partitions = self.partitions.iter();
        partitions
            .map(|partition| (partition, share(partition)))
            .collect()
    }

    pub(crate) async fn settle_work(
        &self,
        settlement: &WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        let lease = &settlement.lease;
        self.options.limits.check_work_result(&settlement.result)?;
        let partition = self.partition(&lease.key.instance);
        let mut call = Call::new(&script::SETTLE, partition);
        call.instance(&lease.key.instance);
        push_lease(&mut call.args, lease);
        push_result(&mut call.args, settlement, &self.options.limits)?;
        match self.call(&call).await?.0.as_str() {
            "SETTLED" => Ok(SettleOutcome::Settled),
            "LEASE_LOST" => Ok(SettleOutcome::LeaseLost),
            other => Err(Self::unexpected_status(&call, other)),
        }
    }

    pub(crate) async fn heartbeat_work(
        &self,
        lease: &WorkLease,
        details: &Payload,
    ) -> Result<HeartbeatOutcome, ProviderError> {
        self.options.limits.check_payload("heartbeat", details)?;
        let partition = self.partition(&lease.key.instance);
        let mut call = Call::new(&script::HEARTBEAT_WORK, partition);
        push_lease(&mut call.args, lease);
        call.args.push(details.as_str());
        match self.call(&call).await?.0.as_str() {
            "KEPT" => Ok(HeartbeatOutcome::Kept),
            "LEASE_LOST" => Ok(HeartbeatOutcome::LeaseLost),
            other => Err(Self::unexpected_status(&call, other)),
        }
    }
}

fn push_lease(args: &mut Args, lease: &WorkLease) {
    args.push(work_text(&lease.key))
        .number(lease.session.0)
        .number(lease.token);
}

/// What became of the item: the sort, the time from which it is ready again, the message to
/// its instance, and the failure that is kept with the work, if there is one.
fn push_result(
    args: &mut Args,
    settlement: &WorkSettlement,
    limits: &Limits,
) -> Result<(), ProviderError> {
    let (sort, not_before_ms, told, failure) = match &settlement.result {
        WorkResult::Finished(result) => ("finished", 0, Some(result.clone()), None),
        WorkResult::Poisoned(failure) => ("poisoned", 0, Some(Err(failure.clone())), Some(failure)),
        WorkResult::Retry {
            not_before_ms,
            failure,
        } => (
            "retry",
            *not_before_ms,
            None,
            limits.retained_failure(failure),
        ),
        WorkResult::HandedBack { not_before_ms } => {
            ("back", not_before_ms.unwrap_or(0), None, None)
        }
    };
    args.push(sort).number(not_before_ms);
    match told {
        Some(result) => {
            let key = &settlement.lease.key;
            let message = key.finished(result, settlement.earlier_attempts);
            args.push(message.message_id.as_str())
                .push(message_bytes(&message)?)
        }
        None => args.push("").push(""),
    };
    args.push(match failure {
        Some(failure) => failure_bytes(failure)?,
        None => Vec::new(),
    });
    Ok(())
}
