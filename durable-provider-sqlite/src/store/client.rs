//! What clients ask for: start, send, suspend, resume.

use durable_core::provider::{
    Change, IdReuse, InstanceStatus, RequiredCode, SendOutcome, StartInstance, StartOutcome,
    StatusKind,
};
use durable_core::{EventId, ExecutionId, InstanceId, MessageId};
use rusqlite::params;

use super::Store;
use super::inline_work::InlineWork;
use super::instance::Instance;
use crate::codec::{status_bytes, status_number};
use crate::error::Step;
use crate::number::{int, uint};
use crate::sql;
use crate::turn::{PreparedMessage, PreparedStart, StartRequest};

impl Store<'_, '_> {
    pub(crate) fn start(
        &mut self,
        id: &InstanceId,
        start: &PreparedStart,
        reuse: IdReuse,
    ) -> Step<StartOutcome> {
        let request = start.request();
        let mut found = self.find(id)?;
        if let Some(instance) = &mut found
            && let Some(answer) = self.answer_to_start(instance, request.message_id, reuse)?
        {
            if let StartOutcome::AlreadyRunning { .. } = answer {
                self.put_all(instance, &start.messages)?;
            }
            return Ok(answer);
        }
        let execution_id = self.begin_execution(id, found, request)?;
        let seen = Some(self.state.seen());
        Ok(StartOutcome::Started { execution_id, seen })
    }

    fn put_all(&mut self, instance: &mut Instance, messages: &[PreparedMessage]) -> Step<()> {
        let mut has_moved = false;
        for message in messages {
            has_moved |= self.put_outgoing(instance, message.bytes())?;
        }
        if has_moved {
            self.save_place(instance)?;
        }
        Ok(())
    }

    /// What to answer without starting anything; `None` if it is to be started anew.
    fn answer_to_start(
        &self,
        instance: &Instance,
        message_id: &MessageId,
        reuse: IdReuse,
    ) -> Step<Option<StartOutcome>> {
        if let Some(execution_id) = self.execution_begun_by(instance.key, message_id)? {
            let seen = None;
            return Ok(Some(StartOutcome::Started { execution_id, seen }));
        }
        let (execution_id, status) = (instance.execution_id, instance.status);
        Ok(match (reuse, status.is_ended()) {
            (IdReuse::RestartEnded, true) => None,
            (IdReuse::UseRunning | IdReuse::RestartEnded, false) => {
                Some(StartOutcome::AlreadyRunning { execution_id })
            }
            (IdReuse::Refuse, _) | (IdReuse::UseRunning, true) => Some(StartOutcome::Taken {
                execution_id,
                status,
            }),
        })
    }

    /// The execution that a start with this message id began.
    fn execution_begun_by(&self, key: i64, message_id: &MessageId) -> Step<Option<ExecutionId>> {
        let (latest_id, latest) = self.latest_start(key)?;
        if latest_id == message_id.as_str() {
            return Ok(Some(latest));
        }
        let earlier = self.number(sql::START_READ, params![key, message_id.as_str()])?;
        Ok(earlier.map(|execution| ExecutionId::new(uint(execution))))
    }

    fn latest_start(&self, key: i64) -> Step<(String, ExecutionId)> {
        let mut statement = self.statement(sql::RECORD_START)?;
        let start = statement.query_row([key], |row| {
            Ok((row.get(0)?, ExecutionId::new(uint(row.get(1)?))))
        })?;
        Ok(start)
    }

    /// Creates the instance, or starts an ended one anew, in an execution above all
    /// that its id ever had.
    pub(super) fn begin_execution(
        &mut self,
        id: &InstanceId,
        found: Option<Instance>,
        request: StartRequest<'_>,
    ) -> Step<ExecutionId> {
        let mut instance = match found {
            Some(instance) => self.restart(instance, request)?,
            None => self.create(id, request)?,
        };
        self.note(Change::Instance(id.clone()));
        instance.not_before_ms = request.start.begins_at_ms.unwrap_or(0);
        if request.start.begins_at_ms.is_some() {
            // A session that answers the last messages of an ended instance would begin it early.
            instance.session = None;
            instance.given_seq = 0;
            instance.ready = None;
        }
        self.put_start(&mut instance, request)?;
        self.save_place(&instance)?;
        self.set_deadline(&instance, request.start)?;
        Ok(instance.execution_id)
    }

    fn create(&mut self, id: &InstanceId, request: StartRequest<'_>) -> Step<Instance> {
        let key = int(self.state.next_number());
        let now_ms = int(self.state.now_ms);
        let highest = self.number(sql::PURGED_READ, [id.as_str()])?;
        let execution_id = highest.map_or(ExecutionId::FIRST, |highest| {
            ExecutionId::new(uint(highest)).next()
        });
        let execution = int(execution_id.get());
        let StartInstance {
            name,
            version,
            parent,
            ..
        } = request.start;
        let parent = parent.as_ref();
        self.run(
            sql::RECORD_INSERT,
            params![
                key,
                id.as_str(),
                name.as_str(),
                version.as_deref(),
                status_bytes(&InstanceStatus::Pending)?,
                parent.map(|parent| parent.instance.as_str()),
                parent.map(|parent| int(parent.execution_id.get())),
                parent.map(|parent| int(parent.event_id.get())),
                now_ms,
                request.message_id.as_str(),
                execution,
                request.start.begins_at_ms.map(int),
            ],
        )?;
        let code = self.code_number(RequiredCode::new(name, version.clone()))?;
        let pending = status_number(StatusKind::Pending);
        let row = [key, execution, pending, now_ms, code.0];
        self.run(sql::INSTANCE_INSERT, row)?;
        self.add_attributes(key, &request.start.attributes)?;
        self.state.remember_key(id, key);
        Ok(Instance {
            key,
            execution_id,
            last_event_id: EventId::UNASSIGNED,
            status: StatusKind::Pending,
            updated_at_ms: self.state.now_ms,
            last_commit_id: None,
            session: None,
            code,
            token: 0,
            given_seq: 0,
            ready: None,
            not_before_ms: 0,
            must_run: false,
            is_blocked: false,
            crashes: 0,
            inline: InlineWork::default(),
        })
    }

    fn restart(&mut self, mut instance: Instance, request: StartRequest<'_>) -> Step<Instance> {
        let key = instance.key;
        let now_ms = int(self.state.now_ms);
        let (start_id, start_execution) = self.latest_start(key)?;
        let start = params![key, start_id, int(start_execution.get())];
        self.run(sql::START_KEEP, start)?;
        self.keep_execution(&instance)?;
        instance.execution_id = instance.execution_id.next();
        instance.last_event_id = EventId::UNASSIGNED;
        instance.status = StatusKind::Pending;
        instance.updated_at_ms = self.state.now_ms;
        instance.is_blocked = false;
        let execution = int(instance.execution_id.get());
        let StartInstance {
            name,
            version,
            parent,
            ..
        } = request.start;
        let parent = parent.as_ref();
        self.run(
            sql::RECORD_RESTART,
            params![
                key,
                name.as_str(),
                version.as_deref(),
                status_bytes(&InstanceStatus::Pending)?,
                parent.map(|parent| parent.instance.as_str()),
                parent.map(|parent| int(parent.execution_id.get())),
                parent.map(|parent| int(parent.event_id.get())),
                now_ms,
                request.message_id.as_str(),
                execution,
                request.start.begins_at_ms.map(int),
            ],
        )?;
        instance.code = self.code_number(RequiredCode::new(name, version.clone()))?;
        let pending = status_number(StatusKind::Pending);
        self.run(sql::INSTANCE_RESTART, [key, execution, pending, now_ms])?;
        self.change_attributes(key, &request.start.attributes)?;
        Ok(instance)
    }

    /// Remembers the current execution as a past one.
    pub(super) fn keep_execution(&self, instance: &Instance) -> Step<()> {
        let (execution, last) = (instance.execution_id.get(), instance.last_event_id.get());
        let past = [instance.key, int(execution), int(last)];
        self.run(sql::EXECUTION_KEEP, past)?;
        Ok(())
    }

    pub(crate) fn send(&mut self, outgoing: &PreparedMessage) -> Step<SendOutcome> {
        let Some(mut instance) = self.find(&outgoing.target)? else {
            return Ok(SendOutcome::UnknownInstance);
        };
        if instance.status.is_ended() {
            let message = params![instance.key, outgoing.message_id.as_str()];
            return Ok(match self.finds(sql::INBOX_HAS_MESSAGE, message)? {
                true => SendOutcome::Accepted,
                false => SendOutcome::InstanceEnded,
            });
        }
        if self.put_outgoing(&mut instance, outgoing.bytes())? {
            self.save_place(&instance)?;
        }
        Ok(SendOutcome::Accepted)
    }

    pub(crate) fn suspend(
        &mut self,
        id: &InstanceId,
        status: &InstanceStatus,
    ) -> Step<SendOutcome> {
        self.change_unless_ended(id, |_| Some(status.clone()))
    }

    pub(crate) fn resume(&mut self, id: &InstanceId) -> Step<SendOutcome> {
        self.change_unless_ended(id, resumed)
    }

    /// Lets a suspended instance go on. The caller stores its place.
    pub(super) fn resume_instance(&mut self, id: &InstanceId, instance: &mut Instance) -> Step<()> {
        if let Some(status) = resumed(instance) {
            self.set_status(id, instance, &status)?;
            self.free(instance)?;
        }
        Ok(())
    }

    /// Changes the status of an instance that has not ended. If the change gives
    /// another one, the lease of the instance ends.
    fn change_unless_ended(
        &mut self,
        id: &InstanceId,
        change: impl FnOnce(&mut Instance) -> Option<InstanceStatus>,
    ) -> Step<SendOutcome> {
        let Some(mut instance) = self.find(id)? else {
            return Ok(SendOutcome::UnknownInstance);
        };
        if instance.status.is_ended() {
            return Ok(SendOutcome::InstanceEnded);
        }
        if let Some(status) = change(&mut instance) {
            self.set_status(id, &mut instance, &status)?;
            self.free(&mut instance)?;
            self.save_place(&instance)?;
        }
        Ok(SendOutcome::Accepted)
    }

    /// Gives an instance another status. The place is to be stored.
    pub(super) fn set_status(
        &mut self,
        id: &InstanceId,
        instance: &mut Instance,
        status: &InstanceStatus,
    ) -> Step<()> {
        instance.status = status.kind();
        self.touch(instance, 0);
        let status = params![instance.key, status_bytes(status)?];
        self.run(sql::RECORD_STATUS, status)?;
        self.note(Change::Instance(id.clone()));
        if instance.status.is_stopped() {
            self.note(Change::Stop(id.clone()));
        }
        Ok(())
    }
}

/// The status of a suspended instance that goes on: it is ready, even without a message.
fn resumed(instance: &mut Instance) -> Option<InstanceStatus> {
    if !instance.is_suspended() {
        return None;
    }
    instance.must_run = true;
    Some(match instance.last_event_id {
        EventId::UNASSIGNED => InstanceStatus::Pending,
        _ => InstanceStatus::Running,
    })
}
