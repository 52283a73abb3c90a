//! Calling activities.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use durable_core::{ActivityOptions, Command, Failure, Name, RetryPolicy};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::OrchestrationContext;
use crate::execution::DurableOperation;
use crate::handle::ActivityRef;
use crate::payload::{self, PayloadSubject};

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
    ///     .retry(RetryPolicy::attempts(5))
    ///     .attempt_timeout(Duration::from_secs(10))
    ///     .timeout(Duration::from_secs(60))
    ///     .queue("payments")
    ///     .await?;
    /// # let _: String = receipt;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn activity<I, O>(&self, activity: impl ActivityRef<I, O>, input: &I) -> ActivityCall<O>
    where
        I: Serialize,
    {
        let name = activity.into_name();
        let subject = PayloadSubject::new("activity", name.clone());
        let command = self.subject("activity", name).and_then(|subject| {
            let input = payload::encode(self.limits(), "input", &subject, input)?;
            Ok(Command::Activity {
                name: subject.name,
                input,
                options: ActivityOptions::default(),
            })
        });
        ActivityCall {
            operation: DurableOperation::lazy(&self.shared, command),
            subject,
            output: PhantomData,
        }
    }
}

/// An activity call: set its options, then await it.
#[derive(Debug)]
#[must_use = "an activity is called when it is first polled"]
pub struct ActivityCall<O> {
    operation: DurableOperation,
    subject: PayloadSubject,
    output: PhantomData<fn() -> O>,
}

impl<O> ActivityCall<O> {
    /// Tries again when it fails.
    pub fn retry(self, policy: RetryPolicy) -> Self {
        self.with(|options| options.retry(policy))
    }

    /// Bounds one attempt, from its begin. The node that runs it enforces it, and tries
    /// again as [`retry`](Self::retry) says.
    pub fn attempt_timeout(self, timeout: Duration) -> Self {
        self.with(|options| options.attempt_timeout(timeout))
    }

    /// Bounds the whole call: its wait for a worker, all attempts and the waits between
    /// them. The store enforces it, so it also passes in a queue that no node serves. It is
    /// final: no attempt follows.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(|options| options.total_timeout(timeout))
    }

    /// Has it run by nodes that serve this queue.
    pub fn queue(mut self, queue: impl Into<Name>) -> Self {
        let subject = PayloadSubject::new("queue", queue.into());
        match payload::check_name(&self.operation.shared().settings.limits, &subject) {
            Ok(()) => self.with(|options| options.queue(subject.name)),
            Err(failure) => {
                self.operation.refuse(failure);
                self
            }
        }
    }

    fn with(mut self, change: impl FnOnce(ActivityOptions) -> ActivityOptions) -> Self {
        if let Some(Command::Activity { options, .. }) = self.operation.command_mut() {
            *options = change(std::mem::take(options));
        }
        self
    }
}

impl<O: DeserializeOwned> Future for ActivityCall<O> {
    type Output = Result<O, Failure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.operation.poll_value(&this.subject, cx)
    }
}
