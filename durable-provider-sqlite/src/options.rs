//! How a store is opened.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use durable_core::Limits;
use durable_core::provider::{Clock, SystemClock};

/// What an acknowledged commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Durability {
    /// The death of the process, of the system, and a power cut: every group of
    /// commits is synced before any caller is told.
    #[default]
    Full,
    /// The death of the process only. The file is synced around checkpoints, so a
    /// power cut or a crash of the system can take back commits that were
    /// acknowledged, up to the last checkpoint. The file stays consistent, but an
    /// activity whose result was acknowledged may run again, and a start or an event
    /// that was acknowledged may be gone.
    Relaxed,
}

/// How the writer's thread delivers replies to tasks of a multi-threaded tokio runtime.
///
/// Tasks of a current-thread runtime and callers outside of tasks always get their replies
/// directly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ReplyPath {
    /// The writer's thread wakes the task. It works in every runtime.
    #[default]
    Direct,
    /// The writer's thread notifies a task of this crate through the I/O driver of the
    /// runtime, and that task wakes the caller. The runtime then wakes one worker instead of
    /// two. Whether that is faster depends on the machine: `cargo xtask bench sqlite` prints
    /// both.
    ///
    /// The runtime must have I/O: `#[tokio::main]` has it, a runtime that is built by hand
    /// needs `enable_io` or `enable_all`. In a runtime without I/O tokio panics in the task
    /// of this crate, once per runtime and store, and replies are delivered as with
    /// [`Direct`](Self::Direct); if the program is built with `panic = "abort"`, it ends.
    ///
    /// On platforms other than Unix it is the same as [`Direct`](Self::Direct).
    IoDriver,
}

/// How a store is opened. Start from [`SqliteOptions::default`].
///
/// ```
/// use durable_provider_sqlite::{Durability, SqliteOptions};
///
/// let options = SqliteOptions::default().cache_kib(64 * 1024);
/// assert_eq!(options.durability, Durability::Full);
/// assert_eq!(options.cache_kib, 64 * 1024);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// What an acknowledged commit survives. Default: [`Durability::Full`].
    pub durability: Durability,
    /// How long a group of requests waits for another process that holds the write lock.
    /// After that they are answered as unavailable: nothing happened, the caller may try
    /// again. Default: 5 s.
    pub busy_timeout: Duration,
    /// How often the store looks, while a caller waits for a change, whether another process
    /// changed the file or died. Default: 50 ms.
    pub poll_interval: Duration,
    /// The page cache of each connection, in KiB. Default: 16,384 (16 MiB).
    pub cache_kib: u32,
    /// The size of a page, in bytes; it applies only to a file that is created.
    /// Default: 4,096.
    pub page_bytes: u32,
    /// After how many pages the write-ahead log is moved into the file. The log may grow to
    /// four times of this while readers stand in the way. Default: 4,000 (16 MB of pages of
    /// 4,096 bytes).
    pub checkpoint_pages: u32,
    /// Whether the write-ahead log is preallocated: while it is short, the writer appends
    /// 1 MiB of zeros at a time to the `-wal` file, so that a commit does not change the
    /// length of the file and its sync is faster. SQLite takes zeros for the end of the log,
    /// so the file stays readable for every other program. It applies only to
    /// [`Durability::Full`]. Default: true.
    pub preallocate_wal: bool,
    /// How many connections read at most. All but the first are opened when a query has
    /// waited for a slow one. Default: 2.
    pub readers: usize,
    /// How many requests share one transaction at most. Default: 256.
    pub max_group: usize,
    /// How many messages of one instance one fetch gives at most. Default: 1,000.
    pub messages_per_fetch: usize,
    /// How replies reach the tasks that wait for them. Default: [`ReplyPath::Direct`].
    pub reply_path: ReplyPath,
    /// The largest names and payloads that are accepted. Default: [`Limits::default`].
    pub limits: Limits,
    /// The store's clock. While it is behind what another process wrote into the file, or
    /// is set back, the store's time goes on from there. Default: [`SystemClock`].
    pub clock: Arc<dyn Clock>,
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
            preallocate_wal: true,
            readers: 2,
            max_group: 256,
            messages_per_fetch: 1_000,
            reply_path: ReplyPath::Direct,
            limits: Limits::default(),
            clock: Arc::new(SystemClock),
        }
    }
}

impl fmt::Debug for SqliteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            durability,
            busy_timeout,
            poll_interval,
            cache_kib,
            page_bytes,
            checkpoint_pages,
            preallocate_wal,
            readers,
            max_group,
            messages_per_fetch,
            reply_path,
            limits,
            clock: _,
        } = self;
        f.debug_struct("SqliteOptions")
            .field("durability", durability)
            .field("busy_timeout", busy_timeout)
            .field("poll_interval", poll_interval)
            .field("cache_kib", cache_kib)
            .field("page_bytes", page_bytes)
            .field("checkpoint_pages", checkpoint_pages)
            .field("preallocate_wal", preallocate_wal)
            .field("readers", readers)
            .field("max_group", max_group)
            .field("messages_per_fetch", messages_per_fetch)
            .field("reply_path", reply_path)
            .field("limits", limits)
            .finish_non_exhaustive()
    }
}

impl SqliteOptions {
    /// Sets [`durability`](field@Self::durability).
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets [`busy_timeout`](field@Self::busy_timeout).
    #[must_use]
    pub fn busy_timeout(mut self, busy_timeout: Duration) -> Self {
        self.busy_timeout = busy_timeout;
        self
    }

    /// Sets [`poll_interval`](field@Self::poll_interval).
    #[must_use]
    pub fn poll_interval(mut self, poll_interval: Duration) -> Self {
        self.poll_interval = poll_interval;
        self
    }

    /// Sets [`cache_kib`](field@Self::cache_kib).
    #[must_use]
    pub fn cache_kib(mut self, cache_kib: u32) -> Self {
        self.cache_kib = cache_kib;
        self
    }

    /// Sets [`page_bytes`](field@Self::page_bytes).
    #[must_use]
    pub fn page_bytes(mut self, page_bytes: u32) -> Self {
        self.page_bytes = page_bytes;
        self
    }

    /// Sets [`checkpoint_pages`](field@Self::checkpoint_pages).
    #[must_use]
    pub fn checkpoint_pages(mut self, checkpoint_pages: u32) -> Self {
        self.checkpoint_pages = checkpoint_pages;
        self
    }

    /// Sets [`preallocate_wal`](field@Self::preallocate_wal).
    #[must_use]
    pub fn preallocate_wal(mut self, preallocate_wal: bool) -> Self {
        self.preallocate_wal = preallocate_wal;
        self
    }

    /// Sets [`readers`](field@Self::readers).
    #[must_use]
    pub fn readers(mut self, readers: usize) -> Self {
        self.readers = readers;
        self
    }

    /// Sets [`max_group`](field@Self::max_group).
    #[must_use]
    pub fn max_group(mut self, max_group: usize) -> Self {
        self.max_group = max_group;
        self
    }

    /// Sets [`messages_per_fetch`](field@Self::messages_per_fetch).
    #[must_use]
    pub fn messages_per_fetch(mut self, messages_per_fetch: usize) -> Self {
        self.messages_per_fetch = messages_per_fetch;
        self
    }

    /// Sets [`reply_path`](field@Self::reply_path).
    #[must_use]
    pub fn reply_path(mut self, reply_path: ReplyPath) -> Self {
        self.reply_path = reply_path;
        self
    }

    /// Sets [`limits`](field@Self::limits).
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets [`clock`](field@Self::clock).
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }
}
