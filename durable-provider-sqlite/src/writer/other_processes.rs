//! What other processes do to the same file: they change it, and they die.

use std::time::{Duration, Instant};

use durable_core::provider::Change;
use rusqlite::Connection;

use crate::error::Step;
use crate::store::{Statements, Store, WriterState};

/// What the writer knows of other processes.
#[derive(Debug)]
pub(super) struct OtherProcesses {
    poll_interval: Duration,
    /// SQLite's number of the content; another number means that another process changed
    /// it. None if the writer does not know the content.
    data_version: Option<i64>,
    /// When the locks of other processes' sessions were last tried.
    last_liveness_check: Option<Instant>,
}

impl OtherProcesses {
    pub(super) fn new(poll_interval: Duration) -> Self {
        Self {
            poll_interval,
            data_version: None,
            last_liveness_check: None,
        }
    }

    /// The writer's memory may differ from the file: the next transaction reads it again.
    pub(super) fn distrust_memory(&mut self) {
        self.data_version = None;
    }

    /// Whether another process changed something, or died.
    pub(super) fn have_news(
        &mut self,
        connection: &Connection,
        state: &WriterState,
    ) -> rusqlite::Result<bool> {
        let has_changed = Some(data_version(connection)?) != self.data_version;
        let has_dead = self.is_liveness_due(state) && {
            self.last_liveness_check = Some(Instant::now());
            !state.dead_sessions().is_empty()
        };
        if has_dead {
            // The transaction that expires them checks again.
            self.last_liveness_check = None;
        }
        Ok(has_changed || has_dead)
    }

    /// Reads again what another process changed, within a transaction.
    pub(super) fn catch_up(
        &mut self,
        connection: &Connection,
        state: &mut WriterState,
    ) -> rusqlite::Result<()> {
        let version = data_version(connection)?;
        if self.data_version != Some(version) {
            state.reload(connection)?;
            state.forget_rows();
            state.note(Change::Everything);
            self.data_version = Some(version);
        }
        Ok(())
    }

    /// Expires the sessions of processes that died, if it is time to check.
    pub(super) fn expire_dead_sessions(
        &mut self,
        statements: &Statements<'_>,
        state: &mut WriterState,
    ) -> Step<()> {
        if !self.is_liveness_due(state) {
            return Ok(());
        }
        self.last_liveness_check = Some(Instant::now());
        for session in state.dead_sessions() {
            Store { statements, state }.expire_session(session)?;
        }
        Ok(())
    }

    /// Whether it is time to try the locks of other processes' sessions.
    fn is_liveness_due(&self, state: &WriterState) -> bool {
        let Some(locks) = &state.locks else {
            return false;
        };
        let mut sessions = state.sessions.keys();
        let has_others = sessions.any(|session| !locks.is_own(*session));
        let last = self.last_liveness_check;
        has_others && last.is_none_or(|last| last.elapsed() >= self.poll_interval)
    }
}

fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    let mut statement = connection.prepare_cached("PRAGMA data_version")?;
    statement.query_row([], |row| row.get(0))
}
