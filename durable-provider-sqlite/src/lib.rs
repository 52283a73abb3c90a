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
//! - **One writer, group commit.** One thread owns the connection that writes.
//!   Whatever arrived while the last transaction was being synced shares the next
//!   one; one that is refused leaves the others whole, and everybody learns their own
//!   result, and not before it is on disk. Only hand-outs and heartbeats do not wait
//!   for the disk: after a power cut nobody holds anything. Readers have connections
//!   of their own and never block the writer.
//! - **Sessions.** Each is backed by a lock of the operating system on a file beside
//!   the database, so that a process that died is noticed at once: when the file is
//!   opened, and otherwise within [`SqliteOptions::poll_interval`]. A process that hangs
//!   loses what it holds after its heartbeat bound.
//! - **Wake-ups.** Within a process whoever waits is told. What another process did
//!   to the same file is noticed within [`SqliteOptions::poll_interval`], which costs one
//!   look at shared memory per bound, and only while somebody waits. Several
//!   processes on one host may share a file; a network file system will not do.
//! - **Answers.** They reach tasks of a multi-threaded tokio runtime through its I/O, which
//!   wakes one thread instead of two. A runtime without I/O will do: tokio says once
//!   that it is missing, and answers come the other way.
//!
//! The crate depends on the core only, never on the runtime or on another provider.

mod answer;
mod backend;
mod codec;
mod connection;
mod error;
mod integrity;
mod lock;
mod number;
mod options;
mod provider;
mod query;
mod reader;
mod schema;
mod sql;
mod statistics;
mod store;
mod turn;
mod wake;
mod writer;

pub use integrity::{Damage, IntegrityReport};
pub use options::{Durability, SqliteOptions};
pub use provider::SqliteProvider;
pub use statistics::Statistics;
