//! Replays what was committed, so that nondeterminism is found where it is written.

use durable_core::{EventId, ExecutionId, InstanceId};

use super::load;
use crate::execution::{Execution, Fault};
use crate::node::Node;

/// How far an execution has come.
#[derive(Debug)]
pub(super) struct Tail {
    instance: InstanceId,
    execution_id: ExecutionId,
    last_event_id: EventId,
}

impl Tail {
    pub(super) fn of(execution: &Execution) -> Self {
        Self {
            instance: execution.instance().clone(),
            execution_id: execution.execution_id(),
            last_event_id: execution.last_event_id(),
        }
    }
}

/// Whether the stored history of an execution replays with the code at hand.
/// Recorded side effects are not executed.
pub(super) async fn replays(node: &Node, tail: Tail) -> Result<(), Fault> {
    let mut copy = Execution::new(
        tail.instance,
        tail.execution_id,
        node.registry.clone(),
        node.settings.clone(),
        None,
    );
    let live = tail.last_event_id;
    match load::replay(&*node.provider, &mut copy, Some(live)).await {
        Ok(_) => check_tail(live, &copy),
        Err(Fault::Provider(error)) => {
            tracing::warn!(%error, "a turn could not be verified");
            Ok(())
        }
        Err(fault) => Err(fault),
    }
}

/// The copy appends nothing: live code and replay did the same.
fn check_tail(live: EventId, copy: &Execution) -> Result<(), Fault> {
    let replayed = copy.last_event_id();
    if replayed == live {
        Ok(())
    } else {
        Err(Fault::Diverged { live, replayed })
    }
}
