//! Every event that was raised and acknowledged is delivered once, or waits, or
//! found its instance ended.

use std::collections::{BTreeMap, BTreeSet};

use durable_core::provider::{CommitOutcome, InboxSeq, MessageBody, SendOutcome, TurnCommit};
use durable_core::{Event, HistoryEntry, InstanceId, MessageId};

use super::{Invariant, InvariantViolation, is_purged};
use crate::memory::{MemoryProvider, Snapshot};
use crate::sim::Observed;

#[derive(Debug, Default)]
pub(super) struct EventsOnce {
    acknowledged: BTreeSet<(InstanceId, MessageId)>,
    delivered: BTreeSet<(InstanceId, MessageId)>,
    /// The events that were handed out, by their place in the inbox.
    handed_out: BTreeMap<(InstanceId, InboxSeq), MessageId>,
    ended: BTreeSet<InstanceId>,
}

impl Invariant for EventsOnce {
    fn name(&self) -> &'static str {
        "events_are_delivered_once"
    }

    fn saw(
        &mut self,
        seen: &Observed<'_>,
        store: &MemoryProvider,
    ) -> Result<(), InvariantViolation> {
        match seen {
            Observed::Sent {
                message,
                outcome: SendOutcome::Accepted,
            } if is_event(&message.message.body) => {
                let id = message.message.message_id.clone();
                self.acknowledged.insert((message.target.clone(), id));
            }
            Observed::HandedOut { ready } => {
                for inbox in &ready.messages {
                    if is_event(&inbox.message.body) {
                        let place = (ready.lease.instance.clone(), inbox.seq);
                        let id = inbox.message.message_id.clone();
                        self.handed_out.insert(place, id);
                    }
                }
            }
            Observed::Committed {
                turn,
                outcome: CommitOutcome::Done(_),
            } => return self.committed(turn),
            Observed::Purged { purge } => {
                let store = store.snapshot();
                self.forget(|id| is_purged(purge, id, &store));
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        for raised in &self.acknowledged {
            let (id, message_id) = raised;
            let is_waiting = snapshot.instances.get(id).is_some_and(|instance| {
                instance.record.status.kind().is_ended()
                    || instance
                        .inbox
                        .iter()
                        .any(|message| message.message_id == *message_id)
            });
            if !self.delivered.contains(raised) && !is_waiting {
                return Err(InvariantViolation::of(
                    id,
                    format!("event `{message_id}` is lost"),
                ));
            }
        }
        Ok(())
    }
}

impl EventsOnce {
    /// What is purged may be told everything again.
    fn forget(&mut self, is_purged: impl Fn(&InstanceId) -> bool) {
        self.acknowledged.retain(|(id, _)| !is_purged(id));
        self.delivered.retain(|(id, _)| !is_purged(id));
        self.handed_out.retain(|(id, _), _| !is_purged(id));
        self.ended.retain(|id| !is_purged(id));
    }

    fn committed(&mut self, turn: &TurnCommit) -> Result<(), InvariantViolation> {
        let instance = &turn.lease.instance;
        let next = turn.next_execution.iter().flat_map(|next| &next.events);
        for entry in turn.events.iter().chain(next) {
            self.recorded(instance, entry)?;
        }
        let status = turn.update.status.as_ref();
        if status.is_some_and(|status| status.kind().is_ended()) {
            self.ended.insert(instance.clone());
        }
        for seq in &turn.consumed {
            let Some(id) = self.handed_out.get(&(instance.clone(), *seq)) else {
                continue;
            };
            let is_delivered = self.delivered.contains(&(instance.clone(), id.clone()));
            if !is_delivered && !self.ended.contains(instance) {
                return Err(InvariantViolation::of(
                    instance,
                    format!("event `{id}` left the inbox and is not in the history"),
                ));
            }
        }
        Ok(())
    }

    fn recorded(
        &mut self,
        instance: &InstanceId,
        entry: &HistoryEntry,
    ) -> Result<(), InvariantViolation> {
        let Event::ExternalEvent { message_id, .. } = &entry.event else {
            return Ok(());
        };
        let is_new = self
            .delivered
            .insert((instance.clone(), message_id.clone()));
        if is_new {
            return Ok(());
        }
        Err(InvariantViolation::of(
            instance,
            format!("event `{message_id}` is in the history twice"),
        ))
    }
}

fn is_event(body: &MessageBody) -> bool {
    matches!(body, MessageBody::ExternalRaised { .. })
}
