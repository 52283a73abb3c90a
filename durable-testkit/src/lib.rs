//! What makes the claims believable.
//!
//! For tests of orchestrations, without any feature:
//!
//! - [`TestEnvironment`]: orchestrations in virtual time, with activities replaced
//!   and crashes, events and cancellations at chosen points.
//! - [`Interleavings`]: searches for an order of things that breaks a test.
//! - [`ReplayTester`]: histories, from files or out of a store, against code.
//! - [`HistoryBuilder`]: the history of an execution, line by line.
//! - [`MemoryProvider`]: the storage contract in memory, short enough to be read
//!   as its specification. Tests run on it, and other providers are measured by it.
//! - [`TokioClock`], [`ManualClock`]: virtual time for a store.
//!
//! For tests of providers, with the feature `conformance`:
//!
//! - `Conformance`: every promise of the storage contract as named checks, for
//!   any provider, in one call.
//! - `TurnBuilder`: a turn to commit, without a runtime.
//! - `ModelTest` (feature `model`): random scripts of calls, on which a provider must
//!   agree with the in-memory one.
//!
//! For tests of the runtime itself:
//!
//! - `Simulation` (feature `sim`): nodes and clients in virtual time, with everything
//!   going wrong that a seed can think of, and invariants that must hold all along.
//! - `strategy` (feature `strategy`): proptest strategies for events, histories and
//!   whole programs.
//!
//! The crate depends on the core and the runtime, never on a provider.

mod builder;
mod clock;
#[cfg(feature = "conformance")]
mod conformance;
mod environment;
#[cfg(feature = "sim")]
mod invariant;
mod memory;
#[cfg(feature = "conformance")]
mod message;
#[cfg(feature = "model")]
mod model;
mod random;
mod replay;
#[cfg(feature = "sim")]
mod sim;
#[cfg(feature = "strategy")]
pub mod strategy;
#[cfg(feature = "conformance")]
mod turn;

pub use builder::{HistoryBuildError, HistoryBuilder};
pub use clock::{ManualClock, TokioClock};
#[cfg(feature = "conformance")]
pub use conformance::{
    CheckFailure, CheckOutcome, CheckReport, Conformance, ConformanceReport, ContractPromise,
    StoreClock,
};
pub use environment::{
    AtEvent, EnvironmentError, InterleavingFailure, Interleavings, TestEnvironment,
    TestEnvironmentBuilder,
};
#[cfg(feature = "sim")]
pub use invariant::{Invariant, InvariantViolation};
pub use memory::{
    InstanceSnapshot, MemoryOptions, MemoryProvider, SessionSnapshot, Snapshot, TimerSnapshot,
    WorkSnapshot,
};
#[cfg(feature = "conformance")]
pub use message::{event_message, request_message, start_message};
#[cfg(feature = "model")]
pub use model::{Divergence, ModelFailure, ModelScript, ModelTest};
pub use replay::{
    HistoryFileError, ReplayEntry, ReplayOutcome, ReplayReport, ReplaySource, ReplayTester,
    export_histories, histories_to_json, read_histories, write_histories,
};
#[cfg(feature = "sim")]
pub use sim::{
    Effects, FaultPlace, FaultPlan, KillSwitch, NodeStart, Observed, SimClient, SimFailure,
    SimFault, SimReport, SimScope, SimScopeError, SimTimeline, SimTimelineEntry, SimTotals,
    Simulation, Workload, smallest_failure,
};
#[cfg(feature = "conformance")]
pub use turn::TurnBuilder;
