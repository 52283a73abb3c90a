//! The storage contract in memory.
//!
//! All that is stored stands in one `MemoryState` of plain maps, and each method of the
//! contract is a function on it: no clock, no task and no waiting inside, so the
//! same calls always lead to the same state. [`MemoryProvider`] puts a lock around
//! the state and wakes the waiters after the lock is free again.
//!
//! It scans where a database would use an index, but for work and messages, of which there
//! may be many, and it forgets everything with the last handle.

mod client;
mod commit;
mod inbox;
mod instances;
mod provider;
mod prune;
mod purge;
mod query;
mod queue;
mod sessions;
mod snapshot;
mod state;
mod streams;
mod timers;
mod views;
mod work;

pub use provider::{MemoryOptions, MemoryProvider};
pub use snapshot::{InstanceSnapshot, SessionSnapshot, Snapshot, TimerSnapshot, WorkSnapshot};
