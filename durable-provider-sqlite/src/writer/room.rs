//! Room in the write-ahead log, made before it is needed.
//!
//! A sync of a file that has grown also has to store where its new end is, and takes
//! longer. So while the log is young, the writer lengthens it by many frames at a time,
//! and SQLite writes over them, as it does later, whenever it begins the log anew.
//! Zeros are no frame to SQLite, which wants a page number and a checksum.
//!
//! Groups of many turns share a sync and need no such help.
//!
//! The log is lengthened only behind its end, and only by who may write just now.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

use rusqlite::Connection;

use crate::options::{Durability, SqliteOptions};

/// What precedes a page in the log.
const FRAME_HEADER_BYTES: u64 = 24;
/// How many groups pass between two looks.
const LOOK_EVERY: u32 = 8;
/// Groups that write more than this grow the log by so much that it does not matter.
const SMALL_GROUP_FRAMES: u64 = 16;
/// How much room is made at a time, and when: when half of it is left.
const ROOM_BYTES: usize = 1024 * 1024;
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// The room in a log.
#[derive(Debug)]
pub(super) struct LogRoom {
    path: PathBuf,
    frame_bytes: u64,
    /// The log is begun anew at about this length.
    full_bytes: u64,
    /// Whether every commit waits for the disk.
    is_synced: bool,
    /// How much of it was written when that was last looked at.
    written_bytes: u64,
    groups: u32,
    has_small_groups: bool,
    is_needed: bool,
}

impl LogRoom {
    pub(super) fn new(log: PathBuf, options: &SqliteOptions) -> Self {
        let page_bytes = u64::from(options.page_bytes);
        Self {
            path: log,
            frame_bytes: page_bytes + FRAME_HEADER_BYTES,
            full_bytes: u64::from(options.checkpoint_pages) * page_bytes,
            is_synced: options.durability == Durability::Full,
            written_bytes: 0,
            groups: 0,
            has_small_groups: true,
            is_needed: options.durability == Durability::Full,
        }
    }

    /// The log was moved into the file and has no length any more: it is to be looked at
    /// after the next group.
    pub(super) fn begin_anew(&mut self) {
        self.written_bytes = 0;
        self.groups = LOOK_EVERY;
        self.has_small_groups = true;
        self.is_needed = self.is_synced;
    }

    /// Looks after a group, now and then, how much of the log is written. The group is
    /// committed, so a look that fails is nobody's failure.
    pub(super) fn after_group(&mut self, connection: &Connection) {
        self.groups += 1;
        if !self.is_needed || self.groups < LOOK_EVERY {
            return;
        }
        self.groups = 0;
        match written_frames(connection) {
            Ok(frames) => {
                let written_bytes = frames * self.frame_bytes;
                let small_bytes = u64::from(LOOK_EVERY) * SMALL_GROUP_FRAMES * self.frame_bytes;
                self.has_small_groups = written_bytes < self.written_bytes + small_bytes;
                self.written_bytes = written_bytes;
            }
            Err(error) => {
                tracing::debug!(%error, "the log could not be looked at");
                self.is_needed = false;
            }
        }
    }

    /// Makes room, if there is little. The transaction that is about to be committed
    /// keeps all others from writing.
    pub(super) fn before_commit(&mut self) {
        if !self.is_needed || !self.has_small_groups || self.groups > 0 {
            return;
        }
        if let Err(error) = self.make() {
            // The log grows as it is written.
            tracing::debug!(%error, "no room could be made in the log");
            self.is_needed = false;
        }
    }

    fn make(&mut self) -> io::Result<()> {
        let length = std::fs::metadata(&self.path)?.len();
        if length >= self.full_bytes {
            self.is_needed = false;
        } else if length < self.written_bytes + ROOM_BYTES as u64 / 2 {
            let mut log: File = OpenOptions::new().append(true).open(&self.path)?;
            for _ in 0..ROOM_BYTES / ZEROS.len() {
                log.write_all(&ZEROS)?;
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
