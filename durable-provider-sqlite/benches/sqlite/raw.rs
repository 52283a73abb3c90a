//! The raw limit: the rows that orchestrations need, written by rusqlite alone, with
//! the schema and the settings of the provider.

use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use tempfile::TempDir;

use durable_provider_sqlite::SqliteProvider;

/// How many turns share a transaction.
const TURNS_PER_TRANSACTION: usize = 64;
/// About the size of the entries and records of the workload.
const ENTRY: [u8; 60] = [7; 60];
const START: [u8; 70] = [7; 70];
/// What an instance says of the one activity that it runs.
const INLINE_WORK: Option<[u8; 28]> = Some([7; 28]);
/// How claims are committed: a power cut ends all sessions.
const CLAIM_SYNCHRONOUS: &str = "NORMAL";

const HISTORY: &str =
    "INSERT INTO history (instance_key, execution_id, event_id, entry) VALUES (?1, 1, ?2, ?3)";
const STEP: &str = "UPDATE instance SET last_event_id = ?2, updated_at_ms = 1700000000000, commit_id = ?3, committed_at_ms = 1700000000000, commit_answer = ?4, inline_work = ?5, code = 1 WHERE key = ?1";
const RECORD: &str = "INSERT INTO record (key, id, name, status, created_at_ms, start_message_id, start_execution_id) VALUES (?1, ?2, 'sequence', x'00', 1700000000000, ?2, 1)";
const INSTANCE: &str = "INSERT INTO instance (key, execution_id, last_event_id, status_kind, updated_at_ms, committed_at_ms, code, holder, token, given_seq, ready_at_ms, ready_number, not_before_ms, must_run, is_blocked, crashes) VALUES (?1, 1, 0, 0, 1700000000000, 0, 1, -1, 0, 0, 1700000000000, ?1, 0, 0, 0, 0)";
const INBOX: &str =
    "INSERT INTO inbox (instance_key, seq, message_id, message) VALUES (?1, 1, ?2, ?3)";
const TAKE: &str = "DELETE FROM inbox WHERE instance_key = ?1 AND seq = 1";
const HOLD: &str = "UPDATE instance SET holder = ?2, token = 1, given_seq = 1, ready_at_ms = NULL, ready_number = NULL WHERE key = ?1";
const STATUS: &str =
    "UPDATE record SET version = '1.0.0', status = x'0102030405060708' WHERE key = ?1";

/// A file with the provider's schema and a plain connection to it.
struct Raw {
    _directory: TempDir,
    connection: Connection,
}

impl Raw {
    fn open() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("raw.db");
        drop(SqliteProvider::open(&path).unwrap());
        let connection = Connection::open(&path).unwrap();
        connection.set_prepared_statement_cache_capacity(64);
        let settings = "PRAGMA synchronous = FULL; PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 16384000; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY";
        connection.execute_batch(settings).unwrap();
        Self {
            _directory: directory,
            connection,
        }
    }

    fn run(&self, text: &str, parameters: impl rusqlite::Params) {
        let mut statement = self.connection.prepare_cached(text).unwrap();
        statement.execute(parameters).unwrap();
    }

    fn start(&self, key: i64) {
        let id = format!("sequence-{key}");
        self.run(RECORD, params![key, id]);
        self.run(INSTANCE, [key]);
        self.run(INBOX, params![key, id, START]);
    }

    fn append(&self, key: i64, events: [i64; 2]) {
        for event in events {
            self.run(HISTORY, params![key, event, ENTRY]);
        }
    }

    fn step(&self, key: i64, last: i64, inline_work: Option<[u8; 28]>) {
        let answer = inline_work.map(|_| [7_u8; 49]);
        self.run(STEP, params![key, last, [7_u8; 16], answer, inline_work]);
    }

    /// Started and the first activity scheduled.
    fn first_turn(&self, key: i64) {
        self.append(key, [1, 2]);
        self.run(TAKE, [key]);
        self.run(STATUS, [key]);
        self.step(key, 2, INLINE_WORK);
    }

    /// An activity completed and the next scheduled.
    fn next_turn(&self, key: i64, turn: i64) {
        let events = [turn * 2 + 1, turn * 2 + 2];
        self.append(key, events);
        self.step(key, turn * 2 + 2, INLINE_WORK);
    }

    /// The last activity completed and the orchestration too.
    fn last_turn(&self, key: i64, turn: i64) {
        self.append(key, [turn * 2 + 1, turn * 2 + 2]);
        self.run(STATUS, [key]);
        self.step(key, turn * 2 + 2, None);
        self.run(HOLD, [key, 0]);
    }

    /// Hands instances out, in a commit of their own.
    fn claim(&self, keys: &[i64]) {
        let synchronous = |level: &str| {
            let set = self.connection.pragma_update(None, "synchronous", level);
            set.unwrap();
        };
        synchronous(CLAIM_SYNCHRONOUS);
        self.transaction(|| keys.iter().for_each(|&key| self.run(HOLD, [key, 1])));
        synchronous("FULL");
    }

    fn transaction(&self, write: impl FnOnce()) {
        self.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        write();
        self.connection.execute_batch("COMMIT").unwrap();
    }
}

/// Writes what this many orchestrations of this many activities need, in batches.
pub(crate) fn throughput(instances: u64, steps: u64) -> Duration {
    let raw = Raw::open();
    let keys: Vec<i64> = (1..=instances as i64).collect();
    let batches = |write: &dyn Fn(i64)| {
        for keys in keys.chunks(TURNS_PER_TRANSACTION) {
            raw.transaction(|| keys.iter().copied().for_each(write));
        }
    };
    let began = Instant::now();
    batches(&|key| raw.start(key));
    keys.chunks(TURNS_PER_TRANSACTION)
        .for_each(|keys| raw.claim(keys));
    batches(&|key| raw.first_turn(key));
    for turn in 1..steps as i64 {
        batches(&|key| raw.next_turn(key, turn));
    }
    batches(&|key| raw.last_turn(key, steps as i64));
    began.elapsed()
}

/// Orchestrations one after the other, every commit on its own.
pub(crate) struct OneByOne {
    raw: Raw,
    last_key: i64,
}

impl OneByOne {
    pub(crate) fn open() -> Self {
        Self {
            raw: Raw::open(),
            last_key: 0,
        }
    }

    /// The commits of an orchestration of so many activities, one after the other:
    /// started, claimed, the first turn, and one for every activity that completed.
    pub(crate) fn orchestration(&mut self, steps: i64, mut activity: impl FnMut()) -> Duration {
        self.last_key += 1;
        let (raw, key) = (&self.raw, self.last_key);
        let began = Instant::now();
        raw.transaction(|| raw.start(key));
        raw.claim(&[key]);
        raw.transaction(|| raw.first_turn(key));
        for turn in 1..steps {
            activity();
            raw.transaction(|| raw.next_turn(key, turn));
        }
        activity();
        raw.transaction(|| raw.last_turn(key, steps));
        began.elapsed()
    }
}
