//! Promises: a token for the outside world, a future for the code.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use durable_core::{Failure, Name, OneWayCommand, Payload, PromiseToken};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Misuse, OrchestrationContext};
use crate::execution::DurableOperation;
use crate::payload::{self, PayloadSubject};

impl OrchestrationContext {
    /// Creates a promise that a client or another instance resolves or rejects through its
    /// token.
    ///
    /// ```
    /// # use durable_runtime::{Failure, OrchestrationContext};
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// let answer = ctx.promise::<bool>("answer")?;
    /// ctx.set_custom_status(&answer.token().to_string())?; // for the one who is to answer
    /// let is_yes = answer.await?;
    /// # let _ = is_yes;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A failure of kind `LimitExceeded` if the name is empty or too long, and
    /// `DeterminismViolation` if the caller is not the orchestration itself.
    pub fn promise<T>(&self, name: impl Into<Name>) -> Result<Promise<T>, Failure> {
        let subject = self.subject("promise", name.into())?;
        let mut state = self.shared.enter().map_err(Misuse::to_failure)?;
        let (key, token) = state.cursor.create_promise(subject.name.clone());
        let slot = state.futures.add(key);
        drop(state);
        Ok(Promise {
            operation: DurableOperation::asked(&self.shared, slot),
            subject,
            token,
            value: PhantomData,
        })
    }

    /// Resolves a promise of another instance.
    ///
    /// ```
    /// # use durable_runtime::{Failure, OrchestrationContext, PromiseToken};
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// let token: PromiseToken = ctx.external_event("asked").await?;
    /// ctx.resolve_promise(token, &true)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A failure of kind `InvalidPayload` or `LimitExceeded` if the value does not encode or is
    /// too large, and `DeterminismViolation` if the caller is not the orchestration itself.
    pub fn resolve_promise<T: Serialize + ?Sized>(
        &self,
        token: PromiseToken,
        value: &T,
    ) -> Result<(), Failure> {
        let subject = PayloadSubject::new("promise", Name::from(token.to_string()));
        let value = payload::encode(self.limits(), "value", &subject, value)?;
        self.settle_promise(token, Ok(value))
    }

    /// Rejects a promise of another instance.
    ///
    /// ```
    /// # use durable_runtime::{Failure, OrchestrationContext, PromiseToken};
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// let token: PromiseToken = ctx.external_event("asked").await?;
    /// ctx.reject_promise(token, Failure::application("refused", "the office is closed"))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A failure of kind `LimitExceeded` if the failure is too large, and
    /// `DeterminismViolation` if the caller is not the orchestration itself.
    pub fn reject_promise(&self, token: PromiseToken, failure: Failure) -> Result<(), Failure> {
        payload::check_failure(self.limits(), &failure)?;
        self.settle_promise(token, Err(failure))
    }

    fn settle_promise(
        &self,
        mut target: PromiseToken,
        resolution: Result<Payload, Failure>,
    ) -> Result<(), Failure> {
        target.instance = self.checked_instance(target.instance)?;
        self.shared
            .emit(OneWayCommand::ResolvePromise { target, resolution })
    }
}

/// A value that a client or another instance will provide.
#[derive(Debug)]
#[must_use = "a promise that is dropped throws its value away"]
pub struct Promise<T> {
    operation: DurableOperation,
    subject: PayloadSubject,
    token: PromiseToken,
    value: PhantomData<fn() -> T>,
}

impl<T> Promise<T> {
    /// The token, for the client or instance that is to resolve it.
    pub fn token(&self) -> &PromiseToken {
        &self.token
    }
}

impl<T: DeserializeOwned> Future for Promise<T> {
    type Output = Result<T, Failure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.operation.poll_value(&this.subject, cx)
    }
}
