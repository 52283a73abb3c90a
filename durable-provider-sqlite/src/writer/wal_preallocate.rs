//! Preallocation of the write-ahead log.
//!
//! A sync of a file that has grown also has to store where its new end is, and takes longer.
//! So while the log is short, the writer extends it by many frames at a time, and SQLite
//! writes over them, as it does whenever it begins the log anew. SQLite takes zeros for no
//! frame: a frame has a page number and a checksum.
//!
//! Large groups share a sync and need no preallocation.
//!
//! The log is extended only behind its end, and only by the process that holds the write
//! lock. [`SqliteOptions::preallocate_wal`] turns it off.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

use rusqlite::Connection;

use crate::options::{Durability, SqliteOptions};

/// What precedes a page in the log.
const FRAME_HEADER_BYTES: u64 = 24;
/// How many groups pass between two looks at how much of the log is written.
const GROUPS_PER_CHECK: u32 = 8;
/// Groups that write more than this grow the log by so much that it does not matter.
const SMALL_GROUP_FRAMES: u64 = 16;
/// How many bytes are preallocated at a time: when half of them are left.
const PREALLOCATED_BYTES: usize = 1024 * 1024;
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// Extends the log before it is written.
#[derive(Debug)]
pub(super) struct WalPreallocator {
    path: PathBuf,
    frame_bytes: u64,
    /// SQLite begins the log anew at about this length.
    full_bytes: u64,
    is_enabled: bool,
    /// How much of the log was written at the last check.
    written_bytes: u64,
    groups: u32,
    has_small_groups: bool,
    /// Whether the log is to grow further.
    is_needed: bool,
}

impl WalPreallocator {
    pub(super) fn new(wal: PathBuf, options: &SqliteOptions) -> Self {
        let page_bytes = u64::from(options.page_bytes);
        let is_enabled = options.preallocate_wal && options.durability == Durability::Full;
        Self {
            path: wal,
            frame_bytes: page_bytes + FRAME_HEADER_BYTES,
            full_bytes: u64::from(options.checkpoint_pages) * page_bytes,
            is_enabled,
            written_bytes: 0,
            groups: 0,
            has_small_groups: true,
            is_needed: is_enabled,
        }
    }

    /// The log was truncated: it is to be extended with the next group.
    pub(super) fn on_truncated(&mut self) {
        self.written_bytes = 0;
        self.groups = GROUPS_PER_CHECK;
        self.has_small_groups = true;
        self.is_needed = self.is_enabled;
    }

    /// Checks after a group, now and then, how much of the log is written. The group is
    /// committed, so a check that fails is no failure of the group.
    pub(super) fn after_group(&mut self, connection: &Connection) {
        self.groups += 1;
        if !self.is_needed || self.groups < GROUPS_PER_CHECK {
            return;
        }
        self.groups = 0;
        match written_frames(connection) {
            Ok(frames) => {
                let written_bytes = frames * self.frame_bytes;
                let small_frames = u64::from(GROUPS_PER_CHECK) * SMALL_GROUP_FRAMES;
                let small_bytes = small_frames * self.frame_bytes;
                self.has_small_groups = written_bytes < self.written_bytes + small_bytes;
                self.written_bytes = written_bytes;
            }
            Err(error) => {
                tracing::debug!(%error, "the length of the write-ahead log cannot be read");
                self.is_needed = false;
            }
        }
    }

    /// Extends the log, if little of it is left. The transaction that is about to be
    /// committed holds the write lock.
    pub(super) fn before_commit(&mut self) {
        if !self.is_needed || !self.has_small_groups || self.groups > 0 {
            return;
        }
        if let Err(error) = self.extend() {
            // SQLite extends the log as it writes.
            tracing::debug!(%error, "the write-ahead log cannot be preallocated");
            self.is_needed = false;
        }
    }

    fn extend(&mut self) -> io::Result<()> {
        let length = std::fs::metadata(&self.path)?.len();
        if length >= self.full_bytes {
            self.is_needed = false;
        } else if length < self.written_bytes + PREALLOCATED_BYTES as u64 / 2 {
            let mut wal = OpenOptions::new().append(true).open(&self.path)?;
            for _ in 0..PREALLOCATED_BYTES / ZEROS.len() {
                wal.write_all(&ZEROS)?;
            }
        }
        Ok(())
    }
}

fn written_frames(connection: &Connection) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?;
    let frames: i64 = statement.query_row([], |row| row.get(1))?;
    Ok(u64::try_from(frames).unwrap_or(0))
}
