//! Every statement that runs while orchestrations do, in one place: what is prepared
//! is what is proved to use an index.

/// Defines the statements and the list of all of them.
macro_rules! statements {
    ($( $(#[$meta:meta])* $name:ident = $text:expr; )*) => {
        $( $(#[$meta])* pub(crate) const $name: &str = $text; )*

        /// All statements by name.
        #[cfg(test)]
        const ALL: &[(&str, &str)] = &[ $( (stringify!($name), $name), )* ];
    };
}

statements! {
    META_READ = "SELECT now_ms, last_number FROM meta WHERE id = 1";
    TIME_OF_LAST_TURN = include_str!("sql/time_of_last_turn.sql");
    META_WRITE = "UPDATE meta SET now_ms = ?1, last_number = ?2 WHERE id = 1";

    SESSION_INSERT = "INSERT INTO session (id, options, last_heartbeat_ms) VALUES (?1, ?2, ?3)";
    SESSION_BEAT = "UPDATE session SET last_heartbeat_ms = ?2 WHERE id = ?1";
    SESSION_DELETE = "DELETE FROM session WHERE id = ?1";

    CODE_ADD = "INSERT INTO code (number, name, version) VALUES (?1, ?2, ?3)";
    LANE_ADD = "INSERT INTO lane (number, queue, activity) VALUES (?1, ?2, ?3)";

    KEY_OF_ID = "SELECT key FROM record WHERE id = ?1";
    ID_OF_KEY = "SELECT id FROM record WHERE key = ?1";

    INSTANCE_LOAD = include_str!("sql/instance_load.sql");
    INSTANCE_INSERT = include_str!("sql/instance_insert.sql");
    INSTANCE_STEP = include_str!("sql/instance_step.sql");
    INSTANCE_PLACE = include_str!("sql/instance_place.sql");
    INSTANCE_INLINE_WORK = "UPDATE instance SET inline_work = ?2 WHERE key = ?1";
    INSTANCES_WITH_WORK = "SELECT inline_work FROM instance WHERE holder = ?1 AND inline_work IS NOT NULL";
    INLINE_WORK_READ = "SELECT execution_id, holder, inline_work FROM instance WHERE key = ?1";
    INSTANCE_BLOCK = "UPDATE instance SET is_blocked = 1 WHERE key = ?1";
    INSTANCE_RESTART = include_str!("sql/instance_restart.sql");
    INSTANCE_ANSWER = "SELECT commit_answer FROM instance WHERE key = ?1";
    INSTANCES_READY = include_str!("sql/instances_ready.sql");
    INSTANCE_NEXT_DUE = include_str!("sql/instance_next_due.sql");
    INSTANCES_HELD = "SELECT key FROM instance WHERE holder = ?1";
    INSTANCE_IS_HELD = "SELECT 1 FROM instance WHERE holder = ?1 LIMIT 1";

    RECORD_INSERT = include_str!("sql/record_insert.sql");
    RECORD_RESTART = include_str!("sql/record_restart.sql");
    RECORD_UPDATE = include_str!("sql/record_update.sql");
    RECORD_STATUS = "UPDATE record SET status = ?2 WHERE key = ?1";
    RECORD_BLOCK = "UPDATE record SET blocked = ?2 WHERE key = ?1";
    RECORD_START = "SELECT start_message_id, start_execution_id FROM record WHERE key = ?1";
    RECORD_READ = include_str!("sql/record_read.sql");
    RECORD_LIST = include_str!("sql/record_list.sql");

    ATTRIBUTE_NAME_ADD = "INSERT INTO attribute_name (number, name, kind) VALUES (?1, ?2, ?3)";
    ATTRIBUTE_ADD = "INSERT INTO attribute (name, value, instance_key) VALUES (?1, ?2, ?3)";
    ATTRIBUTE_DELETE = "DELETE FROM attribute WHERE name = ?1 AND value = ?2 AND instance_key = ?3";
    ATTRIBUTES_STORED = "SELECT name, value FROM attribute WHERE instance_key = ?1";
    ATTRIBUTES_READ = include_str!("sql/attributes_read.sql");

    VIEW_PUBLISH = include_str!("sql/view_publish.sql");
    VIEW_CLEAR = "DELETE FROM instance_view WHERE instance_key = ?1 AND name = ?2";
    VIEWS_CLEAR = "DELETE FROM instance_view WHERE instance_key = ?1";
    VIEW_READ = include_str!("sql/view_read.sql");
    VIEWS_PAGE = include_str!("sql/views_page.sql");

    STREAM_READ = "SELECT first_offset, end_offset, bytes FROM stream WHERE instance_key = ?1 AND name = ?2";
    STREAM_WRITE = include_str!("sql/stream_write.sql");
    STREAM_ADD = include_str!("sql/stream_add.sql");
    STREAM_OLDEST = include_str!("sql/stream_oldest.sql");
    STREAM_TRIM = include_str!("sql/stream_trim.sql");
    STREAM_PAGE = include_str!("sql/stream_page.sql");
    STREAMS_PAGE = include_str!("sql/streams_page.sql");

    START_READ = "SELECT execution_id FROM earlier_start WHERE instance_key = ?1 AND message_id = ?2";
    START_KEEP = "INSERT OR IGNORE INTO earlier_start (instance_key, message_id, execution_id) VALUES (?1, ?2, ?3)";
    EXECUTION_KEEP = "INSERT INTO past_execution (instance_key, execution_id, last_event_id) VALUES (?1, ?2, ?3)";
    PAST_EXECUTIONS = include_str!("sql/past_executions.sql");
    EXECUTIONS_READ = "SELECT execution_id, last_event_id FROM past_execution WHERE instance_key = ?1 ORDER BY execution_id";
    PURGED_READ = "SELECT execution_id FROM purged WHERE id = ?1";
    PURGED_KEEP = "INSERT OR REPLACE INTO purged (id, execution_id) VALUES (?1, ?2)";

    HISTORY_APPEND = "INSERT INTO history (instance_key, execution_id, event_id, entry) VALUES (?1, ?2, ?3, ?4)";
    WORK_OF_EXECUTION = "SELECT 1 FROM work WHERE instance_key = ?1 AND execution_id = ?2 LIMIT 1";
    HISTORY_PAGE = include_str!("sql/history_page.sql");
    HISTORY_ENTRY = "SELECT entry FROM history WHERE instance_key = ?1 AND execution_id = ?2 AND event_id = ?3";

    INBOX_PUT = include_str!("sql/inbox_put.sql");
    INBOX_START = "INSERT INTO inbox (instance_key, seq, message_id, message) VALUES (?1, ?2, ?3, ?4)";
    INBOX_TAKE = "DELETE FROM inbox WHERE instance_key = ?1 AND seq = ?2";
    INBOX_PAGE = include_str!("sql/inbox_page.sql");
    INBOX_HAS_AFTER = "SELECT 1 FROM inbox WHERE instance_key = ?1 AND seq > ?2 LIMIT 1";
    INBOX_HAS_MESSAGE = "SELECT 1 FROM inbox WHERE instance_key = ?1 AND message_id = ?2";

    WORK_INSERT = include_str!("sql/work_insert.sql");
    WORK_READY = include_str!("sql/work_ready.sql");
    WORK_NEXT_DUE = include_str!("sql/work_next_due.sql");
    WORK_CLAIM = include_str!("sql/work_claim.sql");
    WORK_FREE = include_str!("sql/work_free.sql");
    WORK_LOAD = include_str!("sql/work_load.sql");
    WORK_DELETE = "DELETE FROM work WHERE instance_key = ?1 AND execution_id = ?2 AND event_id = ?3";
    WORK_DELETE_FREE = "DELETE FROM work WHERE instance_key = ?1 AND execution_id = ?2 AND event_id = ?3 AND session_id = 0";
    WORK_CANCEL = "UPDATE work SET is_cancelled = 1 WHERE instance_key = ?1 AND execution_id = ?2 AND event_id = ?3 RETURNING session_id";
    WORK_DELETE_ALL_FREE = "DELETE FROM work WHERE instance_key = ?1 AND session_id <= 0";
    WORK_CANCEL_ALL = "UPDATE work SET is_cancelled = 1 WHERE instance_key = ?1 RETURNING session_id";
    WORK_BEAT = "UPDATE work SET heartbeat = ?4 WHERE instance_key = ?1 AND execution_id = ?2 AND event_id = ?3";
    WORK_EMITTED = include_str!("sql/work_emitted.sql");
    WORK_EMITS = "SELECT emit_token, emitted FROM work WHERE instance_key = ?1 AND execution_id = ?2 AND event_id = ?3";
    WORK_HELD = include_str!("sql/work_held.sql");
    WORK_IS_HELD = "SELECT 1 FROM work WHERE session_id = ?1 AND lane = ?2 LIMIT 1";
    WORK_CANCELLED = include_str!("sql/work_cancelled.sql");
    WORK_FAILED = "UPDATE work SET last_failure = ?4 WHERE instance_key = ?1 AND execution_id = ?2 AND event_id = ?3";
    WORK_OPEN = include_str!("sql/work_open.sql");
    POISONED_KEEP = "INSERT OR REPLACE INTO poisoned (instance_key, execution_id, event_id, number, failure) VALUES (?1, ?2, ?3, ?4, ?5)";

    TIMER_SET = "INSERT INTO timer (instance_key, execution_id, event_id, fire_at_ms, number) VALUES (?1, ?2, ?3, ?4, ?5)";
    TIMER_DELETE = "DELETE FROM timer WHERE instance_key = ?1 AND execution_id = ?2 AND event_id = ?3";
    TIMERS_DUE = include_str!("sql/timers_due.sql");
    TIMER_FIRST = "SELECT fire_at_ms FROM timer ORDER BY fire_at_ms LIMIT 1";
    TIMERS_OPEN = include_str!("sql/timers_open.sql");
    TIMER_DELETE_ALL = "DELETE FROM timer WHERE instance_key = ?1";
}

/// Sessions are few: they are read as a whole, after another process changed something.
pub(crate) const SESSIONS_READ: &str =
    "SELECT id, options, last_heartbeat_ms FROM session ORDER BY id";

/// Codes and lanes are as few as what the nodes register: they are read as a whole, after
/// another process changed something.
pub(crate) const CODES_READ: &str = "SELECT number, name, version FROM code ORDER BY number";
/// See [`CODES_READ`].
pub(crate) const ATTRIBUTE_NAMES_READ: &str =
    "SELECT number, name, kind FROM attribute_name ORDER BY number";
/// See [`CODES_READ`].
pub(crate) const LANES_READ: &str = "SELECT number, queue, activity FROM lane ORDER BY number";

/// Poisoned work is little: it is read as a whole and sorted.
pub(crate) const POISONED_READ: &str = include_str!("sql/poisoned_read.sql");

/// What removes a past execution, in this order.
pub(crate) const REMOVE_EXECUTION: [&str; 3] = [
    "DELETE FROM history WHERE instance_key = ?1 AND execution_id = ?2",
    "DELETE FROM poisoned WHERE instance_key = ?1 AND execution_id = ?2",
    "DELETE FROM past_execution WHERE instance_key = ?1 AND execution_id = ?2",
];

/// What removes an instance, in this order.
pub(crate) const REMOVE_INSTANCE: [&str; 13] = [
    "DELETE FROM stream_item WHERE instance_key = ?1",
    "DELETE FROM stream WHERE instance_key = ?1",
    VIEWS_CLEAR,
    "DELETE FROM attribute WHERE instance_key = ?1",
    "DELETE FROM history WHERE instance_key = ?1",
    "DELETE FROM past_execution WHERE instance_key = ?1",
    "DELETE FROM earlier_start WHERE instance_key = ?1",
    "DELETE FROM inbox WHERE instance_key = ?1",
    "DELETE FROM work WHERE instance_key = ?1",
    "DELETE FROM poisoned WHERE instance_key = ?1",
    "DELETE FROM timer WHERE instance_key = ?1",
    "DELETE FROM record WHERE key = ?1",
    "DELETE FROM instance WHERE key = ?1",
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rusqlite::{Connection, StatementStatus};

    use super::*;
    use crate::options::SqliteOptions;
    use crate::schema;

    /// Our tables, and SQLite's own settings.
    fn plain() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::create(&mut connection, Path::new(":memory:")).unwrap();
        connection
    }

    fn plan(connection: &Connection, statement: &str) -> Vec<String> {
        let explain = format!("EXPLAIN QUERY PLAN {statement}");
        let mut prepared = connection.prepare(&explain).unwrap();
        let nothing = vec![rusqlite::types::Null; prepared.parameter_count()];
        let details = prepared
            .query_map(rusqlite::params_from_iter(nothing), |row| row.get(3))
            .unwrap();
        details.map(Result::unwrap).collect()
    }

    #[test]
    fn every_statement_finds_its_rows_by_an_index_and_in_order() {
        let connection = plain();
        let walked = [
            // The first timer is the first entry of its index, which is walked one step.
            "SCAN timer USING COVERING INDEX timer_due",
            // No table: the values that are inserted.
            "SCAN CONSTANT ROW",
        ];
        for (name, statement) in ALL {
            for step in plan(&connection, statement) {
                let is_indexed = step.starts_with("SEARCH ") || walked.contains(&step.as_str());
                // A heading: the steps of the subquery follow.
                let is_indexed = is_indexed || step.contains("SCALAR SUBQUERY ");
                assert!(is_indexed, "{name}: {step}");
            }
        }
        for statement in REMOVE_INSTANCE.iter().chain(&REMOVE_EXECUTION) {
            for step in plan(&connection, statement) {
                assert!(step.starts_with("SEARCH "), "{statement}: {step}");
            }
        }
    }

    /// How often a statement was prepared anew because other values were bound.
    fn prepared_anew(connection: &Connection, statement: &str) -> i32 {
        let mut prepared = connection.prepare(statement).unwrap();
        for value in 1..4 {
            let values = vec![value; prepared.parameter_count()];
            // What the values mean does not matter; an insert may refuse them.
            let rows = prepared.query(rusqlite::params_from_iter(values));
            let _ = rows.and_then(|mut rows| rows.next().map(|_| ()));
        }
        prepared.get_status(StatementStatus::RePrepare)
    }

    #[test]
    fn no_statement_is_prepared_anew_for_other_values() {
        let connection = crate::connection::open_in_memory(&SqliteOptions::default()).unwrap();
        for (name, statement) in ALL {
            assert_eq!(prepared_anew(&connection, statement), 0, "{name}");
        }
        assert!(prepared_anew(&plain(), WORK_READY) > 0);
    }

    #[test]
    fn the_proof_would_notice_a_scan_and_a_sort() {
        let connection = plain();
        let scan = plan(&connection, "SELECT * FROM history WHERE entry = ?1");
        assert_eq!(scan, ["SCAN history"]);
        let sort = plan(
            &connection,
            "SELECT * FROM timer WHERE instance_key = ?1 ORDER BY number",
        );
        assert_eq!(sort[1], "USE TEMP B-TREE FOR ORDER BY");
    }
}
