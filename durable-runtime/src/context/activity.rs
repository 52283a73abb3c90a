//! Calling activities.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use durable_core::{ActivityOptions, Command, Failure, Name, Outcome, RetryPolicy};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::OrchestrationContext;
use crate::future::{Operation, Settled};
use crate::handle::ActivityRef;
use crate::payload::{self, Subject};

impl OrchestrationContext {
    /// Calls an activity and waits for what it returns.
    ///
    /// An activity runs at least once, on any node that serves its queue; its
    /// result is recorded exactly once. Without further options it is not retried
    /// when it fails.
    ///
    /// ```
    /// # use durable_runtime::{Activity, Failure, OrchestrationContext, RetryPolicy};
    /// # use std::time::Duration;
    /// # const CHARGE: Activity<u64, String> = Activity::new("charge");
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// let receipt = ctx
    ///     .activity(CHARGE, &4990)
    ///     .retry(RetryPolicy { max_attempts: 5, ..RetryPolicy::default() })
    ///     .attempt_timeout(Duration::from_secs(10))
    ///     .timeout(Duration::from_secs(60))
    ///     .queue("payments")
    ///     .await?;
    /// # let _: String = receipt;
    /// # Ok(())
    /// # }
    /// ```
    pub fn activity<I, O>(&self, activity: impl ActivityRef<I, O>, input: &I) -> ActivityCall<O>
    where
        I: Serialize,
    {
        let name = activity.into_name();
        let subject = Subject::new("activity", name.clone());
        let request = self.subject("activity", name).and_then(|subject| {
            let input = payload::encode(self.limits(), "input", &subject, input)?;
            Ok(Command::Activity {
                name: subject.name,
                input,
                options: ActivityOptions::default(),
            })
        });
        ActivityCall {
            operation: Operation::lazy(&self.shared, request),
            subject,
            output: PhantomData,
        }
    }
}

/// An activity call: set its options, then await it.
#[derive(Debug)]
#[must_use = "an activity is called when it is first polled"]
pub struct ActivityCall<O> {
    operation: Operation,
    subject: Subject,
    output: PhantomData<fn() -> O>,
}

impl<O> ActivityCall<O> {
    /// Tries again when it fails.
    pub fn retry(self, policy: RetryPolicy) -> Self {
        self.with(|options| options.retry = policy)
    }

    /// Bounds one attempt.
    pub fn attempt_timeout(self, timeout: Duration) -> Self {
        self.with(|options| options.attempt_timeout_ms = Some(whole_ms(timeout)))
    }

    /// Bounds all attempts and the waits between them.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(|options| options.total_timeout_ms = Some(whole_ms(timeout)))
    }

    /// Has it run by nodes that serve this queue.
    pub fn queue(mut self, queue: impl Into<Name>) -> Self {
        let subject = Subject::new("queue", queue.into());
        match payload::check_name(&self.operation.shared().settings.limits, &subject) {
            Ok(()) => self.with(|options| options.queue = Some(subject.name)),
            Err(failure) => {
                self.operation.refuse(failure);
                self
            }
        }
    }

    fn with(mut self, change: impl FnOnce(&mut ActivityOptions)) -> Self {
        if let Some(Command::Activity { options, .. }) = self.operation.request_mut() {
            change(options);
        }
        self
    }
}

/// At least one millisecond, so that no timeout is lost in rounding.
fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis())
        .unwrap_or(u64::MAX)
        .max(1)
}

impl<O: DeserializeOwned> Future for ActivityCall<O> {
    type Output = Result<O, Failure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.operation
            .poll_settled(cx)
            .map(|settled| value_of(&this.subject, settled))
    }
}

/// The decoded value of something that returns one.
pub(super) fn value_of<T: DeserializeOwned>(
    subject: &Subject,
    settled: Settled,
) -> Result<T, Failure> {
    match settled.outcome {
        Outcome::Value(value) => payload::decode("result", subject, settled.event_id, &value),
        Outcome::Failed(failure) => Err(*failure),
        _ => Err(unexpected(subject)),
    }
}

/// An outcome of another kind than the operation can have.
pub(super) fn unexpected(subject: &Subject) -> Failure {
    Failure::new(
        durable_core::FailureKind::CorruptHistory,
        format!(
            "{} `{}` came to an impossible outcome",
            subject.what, subject.name
        ),
    )
}
