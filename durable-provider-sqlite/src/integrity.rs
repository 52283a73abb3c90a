//! Checking a whole file: SQLite's own check, and every record decoded. SQLite does
//! not notice a flipped bit within a row; the records' checksums do.

use std::fmt;

use durable_core::{DecodeError, decode_entry, decode_failure, decode_message, decode_status};
use rusqlite::{Connection, Row};

use crate::error::Step;
use crate::number::uint;

/// What a check of the whole file found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IntegrityReport {
    /// How many records were decoded.
    pub records: u64,
    /// What SQLite says of the file; nothing if it is sound.
    pub file: Vec<String>,
    /// Records that do not decode.
    pub damages: Vec<Damage>,
}

impl IntegrityReport {
    /// Whether nothing was found.
    pub fn is_sound(&self) -> bool {
        self.file.is_empty() && self.damages.is_empty()
    }
}

impl fmt::Display for IntegrityReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} records", self.records)?;
        for problem in &self.file {
            write!(f, "; {problem}")?;
        }
        for damage in &self.damages {
            write!(f, "; {damage}")?;
        }
        Ok(())
    }
}

/// A record that does not decode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The instance that it belongs to, if that is known.
    pub instance: Option<String>,
    /// Which record it is: of a history, the execution and the event.
    pub what: String,
    /// What is wrong with it.
    pub reason: DecodeError,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.instance {
            Some(instance) => write!(f, "`{instance}`, {}: {}", self.what, self.reason),
            None => write!(f, "{}: {}", self.what, self.reason),
        }
    }
}

/// A column of records: where it is, how it is called, how it decodes.
struct Column {
    /// The instance's id, two numbers that name the record, and its bytes.
    query: &'static str,
    name: fn(u64, u64) -> String,
    decode: fn(&[u8]) -> Result<(), DecodeError>,
}

const COLUMNS: &[Column] = &[
    Column {
        query: "SELECT id, execution_id, event_id, entry FROM history LEFT JOIN record ON key = instance_key",
        name: |execution, event| format!("execution {execution}, event {event}"),
        decode: |bytes| decode_entry(bytes).map(drop),
    },
    Column {
        query: "SELECT id, seq, 0, message FROM inbox LEFT JOIN record ON key = instance_key",
        name: |seq, _| format!("message {seq}"),
        decode: |bytes| decode_message(bytes).map(drop),
    },
    // Work is named by an entry: one that is not there decodes no better than no bytes.
    Column {
        query: "SELECT id, execution_id, event_id, x'' FROM work LEFT JOIN record ON key = instance_key WHERE NOT EXISTS (SELECT 1 FROM history WHERE history.instance_key = work.instance_key AND history.execution_id = work.execution_id AND history.event_id = work.event_id)",
        name: |execution, event| format!("the entry of work {execution}/{event}"),
        decode: |bytes| decode_entry(bytes).map(drop),
    },
    Column {
        query: "SELECT id, execution_id, event_id, failure FROM poisoned LEFT JOIN record ON key = instance_key",
        name: |execution, event| format!("the failure of dead letter {execution}/{event}"),
        decode: |bytes| decode_failure(bytes).map(drop),
    },
    Column {
        query: "SELECT id, key, 0, status FROM record",
        name: |_, _| "status".into(),
        decode: |bytes| decode_status(bytes).map(drop),
    },
    Column {
        query: "SELECT id, key, 0, blocked FROM record WHERE blocked IS NOT NULL",
        name: |_, _| "what blocks it".into(),
        decode: |bytes| decode_failure(bytes).map(drop),
    },
];

pub(crate) fn check(connection: &Connection) -> Step<IntegrityReport> {
    let snapshot = connection.unchecked_transaction()?;
    let mut report = IntegrityReport::default();
    let mut statement = snapshot.prepare("PRAGMA integrity_check")?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    for line in lines {
        let line = line?;
        if line != "ok" {
            report.file.push(line);
        }
    }
    for column in COLUMNS {
        let mut statement = snapshot.prepare(column.query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            report.records += 1;
            report.damages.extend(damage(column, row)?);
        }
    }
    Ok(report)
}

fn damage(column: &Column, row: &Row<'_>) -> Step<Option<Damage>> {
    let bytes = row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?;
    let Err(reason) = (column.decode)(bytes) else {
        return Ok(None);
    };
    Ok(Some(Damage {
        instance: row.get(0)?,
        what: (column.name)(uint(row.get(1)?), uint(row.get(2)?)),
        reason,
    }))
}
