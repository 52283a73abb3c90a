//! The file of a store: its identity, its write-ahead log, and opening it again.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use durable_core::provider::ProviderError;
use rusqlite::Connection;

use super::checkpoint::{self, WalLengthWatch};
use super::wal_preallocate::WalPreallocator;
use crate::connection;
use crate::error::of_opening;
use crate::options::SqliteOptions;

/// The file of a store that does not live in memory.
#[derive(Debug)]
pub(super) struct DatabaseFile {
    path: PathBuf,
    /// What identifies the file; none where the platform cannot say.
    identity: Option<(u64, u64)>,
    length_watch: WalLengthWatch,
    preallocator: WalPreallocator,
}

impl DatabaseFile {
    /// A file that is open.
    pub(super) fn new(path: &Path, options: &SqliteOptions) -> Self {
        let metadata = std::fs::metadata(path).ok();
        Self {
            path: path.to_owned(),
            identity: metadata.as_ref().and_then(identity),
            length_watch: WalLengthWatch::new(wal_of(path), options),
            preallocator: WalPreallocator::new(wal_of(path), options),
        }
    }

    /// Refuses to go on with a file that was removed or replaced. SQLite would go on writing
    /// to it, and what is written there is gone with the process.
    pub(super) fn check(&self) -> Result<(), ProviderError> {
        let is_same = match std::fs::metadata(&self.path) {
            Ok(metadata) => identity(&metadata) == self.identity,
            Err(_) => false,
        };
        if is_same {
            return Ok(());
        }
        Err(ProviderError::Unusable {
            reason: format!(
                "`{}` was removed or replaced while it was open: put it back and restart this \
                 process",
                self.path.display()
            ),
        })
    }

    /// Opens the file again after a connection was closed for its errors.
    ///
    /// After a sync that failed, what the file reads as may be in the memory of the
    /// operating system only, and the next sync will not write it. So the log is moved into
    /// the file before any caller is told what is there.
    pub(super) fn reopen(&self, options: &SqliteOptions) -> Result<Connection, ProviderError> {
        self.check()?;
        let connection = connection::open_writer(&self.path, options)?;
        let is_moved = checkpoint::truncate_wal(&connection)
            .map_err(|error| of_opening(&self.path, &error))?;
        if is_moved {
            return Ok(connection);
        }
        Err(ProviderError::Unavailable {
            reason: "readers keep the log from being moved into the file".into(),
        })
    }

    /// What comes before the commit of a transaction that changes something.
    pub(super) fn before_commit(&mut self) {
        self.preallocator.before_commit();
    }

    /// What comes after a group was committed and answered.
    pub(super) fn after_group(&mut self, connection: &Connection) {
        self.preallocator.after_group(connection);
        if self.length_watch.is_too_long() {
            self.truncate_wal(connection);
        }
    }

    /// Moves the log into the file and truncates it, if readers let it.
    pub(super) fn truncate_wal(&mut self, connection: &Connection) {
        match checkpoint::truncate_wal(connection) {
            Ok(true) => self.preallocator.on_truncated(),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "the write-ahead log could not be truncated"),
        }
    }
}

/// The device and the inode, which stay the same while a file is there.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other platforms have none")]
fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}

/// The write-ahead log of a database.
fn wal_of(database: &Path) -> PathBuf {
    let mut wal = database.to_owned().into_os_string();
    wal.push("-wal");
    wal.into()
}
