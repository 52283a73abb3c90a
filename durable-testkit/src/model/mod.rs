//! Model tests: random scripts of calls, run against a provider and against the
//! in-memory one, which must agree in every answer and in everything that can be
//! read after every call.
//!
//! - `script` says what a script is made of, `strategy` how one is drawn.
//! - `run` plays a script and `calls` makes its calls on both sides; `leases` remembers
//!   under which names each side knows its sessions, leases and messages.
//! - `answer` and `visible` are what is compared, without the numbers that each
//!   side may choose for itself.
//!
//! Scripts leave out what the contract leaves open: they never fetch less than
//! there is, so the order of what became ready at once does not matter.

mod answer;
mod calls;
mod leases;
mod run;
mod script;
mod strategy;
mod suite;
mod turn;
mod visible;

pub use script::ModelScript;
pub use suite::{Divergence, ModelFailure, ModelTest};
