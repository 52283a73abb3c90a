//! Every request that was admitted is answered once, with one answer, or its instance still
//! runs.

use std::collections::{BTreeMap, BTreeSet};

use durable_core::provider::{
    CommitOutcome, InboxSeq, MessageBody, RequestAnswer, SendOutcome, TurnCommit,
};
use durable_core::{Event, HistoryEntry, InstanceId, MessageId};

use super::{Invariant, InvariantViolation, is_purged};
use crate::memory::{MemoryProvider, Snapshot};
use crate::sim::Observed;

type RequestKey = (InstanceId, MessageId);

#[derive(Debug, Default)]
pub(super) struct RequestsAnswered {
    admitted: BTreeSet<RequestKey>,
    /// Requests that the code was given.
    received: BTreeSet<RequestKey>,
    /// What the code said to each.
    answered: BTreeSet<RequestKey>,
    /// The first answer to each, as it was stored.
    answers: BTreeMap<RequestKey, RequestAnswer>,
    /// The requests that were handed out, by their place in the inbox.
    handed_out: BTreeMap<(InstanceId, InboxSeq), MessageId>,
}

impl Invariant for RequestsAnswered {
    fn name(&self) -> &'static str {
        "requests_are_answered_once"
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
            } if is_request(&message.message.body) => {
                let id = message.message.message_id.clone();
                self.admitted.insert((message.target.clone(), id));
            }
            Observed::HandedOut { ready } => {
                for inbox in &ready.messages {
                    if is_request(&inbox.message.body) {
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

    fn look(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        for (id, instance) in &snapshot.instances {
            for answer in &instance.answers {
                let request = (id.clone(), answer.message_id.clone());
                if self.answers.get(&request) != Some(answer) {
                    let what = format!("request `{}` has another answer", request.1);
                    return Err(InvariantViolation::of(id, what));
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        for request in &self.admitted {
            let (id, message_id) = request;
            let instance = snapshot.instances.get(id);
            let still_runs =
                instance.is_some_and(|instance| !instance.record.status.kind().is_ended());
            if !self.answers.contains_key(request) && !still_runs {
                let what = format!("request `{message_id}` was never answered");
                return Err(InvariantViolation::of(id, what));
            }
        }
        Ok(())
    }
}

impl RequestsAnswered {
    /// What is purged may be asked everything again.
    fn forget(&mut self, is_purged: impl Fn(&InstanceId) -> bool) {
        for requests in [&mut self.admitted, &mut self.received, &mut self.answered] {
            requests.retain(|(id, _)| !is_purged(id));
        }
        self.answers.retain(|(id, _), _| !is_purged(id));
        self.handed_out.retain(|(id, _), _| !is_purged(id));
    }

    fn committed(&mut self, turn: &TurnCommit) -> Result<(), InvariantViolation> {
        let instance = &turn.lease.instance;
        let next = turn.next_execution.iter().flat_map(|next| &next.events);
        for entry in turn.events.iter().chain(next) {
            self.recorded(instance, entry)?;
        }
        let mut refused = BTreeSet::new();
        for answer in &turn.answers {
            let request = (instance.clone(), answer.message_id.clone());
            refused.insert(answer.message_id.clone());
            self.answers
                .entry(request)
                .or_insert_with(|| answer.clone());
        }
        for message in &turn.new_messages {
            if matches!(message.message.body, MessageBody::RequestFinished { .. }) {
                let id = message.message.message_id.as_str();
                let id = id.strip_suffix("/answer").unwrap_or(id);
                refused.insert(MessageId::from(id));
            }
        }
        for seq in &turn.consumed {
            let Some(id) = self.handed_out.get(&(instance.clone(), *seq)) else {
                continue;
            };
            let is_received = self.received.contains(&(instance.clone(), id.clone()));
            if !is_received && !refused.contains(id) {
                let what = format!("request `{id}` left the inbox without a trace");
                return Err(InvariantViolation::of(instance, what));
            }
        }
        Ok(())
    }

    fn recorded(
        &mut self,
        instance: &InstanceId,
        entry: &HistoryEntry,
    ) -> Result<(), InvariantViolation> {
        let (requests, message_id, what) = match &entry.event {
            Event::RequestReceived { message_id, .. } => (&mut self.received, message_id, "given"),
            Event::RequestAnswered { message_id, .. } => {
                (&mut self.answered, message_id, "answered")
            }
            _ => return Ok(()),
        };
        if requests.insert((instance.clone(), message_id.clone())) {
            return Ok(());
        }
        let what = format!("request `{message_id}` is {what} twice");
        Err(InvariantViolation::of(instance, what))
    }
}

fn is_request(body: &MessageBody) -> bool {
    matches!(body, MessageBody::Requested { .. })
}
