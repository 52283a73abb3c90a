//! The simulator: many nodes, virtual time, one seed.
//!
//! - `simulation` builds a world from a seed, runs it and reports.
//! - `world` is what all share: chance, the timeline, the store, the invariants.
//! - `node` lives and dies; `node_life` is one of its lives.
//! - `link` is the way of a life to its handle on the store: `faulty_provider` makes every
//!   method of the contract a `call` that may go wrong, and `observed` shows the invariants
//!   what the store answers.
//! - `workload` is what runs in it, `node_start` what a node runs of it; `standard`
//!   is one that uses everything.
//! - `scope` is how much of a seed takes place, `shrink` finds the least that fails.
//!
//! Nothing here knows what is right: that is what [`crate::invariant`] says.

mod argument;
mod call;
mod chance;
mod clock;
mod describe;
mod expectations;
mod faulty_provider;
mod link;
mod method;
mod node;
mod node_life;
mod node_start;
mod observed;
mod plan;
mod report;
mod scope;
mod shrink;
mod simulation;
mod standard;
mod timeline;
mod totals;
mod workload;
mod world;

pub use node_start::{KillSwitch, NodeStart};
pub use observed::Observed;
pub use plan::{FaultPlan, SimFault};
pub use report::{SimFailure, SimReport};
pub use scope::{FaultPlace, SimScope, SimScopeError};
pub use shrink::smallest_failure;
pub use simulation::Simulation;
pub use timeline::{SimTimeline, SimTimelineEntry};
pub use totals::SimTotals;
pub use workload::{Effects, SimClient, Workload};

pub(crate) use expectations::Expectations;
