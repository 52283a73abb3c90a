//! Opening connections: the file, its permissions, the pragmas, each read back.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::time::Duration;

use durable_core::provider::ProviderError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::of_opening;
use crate::lock::for_its_owner_only;
use crate::options::{Durability, SqliteOptions};
use crate::schema;

/// Earlier libraries can corrupt a WAL file that two connections write and checkpoint
/// at once.
const OLDEST_LIBRARY: i32 = 3_051_003;

/// More statements than there are.
const PREPARED_STATEMENTS: usize = 128;

/// Opens the connection that writes, and makes the file ready for all others.
pub(crate) fn open_writer(
    path: &Path,
    options: &SqliteOptions,
) -> Result<Connection, ProviderError> {
    check_library(rusqlite::version_number())?;
    create_file(path)?;
    let told = |error: rusqlite::Error| of_opening(path, &error);
    let mut connection = open(path)?;
    if connection.is_readonly("main").map_err(told)? {
        return Err(ProviderError::Unusable {
            reason: format!(
                "`{}` is read-only: make the file and its directory writable for this user",
                path.display()
            ),
        });
    }
    connection
        .busy_timeout(options.busy_timeout)
        .map_err(told)?;
    schema::check(&connection, path)?;
    prepare_file(&connection, options).map_err(told)?;
    set_pragmas(&connection, &writer_pragmas(options)).map_err(|error| error.told(path))?;
    schema::create(&mut connection, path)?;
    // From here on the writer waits by itself, and says so.
    connection.busy_timeout(Duration::ZERO).map_err(told)?;
    Ok(connection)
}

/// Opens a connection that reads a file that a writer has made ready.
pub(crate) fn open_reader(
    path: &Path,
    options: &SqliteOptions,
) -> Result<Connection, ProviderError> {
    let connection = open(path)?;
    connection
        .busy_timeout(options.busy_timeout)
        .map_err(|error| of_opening(path, &error))?;
    schema::check(&connection, path)?;
    set_pragmas(&connection, &reader_pragmas(options)).map_err(|error| error.told(path))?;
    Ok(connection)
}

/// Opens a store that lives and dies with its connection.
pub(crate) fn open_in_memory(options: &SqliteOptions) -> Result<Connection, ProviderError> {
    check_library(rusqlite::version_number())?;
    let path = Path::new(":memory:");
    let told = |error: rusqlite::Error| of_opening(path, &error);
    let mut connection = Connection::open_in_memory().map_err(told)?;
    harden(&connection).map_err(told)?;
    set_pragmas(&connection, &common_pragmas(options)).map_err(|error| error.told(path))?;
    schema::create(&mut connection, path)?;
    Ok(connection)
}

fn check_library(version: i32) -> Result<(), ProviderError> {
    if version >= OLDEST_LIBRARY {
        return Ok(());
    }
    Err(ProviderError::Unusable {
        reason: format!(
            "the SQLite library has version number {version}; before {OLDEST_LIBRARY} it can \
             corrupt files: build with the bundled one"
        ),
    })
}

/// Creates the file for its owner only; SQLite gives its companions the same
/// permissions.
fn create_file(path: &Path) -> Result<(), ProviderError> {
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    for_its_owner_only(&mut options);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(ProviderError::Unusable {
            reason: format!(
                "`{}` cannot be created: {error}: its directory must exist and be writable",
                path.display()
            ),
        }),
    }
}

fn open(path: &Path) -> Result<Connection, ProviderError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let told = |error: rusqlite::Error| of_opening(path, &error);
    let connection = Connection::open_with_flags(path, flags).map_err(told)?;
    harden(&connection).map_err(told)?;
    Ok(connection)
}

fn harden(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // Otherwise a bound value that could change the plan, such as a LIMIT, has the
    // statement prepared again every time that it is bound.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// What only an empty file takes on; others keep what they have.
fn prepare_file(connection: &Connection, options: &SqliteOptions) -> rusqlite::Result<()> {
    let size: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    if size == 0 {
        connection.pragma_update(None, "page_size", options.page_bytes)?;
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    Ok(())
}

/// A pragma, the value to set, and what it reads as then.
struct Pragma {
    name: &'static str,
    value: String,
    reads: String,
}

fn pragma(name: &'static str, value: &dyn ToString, reads: &dyn ToString) -> Pragma {
    Pragma {
        name,
        value: value.to_string(),
        reads: reads.to_string(),
    }
}

fn common_pragmas(options: &SqliteOptions) -> Vec<Pragma> {
    let cache = -i64::from(options.cache_kib);
    vec![
        pragma("trusted_schema", &"OFF", &0),
        pragma("cell_size_check", &"ON", &1),
        pragma("temp_store", &"MEMORY", &2),
        pragma("cache_size", &cache, &cache),
    ]
}

fn writer_pragmas(options: &SqliteOptions) -> Vec<Pragma> {
    let synchronous = match options.durability {
        Durability::Full => pragma("synchronous", &"FULL", &2),
        Durability::Relaxed => pragma("synchronous", &"NORMAL", &1),
    };
    let pages = options.checkpoint_pages;
    let log_bytes = u64::from(pages) * u64::from(options.page_bytes);
    let mut pragmas = vec![
        pragma("journal_mode", &"WAL", &"wal"),
        synchronous,
        pragma("wal_autocheckpoint", &pages, &pages),
        pragma("journal_size_limit", &log_bytes, &log_bytes),
    ];
    pragmas.extend(common_pragmas(options));
    pragmas
}

fn reader_pragmas(options: &SqliteOptions) -> Vec<Pragma> {
    let mut pragmas = common_pragmas(options);
    pragmas.push(pragma("query_only", &"ON", &1));
    pragmas
}

/// Why a pragma is not set.
enum NotSet {
    Sql(rusqlite::Error),
    Refused { name: &'static str, reads: String },
}

impl NotSet {
    fn told(self, path: &Path) -> ProviderError {
        match self {
            Self::Sql(error) => of_opening(path, &error),
            Self::Refused { name, reads } => ProviderError::Unusable {
                reason: format!(
                    "`{}`: SQLite does not take `{name}`, which stays at `{reads}`: is the file on \
                     a network file system?",
                    path.display()
                ),
            },
        }
    }
}

fn set_pragmas(connection: &Connection, pragmas: &[Pragma]) -> Result<(), NotSet> {
    for Pragma { name, value, reads } in pragmas {
        set_and_read_back(connection, name, value, reads)?;
    }
    Ok(())
}

fn set_and_read_back(
    connection: &Connection,
    name: &'static str,
    value: &str,
    expected: &str,
) -> Result<(), NotSet> {
    let text = |row: &rusqlite::Row<'_>| {
        let value: rusqlite::types::Value = row.get(0)?;
        Ok(match value {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => format!("{other:?}"),
        })
    };
    let set = format!("PRAGMA {name} = {value}");
    let mut statement = connection.prepare(&set).map_err(NotSet::Sql)?;
    let mut rows = statement.query([]).map_err(NotSet::Sql)?;
    while rows.next().map_err(NotSet::Sql)?.is_some() {}
    let reads = connection
        .query_row(&format!("PRAGMA {name}"), [], text)
        .map_err(NotSet::Sql)?;
    if reads == expected {
        Ok(())
    } else {
        Err(NotSet::Refused { name, reads })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_library_is_refused() {
        assert!(check_library(3_051_003).is_ok());
        assert!(check_library(rusqlite::version_number()).is_ok());
        let refused = check_library(3_051_002);
        assert!(matches!(refused, Err(ProviderError::Unusable { .. })));
    }

    #[test]
    fn a_pragma_that_does_not_take_is_an_error() {
        let connection = Connection::open_in_memory().unwrap();
        let refused = set_and_read_back(&connection, "journal_mode", "WAL", "wal");
        assert!(matches!(refused, Err(NotSet::Refused { reads, .. }) if reads == "memory"));
    }
}
