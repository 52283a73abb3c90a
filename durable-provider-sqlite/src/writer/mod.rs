//! The one writer of a store.
//!
//! - `core` owns the connection: it begins a transaction, lets every request of a
//!   group do its step, commits, and only then lets them be answered. `guard` is what a step can be
//!   undone with, `failed` why a group was not committed.
//! - `room` and `checkpoint` keep the log from growing while it is synced, and for ever.
//! - `thread` drives it: it blocks on the first request and takes along whatever else
//!   has arrived. A store in memory has no thread: requests run where they are made.
//! - `job` is a request with its step and the place for its answer; `mail` brings it
//!   there, with `postmen` in the runtimes that asked and a `bell` that they hear.

mod bell;
mod busy;
mod checkpoint;
mod core;
mod failed;
mod file;
mod guard;
mod job;
mod mail;
mod postmen;
mod room;
mod thread;

pub(crate) use core::Core;
pub(crate) use job::{BoxedJob, Outlives, job};
pub(crate) use postmen::Postmen;
pub(crate) use thread::Writer;
