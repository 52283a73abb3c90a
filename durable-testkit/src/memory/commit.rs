//! The turn commit. A turn is checked as a whole before the first change, so it
//! is applied all or not at all.

use durable_core::provider::{
    Change, CommitOutcome, Committed, IdReuse, MessageBody, OutgoingMessage, ProviderError,
    SendOutcome, TurnCommit, WorkKey,
};
use durable_core::{EventId, ExecutionId, HistoryEntry, InstanceId};

use super::state::{MemoryState, StoredInstance};

impl MemoryState {
    pub(super) fn commit(&mut self, turn: &TurnCommit) -> Result<CommitOutcome, ProviderError> {
        turn.validate(&self.limits)?;
        if let Some(refusal) = self.already_done_or_refused(turn) {
            return Ok(refusal);
        }
        Ok(CommitOutcome::Done(self.apply(turn)))
    }

    fn already_done_or_refused(&self, turn: &TurnCommit) -> Option<CommitOutcome> {
        let Some(instance) = self.instances.get(&turn.lease.instance) else {
            return Some(CommitOutcome::Fenced);
        };
        if let Some((id, answer)) = &instance.last_commit
            && *id == turn.commit_id
        {
            return Some(CommitOutcome::AlreadyDone(answer.clone()));
        }
        if !instance.is_held_under(&turn.lease) {
            return Some(CommitOutcome::Fenced);
        }
        let record = &instance.record;
        let is_tail = record.execution_id == turn.execution_id
            && record.last_event_id == turn.expected_last_event_id;
        (!is_tail).then_some(CommitOutcome::Conflict {
            execution_id: record.execution_id,
            last_event_id: record.last_event_id,
        })
    }

    fn apply(&mut self, turn: &TurnCommit) -> Committed {
        let id = &turn.lease.instance;
        self.append(id, turn.execution_id, &turn.events);
        if let Some(next) = &turn.next_execution {
            self.append(id, next.execution_id, &next.events);
        }
        if let Some(instance) = self.instances.get_mut(id) {
            instance.must_run = false;
            instance.crashes = 0;
            for seq in &turn.consumed {
                instance.inbox.remove(*seq);
            }
        }
        self.change_work_and_timers(turn);
        self.update_record(turn);
        for message in &turn.new_messages {
            self.deliver(id, message);
        }
        let instance = self.instances.get(id);
        if !turn.keep_lease || instance.is_some_and(StoredInstance::is_suspended) {
            self.free_instance(id);
        } else {
            self.update_readiness(id);
        }
        let claimed = self.claim_work(turn.lease.session, &turn.claim.queues, turn.claim.max);
        let mut answer = Committed::new(false, claimed);
        if let Some(instance) = self.instances.get_mut(id) {
            answer.has_messages = instance.holder.is_some() && instance.has_messages_to_give();
            instance.last_commit = Some((turn.commit_id, answer.clone()));
        }
        answer
    }

    fn change_work_and_timers(&mut self, turn: &TurnCommit) {
        let id = &turn.lease.instance;
        for item in turn
            .new_work
            .iter()
            .filter_map(|work| turn.work_item(*work))
        {
            self.add_work(item);
        }
        for source in &turn.finished_work {
            self.work.remove(&WorkKey::new(id.clone(), *source));
        }
        for source in &turn.cancelled_work {
            self.cancel_work(&WorkKey::new(id.clone(), *source));
        }
        for source in &turn.new_timers {
            if let Some(due_ms) = turn.timer_due_ms(*source) {
                self.set_timer(id, *source, due_ms);
            }
        }
        for source in &turn.cancelled_timers {
            self.timers.remove(&(id.clone(), *source));
        }
    }

    /// Appends to the history of an execution, which is or becomes the current one.
    fn append(&mut self, id: &InstanceId, execution_id: ExecutionId, events: &[HistoryEntry]) {
        let history = self
            .histories
            .entry((id.clone(), execution_id))
            .or_default();
        history.extend_from_slice(events);
        let last_event_id = history
            .last()
            .map_or(EventId::UNASSIGNED, HistoryEntry::event_id);
        self.highest_execution.insert(id.clone(), execution_id);
        if let Some(instance) = self.instances.get_mut(id) {
            if instance.record.execution_id != execution_id {
                self.wake.note(Change::Instance(id.clone()));
            }
            instance.record.execution_id = execution_id;
            instance.record.last_event_id = last_event_id;
            if last_event_id != EventId::UNASSIGNED {
                instance.record.begins_at_ms = None;
            }
        }
    }

    fn update_record(&mut self, turn: &TurnCommit) {
        let (id, update) = (&turn.lease.instance, turn.update.clone());
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        instance.changed_at(self.now_ms.max(turn.last_recorded_ms().unwrap_or(0)));
        let record = &mut instance.record;
        if update.status.is_some()
            || !update.custom_status.is_unchanged()
            || update.attributes.is_some()
            || update.blocked != record.blocked
        {
            self.wake.note(Change::Instance(id.clone()));
        }
        if let Some((name, version)) = update.running {
            record.name = name;
            record.version = Some(version);
        }
        if let Some(status) = update.status {
            record.status = status;
        }
        update.custom_status.apply(&mut record.custom_status);
        if let Some(attributes) = update.attributes {
            record.attributes = attributes;
        }
        record.blocked = update.blocked;
        if let Some(not_before_ms) = update.not_before_ms {
            instance.not_before_ms = not_before_ms;
        }
        let status = instance.record.status.kind();
        if status.is_stopped() {
            self.wake.note(Change::Stop(id.clone()));
        }
        if status.is_ended() {
            self.drop_timers_of(id);
            self.cancel_all_work_of(id);
        }
    }

    /// Delivers a message of a turn, and tells its sender what became of it, if it asked.
    fn deliver(&mut self, sender: &InstanceId, outgoing: &OutgoingMessage) {
        let outcome = self.put_outgoing(outgoing);
        let receipt = outgoing.receipt.as_ref();
        let receipt = receipt.and_then(|receipt| receipt.message(&outgoing.target, outcome));
        if let Some(receipt) = receipt
            && !self.has_ended(sender)
        {
            self.put_message(sender, receipt);
        }
    }

    fn put_outgoing(&mut self, outgoing: &OutgoingMessage) -> SendOutcome {
        let OutgoingMessage {
            target, message, ..
        } = outgoing;
        match &message.body {
            MessageBody::Start(start) if !self.instances.contains_key(target) => {
                self.begin_execution(target, start, message.clone());
            }
            MessageBody::Start(start) if outgoing.reuse != IdReuse::Refuse => {
                match (outgoing.reuse, self.has_ended(target)) {
                    (IdReuse::RestartEnded, true) => {
                        self.begin_execution(target, start, message.clone());
                    }
                    (_, true) => self.put_message(target, message.clone()),
                    (_, false) => start
                        .messages()
                        .for_each(|message| self.put_message(target, message)),
                }
            }
            _ if !self.instances.contains_key(target) => return SendOutcome::UnknownInstance,
            _ if outgoing.receipt.is_some() && self.has_ended(target) => {
                return SendOutcome::InstanceEnded;
            }
            _ => self.put_message(target, message.clone()),
        }
        SendOutcome::Accepted
    }

    fn has_ended(&self, id: &InstanceId) -> bool {
        let instance = self.instances.get(id);
        instance.is_some_and(StoredInstance::is_ended)
    }
}
