//! The storage contract of [`durable_core`] on SQLite: the embedded default.
//!
//! ```
//! use durable_provider_sqlite::SqliteProvider;
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("orders.db");
//! let provider = SqliteProvider::open(&path)?;
//! # drop(provider);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - **Durability.** The file is in WAL mode with `synchronous=FULL`: an acknowledged
//!   commit survives the death of the process and a power cut. [`Durability::Relaxed`]
//!   trades the latter away.
//! - **One writer, group commit.** One thread owns the connection that writes. Requests
//!   that arrived while the last transaction was being synced share the next one; one that
//!   is refused leaves the others whole, and each caller gets its own result, and not before
//!   it is on disk. Only claims and heartbeats do not wait for the disk: a power cut ends
//!   all sessions. Readers have connections of their own and never block the writer.
//! - **Time.** The store goes by the clock of [`SqliteOptions::clock`], in every process
//!   that has the file open, and never back behind what the file says.
//! - **Sessions.** Each is backed by a lock of the operating system on a file beside
//!   the database, so that a process that died is noticed at once: when the file is
//!   opened, and otherwise within [`SqliteOptions::poll_interval`]. A process that hangs
//!   loses its leases after its session timeout.
//! - **Wake-ups.** Within a process a change wakes the callers that wait for it. A change by
//!   another process to the same file is noticed within [`SqliteOptions::poll_interval`],
//!   which costs one look at shared memory per interval, and only while a caller waits.
//!   Several processes on one host may share a file; a network file system will not do.
//! - **Replies.** With [`ReplyPath::IoDriver`] they reach tasks of a multi-threaded tokio
//!   runtime through its I/O driver, which wakes one worker instead of two. It is an option
//!   because the runtime must have I/O.
//!
//! The crate depends on the core only, never on the runtime or on another provider.

mod answer;
mod backend;
mod clock;
mod codec;
mod connection;
mod error;
mod integrity;
mod lock;
mod number;
mod open_work;
mod options;
mod provider;
mod query;
mod reader;
mod schema;
mod sql;
mod statistics;
mod store;
mod stream;
mod turn;
mod view;
mod wake;
mod writer;

pub use integrity::{Damage, IntegrityReport};
pub use options::{Durability, ReplyPath, SqliteOptions};
pub use provider::SqliteProvider;
pub use statistics::Statistics;
