//! What activity code sees.

use std::sync::Arc;

use durable_core::provider::{HeartbeatOutcome, Provider, WorkKey, WorkLease};
use durable_core::{Failure, FailureKind, Limits, Name, Payload, TraceParent};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::payload::{self, PayloadSubject};

/// The surroundings of one attempt of an activity.
///
/// An activity may run more than once: a worker can die after the effect and
/// before the result is stored. Make effects idempotent with
/// [`idempotency_key`](Self::idempotency_key).
///
/// Activities are ordinary async code: they may use sockets, files and the clock. Code
/// that blocks its thread belongs into `tokio::task::spawn_blocking`: on the thread itself
/// it keeps other work of the node waiting. The node reports code that does, and keeps its
/// session meanwhile: its heartbeats come from a thread of their own.
///
/// ```
/// use durable_runtime::{ActivityContext, Failure};
///
/// async fn charge(ctx: ActivityContext, cents: u64) -> Result<String, Failure> {
///     let key = ctx.idempotency_key();
///     bank::charge(&key, cents).await.map_err(|error| match error {
///         bank::Error::Busy => Failure::application("bank", "busy"), // may be tried again
///         bank::Error::NoFunds => Failure::application("bank", "no funds").not_retryable(),
///     })
/// }
/// # mod bank {
/// #     pub enum Error { Busy, NoFunds }
/// #     pub async fn charge(_: &str, cents: u64) -> Result<String, Error> {
/// #         match cents { 0 => Err(Error::NoFunds), 1 => Err(Error::Busy), _ => Ok("paid".into()) }
/// #     }
/// # }
/// # let _ = charge;
/// ```
#[derive(Clone)]
pub struct ActivityContext {
    attempt: Arc<Attempt>,
}

/// What is known of one attempt.
pub(crate) struct Attempt {
    pub(crate) name: Name,
    pub(crate) trace_parent: Option<TraceParent>,
    pub(crate) lease: WorkLease,
    /// Which delivery this is, from 1.
    pub(crate) number: u32,
    pub(crate) is_redelivery: bool,
    pub(crate) earlier_heartbeat: Option<Payload>,
    pub(crate) cancellation: CancellationToken,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) limits: Limits,
}

impl ActivityContext {
    pub(crate) fn new(attempt: Attempt) -> Self {
        Self {
            attempt: Arc::new(attempt),
        }
    }

    /// Which call this is: instance, execution and scheduling event.
    pub fn key(&self) -> &WorkKey {
        &self.attempt.lease.key
    }

    /// The same text in every attempt of this call and in no other call:
    /// `instance/execution/event_id`.
    pub fn idempotency_key(&self) -> String {
        let key = self.key();
        format!("{}/{}/{}", key.instance, key.execution_id, key.event_id)
    }

    /// Which attempt this is, from 1: every attempt before it failed, or its process died.
    ///
    /// A [`RetryPolicy`](crate::RetryPolicy) counts those alone that failed, so there may be
    /// more attempts than it allows. A node that shuts down hands back what it has begun; that
    /// counts as no attempt.
    pub fn attempt(&self) -> u32 {
        self.attempt.number
    }

    /// Whether a process died in an earlier attempt, so that its effect may have happened
    /// without a result: look for it by the [`idempotency_key`](Self::idempotency_key).
    ///
    /// `false` is no promise that the code was never begun: see [`attempt`](Self::attempt).
    ///
    /// ```
    /// # use durable_runtime::{ActivityContext, Failure};
    /// async fn ship(ctx: ActivityContext, order: u64) -> Result<u64, Failure> {
    ///     if ctx.is_redelivery() {
    ///         // … ask the carrier whether this key is known …
    ///     }
    ///     Ok(order)
    /// }
    /// # let _ = ship;
    /// ```
    pub fn is_redelivery(&self) -> bool {
        self.attempt.is_redelivery
    }

    /// The trace that the instance was started for, to be passed on to a service that the
    /// activity calls, in a header `traceparent`.
    ///
    /// With the feature `opentelemetry` and its layer, the span of the attempt is in that trace
    /// already, and so is what the code does in it.
    ///
    /// ```
    /// # use durable_runtime::{ActivityContext, Failure};
    /// async fn charge(ctx: ActivityContext, cents: u64) -> Result<(), Failure> {
    ///     let header = ctx.trace_parent().map(|parent| ("traceparent", parent.to_string()));
    ///     // … call the bank with this header …
    /// #   let _ = (header, cents);
    ///     Ok(())
    /// }
    /// # let _ = charge;
    /// ```
    pub fn trace_parent(&self) -> Option<&TraceParent> {
        self.attempt.trace_parent.as_ref()
    }

    /// Whether this activity was cancelled: its orchestration no longer waits for it.
    pub fn is_cancelled(&self) -> bool {
        self.attempt.cancellation.is_cancelled()
    }

    /// Resolves when this activity is cancelled. Code that does not listen goes on, unless
    /// the node has a [`cancellation_grace`](crate::RuntimeOptions#structfield.cancellation_grace).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use durable_runtime::{ActivityContext, Failure};
    /// async fn poll_a_device(ctx: ActivityContext, _device: u32) -> Result<(), Failure> {
    ///     tokio::select! {
    ///         () = ctx.cancelled() => Err(Failure::cancelled("the caller gave up")),
    ///         () = tokio::time::sleep(Duration::from_secs(3600)) => Ok(()),
    ///     }
    /// }
    /// # let _ = poll_a_device;
    /// ```
    pub async fn cancelled(&self) {
        self.attempt.cancellation.cancelled().await;
    }

    /// Keeps something for the next attempt, in case this one does not end.
    ///
    /// It fails if the work is no longer in this worker's hands: stop then.
    ///
    /// ```
    /// # use durable_runtime::{ActivityContext, Failure};
    /// async fn copy(ctx: ActivityContext, files: Vec<String>) -> Result<usize, Failure> {
    ///     let copied: usize = ctx.earlier_heartbeat()?.unwrap_or(0);
    ///     for (number, _file) in files.iter().enumerate().skip(copied) {
    ///         // … copy the file …
    ///         ctx.heartbeat(&(number + 1)).await?;
    ///     }
    ///     Ok(files.len())
    /// }
    /// # let _ = copy;
    /// ```
    ///
    /// # Errors
    ///
    /// A failure of kind `Cancelled` if another worker has the work by now,
    /// `InvalidPayload` or `LimitExceeded` if the details do not encode or are too large, and
    /// `Storage` if the store did not take it.
    pub async fn heartbeat<T: Serialize>(&self, details: &T) -> Result<(), Failure> {
        let subject = PayloadSubject::new("activity", self.attempt.name.clone());
        let details = payload::encode(&self.attempt.limits, "heartbeat", &subject, details)?;
        let outcome = self
            .attempt
            .provider
            .heartbeat_work(&self.attempt.lease, details)
            .await
            .map_err(|error| Failure::new(FailureKind::Storage, error.to_string()))?;
        match outcome {
            HeartbeatOutcome::Kept => Ok(()),
            HeartbeatOutcome::LeaseLost => {
                self.attempt.cancellation.cancel();
                Err(Failure::cancelled("another session has claimed the work"))
            }
        }
    }

    /// What the last heartbeat of an earlier attempt left behind.
    ///
    /// # Errors
    ///
    /// A failure of kind `InvalidPayload` if the details are not a `T`.
    pub fn earlier_heartbeat<T: DeserializeOwned>(&self) -> Result<Option<T>, Failure> {
        let subject = PayloadSubject::new("activity", self.attempt.name.clone());
        self.attempt
            .earlier_heartbeat
            .as_ref()
            .map(|details| payload::decode("heartbeat", &subject, None, details))
            .transpose()
    }

    pub(crate) fn limits(&self) -> Limits {
        self.attempt.limits
    }
}

impl std::fmt::Debug for ActivityContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ActivityContext")
            .field("name", &self.attempt.name)
            .field("key", self.key())
            .field("attempt", &self.attempt.number)
            .finish_non_exhaustive()
    }
}
