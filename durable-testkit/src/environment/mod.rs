//! A test environment for orchestrations: a store, a node and virtual time in one
//! value, with activities replaced by closures, and crashes, events and
//! cancellations at chosen triggers.
//!
//! What happens is what happens in production: the same runtime on the in-memory
//! provider. Only time is virtual, and the layer between the two watches every
//! commit, so that something can be made to happen right after a certain event, or
//! right before it is stored.
//!
//! In the interleaving mode a gate stands in the same place: work, timers and events
//! go through one at a time, in an order that a scheduler chooses.

mod builder;
mod env;
mod error;
mod gate;
mod interleaving;
mod missing_code;
mod observed_store;
mod observing_provider;
mod scheduler;
mod trigger;

pub use builder::TestEnvironmentBuilder;
pub use env::TestEnvironment;
pub use error::EnvironmentError;
pub use interleaving::{InterleavingFailure, Interleavings};
pub use trigger::AtEvent;
