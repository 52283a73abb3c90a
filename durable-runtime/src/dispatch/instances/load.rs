//! Bringing an execution into memory: from the cache, or by replaying its history.

use durable_core::provider::{
    InboxSeq, InstanceRecord, MessageBody, Provider, ProviderError, ReadyInstance,
};
use durable_core::{EventId, ExecutionId, InstanceId};

use super::Incoming;
use super::cache::CachedExecution;
use super::turn::{HistorySummary, Tail};
use crate::dispatch::wait::{self, Backoff};
use crate::execution::{Execution, ExecutionFault, LiveExecution, ReplayProgress, Rest};
use crate::node::Node;

/// How many entries are read at once.
const PAGE: usize = 1_000;

/// What a claimed instance turned out to be.
pub(super) enum Loaded {
    /// An execution that is up to date with the store, and how its last step rests:
    /// a side effect may be waiting for the go-ahead.
    Live(Box<LiveExecution>, Rest),
    /// It has ended: its code is not run again.
    Ended(Box<InstanceRecord>),
}

/// The execution of a claimed instance.
pub(super) async fn load(node: &Node, ready: &ReadyInstance) -> Result<Loaded, ExecutionFault> {
    let instance = &ready.lease.instance;
    if let Some(cached) = node.cache.take(instance)
        && is_valid(&cached, ready)
    {
        metrics::counter!("durable_cache_hits_total").increment(1);
        return Ok(Loaded::Live(cached.live, Rest::Quiet));
    }
    let mut live = Box::new(new_live(node, instance, ready.execution_id));
    if ready.last_event_id == EventId::UNASSIGNED {
        live.execution.end_of_history();
        let _ = live.execution.replay()?;
        return Ok(Loaded::Live(live, Rest::Quiet));
    }
    let record = node.provider.instance(instance).await?;
    if let Some(record) = record.filter(|record| record.status.kind().is_ended()) {
        return Ok(Loaded::Ended(Box::new(record)));
    }
    metrics::counter!("durable_replays_total").increment(1);
    let rest = replay(node, &mut live, None).await?;
    Ok(Loaded::Live(live, rest))
}

/// The record of an instance that has ended. Storage errors are waited out.
pub(super) async fn ended(node: &Node, instance: &InstanceId) -> Option<InstanceRecord> {
    let mut backoff = Backoff::default();
    loop {
        match node.provider.instance(instance).await {
            Ok(record) => return record.filter(|record| record.status.kind().is_ended()),
            Err(error) => wait::out_error(node, &mut backoff, &error).await,
        }
        if node.ended.is_cancelled() {
            return None;
        }
    }
}

/// A hard stop that waits in the inbox of an instance, wherever in it: of a long one
/// only the beginning comes with a claim. Storage errors are waited out.
pub(super) async fn requested_end(node: &Node, instance: &InstanceId) -> Option<Incoming> {
    let mut backoff = Backoff::default();
    loop {
        match find_end(node, instance).await {
            Ok(end) => return end,
            Err(error) if wait::is_passing(&error) && !node.ended.is_cancelled() => {
                wait::out_error(node, &mut backoff, &error).await;
            }
            Err(error) => {
                tracing::warn!(%instance, %error, "an inbox could not be read to its end");
                return None;
            }
        }
    }
}

/// What came before the start of an execution was meant for the one before it.
async fn find_end(node: &Node, instance: &InstanceId) -> Result<Option<Incoming>, ProviderError> {
    let Some(record) = node.provider.instance(instance).await? else {
        return Ok(None);
    };
    let mut is_meant = record.last_event_id != EventId::UNASSIGNED;
    let mut after = InboxSeq::default();
    loop {
        let page = node.provider.inbox(instance, after, PAGE).await?;
        for delivered in page.messages {
            after = delivered.seq;
            match &delivered.message.body {
                MessageBody::Start(_) => is_meant = true,
                body if body.is_hard_stop() && is_meant => {
                    return Ok(Some(Incoming::of(delivered, &node.codec).await));
                }
                _ => {}
            }
        }
        if !page.has_more {
            return Ok(None);
        }
    }
}

/// Whether nothing was committed since the execution was cached.
fn is_valid(cached: &CachedExecution, ready: &ReadyInstance) -> bool {
    cached.live.execution.execution_id() == ready.execution_id
        && cached.live.execution.last_event_id() == ready.last_event_id
        && cached.last_commit_id == ready.last_commit_id
        && ready.crashes == 0
}

/// An execution before its first event.
pub(super) fn new_live(
    node: &Node,
    instance: &InstanceId,
    execution_id: ExecutionId,
) -> LiveExecution {
    LiveExecution::new(Execution::new(
        instance.clone(),
        execution_id,
        node.registry.clone(),
        node.settings.clone(),
        Some(node.stop_requests.clone()),
    ))
}

/// Replays what the store has of an execution, up to this event if one is given.
pub(super) async fn replay(
    node: &Node,
    live: &mut LiveExecution,
    up_to: Option<EventId>,
) -> Result<Rest, ExecutionFault> {
    let instance = live.execution.instance().clone();
    let execution_id = live.execution.execution_id();
    let mut after = EventId::UNASSIGNED;
    let mut is_complete = false;
    loop {
        match live.execution.replay()? {
            ReplayProgress::UpToDate(rest) => return Ok(rest),
            ReplayProgress::NeedsHistory if is_complete => live.execution.end_of_history(),
            ReplayProgress::NeedsHistory => {
                let mut page = node
                    .provider
                    .history(&instance, execution_id, after, PAGE)
                    .await?;
                node.codec.decode(&mut page.entries).await?;
                is_complete = !page.has_more;
                for entry in page.entries {
                    if up_to.is_some_and(|last| entry.event_id() > last) {
                        is_complete = true;
                        break;
                    }
                    after = entry.event_id();
                    live.execution.feed(entry)?;
                }
            }
        }
    }
}

/// What the stored history of an execution says without its code. Storage errors
/// are waited out; what cannot be read is left out.
pub(super) async fn history_summary(
    node: &Node,
    instance: &InstanceId,
    tail: Tail,
) -> HistorySummary {
    let mut backoff = Backoff::default();
    loop {
        match read_summary(&*node.provider, instance, tail).await {
            Ok(summary) => return summary,
            Err(error) if wait::is_passing(&error) && !node.ended.is_cancelled() => {
                wait::out_error(node, &mut backoff, &error).await;
            }
            Err(error) => {
                tracing::warn!(%instance, %error, "a history could not be read to its end");
                return recorded_summary(&*node.provider, instance).await;
            }
        }
    }
}

async fn read_summary(
    provider: &dyn Provider,
    instance: &InstanceId,
    tail: Tail,
) -> Result<HistorySummary, ProviderError> {
    let mut summary = HistorySummary::default();
    let mut after = EventId::UNASSIGNED;
    while after < tail.last_event_id {
        let page = provider
            .history(instance, tail.execution_id, after, PAGE)
            .await?;
        let Some(last) = page.entries.last() else {
            break;
        };
        after = last.event_id();
        page.entries.iter().for_each(|entry| summary.note(entry));
    }
    Ok(summary)
}

/// What is known of an instance whose history cannot be read.
async fn recorded_summary(provider: &dyn Provider, instance: &InstanceId) -> HistorySummary {
    let record = provider.instance(instance).await.ok().flatten();
    HistorySummary {
        parent: record.and_then(|record| record.parent),
        ..HistorySummary::default()
    }
}
