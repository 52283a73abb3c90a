//! Claiming instances, and taking them back without a commit.

use durable_core::InstanceId;
use durable_core::provider::{
    Change, InboxMessage, InboxSeq, Lease, ProviderError, ReadyInstance, ReadyInstances, Release,
    ServedCode, SessionId,
};

use super::state::{LeaseHolder, MemoryState, ReadySince, StoredInstance};

impl MemoryState {
    pub(super) fn fetch_instances(
        &mut self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        self.live_session(session)?;
        let code = self.code_of(session);
        let mut ready: Vec<(ReadySince, InstanceId)> = self
            .instances
            .iter()
            .filter_map(|(id, instance)| {
                let since = instance.ready_for(session, code.as_deref())?;
                (since.at_ms <= self.now_ms).then(|| (since, id.clone()))
            })
            .collect();
        ready.sort();
        let instances = ready
            .iter()
            .take(max)
            .filter_map(|(_, id)| self.claim_instance(id, session))
            .collect();
        let mut claimed = ReadyInstances::default();
        claimed.seen = self.wake.seen();
        claimed.instances = instances;
        claimed.next_due_ms = self.next_due_instance_ms(session);
        Ok(claimed)
    }

    pub(super) fn release(&mut self, releases: Vec<Release>) -> Result<(), ProviderError> {
        for release in &releases {
            self.limits.check_release(release)?;
        }
        for release in releases {
            let lease = release.lease;
            let Some(instance) = self.instances.get_mut(&lease.instance) else {
                continue;
            };
            if !instance.is_held_under(&lease) {
                continue;
            }
            instance.not_before_ms = release.not_before_ms.unwrap_or(0);
            if release.blocked.is_some() {
                instance.record.blocked = release.blocked;
                instance.changed_at(self.now_ms);
                self.wake.note(Change::Instance(lease.instance.clone()));
            }
            self.free_instance(&lease.instance);
        }
        Ok(())
    }

    /// When time alone may make an instance ready for this session.
    fn next_due_instance_ms(&self, session: SessionId) -> Option<u64> {
        let code = self.code_of(session);
        self.instances
            .values()
            .filter_map(|instance| match &instance.holder {
                None => Some(instance.ready_for(session, code.as_deref())?.at_ms),
                Some(holder) if holder.lease.session == session => None,
                Some(holder) => Some(self.sessions.get(&holder.lease.session)?.late_at_ms()),
            })
            .filter(|at_ms| *at_ms > self.now_ms)
            .min()
    }

    /// Gives the session the messages that it was not given under its lease,
    /// with a new lease if it has none.
    fn claim_instance(&mut self, id: &InstanceId, session: SessionId) -> Option<ReadyInstance> {
        let token = self.next_number();
        let instance = self.instances.get_mut(id)?;
        let holder = instance.holder.get_or_insert_with(|| LeaseHolder {
            lease: Lease {
                instance: id.clone(),
                session,
                token,
            },
            given_up_to: InboxSeq(0),
        });
        let later = instance.inbox.after(holder.given_up_to);
        let messages: Vec<InboxMessage> = later.take(self.messages_per_fetch).collect();
        if let Some(last) = messages.last() {
            holder.given_up_to = last.seq;
        }
        let lease = holder.lease.clone();
        let has_more = instance.has_messages_to_give();
        if !has_more {
            instance.ready_since = None;
        }
        let mut ready = ReadyInstance::new(lease, instance.record.execution_id);
        ready.last_event_id = instance.record.last_event_id;
        ready.last_commit_id = instance.last_commit.as_ref().map(|(id, _)| *id);
        ready.messages = messages;
        ready.has_more = has_more;
        ready.crashes = instance.crashes;
        Some(ready)
    }
}

impl StoredInstance {
    /// Since when this session may have the instance, if it may: a free one that its code
    /// can run from the end of its delay on, its own one at once.
    fn ready_for(&self, session: SessionId, code: Option<&ServedCode>) -> Option<ReadySince> {
        let since = self.ready_since?;
        match &self.holder {
            None if code.is_some_and(|code| !code.can_run(&self.required_code())) => None,
            None => Some(ReadySince {
                at_ms: since.at_ms.max(self.not_before_ms),
                ..since
            }),
            Some(holder) => (holder.lease.session == session).then_some(since),
        }
    }

    pub(super) fn is_held_by(&self, session: SessionId) -> bool {
        self.holder
            .as_ref()
            .is_some_and(|holder| holder.lease.session == session)
    }
}
