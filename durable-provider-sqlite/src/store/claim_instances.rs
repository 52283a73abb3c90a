//! Claiming instances, and releasing them without a commit.

use durable_core::provider::{
    Change, InboxPage, InboxSeq, InstanceStatus, Lease, ProviderError, ReadyInstance,
    ReadyInstances, RequiredCode, SessionId,
};
use durable_core::{Failure, FailureKind, InstanceId};
use rusqlite::params;

use super::catalog::CodeNumber;
use super::instance::{Instance, ReadySince};
use super::{Store, holder};
use crate::error::{Fault, Step};
use crate::number::{int, limit, uint};
use crate::query;
use crate::sql;
use crate::turn::Returned;

impl Store<'_, '_> {
    pub(crate) fn fetch_instances(
        &mut self,
        session: SessionId,
        max: usize,
    ) -> Step<ReadyInstances> {
        self.live_session(session)?;
        let codes = self.runnable_codes(session)?;
        let mut ready = self.ready_places(holder(session), max)?;
        for code in &codes {
            let places = self.ready_places(code.as_holder(), max)?;
            if max > 0 && places.is_empty() && self.next_due_ms(*code)?.is_none() {
                self.catalog()?.codes.mark_idle(code.0);
            }
            ready.extend(places);
        }
        ready.sort_unstable();
        ready.truncate(max);
        let mut instances = Vec::with_capacity(ready.len());
        for (_, key) in ready {
            instances.extend(self.claim_instance(key, session)?);
        }
        let mut claimed = ReadyInstances::default();
        claimed.seen = self.state.seen();
        claimed.instances = instances;
        claimed.next_due_ms = self.next_due_instance_ms(session, &codes)?;
        Ok(claimed)
    }

    pub(crate) fn release(&mut self, returned: &[Returned]) -> Step<()> {
        for returned in returned {
            let Some(mut instance) = self.find(&returned.lease.instance)? else {
                continue;
            };
            if instance.is_held_under(&returned.lease) {
                instance.not_before_ms = returned.not_before_ms;
                if let Some(blocked) = &returned.blocked {
                    self.run(sql::INSTANCE_BLOCK, [instance.key])?;
                    self.run(sql::RECORD_BLOCK, params![instance.key, blocked])?;
                    self.touch(&mut instance, 0);
                    self.note(Change::Instance(returned.lease.instance.clone()));
                }
                self.free(&mut instance)?;
                self.save_place(&instance)?;
            }
        }
        Ok(())
    }

    /// The codes that this session has and that instances may be ready for.
    fn runnable_codes(&mut self, session: SessionId) -> Step<Vec<CodeNumber>> {
        let code = self.state.code_of(session);
        let can_run = |required: Option<&RequiredCode>| match (&code, required) {
            (Some(code), Some(required)) => code.can_run(required),
            (None, _) | (_, None) => true,
        };
        let busy = self.catalog()?.codes.busy();
        let runnable = busy.filter(|(_, required)| can_run(*required));
        Ok(runnable.map(|(number, _)| CodeNumber(number)).collect())
    }

    /// What is ready for this holder, those that waited longest first.
    fn ready_places(&self, holder: i64, max: usize) -> Step<Vec<(ReadySince, i64)>> {
        let mut statement = self.statement(sql::INSTANCES_READY)?;
        let places = statement.query_map([holder, int(self.state.now_ms), limit(max)], |row| {
            let since = ReadySince {
                at_ms: uint(row.get(0)?),
                number: uint(row.get(1)?),
            };
            Ok((since, row.get(2)?))
        })?;
        Ok(places.collect::<Result<_, _>>()?)
    }

    /// Gives the session the messages that it was not given under its lease, with a
    /// new lease if it has none. An instance whose messages are damaged is suspended
    /// instead.
    fn claim_instance(&mut self, key: i64, session: SessionId) -> Step<Option<ReadyInstance>> {
        let Some(mut instance) = self.load(key)? else {
            return Ok(None);
        };
        let id = self.id_of(key)?;
        if instance.session.is_none() {
            instance.session = Some(session);
            instance.token = self.state.next_number();
            instance.given_seq = 0;
        }
        let given = match self.give(&id, &instance) {
            Ok(given) => given,
            Err(Fault::Refused(ProviderError::Damaged { reason })) => {
                self.suspend_damaged(&id, instance, reason)?;
                return Ok(None);
            }
            Err(fault) => return Err(fault),
        };
        if let Some(last) = given.messages.last() {
            instance.given_seq = last.seq.0;
        }
        if !given.has_more {
            instance.ready = None;
        }
        self.save_place(&instance)?;
        self.state.remember_key(&id, key);
        let lease = Lease {
            instance: id,
            session,
            token: instance.token,
        };
        let mut ready = ReadyInstance::new(lease, instance.execution_id);
        ready.last_event_id = instance.last_event_id;
        ready.last_commit_id = instance.last_commit_id;
        ready.messages = given.messages;
        ready.has_more = given.has_more;
        ready.crashes = instance.crashes;
        Ok(Some(ready))
    }

    fn give(&self, id: &InstanceId, instance: &Instance) -> Step<InboxPage> {
        let (after, max) = (InboxSeq(instance.given_seq), self.state.messages_per_fetch);
        query::inbox_page(self.statements.connection, id, instance.key, after, max)
    }

    /// Suspends an instance that cannot be claimed because something of it does not
    /// decode; the others go on.
    pub(super) fn suspend_damaged(
        &mut self,
        id: &InstanceId,
        mut instance: Instance,
        reason: String,
    ) -> Step<()> {
        self.mark_damaged(id, &mut instance, reason)?;
        self.free(&mut instance)?;
        self.save_place(&instance)
    }

    /// Gives an instance of which something does not decode the status that says so. The
    /// caller ends its lease and stores its place.
    pub(super) fn mark_damaged(
        &mut self,
        id: &InstanceId,
        instance: &mut Instance,
        reason: String,
    ) -> Step<()> {
        tracing::error!(instance = %id, %reason, "an instance is damaged and was suspended");
        let failure = Failure::new(FailureKind::CorruptHistory, reason).not_retryable();
        self.set_status(id, instance, &InstanceStatus::Suspended { failure })
    }

    /// When time alone may make an instance ready for this session.
    fn next_due_instance_ms(&self, session: SessionId, codes: &[CodeNumber]) -> Step<Option<u64>> {
        let mut due_ms = None;
        for code in codes {
            due_ms = due_ms.into_iter().chain(self.next_due_ms(*code)?).min();
        }
        for (other, life) in &self.state.sessions {
            if *other != session && self.finds(sql::INSTANCE_IS_HELD, [holder(*other)])? {
                let late_at_ms = life.late_at_ms();
                due_ms = Some(due_ms.map_or(late_at_ms, |due| due.min(late_at_ms)));
            }
        }
        Ok(due_ms)
    }

    /// When the next delay of an instance that needs this code is over.
    fn next_due_ms(&self, code: CodeNumber) -> Step<Option<u64>> {
        let next = [code.as_holder(), int(self.state.now_ms)];
        Ok(self.number(sql::INSTANCE_NEXT_DUE, next)?.map(uint))
    }
}
