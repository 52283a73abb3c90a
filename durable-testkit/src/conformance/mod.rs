//! The conformance suite: every promise of the storage contract as named checks.
//!
//! - [`Conformance`] runs them, each on a fresh store, and gives a [`ConformanceReport`].
//! - `check` and `promise` name them, `failure` says what was expected and found.
//! - `env`, `node` and `waiting` are what a check is written with: a client's and a
//!   node's view of the store; `samples` has one of everything.
//! - `turn_flaw` has one invalid turn for each reason.
//! - `checks` has one module for each promise.
//!
//! No check sleeps to let something happen: it waits for a notification, and time
//! is only the bound after which it fails. With a clock of the store's own
//! ([`StoreClock::Wall`]), a check waits where others move the clock.

mod check;
mod checks;
mod env;
mod failure;
mod node;
mod promise;
mod report;
mod samples;
mod store;
mod suite;
mod time;
mod turn_flaw;
mod waiting;

pub use failure::CheckFailure;
#[cfg(feature = "model")]
pub(crate) use failure::told_apart;
pub use promise::ContractPromise;
pub use report::{CheckOutcome, CheckReport, ConformanceReport};
pub use suite::Conformance;
pub use time::StoreClock;
#[cfg(feature = "model")]
pub(crate) use time::TestTime;
#[cfg(feature = "model")]
pub(crate) use turn_flaw::TurnFlaw;
