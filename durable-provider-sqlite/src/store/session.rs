//! Sessions: their heartbeats, and what becomes of their leases.

use durable_core::provider::{Change, ProviderError, SessionId, SessionOptions};
use rusqlite::params;

use super::state::LiveSession;
use super::{Store, holder};
use crate::error::Step;
use crate::number::int;
use crate::sql;

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionEnd {
    Closed,
    Crashed,
}

impl Store<'_, '_> {
    pub(crate) fn open_session(&mut self, options: SessionOptions) -> Step<SessionId> {
        let id = SessionId(self.state.next_number());
        let now_ms = self.state.now_ms;
        if let Some(locks) = &mut self.state.locks {
            locks
                .acquire(id)
                .map_err(|error| ProviderError::Unavailable {
                    reason: format!("the lock file of {id} cannot be locked: {error}"),
                })?;
        }
        let row = params![holder(id), options.to_json()?, int(now_ms)];
        self.run(sql::SESSION_INSERT, row)?;
        let session = LiveSession::new(options, now_ms);
        self.state.sessions.insert(id, session);
        self.state.sessions_changed = true;
        Ok(id)
    }

    pub(crate) fn heartbeat(&mut self, id: SessionId) -> Step<()> {
        self.live_session(id)?;
        let now_ms = self.state.now_ms;
        self.run(sql::SESSION_BEAT, [holder(id), int(now_ms)])?;
        if let Some(session) = self.state.sessions.get_mut(&id) {
            session.last_heartbeat_ms = now_ms;
        }
        Ok(())
    }

    pub(crate) fn close_session(&mut self, id: SessionId) -> Step<()> {
        self.end_session(id, SessionEnd::Closed)
    }

    /// Expires a session whose process is dead.
    pub(crate) fn expire_session(&mut self, id: SessionId) -> Step<()> {
        tracing::warn!(session = id.0, "the process of a session is dead");
        self.end_session(id, SessionEnd::Crashed)
    }

    pub(super) fn live_session(&self, id: SessionId) -> Step<()> {
        if self.state.sessions.contains_key(&id) {
            return Ok(());
        }
        Err(ProviderError::SessionLost { session: id }.into())
    }

    pub(super) fn end_late_sessions(&mut self) -> Step<()> {
        let now_ms = self.state.now_ms;
        let sessions = self.state.sessions.iter();
        let late: Vec<SessionId> = sessions
            .filter(|(_, session)| now_ms >= session.late_at_ms())
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            self.end_session(id, SessionEnd::Crashed)?;
        }
        Ok(())
    }

    fn end_session(&mut self, id: SessionId, ending: SessionEnd) -> Step<()> {
        if self.state.sessions.remove(&id).is_none() {
            return Ok(());
        }
        self.state.sessions_changed = true;
        self.run(sql::SESSION_DELETE, [holder(id)])?;
        let has_crashed = ending == SessionEnd::Crashed;
        for key in self.instances_held_by(id)? {
            if let Some(mut instance) = self.load(key)? {
                instance.crashes = instance.crashes.saturating_add(u32::from(has_crashed));
                instance.must_run |= has_crashed;
                self.free(&mut instance)?;
                self.save_place(&instance)?;
            }
        }
        self.free_work_held_by(id, has_crashed)?;
        self.note(Change::Session(id));
        if let Some(locks) = &mut self.state.locks {
            locks.remove(id);
        }
        Ok(())
    }

    fn instances_held_by(&self, id: SessionId) -> Step<Vec<i64>> {
        let mut statement = self.statement(sql::INSTANCES_HELD)?;
        let keys = statement.query_map([holder(id)], |row| row.get(0))?;
        Ok(keys.collect::<Result<_, _>>()?)
    }
}
