//! The conformance suite: every promise of the storage contract as named checks.
//!
//! - [`Conformance`] runs them, each on a fresh store, and gives a [`ConformanceReport`].
//! - `check` and `promise` name them, `failure` says what was expected and found.
//! - `env`, `node` and `waiting` are what a check is written with: a client's and a
//!   node's view of the store; `samples` has one of everything.
//! - `checks` has one module for each promise.
//!
//! No check sleeps to let something happen: it waits for a notification, and time
//! is only the bound after which it fails. With a [`Clock`] of the store's own,
//! a check waits where others move the clock.

mod check;
mod checks;
mod clock;
mod env;
mod failure;
mod node;
mod promise;
mod report;
mod samples;
mod store;
mod suite;
mod waiting;

pub use clock::Clock;
pub use failure::CheckFailure;
pub use promise::ContractPromise;
pub use report::{CheckOutcome, CheckReport, ConformanceReport};
pub use suite::Conformance;
