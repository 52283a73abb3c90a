//! The simulator: many nodes, virtual time, one seed.
//!
//! - `simulation` builds a world from a seed, runs it and reports.
//! - `world` is what all share: chance, the timeline, the store, the invariants.
//! - `node` lives and dies; `life` is one of its lives; `link` is its way to the
//!   store, and `call` is where a single call goes wrong.
//! - `workload` is what runs in it; `standard` is one that uses everything.
//!
//! Nothing here knows what is right: that is what [`crate::invariant`] says.

mod call;
mod clock;
mod life;
mod link;
mod node;
mod plan;
mod random;
mod report;
mod seen;
mod simulation;
mod standard;
mod tell;
mod timeline;
mod totals;
mod workload;
mod world;

pub use plan::{Fault, FaultPlan};
pub use report::{SimFailure, SimReport};
pub use seen::Seen;
pub use simulation::Simulation;
pub use timeline::{Timeline, TimelineEntry};
pub use totals::SimTotals;
pub use workload::{Effects, SimClient, Workload};

pub(crate) use workload::Expectations;
