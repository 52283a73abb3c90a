//! What the nodes of a script hold. Each thing is known to the
//! model and to the provider under a name of its own; a [`Pair`] holds both.

use std::collections::BTreeMap;

use durable_core::provider::{
    ClaimedWork, InboxSeq, Lease, ReadyInstance, SessionId, TurnCommit, WorkKey,
};
use durable_core::{EventId, ExecutionId, InstanceId};

use super::answer::{ComparedAnswer, Refusal};
use super::script::{ScriptInstance, ScriptNode, ScriptWork};
use crate::turn::tail_after;

/// The same thing on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair<T> {
    pub(super) model: T,
    pub(super) provider: T,
}

/// Everything that was handed out, also what has been lost since: nodes that do
/// not know it yet are what fencing is for.
#[derive(Debug, Default)]
pub(super) struct Leases {
    pub(super) sessions: BTreeMap<ScriptNode, Pair<SessionId>>,
    pub(super) instances: BTreeMap<(ScriptNode, ScriptInstance), LeasedInstance>,
    pub(super) work: Vec<Pair<ClaimedWork>>,
    /// The provider's latest lease of each instance.
    latest: BTreeMap<InstanceId, Lease>,
}

/// An instance that was handed to a node.
#[derive(Debug, Clone)]
pub(super) struct LeasedInstance {
    pub(super) lease: Pair<Lease>,
    pub(super) execution_id: ExecutionId,
    pub(super) last_event_id: EventId,
    /// Messages that were given and not consumed.
    pub(super) messages: Vec<Pair<InboxSeq>>,
    /// What it ever scheduled under this lease.
    pub(super) activities: Vec<WorkKey>,
    pub(super) timers: Vec<EventId>,
    pub(super) last_turn: Option<Pair<TurnCommit>>,
}

impl Leases {
    /// Demands that every lease of the provider is the latest one or has a higher
    /// token; else tells what was wrong.
    pub(super) fn check_leases(&mut self, ready: &[ReadyInstance]) -> Result<(), ComparedAnswer> {
        for lease in ready.iter().map(|ready| &ready.lease) {
            let latest = self.latest.get(&lease.instance);
            if latest.is_some_and(|latest| latest != lease && latest.token >= lease.token) {
                let stale = format!("{lease:?} after {latest:?}");
                return Err(ComparedAnswer::Refused(Refusal::Unexpected(stale)));
            }
            self.latest.insert(lease.instance.clone(), lease.clone());
        }
        Ok(())
    }

    /// Takes what a fetch gave, under the same instances on both sides.
    pub(super) fn take(
        &mut self,
        node: ScriptNode,
        instance: ScriptInstance,
        model: &ReadyInstance,
        provider: &ReadyInstance,
    ) {
        let seqs = model.messages.iter().zip(&provider.messages);
        let given = seqs.map(|(model, provider)| Pair {
            model: model.seq,
            provider: provider.seq,
        });
        let lease = Pair {
            model: model.lease.clone(),
            provider: provider.lease.clone(),
        };
        let key = (node, instance);
        match self.instances.get_mut(&key) {
            Some(held) if held.lease == lease => {
                held.messages.extend(given);
                held.execution_id = model.execution_id;
                held.last_event_id = model.last_event_id;
            }
            _ => {
                let held = LeasedInstance {
                    lease,
                    execution_id: model.execution_id,
                    last_event_id: model.last_event_id,
                    messages: given.collect(),
                    activities: Vec::new(),
                    timers: Vec::new(),
                    last_turn: None,
                };
                self.instances.insert(key, held);
            }
        }
    }

    /// Takes work that was claimed, in the same order on both sides.
    pub(super) fn take_work(&mut self, model: Vec<ClaimedWork>, provider: Vec<ClaimedWork>) {
        let claimed = model.into_iter().zip(provider);
        self.work
            .extend(claimed.map(|(model, provider)| Pair { model, provider }));
    }

    pub(super) fn claimed(&self, number: ScriptWork) -> Option<&Pair<ClaimedWork>> {
        let place = usize::from(number.0).checked_rem(self.work.len())?;
        self.work.get(place)
    }
}

impl LeasedInstance {
    /// Goes on from a turn that was applied.
    pub(super) fn applied(&mut self, turn: &TurnCommit) {
        (self.execution_id, self.last_event_id) = tail_after(turn);
        self.messages
            .retain(|seq| !turn.consumed.contains(&seq.model));
        let instance = &turn.lease.instance;
        let scheduled = turn.new_work.iter();
        let keys = scheduled.map(|work| WorkKey::new(instance.clone(), work.source));
        self.activities.extend(keys);
        let set = turn.new_timers.iter().map(|timer| timer.event_id);
        self.timers.extend(set);
        if turn.next_execution.is_some() {
            self.timers.clear();
        }
    }
}
