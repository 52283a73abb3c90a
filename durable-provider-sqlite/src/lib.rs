//! The storage contract of [`durable_core`] on SQLite, the embedded default.
//!
//! Nothing is implemented yet: the crate reserves its place in the layering (it
//! depends on the core only, never on the runtime or on another provider).
