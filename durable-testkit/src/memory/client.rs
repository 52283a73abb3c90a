//! What clients ask for: start, send, suspend, resume.

use durable_core::provider::{
    Change, IdReuse, InboxSeq, InstanceRecord, InstanceStatus, Message, MessageBody,
    OutgoingMessage, ProviderError, SendOutcome, StartInstance, StartOutcome,
};
use durable_core::{EventId, ExecutionId, Failure, InstanceId};

use super::state::{MemoryState, StoredInstance};

impl MemoryState {
    pub(super) fn start(
        &mut self,
        id: &InstanceId,
        message: Message,
        reuse: IdReuse,
    ) -> Result<StartOutcome, ProviderError> {
        self.limits.check_message(id, &message)?;
        let MessageBody::Start(start) = &message.body else {
            return Err(ProviderError::Invalid {
                reason: format!("the message that starts `{id}` is no start"),
            });
        };
        let start = start.clone();
        if let Some(instance) = self.instances.get(id)
            && let Some(answer) = instance.answer_to_start(&message, reuse)
        {
            if let StartOutcome::AlreadyRunning { .. } = answer {
                start
                    .messages()
                    .for_each(|message| self.put_message(id, message));
            }
            return Ok(answer);
        }
        let execution_id = self.begin_execution(id, &start, message);
        let seen = Some(self.wake.seen());
        Ok(StartOutcome::Started { execution_id, seen })
    }

    /// Creates the instance, or starts an ended one anew, in an execution above
    /// all that its id ever had.
    pub(super) fn begin_execution(
        &mut self,
        id: &InstanceId,
        start: &StartInstance,
        message: Message,
    ) -> ExecutionId {
        let highest = self.highest_execution.get(id);
        let execution_id = highest.map_or(ExecutionId::FIRST, |highest| highest.next());
        self.highest_execution.insert(id.clone(), execution_id);
        self.histories
            .insert((id.clone(), execution_id), Vec::new());
        let name = start.name.clone();
        let mut record = InstanceRecord::pending(id.clone(), execution_id, name, self.now_ms);
        record.version.clone_from(&start.version);
        record.parent.clone_from(&start.parent);
        record.attributes.clone_from(&start.attributes);
        record.begins_at_ms = start.begins_at_ms;
        let seq = InboxSeq(self.next_number());
        let instance = self
            .instances
            .entry(id.clone())
            .or_insert_with(|| StoredInstance::new(record.clone()));
        instance.record = record;
        instance.is_to_end = false;
        instance.not_before_ms = start.begins_at_ms.unwrap_or(0);
        if start.begins_at_ms.is_some() {
            // A session that answers the last messages of an ended instance would begin it early.
            instance.holder = None;
            instance.ready_since = None;
        }
        instance
            .starts
            .insert(message.message_id.clone(), execution_id);
        instance.inbox.put(seq, message);
        if let Some((deadline, due_ms)) = start.deadline(execution_id) {
            self.set_timer(id, deadline, due_ms);
        }
        self.wake.note(Change::Instance(id.clone()));
        self.update_readiness(id);
        execution_id
    }

    pub(super) fn send(&mut self, outgoing: OutgoingMessage) -> Result<SendOutcome, ProviderError> {
        outgoing.check_sent_by_client()?;
        let OutgoingMessage {
            target, message, ..
        } = outgoing;
        self.limits.check_message(&target, &message)?;
        let Some(instance) = self.instances.get(&target) else {
            return Ok(SendOutcome::UnknownInstance);
        };
        if instance.has_message(&message.message_id) {
            return Ok(SendOutcome::Accepted);
        }
        if instance.is_ended() {
            return Ok(SendOutcome::InstanceEnded);
        }
        self.put_message(&target, message);
        Ok(SendOutcome::Accepted)
    }

    pub(super) fn suspend(
        &mut self,
        id: &InstanceId,
        failure: Failure,
    ) -> Result<SendOutcome, ProviderError> {
        self.limits.check_failure(&failure)?;
        Ok(self.change_unless_ended(id, |instance| {
            instance.record.status = InstanceStatus::Suspended { failure };
            true
        }))
    }

    pub(super) fn resume(&mut self, id: &InstanceId) -> SendOutcome {
        self.change_unless_ended(id, |instance| {
            if !instance.is_suspended() {
                return false;
            }
            let has_begun = instance.record.last_event_id != EventId::UNASSIGNED;
            instance.record.status = match has_begun {
                true => InstanceStatus::Running,
                false => InstanceStatus::Pending,
            };
            instance.must_run = true;
            true
        })
    }

    /// Changes the status of an instance that has not ended. If the change says
    /// that it did, the instance leaves its holder's hands.
    fn change_unless_ended(
        &mut self,
        id: &InstanceId,
        change: impl FnOnce(&mut StoredInstance) -> bool,
    ) -> SendOutcome {
        let Some(instance) = self.instances.get_mut(id) else {
            return SendOutcome::UnknownInstance;
        };
        if instance.is_ended() {
            return SendOutcome::InstanceEnded;
        }
        if change(instance) {
            instance.changed_at(self.now_ms);
            self.wake.note(Change::Instance(id.clone()));
            if instance.is_suspended() {
                self.wake.note(Change::Stop(id.clone()));
            }
            self.free_instance(id);
        }
        SendOutcome::Accepted
    }
}

impl StoredInstance {
    pub(super) fn new(record: InstanceRecord) -> Self {
        Self {
            record,
            inbox: Default::default(),
            holder: None,
            must_run: false,
            is_to_end: false,
            ready_since: None,
            not_before_ms: 0,
            crashes: 0,
            last_commit: None,
            starts: Default::default(),
        }
    }

    /// What to answer without starting anything; `None` if it is to be started anew.
    fn answer_to_start(&self, message: &Message, reuse: IdReuse) -> Option<StartOutcome> {
        if let Some(execution_id) = self.starts.get(&message.message_id) {
            return Some(StartOutcome::Started {
                execution_id: *execution_id,
                seen: None,
            });
        }
        let execution_id = self.record.execution_id;
        match (reuse, self.is_ended()) {
            (IdReuse::RestartEnded, true) => None,
            (IdReuse::UseRunning | IdReuse::RestartEnded, false) => {
                Some(StartOutcome::AlreadyRunning { execution_id })
            }
            (IdReuse::Refuse, _) | (IdReuse::UseRunning, true) => Some(StartOutcome::Taken {
                execution_id,
                status: self.record.status.kind(),
            }),
        }
    }
}
