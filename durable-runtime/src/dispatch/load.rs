//! Bringing an execution into memory: from the cache, or by replaying its history.

use durable_core::provider::{Provider, ReadyInstance};
use durable_core::{EventId, ExecutionId, InstanceId};

use crate::execution::{Execution, Fault, Replayed, Rest};
use crate::node::{CachedExecution, Node};

/// How many entries are read at once.
const PAGE: usize = 1_000;

/// An execution that is up to date with the store.
pub(super) struct Loaded {
    pub(super) execution: Execution,
    /// How its last step rests: a side effect may be waiting for the go-ahead.
    pub(super) rest: Rest,
    /// How many turns it has had in memory.
    pub(super) turns: u64,
}

/// The execution of an instance that was handed out.
pub(super) async fn load(node: &Node, ready: &ReadyInstance) -> Result<Loaded, Fault> {
    if let Some(cached) = node.take_cached(&ready.lease.instance)
        && is_valid(&cached, ready)
    {
        metrics::counter!("durable_cache_hits_total").increment(1);
        return Ok(Loaded {
            execution: cached.execution,
            rest: Rest::Quiet,
            turns: cached.turns,
        });
    }
    metrics::counter!("durable_replays_total").increment(1);
    let mut execution = new_execution(node, &ready.lease.instance, ready.execution_id);
    let rest = replay(&*node.provider, &mut execution, None).await?;
    Ok(Loaded {
        execution,
        rest,
        turns: 0,
    })
}

/// Whether nothing was committed since the execution was cached.
fn is_valid(cached: &CachedExecution, ready: &ReadyInstance) -> bool {
    cached.execution.execution_id() == ready.execution_id
        && cached.execution.last_event_id() == ready.last_event_id
        && cached.last_commit_id == ready.last_commit_id
        && ready.crashes == 0
}

/// An execution before its first event.
pub(super) fn new_execution(
    node: &Node,
    instance: &InstanceId,
    execution_id: ExecutionId,
) -> Execution {
    Execution::new(
        instance.clone(),
        execution_id,
        node.registry.clone(),
        node.settings.clone(),
        Some(node.foreign_wakes.clone()),
    )
}

/// Replays what the store has of an execution, up to this event if one is given.
pub(super) async fn replay(
    provider: &dyn Provider,
    execution: &mut Execution,
    up_to: Option<EventId>,
) -> Result<Rest, Fault> {
    let (instance, execution_id) = (execution.instance().clone(), execution.execution_id());
    let mut after = EventId::UNASSIGNED;
    let mut is_complete = false;
    loop {
        match execution.replay()? {
            Replayed::UpToDate(rest) => return Ok(rest),
            Replayed::NeedsHistory if is_complete => execution.end_of_history(),
            Replayed::NeedsHistory => {
                let page = provider
                    .history(&instance, execution_id, after, PAGE)
                    .await?;
                is_complete = !page.has_more;
                for entry in page.entries {
                    if up_to.is_some_and(|last| entry.event_id() > last) {
                        is_complete = true;
                        break;
                    }
                    after = entry.event_id();
                    execution.feed(entry)?;
                }
            }
        }
    }
}
