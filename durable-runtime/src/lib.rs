//! Durable orchestrations as plain `async fn`s.
//!
//! An orchestration calls activities, waits for timers, events, promises and other
//! orchestrations. Every fact it learns is an event in a history; after a crash the
//! function is run again over that history and goes on where it was.

mod activity;
mod client;
mod clock;
mod context;
mod dispatch;
mod execution;
mod future;
mod handle;
mod interpret;
mod node;
mod options;
mod payload;
mod random;
mod registry;
mod replay;
mod retry;
mod runtime;
mod store_clock;
mod turn;

pub use activity::ActivityContext;
pub use client::{Client, ClientError, InstanceHandle, Start};
pub use clock::{Clock, SystemClock, TokioClock};
pub use context::{
    ActivityCall, ExternalEvent, Misuse, OrchestrationContext, Patched, Promise, Run, Sleep,
    SubOrchestration,
};
pub use durable_core::provider::{IdReuse, InstanceStatus, Provider};
pub use durable_core::{Failure, FailureKind, InstanceId, PromiseToken, RetryPolicy};
pub use handle::{
    Activity, ActivityRef, EventName, EventRef, Orchestration, OrchestrationName, OrchestrationRef,
    VersionedOrchestration,
};
pub use options::{FaultPolicy, RuntimeOptions};
pub use registry::{DEFAULT_VERSION, Registry, RegistryBuilder, RegistryError};
pub use replay::{ReplayFailure, ReplayRest, Replayed, Replayer, replay};
pub use runtime::{Runtime, RuntimeBuilder};
