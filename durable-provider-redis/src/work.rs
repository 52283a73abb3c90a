//! Work: handing it out, taking it back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use durable_core::provider::{
    ClaimedWork, Message, MessageBody, ProviderError, SessionId, WorkBatch, WorkKey, WorkLease,
    WorkResult, WorkSettlement,
};
use durable_core::{Failure, MessageId, Name, Payload};
use futures::future::join_all;

use crate::codec::{failure_bytes, message_bytes};
use crate::keys::{Partition, queue_topic, work_text};
use crate::script::{self, Call};
use crate::store::Store;
use crate::turn::{declare_targets, distinct};

/// How much work one script hands out or takes back at most.
const TOGETHER: usize = 500;

impl Store {
    pub(crate) async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Result<WorkBatch, ProviderError> {
        let topics = distinct(queues.iter().map(|queue| queue_topic(queue.as_ref())));
        let max = max.min(TOGETHER);
        let mut batch = WorkBatch {
            seen: self.board.seen(),
            ..WorkBatch::default()
        };
        let order = self.order_of_work(&topics, max).await?;
        let claims = self
            .shares(&order, max)
            .into_iter()
            .map(|(partition, share)| {
                let mut call = Call::new(&script::CLAIM_WORK, partition);
                call.args.number(session.0).count(share);
                call.queues(&topics);
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
            batch.now_ms = batch.now_ms.max(reply.number()?);
            let due_ms = reply.maybe_time()?;
            batch.next_due_ms = batch.next_due_ms.into_iter().chain(due_ms).min();
            let work = self.readable(reply.list()?.claimed(session)?).await;
            claimed.insert(number, work.into());
        }
        if let (0, Some(error)) = (batch.now_ms, away) {
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
        topics: &[String],
        max: usize,
    ) -> Result<Vec<usize>, ProviderError> {
        if self.partitions.len() == 1 {
            return Ok(Vec::new());
        }
        let peek = |partition| {
            let mut call = Call::new(&script::PEEK_WORK, partition);
            call.args.count(max);
            call.queues(topics);
            call
        };
        let mut ready: Vec<(u64, u64, usize)> = Vec::new();
        for (partition, mut reply) in self.call_everywhere(None, peek).await? {
            while !reply.is_empty() {
                ready.push((reply.number()?, reply.number()?, partition.number));
            }
        }
        ready.sort_unstable();
        Ok(ready
            .into_iter()
            .take(max)
            .map(|(_, _, number)| number)
            .collect())
    }

    /// How much to take from each partition. Those with nothing are asked too: they say
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
        settlements: Vec<WorkSettlement>,
    ) -> Result<Vec<bool>, ProviderError> {
        for settlement in &settlements {
            self.options.limits.check_work_result(&settlement.result)?;
        }
        let mut held = vec![false; settlements.len()];
        for (partition, group) in self.by_partition(settlements, |it| &it.lease.key.instance) {
            for group in group.chunks(TOGETHER) {
                let call = self.settle_call(partition, group).await?;
                let (_, mut reply) = self.call(&call).await?;
                for (place, _) in group {
                    held[*place] = reply.flag()?;
                }
            }
        }
        Ok(held)
    }

    async fn settle_call<'a>(
        &self,
        partition: &'a Partition,
        group: &[(usize, WorkSettlement)],
    ) -> Result<Call<'a>, ProviderError> {
        let mut call = Call::new(&script::SETTLE, partition);
        let instances = group.iter().map(|(_, it)| it.lease.key.instance.as_str());
        declare_targets(&mut call, instances);
        call.queues(&self.queues_to_return_to(partition, group).await?);
        call.args.count(group.len());
        for (_, settlement) in group {
            push_settlement(&mut call, settlement)?;
        }
        Ok(call)
    }

    /// The queues of work that goes back to them: it says so itself, once it is asked.
    async fn queues_to_return_to(
        &self,
        partition: &Partition,
        group: &[(usize, WorkSettlement)],
    ) -> Result<Vec<String>, ProviderError> {
        let back: Vec<&WorkKey> = group
            .iter()
            .filter(|(_, it)| {
                let result = &it.result;
                matches!(
                    result,
                    WorkResult::Retry { .. } | WorkResult::HandedBack { .. }
                )
            })
            .map(|(_, it)| &it.lease.key)
            .collect();
        if back.is_empty() {
            return Ok(Vec::new());
        }
        let mut call = Call::new(&script::WORK_QUEUES, partition);
        call.args.count(back.len());
        for key in back {
            call.args.push(work_text(key));
        }
        let (_, mut reply) = self.call(&call).await?;
        let mut topics = BTreeSet::new();
        while !reply.is_empty() {
            topics.insert(reply.text()?);
        }
        topics.remove("");
        Ok(topics.into_iter().collect())
    }

    pub(crate) async fn heartbeat_work(
        &self,
        lease: &WorkLease,
        details: &Payload,
    ) -> Result<bool, ProviderError> {
        self.options.limits.check_payload("heartbeat", details)?;
        let partition = self.partition(&lease.key.instance);
        let mut call = Call::new(&script::HEARTBEAT_WORK, partition);
        push_lease(&mut call, lease);
        call.args.push(details.as_str());
        let (_, mut reply) = self.call(&call).await?;
        reply.flag()
    }
}

fn push_lease(call: &mut Call<'_>, lease: &WorkLease) {
    call.args
        .push(work_text(&lease.key))
        .number(lease.session.0)
        .number(lease.token);
}

fn push_settlement(call: &mut Call<'_>, settlement: &WorkSettlement) -> Result<(), ProviderError> {
    let WorkSettlement { lease, result } = settlement;
    call.args.push(lease.key.instance.as_str());
    push_lease(call, lease);
    let (sort, not_before_ms, told, failure) = match result {
        WorkResult::Finished(result) => ("finished", 0, Some(result.clone()), None),
        WorkResult::Poisoned(failure) => ("poisoned", 0, Some(Err(failure.clone())), Some(failure)),
        WorkResult::Retry { not_before_ms } => ("retry", *not_before_ms, None, None),
        WorkResult::HandedBack { not_before_ms } => {
            ("back", not_before_ms.unwrap_or(0), None, None)
        }
    };
    call.args.push(sort).number(not_before_ms);
    match told {
        Some(result) => {
            let message = result_message(&lease.key, result);
            call.args
                .push(message.message_id.as_str())
                .push(message_bytes(&message)?)
        }
        None => call.args.push("").push(""),
    };
    call.args.push(match failure {
        Some(failure) => failure_bytes(failure)?,
        None => Vec::new(),
    });
    Ok(())
}

fn result_message(key: &WorkKey, result: Result<Payload, Failure>) -> Message {
    Message {
        message_id: MessageId::from(format!("activity/{}/{}", key.execution_id, key.event_id)),
        body: MessageBody::ActivityFinished {
            execution_id: key.execution_id,
            source_event_id: key.event_id,
            result,
        },
    }
}
