//! What the writer keeps in memory between transactions: copies of what is small and
//! asked for again and again.

use std::collections::{BTreeMap, HashMap, HashSet};

use durable_core::provider::{SessionId, WakeSeq};
use durable_core::{InstanceId, Name};
use rusqlite::Connection;

use super::instance::Instance;
use crate::lock::SessionLocks;
use crate::number::{int, uint};
use crate::options::SqliteOptions;
use crate::sql;
use crate::wake::{Note, Topic};

/// How many numbers the file says are given before they are: it need not be told of
/// each.
const RESERVED_NUMBERS: u64 = 1_024;
/// How many keys of instances are remembered.
const REMEMBERED_KEYS: usize = 65_536;
/// How many instances that are held are remembered.
const REMEMBERED_HELD: usize = 4_096;
/// How many queues without work are remembered.
const REMEMBERED_QUEUES: usize = 1_024;

/// When a session's next heartbeat is late.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionLiveness {
    pub(crate) session_timeout_ms: u64,
    pub(crate) last_heartbeat_ms: u64,
}

impl SessionLiveness {
    /// When it ends, if no heartbeat comes.
    pub(crate) fn late_at_ms(&self) -> u64 {
        self.last_heartbeat_ms
            .saturating_add(self.session_timeout_ms)
            .saturating_add(1)
    }
}

/// The row of `meta`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct MetaRow {
    now_ms: u64,
    /// A process that reads this gives only numbers above it.
    last_number: u64,
}

/// The writer's memory.
#[derive(Debug)]
pub(crate) struct WriterState {
    pub(crate) messages_per_fetch: usize,
    /// The store's time: the highest `now_ms` that any call was made with.
    pub(crate) now_ms: u64,
    pub(crate) sessions: BTreeMap<SessionId, SessionLiveness>,
    /// None for a store that no other process can reach.
    pub(crate) locks: Option<SessionLocks>,
    /// Whether the sessions changed since they were made known.
    pub(crate) sessions_changed: bool,
    /// How many turns this transaction applied.
    pub(crate) turns: u64,
    last_number: u64,
    /// What the file says.
    stored: MetaRow,
    /// Keys are never given to another instance, so one that is out of date finds
    /// nothing.
    keys: HashMap<InstanceId, i64>,
    /// Held instances as their latest turns left them.
    held: HashMap<i64, Instance>,
    /// Queues in which no work is free, now or later, unless something happens.
    empty_queues: HashSet<Option<Name>>,
    version: u64,
    notes: Vec<Note>,
}

impl WriterState {
    pub(crate) fn new(options: &SqliteOptions, locks: Option<SessionLocks>) -> Self {
        Self {
            messages_per_fetch: options.messages_per_fetch.max(1),
            now_ms: 0,
            sessions: BTreeMap::new(),
            locks,
            sessions_changed: false,
            turns: 0,
            last_number: 0,
            stored: MetaRow::default(),
            keys: HashMap::new(),
            held: HashMap::new(),
            empty_queues: HashSet::new(),
            version: 0,
            notes: Vec::new(),
        }
    }

    /// Reads again what another process may have changed.
    pub(crate) fn reload(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(sql::META_READ)?;
        self.stored = statement.query_row([], |row| {
            Ok(MetaRow {
                now_ms: uint(row.get(0)?),
                last_number: uint(row.get(1)?),
            })
        })?;
        self.now_ms = self.now_ms.max(self.stored.now_ms);
        self.last_number = self.last_number.max(self.stored.last_number);
        let mut statement = connection.prepare_cached(sql::SESSIONS_READ)?;
        let sessions = statement.query_map([], |row| {
            let session = SessionLiveness {
                session_timeout_ms: uint(row.get(1)?),
                last_heartbeat_ms: uint(row.get(2)?),
            };
            Ok((SessionId(uint(row.get(0)?)), session))
        })?;
        self.sessions = sessions.collect::<Result<_, _>>()?;
        self.sessions_changed = true;
        if let Some(locks) = &mut self.locks {
            locks.keep_only(|session| self.sessions.contains_key(&session));
        }
        Ok(())
    }

    /// Writes what a transaction that changes something takes with it, unless the file
    /// has it.
    ///
    /// Numbers are reserved in the file before they are given, so that most
    /// transactions write none. Another process that writes reserves its own above
    /// them; then this one reads again, and goes on above those.
    pub(crate) fn store(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut current = MetaRow {
            now_ms: self.now_ms,
            last_number: self.stored.last_number,
        };
        if self.last_number > self.stored.last_number {
            current.last_number = self.last_number.saturating_add(RESERVED_NUMBERS);
        }
        if current != self.stored {
            let mut statement = connection.prepare_cached(sql::META_WRITE)?;
            statement.execute([int(current.now_ms), int(current.last_number)])?;
            self.stored = current;
        }
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

    /// Remembers a change.
    pub(crate) fn note(&mut self, topic: Topic) {
        if let Topic::Work(queue) = &topic {
            self.empty_queues.remove(queue);
        }
        self.version += 1;
        self.notes.push((topic, self.version));
    }

    /// How many notes there are, to go back to.
    pub(crate) fn noted(&self) -> usize {
        self.notes.len()
    }

    /// Forgets the notes of a step that was rolled back.
    pub(crate) fn forget_notes_after(&mut self, noted: usize) {
        self.notes.truncate(noted);
    }

    /// The notes since they were taken last, and the version to make known.
    pub(crate) fn take_notes(&mut self) -> (Vec<Note>, u64) {
        (std::mem::take(&mut self.notes), self.version)
    }

    /// The sessions that this store knows to live.
    pub(crate) fn live_sessions(&self) -> HashSet<SessionId> {
        self.sessions.keys().copied().collect()
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

    pub(super) fn is_known_empty(&self, queue: &Option<Name>) -> bool {
        self.empty_queues.contains(queue)
    }

    /// Remembers that no work of this queue is free; work that becomes free is noted.
    pub(super) fn remember_empty(&mut self, queue: &Option<Name>) {
        if self.empty_queues.len() >= REMEMBERED_QUEUES {
            self.empty_queues.clear();
        }
        self.empty_queues.insert(queue.clone());
    }

    /// Forgets what was found in rows: another process may have changed them, or a step
    /// that did was rolled back.
    pub(crate) fn forget_rows(&mut self) {
        self.keys.clear();
        self.held.clear();
        self.empty_queues.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> (Connection, WriterState) {
        let connection = crate::connection::open_in_memory(&SqliteOptions::default()).unwrap();
        let mut state = WriterState::new(&SqliteOptions::default(), None);
        state.reload(&connection).unwrap();
        (connection, state)
    }

    #[test]
    fn the_file_is_told_of_many_numbers_at_once() {
        let (connection, mut state) = open();
        let changes = connection.total_changes();
        for _ in 0..RESERVED_NUMBERS {
            state.next_number();
            state.store(&connection).unwrap();
        }
        assert_eq!(connection.total_changes() - changes, 1);
        state.now_ms += 1;
        state.store(&connection).unwrap();
        assert_eq!(connection.total_changes() - changes, 2);
    }

    #[test]
    fn numbers_rise_across_processes() {
        let (connection, mut one) = open();
        let mut other = WriterState::new(&SqliteOptions::default(), None);
        let mut given = vec![one.next_number()];
        one.store(&connection).unwrap();
        for _ in 0..3 {
            for state in [&mut other, &mut one] {
                state.reload(&connection).unwrap();
                given.push(state.next_number());
                given.push(state.next_number());
                state.store(&connection).unwrap();
            }
        }
        assert!(given.is_sorted_by(|a, b| a < b), "{given:?}");
    }
}
