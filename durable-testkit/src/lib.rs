//! What makes the claims believable.
//!
//! - [`MemoryProvider`]: the storage contract in memory, short enough to be read
//!   as its specification. Tests run on it, and other providers are measured by it.
//!
//! The crate depends on the core, never on a provider.

mod memory;

pub use memory::{
    InstanceSnapshot, MemoryOptions, MemoryProvider, SessionSnapshot, Snapshot, WorkSnapshot,
};
