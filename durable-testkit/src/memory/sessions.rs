//! Sessions: their heartbeats, and what becomes of their holdings.

use std::sync::Arc;

use durable_core::InstanceId;
use durable_core::provider::{
    Change, ProviderError, ServedCode, SessionId, SessionOptions, SessionRecord, WorkKey,
};

use super::state::{MemoryState, StoredSession};

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionEnd {
    InGoodOrder,
    Crashed,
}

impl MemoryState {
    pub(super) fn open_session(
        &mut self,
        options: SessionOptions,
    ) -> Result<SessionId, ProviderError> {
        self.limits.check_session(&options)?;
        let id = SessionId(self.next_number());
        let session = StoredSession {
            code: options.code.clone().map(Arc::new),
            options,
            last_heartbeat_ms: self.now_ms,
        };
        self.sessions.insert(id, session);
        Ok(id)
    }

    /// The sessions that live at this time.
    pub(super) fn sessions(&self, now_ms: u64) -> Vec<SessionRecord> {
        let live = self.sessions.iter();
        live.filter(|(_, session)| !session.is_late(now_ms))
            .map(|(id, session)| {
                SessionRecord::new(*id, session.options.clone(), session.late_at_ms())
            })
            .collect()
    }

    /// The code of a session that lives; `None` if it has any.
    pub(super) fn code_of(&self, id: SessionId) -> Option<Arc<ServedCode>> {
        self.sessions.get(&id)?.code.clone()
    }

    pub(super) fn heartbeat(&mut self, id: SessionId) -> Result<(), ProviderError> {
        let now_ms = self.now_ms;
        self.live_session(id)?.last_heartbeat_ms = now_ms;
        Ok(())
    }

    pub(super) fn close_session(&mut self, id: SessionId) {
        self.end_session(id, SessionEnd::InGoodOrder);
    }

    /// The session, unless it has ended.
    pub(super) fn live_session(
        &mut self,
        id: SessionId,
    ) -> Result<&mut StoredSession, ProviderError> {
        self.sessions
            .get_mut(&id)
            .ok_or(ProviderError::SessionLost { session: id })
    }

    pub(super) fn end_late_sessions(&mut self) {
        let late: Vec<SessionId> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.is_late(self.now_ms))
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            self.end_session(id, SessionEnd::Crashed);
        }
    }

    fn end_session(&mut self, id: SessionId, ending: SessionEnd) {
        if self.sessions.remove(&id).is_none() {
            return;
        }
        let crash = u32::from(ending == SessionEnd::Crashed);
        for instance in self.instances_held_by(id) {
            if let Some(held) = self.instances.get_mut(&instance) {
                held.crashes += crash;
                held.must_run |= ending == SessionEnd::Crashed;
            }
            self.free_instance(&instance);
        }
        for key in self.work_held_by(id) {
            if let Some(held) = self.work.get_mut(&key) {
                held.crashes += crash;
            }
            self.free_work(&key, 0);
        }
        self.wake.note(Change::Session(id));
    }

    fn instances_held_by(&self, id: SessionId) -> Vec<InstanceId> {
        self.instances
            .iter()
            .filter(|(_, instance)| instance.is_held_by(id))
            .map(|(instance, _)| instance.clone())
            .collect()
    }

    fn work_held_by(&self, id: SessionId) -> Vec<WorkKey> {
        let held = self.work.held_by(id);
        held.map(|work| work.item.key.clone()).collect()
    }
}

impl StoredSession {
    /// When it ends, if no heartbeat comes.
    pub(super) fn late_at_ms(&self) -> u64 {
        let last_moment_ms = self
            .last_heartbeat_ms
            .saturating_add(self.options.session_timeout_ms);
        last_moment_ms.saturating_add(1)
    }

    fn is_late(&self, now_ms: u64) -> bool {
        now_ms >= self.late_at_ms()
    }
}
