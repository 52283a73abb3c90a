//! The turn commit. A turn is checked as a whole before the first change, so it
//! is applied all or not at all.

use durable_core::provider::{
    CommitOutcome, Committed, InstanceStatus, InstanceUpdate, MessageBody, NextExecution,
    OutgoingMessage, ProviderError, TurnCommit,
};
use durable_core::{EventId, ExecutionId, HistoryEntry, InstanceId};

use super::state::{MemoryState, StoredInstance};
use super::wake::Topic;

impl MemoryState {
    pub(super) fn commit(&mut self, turn: TurnCommit) -> Result<CommitOutcome, ProviderError> {
        check_request(&turn)?;
        self.limits.check_turn(&turn)?;
        if let Some(refusal) = self.already_done_or_refused(&turn) {
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

    fn apply(&mut self, turn: TurnCommit) -> Committed {
        let id = &turn.lease.instance;
        self.append(id, turn.execution_id, turn.events);
        if let Some(NextExecution {
            execution_id,
            events,
        }) = turn.next_execution
        {
            self.append(id, execution_id, events);
        }
        if let Some(instance) = self.instances.get_mut(id) {
            instance.must_run = false;
            instance.crashes = 0;
            for seq in &turn.consumed {
                instance.inbox.remove(seq);
            }
        }
        self.add_work(turn.new_work);
        for key in &turn.finished_work {
            self.work.remove(key);
        }
        for key in &turn.cancelled_work {
            self.cancel_work(key);
        }
        self.set_timers(turn.new_timers);
        for (execution_id, event_id) in turn.cancelled_timers {
            self.timers.remove(&(id.clone(), execution_id, event_id));
        }
        self.update_record(id, turn.update);
        for message in turn.new_messages {
            self.deliver(message);
        }
        let instance = self.instances.get(id);
        if !turn.keep_lease || instance.is_some_and(StoredInstance::is_suspended) {
            self.free_instance(id);
        } else {
            self.update_readiness(id);
        }
        let claimed = self.claim_work(turn.lease.session, &turn.claim.queues, turn.claim.max);
        let now_ms = self.now_ms;
        let mut answer = Committed {
            now_ms,
            has_messages: false,
            claimed,
        };
        if let Some(instance) = self.instances.get_mut(id) {
            answer.has_messages = instance.holder.is_some() && instance.has_messages_to_give();
            instance.last_commit = Some((turn.commit_id, answer.clone()));
        }
        answer
    }

    /// Appends to the history of an execution, which is or becomes the current one.
    fn append(&mut self, id: &InstanceId, execution_id: ExecutionId, events: Vec<HistoryEntry>) {
        let history = self
            .histories
            .entry((id.clone(), execution_id))
            .or_default();
        history.extend(events);
        let last_event_id = history
            .last()
            .map_or(EventId::UNASSIGNED, HistoryEntry::event_id);
        self.highest_execution.insert(id.clone(), execution_id);
        if let Some(instance) = self.instances.get_mut(id) {
            if instance.record.execution_id != execution_id {
                self.wake.note(Topic::Instance(id.clone()));
            }
            instance.record.execution_id = execution_id;
            instance.record.last_event_id = last_event_id;
        }
    }

    fn update_record(&mut self, id: &InstanceId, update: InstanceUpdate) {
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        let record = &mut instance.record;
        record.updated_at_ms = self.now_ms;
        if update.status.is_some()
            || update.custom_status.is_some()
            || update.blocked != record.blocked
        {
            self.wake.note(Topic::Instance(id.clone()));
        }
        if let Some((name, version)) = update.running {
            record.name = name;
            record.version = Some(version);
        }
        if let Some(status) = update.status {
            record.status = status;
        }
        if let Some(custom_status) = update.custom_status {
            record.custom_status = Some(custom_status);
        }
        record.blocked = update.blocked;
        if let Some(not_before_ms) = update.not_before_ms {
            instance.not_before_ms = not_before_ms;
        }
        if instance.is_ended() {
            self.wake.note(Topic::End(id.clone()));
            self.drop_timers_of(id);
            self.cancel_all_work_of(id);
        }
    }

    fn deliver(&mut self, outgoing: OutgoingMessage) {
        let OutgoingMessage { target, message } = outgoing;
        match &message.body {
            MessageBody::Start(start) if !self.instances.contains_key(&target) => {
                let start = start.clone();
                self.begin_execution(&target, &start, message);
            }
            _ => self.put_message(&target, message),
        }
    }
}

/// Refuses a turn that contradicts itself.
fn check_request(turn: &TurnCommit) -> Result<(), ProviderError> {
    check_contiguous("events", turn.expected_last_event_id, &turn.events)?;
    if let Some(next) = &turn.next_execution {
        if next.execution_id != turn.execution_id.next() {
            return invalid(format!(
                "the next execution is {}, after execution {}",
                next.execution_id, turn.execution_id
            ));
        }
        if next.events.is_empty() {
            return invalid("the next execution has no events".into());
        }
        check_contiguous("next execution", EventId::UNASSIGNED, &next.events)?;
    }
    let id = &turn.lease.instance;
    let is_own = turn.new_work.iter().all(|item| item.key.instance == *id)
        && turn.new_timers.iter().all(|timer| timer.instance == *id);
    if !is_own {
        return invalid(format!(
            "work or a timer of another instance than `{id}` is created"
        ));
    }
    if turn.update.status == Some(InstanceStatus::Pending) {
        return invalid("an instance with a committed turn is not pending".into());
    }
    Ok(())
}

fn check_contiguous(
    what: &str,
    tail: EventId,
    entries: &[HistoryEntry],
) -> Result<(), ProviderError> {
    let mut expected = tail.next();
    for entry in entries {
        let found = entry.event_id();
        if found != expected {
            return invalid(format!(
                "{what}: event {found} stands where {expected} must"
            ));
        }
        expected = expected.next();
    }
    Ok(())
}

fn invalid(reason: String) -> Result<(), ProviderError> {
    Err(ProviderError::Invalid { reason })
}
