//! Durable orchestrations as plain `async fn`s.
//!
//! An orchestration calls activities, waits for timers, events, promises and other
//! orchestrations. Every fact it learns is an event in a history; after a crash the
//! function is run again over that history and goes on where it was.
//!
//! ```
//! use std::time::Duration;
//! use durable_runtime::{Activity, ActivityContext, EventName, Failure, Orchestration};
//! use durable_runtime::{OrchestrationContext, Registry, RetryPolicy, Runtime};
//! use durable_testkit::MemoryProvider;
//!
//! const CHARGE: Activity<u64, String> = Activity::new("charge");
//! const ORDER: Orchestration<u64, String> = Orchestration::new("order");
//! const APPROVED: EventName<bool> = EventName::new("approved");
//!
//! // What an orchestration awaits is recorded: after a crash nothing of it is done again.
//! async fn order(ctx: OrchestrationContext, cents: u64) -> Result<String, Failure> {
//!     let receipt = ctx.activity(CHARGE, &cents).retry(RetryPolicy::attempts(5)).await?;
//!     tokio::select! {
//!         approved = ctx.external_event(APPROVED) => approved.map(|_| receipt),
//!         late = ctx.sleep(Duration::from_secs(86_400)) => late.map(|()| "late".into()),
//!     }
//! }
//!
//! // An activity is ordinary code. It runs at least once.
//! async fn charge(ctx: ActivityContext, cents: u64) -> Result<String, Failure> {
//!     Ok(format!("{cents} cents for {}", ctx.idempotency_key()))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let registry = Registry::builder()
//!     .orchestration(ORDER, order)
//!     .activity(CHARGE, charge)
//!     .build()?;
//! // Any provider will do: `durable-provider-sqlite` keeps everything in one file.
//! let node = Runtime::builder(MemoryProvider::new(), registry).start().await?;
//!
//! let order = node.client().start(ORDER, "order-7", &4990).await?;
//! order.raise(APPROVED, &true).await?;
//! assert_eq!(order.wait().await?, "4990 cents for order-7/1/2");
//! node.shutdown(Duration::from_secs(5)).await;
//! # Ok(())
//! # }
//! ```
//!
//! # Where to look
//!
//! | to | see |
//! |---|---|
//! | write an orchestration | [`OrchestrationContext`] |
//! | write an activity | [`ActivityContext`], [`RetryPolicy`], [`ActivityCall`] |
//! | name things once, checked by the compiler | [`Activity`], [`Orchestration`], [`EventName`] |
//! | say what a node can run | [`Registry`] |
//! | run a node | [`Runtime`], [`RuntimeOptions`] |
//! | start, ask, stop, list, read | [`Client`], [`InstanceHandle`] |
//! | replay histories against changed code | [`replay()`], [`Replayer`] |
//! | encrypt or compress what is stored | [`PayloadCodec`] |
//! | wait for several things in a fixed order | [`join_all`], [`select_all`], [`join!`], [`select!`] |
//! | test in virtual time | the crate `durable-testkit` |
//!
//! # Observability
//!
//! Spans of `tracing`, at level `INFO`: `turn` with `instance`, `execution`, `event` and
//! `last_event` (the first and the last event of the turn), and `activity` with `name`,
//! `instance`, `execution`, `event`, `attempt`, and `command` (its number among the calls of
//! its execution) where the node knows it. Inside a turn a `DEBUG` event `recorded` has
//! `event`, `kind` and `command` of each command. What orchestrations themselves log is
//! silent in a replay. Payloads are never logged.
//!
//! Metrics through the `metrics` facade:
//!
//! | name | kind | what |
//! |---|---|---|
//! | `durable_turns_total` | counter | turns that were run |
//! | `durable_replays_total` | counter | executions that were brought into memory by a replay |
//! | `durable_cache_hits_total` | counter | executions that were still in memory |
//! | `durable_turn_wait_seconds` | histogram | how long a ready instance waited for a free turn |
//! | `durable_commits_total` | counter | commits that were applied |
//! | `durable_commit_seconds` | histogram | how long they took, with all tries |
//! | `durable_commits_rejected_total` | counter | commits of a node that no longer held the instance |
//! | `durable_messages_dropped_total` | counter, by `reason` | messages that meant nothing (any more) |
//! | `durable_purged_instances_total`, `durable_pruned_executions_total` | counters | what [`Retention`] removed |
//! | `durable_faults_total` | counter, by `kind` | instances that could not go on |
//! | `durable_violations_total` | counter | those among them whose code is not deterministic or awaits something that is not durable |
//! | `durable_activities_total` | counter, by `verdict` | attempts: `completed`, `failed`, `retry`, `handed_back`, `poisoned` |
//! | `durable_activity_seconds` | histogram | how long attempts took |
//! | `durable_work_wait_seconds` | histogram | how long calls waited for their first attempt |
//! | `durable_blocking_code_total` | counter, by `code` | activities and orchestrations that held their worker thread for longer than the blocking threshold |
//! | `durable_store_errors_total` | counter | errors of the store that were waited out |

mod activity;
mod attribute;
mod client;
mod combine;
mod context;
mod dispatch;
mod execution;
mod handle;
mod node;
mod node_thread;
mod options;
mod payload;
mod payload_codec;
mod random;
mod registry;
mod replay;
mod retention;
mod runtime;
mod start_error;
mod trace;
mod watchdog;

pub use activity::ActivityContext;
pub use attribute::{Attribute, AttributeType, IntoAttribute};
pub use client::{
    ActivityStatus, Client, ClientError, InstanceHandle, Start, SuspendedChild, Wait,
};
pub use combine::{join_all, select_all};
pub use context::{
    ActivityCall, Branch, ExternalEvent, ExternalEvents, OrchestrationContext, Patched, Promise,
    Run, Sleep, SubOrchestration, TryExternalEvent,
};
/// The storage contract: what a provider promises, and every type that it names.
pub use durable_core::provider;
pub use durable_core::provider::{
    ExecutionRecord, HistoryPage, IdReuse, InboxMessage, InboxPage, InboxSeq, InstanceFilter,
    InstancePage, InstanceRecord, InstanceStatus, OpenActivity, OpenTimer, OpenWorkPage,
    PoisonedPage, PoisonedWork, Provider, ProviderError, PurgeReport, PurgeRequest, SourceEvent,
    StatusKind, WorkItem, WorkKey, WorkState,
};
pub use durable_core::{
    ActivityOptions, AttributeKind, AttributeValue, Attributes, Carried, CommandId, CommandKind,
    Corruption, Difference, Event, EventClass, EventId, EventKind, ExecutionId, Failure,
    FailureKind, History, HistoryEntry, HistoryFault, InstanceId, InvalidTraceParent, LimitError,
    Limits, MessageId, Name, Parent, Payload, PromiseToken, RetryPolicy, SourceFault, TraceParent,
    UnreadEvent, Version, Violation, ViolationHint,
};
pub use execution::Misuse;
pub use handle::{
    Activity, ActivityRef, EventName, EventRef, Orchestration, OrchestrationName, OrchestrationRef,
    VersionedOrchestration,
};
pub use options::{FaultPolicy, RuntimeOptions};
pub use payload_codec::{PayloadCodec, PayloadCodecError};
pub use registry::{DEFAULT_VERSION, Registry, RegistryBuilder, RegistryError};
pub use replay::{ReplayFailure, ReplayRest, Replayed, Replayer, replay};
pub use retention::Retention;
pub use runtime::{Runtime, RuntimeBuilder};
pub use start_error::{IdleReason, StartError};

/// What programs with orchestrations name again and again.
///
/// ```
/// use durable_runtime::prelude::*;
///
/// const GREET: Activity<String, String> = Activity::new("greet");
///
/// async fn hello(ctx: OrchestrationContext, name: String) -> Result<String, Failure> {
///     ctx.activity(GREET, &name).await
/// }
/// ```
pub mod prelude {
    pub use crate::{
        Activity, ActivityContext, Attribute, Client, EventName, Failure, IdReuse, InstanceHandle,
        Orchestration, OrchestrationContext, Registry, RetryPolicy, Runtime, RuntimeOptions,
    };
}

/// What the macros of this crate are made of; not for use.
#[doc(hidden)]
pub use {context::IndexedBranch as __IndexedBranch, tokio as __tokio};
