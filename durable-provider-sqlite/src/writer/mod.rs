//! The one writer of a store.
//!
//! - `group_commit` owns the connection: it begins a transaction, lets every request of a
//!   group do its step, commits, and only then lets the requests be answered. `guard` is
//!   what a step can be undone with, `failed` why a group was not committed, `health`
//!   whether the writer has panicked.
//! - `other_processes` finds out what other processes did to the file.
//! - `database_file` is the file; `wal_preallocate` and `checkpoint` keep its write-ahead log
//!   from growing while it is synced, and for ever; `busy` waits for the write lock.
//! - `thread` drives it: it blocks on the first request and takes along whatever else
//!   has arrived. A store in memory has no thread: requests run where they are made.
//! - `job` is a request with its step and the sender of its reply. `reply` routes replies,
//!   `reply_tasks` receive them in the runtimes that asked, notified through `notify_fd`.

mod busy;
mod checkpoint;
mod database_file;
mod failed;
mod group_commit;
mod guard;
mod health;
mod job;
mod notify_fd;
mod other_processes;
mod reply;
mod reply_tasks;
mod thread;
mod wal_preallocate;

pub(crate) use group_commit::{GroupCommit, SharedParts, closed};
pub(crate) use health::WriterHealth;
pub(crate) use job::{BoxedJob, Outlives, job};
pub(crate) use reply_tasks::ReplyTasks;
pub(crate) use thread::Writer;
