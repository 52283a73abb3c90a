//! Whose file it is, and in which version: checked before anything is changed.

use std::path::Path;

use durable_core::provider::ProviderError;
use rusqlite::{Connection, TransactionBehavior};

use crate::error::of_opening;

/// `DURA`: marks our files.
const APPLICATION_ID: i32 = 0x4455_5241;

/// The tables and indexes of [`VERSION`].
const SCHEMA: &str = include_str!("schema.sql");

/// The version that this release reads and writes.
const VERSION: i32 = 1;

/// What a file says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    application_id: i32,
    version: i32,
    tables: i64,
}

impl Header {
    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let number = |pragma| connection.query_row(pragma, [], |row| row.get(0));
        let tables = "SELECT count(*) FROM sqlite_schema";
        Ok(Self {
            application_id: number("PRAGMA application_id")?,
            version: number("PRAGMA user_version")?,
            tables: connection.query_row(tables, [], |row| row.get(0))?,
        })
    }

    fn check(self, path: &Path) -> Result<(), ProviderError> {
        let is_empty = self.application_id == 0 && self.version == 0 && self.tables == 0;
        let path = path.display();
        let reason = if is_empty {
            return Ok(());
        } else if self.application_id != APPLICATION_ID {
            format!(
                "`{path}` is a database of another application: choose another path; the file \
                 was not touched"
            )
        } else if self.version > VERSION {
            format!(
                "`{path}` has schema version {} and this release reads version {VERSION}: upgrade \
                 this node; the file was not touched",
                self.version
            )
        } else if self.version < 1 {
            format!(
                "`{path}` has schema version {}: restore a backup",
                self.version
            )
        } else {
            return Ok(());
        };
        Err(ProviderError::Unusable { reason })
    }
}

/// Refuses a file that is not ours or too new.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<(), ProviderError> {
    let header = Header::read(connection).map_err(|error| of_opening(path, &error))?;
    header.check(path)
}

/// Creates the tables and indexes in an empty file, in one transaction.
pub(crate) fn create(connection: &mut Connection, path: &Path) -> Result<(), ProviderError> {
    let told = |error: rusqlite::Error| of_opening(path, &error);
    if Header::read(connection).map_err(told)?.version == VERSION {
        return Ok(());
    }
    let behavior = TransactionBehavior::Immediate;
    let transaction = connection
        .transaction_with_behavior(behavior)
        .map_err(told)?;
    // Another process may have been faster.
    let header = Header::read(&transaction).map_err(told)?;
    header.check(path)?;
    if header.version != VERSION {
        write(&transaction).map_err(told)?;
    }
    transaction.commit().map_err(told)
}

fn write(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(SCHEMA)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", VERSION)
}
