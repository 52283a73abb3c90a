//! Keeping the write-ahead log short.
//!
//! SQLite moves the log into the file at the end of the commit that makes it long
//! enough, on the writer's own connection: a thread of its own would starve. Readers
//! can keep it from starting over; so once in a while the writer looks, and if the
//! log has become too long it waits for the readers, but not for long.

use std::path::PathBuf;
use std::time::Duration;

use rusqlite::Connection;

use crate::options::SqliteOptions;

/// How many groups pass between two looks.
const LOOK_EVERY: u32 = 32;
/// How long readers are waited for.
const PATIENCE: Duration = Duration::from_millis(100);

/// The length of the log, watched.
#[derive(Debug)]
pub(super) struct LogWatch {
    path: PathBuf,
    max_bytes: u64,
    groups: u32,
}

impl LogWatch {
    pub(super) fn new(log: PathBuf, options: &SqliteOptions) -> Self {
        let pages = u64::from(options.checkpoint_pages).saturating_mul(4);
        Self {
            path: log,
            max_bytes: pages.saturating_mul(u64::from(options.page_bytes)),
            groups: 0,
        }
    }

    /// Looks after a group, now and then: whether the log is too long.
    pub(super) fn is_too_long(&mut self) -> bool {
        self.groups += 1;
        if self.groups < LOOK_EVERY {
            return false;
        }
        self.groups = 0;
        let length = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        length > self.max_bytes
    }
}

/// Moves the whole log into the file and syncs that; whether readers let it.
pub(super) fn shorten(connection: &Connection) -> rusqlite::Result<bool> {
    connection.busy_timeout(PATIENCE)?;
    let is_busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    connection.busy_timeout(Duration::ZERO)?;
    is_busy.map(|is_busy: bool| !is_busy)
}
