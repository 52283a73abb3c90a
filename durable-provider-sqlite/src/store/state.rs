//! What the writer keeps in memory between transactions: copies of what is small and
//! asked for again and again.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use durable_core::InstanceId;
use durable_core::provider::{Change, ServedCode, SessionId, SessionOptions, WakeSeq};
use rusqlite::{Connection, OptionalExtension};

use super::catalog::Catalog;
use super::instance::Instance;
use crate::clock::StoreClock;
use crate::lock::SessionLocks;
use crate::number::{int, uint};
use crate::options::SqliteOptions;
use crate::query;
use crate::sql;
use crate::wake::VersionedChange;

/// How many numbers the file says are given before they are: it need not be told of
/// each.
const RESERVED_NUMBERS: u64 = 1_024;
/// How many keys of instances are remembered.
const REMEMBERED_KEYS: usize = 65_536;
/// How many instances that are held are remembered.
const REMEMBERED_HELD: usize = 4_096;

/// A session that lives.
#[derive(Debug, Clone)]
pub(crate) struct LiveSession {
    pub(crate) session_timeout_ms: u64,
    pub(crate) last_heartbeat_ms: u64,
    /// The code of its node; `None` is any.
    pub(crate) code: Option<Arc<ServedCode>>,
}

impl LiveSession {
    pub(crate) fn new(options: SessionOptions, last_heartbeat_ms: u64) -> Self {
        Self {
            session_timeout_ms: options.session_timeout_ms,
            last_heartbeat_ms,
            code: options.code.map(Arc::new),
        }
    }

    /// When it ends, if no heartbeat comes.
    pub(crate) fn late_at_ms(&self) -> u64 {
        query::late_at_ms(self.last_heartbeat_ms, self.session_timeout_ms)
    }
}

/// The writer's memory.
#[derive(Debug)]
pub(crate) struct WriterState {
    pub(crate) messages_per_fetch: usize,
    clock: Arc<StoreClock>,
    /// The store's time in this transaction.
    pub(crate) now_ms: u64,
    /// The latest time that a process which reads the file finds in it.
    stored_ms: u64,
    pub(crate) sessions: BTreeMap<SessionId, LiveSession>,
    /// None for a store that no other process can reach.
    pub(crate) locks: Option<SessionLocks>,
    /// Whether the sessions changed since they were made known.
    pub(crate) sessions_changed: bool,
    /// How many turns this transaction applied.
    pub(crate) turns: u64,
    last_number: u64,
    /// A process that reads the file gives only numbers above this one.
    stored_number: u64,
    /// Keys are never given to another instance, so one that is out of date finds
    /// nothing.
    keys: HashMap<InstanceId, i64>,
    /// Held instances as their latest turns left them.
    held: HashMap<i64, Instance>,
    pub(super) catalog: Catalog,
    version: u64,
    changes: Vec<VersionedChange>,
}

impl WriterState {
    pub(crate) fn new(
        options: &SqliteOptions,
        clock: Arc<StoreClock>,
        locks: Option<SessionLocks>,
    ) -> Self {
        Self {
            messages_per_fetch: options.messages_per_fetch.max(1),
            clock,
            now_ms: 0,
            stored_ms: 0,
            sessions: BTreeMap::new(),
            locks,
            sessions_changed: false,
            turns: 0,
            last_number: 0,
            stored_number: 0,
            keys: HashMap::new(),
            held: HashMap::new(),
            catalog: Catalog::default(),
            version: 0,
            changes: Vec::new(),
        }
    }

    /// Reads again what another process may have changed.
    pub(crate) fn reload(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(sql::META_READ)?;
        let (meta_ms, last_number) =
            statement.query_row([], |row| Ok((uint(row.get(0)?), uint(row.get(1)?))))?;
        let mut statement = connection.prepare_cached(sql::TIME_OF_LAST_TURN)?;
        let turn_ms = statement.query_row([], |row| row.get(0)).optional()?;
        self.stored_ms = meta_ms.max(turn_ms.map_or(0, uint));
        self.now_ms = self.now_ms.max(self.stored_ms);
        self.stored_number = last_number;
        self.last_number = self.last_number.max(last_number);
        let sessions = query::stored_sessions(connection)?.into_iter();
        self.sessions = sessions
            .map(|stored| {
                let live = LiveSession::new(stored.options, stored.last_heartbeat_ms);
                (stored.session, live)
            })
            .collect();
        self.sessions_changed = true;
        if let Some(locks) = &mut self.locks {
            locks.keep_only(|session| self.sessions.contains_key(&session));
        }
        Ok(())
    }

    /// Reads the clock.
    pub(super) fn read_clock(&mut self) {
        self.now_ms = self.clock.now_after(self.now_ms);
    }

    /// A turn was appended: the row of its instance tells the time.
    pub(super) fn on_appended(&mut self) {
        self.stored_ms = self.stored_ms.max(self.now_ms);
    }

    /// Instances were removed, and with them perhaps the one that told the time.
    pub(super) fn on_removed(&mut self) {
        self.stored_ms = 0;
    }

    /// Writes what a transaction that changes something takes with it, unless the file
    /// has it.
    ///
    /// Numbers are reserved in the file before they are given, and the time stands in what a
    /// turn writes, so that most transactions write nothing here. Another process that
    /// writes reserves its own numbers above them; then this one reads again, and goes on
    /// above those.
    pub(crate) fn store(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let has_numbers = self.last_number <= self.stored_number;
        if has_numbers && self.now_ms <= self.stored_ms {
            return Ok(());
        }
        if !has_numbers {
            self.stored_number = self.last_number.saturating_add(RESERVED_NUMBERS);
        }
        self.stored_ms = self.now_ms;
        let mut statement = connection.prepare_cached(sql::META_WRITE)?;
        statement.execute([int(self.now_ms), int(self.stored_number)])?;
        Ok(())
    }

    /// A number above every one that was given before.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    pub(crate) fn seen(&self) -> WakeSeq {
        WakeSeq(self.version)
    }

    /// Remembers a change, for the callers that wait for it.
    pub(crate) fn note(&mut self, change: Change) {
        self.version += 1;
        self.changes.push((change, self.version));
    }

    /// How many changes there are, to go back to.
    pub(crate) fn noted(&self) -> usize {
        self.changes.len()
    }

    /// Forgets the changes of a step that was rolled back.
    pub(crate) fn forget_changes_after(&mut self, noted: usize) {
        self.changes.truncate(noted);
    }

    /// The changes since they were taken last, and the version to make known.
    pub(crate) fn take_changes(&mut self) -> (Vec<VersionedChange>, u64) {
        (std::mem::take(&mut self.changes), self.version)
    }

    /// The sessions that this store knows to live, with their code.
    pub(crate) fn live_sessions(&self) -> HashMap<SessionId, Option<Arc<ServedCode>>> {
        let sessions = self.sessions.iter();
        sessions
            .map(|(id, live)| (*id, live.code.clone()))
            .collect()
    }

    /// The code of a session that lives; `None` if it has any.
    pub(super) fn code_of(&self, session: SessionId) -> Option<Arc<ServedCode>> {
        self.sessions.get(&session)?.code.clone()
    }

    /// The sessions of other processes that died without closing them.
    pub(crate) fn dead_sessions(&self) -> Vec<SessionId> {
        let Some(locks) = &self.locks else {
            return Vec::new();
        };
        let sessions = self.sessions.keys().copied();
        sessions.filter(|session| locks.is_dead(*session)).collect()
    }

    pub(super) fn known_key(&self, id: &InstanceId) -> Option<i64> {
        self.keys.get(id).copied()
    }

    pub(super) fn remember_key(&mut self, id: &InstanceId, key: i64) {
        if self.keys.len() >= REMEMBERED_KEYS {
            self.keys.clear();
        }
        self.keys.insert(id.clone(), key);
    }

    pub(super) fn forget_key(&mut self, id: &InstanceId) {
        self.keys.remove(id);
    }

    /// Remembers an instance as a turn left it, while it is held.
    pub(super) fn remember_held(&mut self, instance: Instance) {
        if instance.session.is_none() {
            return;
        }
        if self.held.len() >= REMEMBERED_HELD {
            self.held.clear();
        }
        self.held.insert(instance.key, instance);
    }

    /// Takes a remembered instance out of the memory, since the caller may change it.
    pub(super) fn take_held(&mut self, key: i64) -> Option<Instance> {
        self.held.remove(&key)
    }

    /// Forgets what was found in rows: another process may have changed them, or a step
    /// that did was rolled back.
    pub(crate) fn forget_rows(&mut self) {
        self.keys.clear();
        self.held.clear();
        self.catalog.forget();
    }
}

#[cfg(test)]
mod tests {
    use durable_testkit::ManualClock;

    use super::*;

    /// The writer of another process, and its clock.
    fn process(now_ms: u64) -> (WriterState, ManualClock) {
        let clock = ManualClock::starting_at(now_ms);
        let time = Arc::new(StoreClock::new(Arc::new(clock.clone())));
        let state = WriterState::new(&SqliteOptions::default(), time, None);
        (state, clock)
    }

    fn open() -> (Connection, WriterState, ManualClock) {
        let connection = crate::connection::open_in_memory(&SqliteOptions::default()).unwrap();
        let (mut state, clock) = process(0);
        state.reload(&connection).unwrap();
        (connection, state, clock)
    }

    #[test]
    fn the_file_is_told_of_many_numbers_at_once() {
        let (connection, mut state, clock) = open();
        let changes = connection.total_changes();
        for _ in 0..RESERVED_NUMBERS {
            state.next_number();
            state.store(&connection).unwrap();
        }
        assert_eq!(connection.total_changes() - changes, 1);
        clock.set(1);
        state.read_clock();
        state.store(&connection).unwrap();
        assert_eq!(connection.total_changes() - changes, 2);
    }

    #[test]
    fn a_turn_tells_the_time_until_its_instance_is_removed() {
        let (connection, mut state, clock) = open();
        let changes = connection.total_changes();
        clock.set(1);
        state.read_clock();
        state.on_appended();
        state.store(&connection).unwrap();
        assert_eq!(connection.total_changes() - changes, 0);
        state.on_removed();
        state.store(&connection).unwrap();
        assert_eq!(connection.total_changes() - changes, 1);
        let (mut other, _) = process(0);
        other.reload(&connection).unwrap();
        other.read_clock();
        assert_eq!(other.now_ms, 1);
    }

    #[test]
    fn numbers_and_times_rise_across_processes() {
        let (connection, mut one, _) = open();
        let (mut other, clock) = process(500);
        let mut given = vec![one.next_number()];
        let mut times = Vec::new();
        one.store(&connection).unwrap();
        for _ in 0..3 {
            for state in [&mut other, &mut one] {
                state.reload(&connection).unwrap();
                state.read_clock();
                times.push(state.now_ms);
                given.push(state.next_number());
                given.push(state.next_number());
                state.store(&connection).unwrap();
            }
            clock.advance(10);
        }
        assert!(given.is_sorted_by(|a, b| a < b), "{given:?}");
        assert_eq!(times, [500, 500, 510, 510, 520, 520]);
    }
}
