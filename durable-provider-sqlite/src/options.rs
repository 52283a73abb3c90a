//! How a store is opened.

use std::time::Duration;

use durable_core::Limits;

/// What an acknowledged commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Durability {
    /// The death of the process, of the system, and a power cut: every group of
    /// commits is synced before anybody is told.
    #[default]
    Full,
    /// The death of the process only. The file is synced around checkpoints, so a
    /// power cut or a crash of the system can take back commits that were
    /// acknowledged, up to the last checkpoint. The file stays consistent, but an
    /// activity whose result was acknowledged may run again, and whoever was told of
    /// a start or an event may find it gone.
    Relaxed,
}

/// How a store is opened. Start from [`SqliteOptions::default`].
///
/// ```
/// use durable_provider_sqlite::{Durability, SqliteOptions};
///
/// let options = SqliteOptions {
///     cache_kib: 64 * 1024,
///     ..SqliteOptions::default()
/// };
/// assert_eq!(options.durability, Durability::Full);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqliteOptions {
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// How long a group of requests waits for another process that writes. After
    /// that they are answered as unavailable: nothing happened, try again.
    pub busy_timeout: Duration,
    /// How long it takes at most until something is noticed that another process
    /// did, or that another process died.
    pub poll_interval: Duration,
    /// The page cache of each connection.
    pub cache_kib: u32,
    /// The size of a page; only of a file that is created.
    pub page_bytes: u32,
    /// How many pages the write-ahead log has when it is moved into the file. It may
    /// grow to four times of this while readers stand in the way.
    pub checkpoint_pages: u32,
    /// How many connections read at most. All but the first are opened when a query has
    /// waited for a slow one.
    pub readers: usize,
    /// How many requests share one transaction at most.
    pub max_group: usize,
    /// How many messages of one instance one fetch gives at most.
    pub messages_per_fetch: usize,
    /// The largest names and payloads that are accepted.
    pub limits: Limits,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Full,
            busy_timeout: Duration::from_secs(5),
            poll_interval: Duration::from_millis(50),
            cache_kib: 16 * 1024,
            page_bytes: 4096,
            checkpoint_pages: 4000,
            readers: 2,
            max_group: 256,
            messages_per_fetch: 1_000,
            limits: Limits::default(),
        }
    }
}
