//! Promises: a token for the outside world, a future for the code.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use durable_core::{Failure, Name, Notice, PromiseToken};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::OrchestrationContext;
use super::activity::value_of;
use crate::future::Operation;
use crate::payload::{self, Subject};

impl OrchestrationContext {
    /// Creates a promise that somebody resolves or rejects through its token.
    pub fn promise<T>(&self, name: impl Into<Name>) -> Result<Promise<T>, Failure> {
        let subject = self.subject("promise", name.into())?;
        let (key, token) = self
            .shared
            .lock()
            .cursor
            .create_promise(subject.name.clone());
        Ok(Promise {
            operation: Operation::opened(&self.shared, key),
            subject,
            token,
            value: PhantomData,
        })
    }

    /// Resolves a promise of another instance.
    pub fn resolve_promise<T: Serialize>(
        &self,
        token: PromiseToken,
        value: &T,
    ) -> Result<(), Failure> {
        let subject = self.subject("promise", Name::from(token.to_string()))?;
        let value = payload::encode(self.limits(), "value", &subject, value)?;
        self.settle_promise(token, Ok(value));
        Ok(())
    }

    /// Rejects a promise of another instance.
    pub fn reject_promise(&self, token: PromiseToken, failure: Failure) {
        self.settle_promise(token, Err(failure));
    }

    fn settle_promise(
        &self,
        target: PromiseToken,
        resolution: Result<durable_core::Payload, Failure>,
    ) {
        let notice = Notice::ResolvePromise { target, resolution };
        self.shared.lock().cursor.emit(notice);
    }
}

/// A value that somebody else will provide.
#[derive(Debug)]
#[must_use = "a promise that is dropped throws its value away"]
pub struct Promise<T> {
    operation: Operation,
    subject: Subject,
    token: PromiseToken,
    value: PhantomData<fn() -> T>,
}

impl<T> Promise<T> {
    /// What to give to whoever is to resolve it.
    pub fn token(&self) -> &PromiseToken {
        &self.token
    }
}

impl<T: DeserializeOwned> Future for Promise<T> {
    type Output = Result<T, Failure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.operation
            .poll_settled(cx)
            .map(|settled| value_of(&this.subject, settled))
    }
}
