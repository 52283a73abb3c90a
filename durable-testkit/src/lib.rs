//! What makes the claims believable.
//!
//! - [`MemoryProvider`]: the storage contract in memory, short enough to be read
//!   as its specification. Tests run on it, and other providers are measured by it.
//! - [`Conformance`]: every promise of the storage contract as named checks, for
//!   any provider, in one call.
//! - [`ModelTest`]: random scripts of calls, on which a provider must agree with
//!   the in-memory one.
//! - [`Layer`]: a provider around a provider, for faults and clocks.
//! - [`TurnBuilder`]: a turn to commit, without a runtime.
//! - [`Simulation`]: nodes and clients in virtual time, with everything going wrong
//!   that a seed can think of, and [`Invariant`]s that must hold all along.
//! - [`HistoryBuilder`]: the history of an execution, line by line.
//! - [`ReplayTester`]: histories, from files or out of a store, against code.
//! - [`TestEnvironment`]: orchestrations in virtual time, with activities replaced
//!   and crashes, events and cancellations at chosen points.
//! - [`Interleavings`]: searches for an order of things that breaks a test.
//! - [`strategy`]: proptest strategies for events, histories and whole programs.
//!
//! The crate depends on the core and the runtime, never on a provider.

mod builder;
mod conformance;
mod environment;
mod invariant;
mod layer;
mod memory;
mod message;
mod model;
mod random;
mod replay;
mod sim;
pub mod strategy;
mod turn;

pub use builder::{HistoryBuildError, HistoryBuilder};
pub use conformance::{
    CheckFailure, CheckOutcome, CheckReport, Clock, Conformance, ConformanceReport, ContractPromise,
};
pub use environment::{
    AtEvent, EnvironmentError, InterleavingFailure, Interleavings, TestEnvironment,
    TestEnvironmentBuilder,
};
pub use invariant::{Invariant, InvariantViolation};
pub use layer::{Layer, Layered};
pub use memory::{
    InstanceSnapshot, MemoryOptions, MemoryProvider, SessionSnapshot, Snapshot, StoreClock,
    WorkSnapshot,
};
pub use message::{event_message, start_message};
pub use model::{Divergence, ModelFailure, ModelScript, ModelTest};
pub use replay::{
    HistoryFileError, ReplayEntry, ReplayOutcome, ReplayReport, ReplaySource, ReplayTester,
    export_histories, histories_to_json, read_histories, write_histories,
};
pub use sim::{
    Effects, FaultPlace, FaultPlan, KillSwitch, NodeStart, Observed, SimClient, SimFailure,
    SimFault, SimReport, SimScope, SimScopeError, SimTimeline, SimTimelineEntry, SimTotals,
    Simulation, Workload, smallest_failure,
};
pub use turn::TurnBuilder;
