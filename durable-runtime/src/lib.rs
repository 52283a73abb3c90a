//! The crate that orchestrations are written against.
//!
//! It will hold the orchestration and activity contexts, typed durable futures,
//! turn execution, the dispatchers and the client, all on top of the cursor and
//! the storage contract of [`durable_core`]. Nothing of that is here yet: the
//! crate reserves its place in the layering (it depends on the core only and
//! never names a provider).
