//! Keeping the write-ahead log short.
//!
//! SQLite moves the log into the file at the end of the commit that makes it long enough, on
//! the writer's own connection: a checkpoint thread would starve. Readers can keep SQLite
//! from beginning the log anew; so once in a while the writer checks its length, and if the
//! log has become too long, the writer waits for the readers, but not for long.

use std::path::PathBuf;
use std::time::Duration;

use rusqlite::Connection;

use crate::options::SqliteOptions;

/// How many groups pass between two checks of the length.
const GROUPS_PER_LENGTH_CHECK: u32 = 32;
/// How long a checkpoint waits for readers.
const CHECKPOINT_BUSY_TIMEOUT: Duration = Duration::from_millis(100);

/// The length of the log, watched.
#[derive(Debug)]
pub(super) struct WalLengthWatch {
    path: PathBuf,
    max_bytes: u64,
    groups: u32,
}

impl WalLengthWatch {
    pub(super) fn new(wal: PathBuf, options: &SqliteOptions) -> Self {
        let pages = u64::from(options.checkpoint_pages).saturating_mul(4);
        Self {
            path: wal,
            max_bytes: pages.saturating_mul(u64::from(options.page_bytes)),
            groups: 0,
        }
    }

    /// Checks after a group, now and then, whether the log is too long.
    pub(super) fn is_too_long(&mut self) -> bool {
        self.groups += 1;
        if self.groups < GROUPS_PER_LENGTH_CHECK {
            return false;
        }
        self.groups = 0;
        let length = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        length > self.max_bytes
    }
}

/// Moves the whole log into the file, syncs the file and truncates the log; answers whether
/// readers let it.
pub(super) fn truncate_wal(connection: &Connection) -> rusqlite::Result<bool> {
    connection.busy_timeout(CHECKPOINT_BUSY_TIMEOUT)?;
    let is_busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    connection.busy_timeout(Duration::ZERO)?;
    is_busy.map(|is_busy: bool| !is_busy)
}
