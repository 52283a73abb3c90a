//! Replays what was committed, so that nondeterminism is found where it is written.

use durable_core::{EventId, ExecutionId, InstanceId};

use super::load;
use crate::execution::{Execution, ExecutionFault, LiveExecution};
use crate::node::Node;

/// What is to be replayed after the next commit.
#[derive(Debug, Default)]
pub(super) struct Verification {
    /// Executions that ended in this turn by continuing as new.
    ended: Vec<Reached>,
    /// How many turns had been committed when the execution was last looked at.
    turns: u64,
}

/// How far an execution has come.
#[derive(Debug)]
pub(super) struct Reached {
    instance: InstanceId,
    execution_id: ExecutionId,
    last_event_id: EventId,
}

impl Reached {
    fn by(execution: &Execution) -> Self {
        Self {
            instance: execution.instance().clone(),
            execution_id: execution.execution_id(),
            last_event_id: execution.last_event_id(),
        }
    }
}

impl Verification {
    /// An execution ended by continuing as new.
    pub(super) fn ended(&mut self, execution: &Execution) {
        self.ended.push(Reached::by(execution));
    }

    /// What is to be replayed after a commit: after turns 1, 2, 4, 8, … and at an
    /// execution's end.
    pub(super) fn due(&mut self, node: &Node, live: &LiveExecution) -> Vec<Reached> {
        let mut due = std::mem::take(&mut self.ended);
        let is_new = std::mem::replace(&mut self.turns, live.turns) != live.turns;
        if !node.options.verify_replay {
            return Vec::new();
        }
        if is_new && (live.turns.is_power_of_two() || live.execution.has_ended()) {
            due.push(Reached::by(&live.execution));
        }
        due
    }
}

/// Replays what was committed.
pub(super) async fn verify(node: &Node, due: Vec<Reached>) -> Result<(), ExecutionFault> {
    for reached in due {
        replays(node, reached).await?;
    }
    Ok(())
}

/// Whether the stored history of an execution replays with the code at hand.
/// Recorded side effects are not executed.
async fn replays(node: &Node, reached: Reached) -> Result<(), ExecutionFault> {
    let mut copy = LiveExecution::new(Execution::new(
        reached.instance,
        reached.execution_id,
        node.registry.clone(),
        node.settings.clone(),
        None,
    ));
    let live = reached.last_event_id;
    match load::replay(node, &mut copy, Some(live)).await {
        Ok(_) => check_tail(live, &copy.execution),
        Err(fault @ (ExecutionFault::Provider(_) | ExecutionFault::Unreadable(_))) => {
            tracing::warn!(%fault, "a turn could not be verified");
            Ok(())
        }
        Err(fault) => Err(fault),
    }
}

/// The copy appends nothing: live code and replay did the same. A history that is
/// shorter than what was committed was purged meanwhile, and says nothing.
fn check_tail(live: EventId, copy: &Execution) -> Result<(), ExecutionFault> {
    let replayed = copy.last_event_id();
    if replayed <= live {
        Ok(())
    } else {
        Err(ExecutionFault::Diverged { live, replayed })
    }
}
