//! Waiting for the end of an instance.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use durable_core::provider::{InstanceStatus, WakeSeq, WakeTopic};
use serde::de::DeserializeOwned;

use super::{ClientError, InstanceHandle};
use crate::payload::{self, PayloadSubject};

/// A wait for the end of an instance, made by [`InstanceHandle::wait`]: set its options,
/// then await it. Dropping it leaves the instance as it is.
///
/// ```
/// use std::time::Duration;
/// use durable_runtime::{ClientError, InstanceHandle};
///
/// async fn receipt(order: InstanceHandle<String>) -> Result<Option<String>, ClientError> {
///     match order.wait().timeout(Duration::from_secs(30)).await {
///         Ok(receipt) => Ok(Some(receipt)),
///         Err(ClientError::TimedOut { .. }) => Ok(None), // it goes on: ask again later
///         Err(error) => Err(error),
///     }
/// }
/// # let _ = receipt;
/// ```
#[must_use = "the wait begins when this is awaited"]
pub struct Wait<'a, O> {
    instance: &'a InstanceHandle<O>,
    timeout: Option<Duration>,
    through_suspension: bool,
    /// The wait itself, once it has begun.
    begun: Option<OutputFuture<'a, O>>,
}

type OutputFuture<'a, O> = Pin<Box<dyn Future<Output = Result<O, ClientError>> + Send + 'a>>;

impl<'a, O: DeserializeOwned> Wait<'a, O> {
    pub(super) fn new(instance: &'a InstanceHandle<O>) -> Self {
        Self {
            instance,
            timeout: None,
            through_suspension: false,
            begun: None,
        }
    }

    /// Gives up after this time with [`ClientError::TimedOut`]; by default it never does.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Goes on waiting while the instance is suspended, until a client resumes it and it
    /// has ended.
    pub const fn through_suspension(mut self) -> Self {
        self.through_suspension = true;
        self
    }

    fn begin(&self) -> OutputFuture<'a, O> {
        let (instance, through_suspension) = (self.instance, self.through_suspension);
        let output = instance.output(through_suspension);
        let Some(timeout) = self.timeout else {
            return Box::pin(output);
        };
        Box::pin(async move {
            if let Ok(output) = tokio::time::timeout(timeout, output).await {
                return output;
            }
            Err(ClientError::TimedOut {
                instance: instance.id.clone(),
                timeout,
                blocked: instance.record().await?.blocked,
            })
        })
    }
}

impl<O: DeserializeOwned> Future for Wait<'_, O> {
    type Output = Result<O, ClientError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut begun = match self.begun.take() {
            Some(begun) => begun,
            None => self.begin(),
        };
        let polled = begun.as_mut().poll(cx);
        self.begun = Some(begun);
        polled
    }
}

impl<O> fmt::Debug for Wait<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("instance", &self.instance.id)
            .field("timeout", &self.timeout)
            .field("through_suspension", &self.through_suspension)
            .finish_non_exhaustive()
    }
}

impl<O: DeserializeOwned> InstanceHandle<O> {
    /// Waits until the instance has stopped, and gives what it returned.
    async fn output(&self, through_suspension: bool) -> Result<O, ClientError> {
        let stop = WakeTopic::Stop(self.id.clone());
        // Of an instance that was just started there is nothing to read before it stops.
        let mut seen = match self.started {
            Some(seen) => self.client.provider().wait(None, &stop, seen).await?,
            None => WakeSeq::default(),
        };
        loop {
            let record = self.stored_record().await?;
            let instance = self.id.clone();
            match record.status {
                InstanceStatus::Completed { output } => {
                    let subject = PayloadSubject::new("orchestration", record.name);
                    return payload::decode("output", &subject, None, &output)
                        .map_err(ClientError::InvalidPayload);
                }
                InstanceStatus::Failed { failure } | InstanceStatus::Terminated { failure } => {
                    return Err(ClientError::Failed { instance, failure });
                }
                InstanceStatus::Suspended { failure } if !through_suspension => {
                    return Err(ClientError::Suspended { instance, failure });
                }
                InstanceStatus::Pending
                | InstanceStatus::Running
                | InstanceStatus::Suspended { .. } => {
                    seen = self.client.provider().wait(None, &stop, seen).await?;
                }
            }
        }
    }
}
