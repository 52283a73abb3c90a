//! Recorded side effects.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use durable_core::{Command, Failure, Name, OpPoll};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::OrchestrationContext;
use crate::execution::{DurableOperation, Executing, Shared};
use crate::payload::{self, PayloadSubject};

impl OrchestrationContext {
    /// Runs a short side effect right here and records what it returned.
    ///
    /// Everything that led here is stored before it runs, so it never acts on
    /// something that a crash would make different. It runs at least once; in
    /// replay it does not run, the recorded result is taken. Recorded side effects
    /// run one at a time; for anything long or unreliable use an activity.
    ///
    /// Its result is all that the orchestration may learn of it: what it leaves in the
    /// orchestration's variables or channels is not there in a replay. It must not
    /// use the context.
    ///
    /// ```
    /// # use durable_runtime::{Failure, OrchestrationContext};
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// let host = ctx
    ///     .run("host", async { Ok::<_, Failure>(std::env::var("HOST").ok()) })
    ///     .await?;
    /// # let _ = host;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn run<F, T, E>(&self, name: impl Into<Name>, effect: F) -> Run<F>
    where
        F: Future<Output = Result<T, E>> + Send,
    {
        let name = name.into();
        let subject = PayloadSubject::new("side effect", name.clone());
        let command = self
            .subject("side effect", name)
            .map(|subject| Command::Run { name: subject.name });
        Run {
            operation: DurableOperation::lazy(&self.shared, command),
            subject,
            executing: None,
            effect: Box::pin(effect),
        }
    }
}

/// A recorded side effect.
#[must_use = "a side effect runs when it is polled"]
pub struct Run<F> {
    operation: DurableOperation,
    subject: PayloadSubject,
    executing: Option<Executing>,
    effect: Pin<Box<F>>,
}

impl<F> fmt::Debug for Run<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("subject", &self.subject)
            .finish_non_exhaustive()
    }
}

impl<F, T, E> Future for Run<F>
where
    F: Future<Output = Result<T, E>> + Send,
    T: Serialize + DeserializeOwned,
    E: Into<Failure>,
{
    type Output = Result<T, Failure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match this.operation.poll(cx) {
            OpPoll::Pending | OpPoll::Item(_) => Poll::Pending,
            OpPoll::Ready(outcome) => Poll::Ready(this.operation.value(&this.subject, outcome)),
            OpPoll::Execute => this.execute(cx),
        }
    }
}

impl<F, T, E> Run<F>
where
    F: Future<Output = Result<T, E>> + Send,
    T: Serialize + DeserializeOwned,
    E: Into<Failure>,
{
    fn execute(&mut self, cx: &Context<'_>) -> Poll<Result<T, Failure>> {
        let shared = self.operation.shared().clone();
        let executing = self
            .executing
            .get_or_insert_with(|| Executing::begin(&shared.waker));
        let waker = executing.waker(cx.waker());
        let inside = Inside::enter(&shared);
        let polled = self.effect.as_mut().poll(&mut Context::from_waker(&waker));
        drop(inside);
        let Poll::Ready(result) = polled else {
            return Poll::Pending;
        };
        self.executing = None;
        let limits = &shared.settings.limits;
        let recorded = match result {
            Ok(value) => payload::encode(limits, "result", &self.subject, &value),
            Err(error) => Err(payload::fitting(limits, error.into())),
        };
        self.operation.complete_run(recorded.clone());
        // The code sees what it will see in a replay, not what was not recorded of it.
        Poll::Ready(self.operation.value(&self.subject, recorded))
    }
}

/// The code is inside a side effect, also when that panics.
struct Inside<'a> {
    shared: &'a Shared,
}

impl<'a> Inside<'a> {
    fn enter(shared: &'a Shared) -> Self {
        shared.lock().in_run = true;
        Self { shared }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.shared.lock().in_run = false;
    }
}
