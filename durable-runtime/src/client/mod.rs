//! The client: starts instances, talks to them, reads about them. It needs only a
//! store, so it works from any process.

mod error;
mod instance;
mod start;

use std::fmt;
use std::sync::Arc;

use durable_core::provider::{
    InstanceFilter, InstancePage, Message, MessageBody, OutgoingMessage, Provider, Purge,
    PurgeReport, SendOutcome,
};
use durable_core::{Failure, InstanceId, Limits, MessageId, Payload, PromiseToken};
use serde::Serialize;
use uuid::Uuid;

use crate::clock::{Clock, SystemClock};
use crate::handle::OrchestrationRef;
use crate::payload::{self, Subject};

pub use error::ClientError;
pub use instance::InstanceHandle;
pub use start::Start;

/// Starts instances, talks to them and reads about them.
#[derive(Clone)]
pub struct Client {
    parts: Arc<Parts>,
}

struct Parts {
    provider: Arc<dyn Provider>,
    clock: Arc<dyn Clock>,
    limits: Limits,
}

impl Client {
    /// A client of this store.
    pub fn new(provider: Arc<dyn Provider>) -> Self {
        Self::with_parts(provider, Arc::new(SystemClock), Limits::default())
    }

    /// The same, with its time from elsewhere: of use only to stores that take their
    /// time from their callers.
    #[must_use]
    pub fn with_clock(self, clock: impl Clock) -> Self {
        let provider = Arc::clone(&self.parts.provider);
        Self::with_parts(provider, Arc::new(clock), self.parts.limits)
    }

    /// The same, with other limits for what it sends.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        let (provider, clock) = (&self.parts.provider, &self.parts.clock);
        Self::with_parts(Arc::clone(provider), Arc::clone(clock), limits)
    }

    pub(crate) fn with_parts(
        provider: Arc<dyn Provider>,
        clock: Arc<dyn Clock>,
        limits: Limits,
    ) -> Self {
        Self {
            parts: Arc::new(Parts {
                provider,
                clock,
                limits,
            }),
        }
    }

    /// Starts an orchestration under this id: set its options, then await it.
    pub fn start<I: Serialize, O>(
        &self,
        orchestration: impl OrchestrationRef<I, O>,
        id: impl Into<InstanceId>,
        input: &I,
    ) -> Start<O> {
        Start::new(self.clone(), orchestration.into_name(), id.into(), input)
    }

    /// A handle on an instance that was started before, perhaps elsewhere.
    pub fn instance<I, O>(
        &self,
        _orchestration: impl OrchestrationRef<I, O>,
        id: impl Into<InstanceId>,
    ) -> InstanceHandle<O> {
        InstanceHandle::new(self.clone(), id.into())
    }

    /// Resolves a promise.
    pub async fn resolve_promise<T: Serialize>(
        &self,
        token: &PromiseToken,
        value: &T,
    ) -> Result<(), ClientError> {
        let subject = Subject::new("promise", token.to_string().into());
        let value = self.encode("value", &subject, value)?;
        self.settle_promise(token, Ok(value)).await
    }

    /// Rejects a promise.
    pub async fn reject_promise(
        &self,
        token: &PromiseToken,
        failure: Failure,
    ) -> Result<(), ClientError> {
        self.settle_promise(token, Err(failure)).await
    }

    async fn settle_promise(
        &self,
        token: &PromiseToken,
        resolution: Result<Payload, Failure>,
    ) -> Result<(), ClientError> {
        let body = MessageBody::PromiseSettled {
            execution_id: token.execution_id,
            number: token.number,
            resolution,
        };
        let message_id = MessageId::from(format!("{token}/settled"));
        self.send(&token.instance, message_id, body).await
    }

    /// Lists instances by id, at most `max`, after this one.
    pub async fn instances(
        &self,
        filter: &InstanceFilter,
        after: Option<&InstanceId>,
        max: usize,
    ) -> Result<InstancePage, ClientError> {
        Ok(self.parts.provider.instances(filter, after, max).await?)
    }

    /// Removes ended instances.
    pub async fn purge(&self, purge: &Purge) -> Result<PurgeReport, ClientError> {
        Ok(self.parts.provider.purge(purge, self.now_ms()).await?)
    }

    pub(crate) fn provider(&self) -> &dyn Provider {
        &*self.parts.provider
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.parts.clock.now_ms()
    }

    pub(crate) fn encode<T: Serialize>(
        &self,
        role: &'static str,
        subject: &Subject,
        value: &T,
    ) -> Result<Payload, ClientError> {
        payload::check_name(&self.parts.limits, subject)
            .and_then(|()| payload::encode(&self.parts.limits, role, subject, value))
            .map_err(ClientError::Refused)
    }

    /// Refuses an id that leaves no room for the ids of messages that are derived
    /// from it.
    pub(crate) fn check_new_id(&self, id: &InstanceId) -> Result<(), ClientError> {
        let longest = match id.is_empty() {
            true => String::new(),
            false => format!("{id}/{0}/{0}/{0}", u64::MAX),
        };
        let subject = Subject::new("instance", longest.into());
        payload::check_name(&self.parts.limits, &subject).map_err(ClientError::Refused)
    }

    pub(crate) async fn send(
        &self,
        instance: &InstanceId,
        message_id: MessageId,
        body: MessageBody,
    ) -> Result<(), ClientError> {
        let outgoing = OutgoingMessage {
            target: instance.clone(),
            message: Message { message_id, body },
        };
        let outcomes = self
            .parts
            .provider
            .send(vec![outgoing], self.now_ms())
            .await?;
        ClientError::check(instance, outcomes.first().copied())
    }
}

/// An id that nobody has used.
fn fresh_message_id() -> MessageId {
    MessageId::from(Uuid::new_v4().to_string())
}

impl ClientError {
    fn check(instance: &InstanceId, outcome: Option<SendOutcome>) -> Result<(), Self> {
        match outcome {
            Some(SendOutcome::Accepted) | None => Ok(()),
            Some(SendOutcome::UnknownInstance) => Err(Self::NotFound {
                instance: instance.clone(),
            }),
            Some(SendOutcome::InstanceEnded) => Err(Self::Ended {
                instance: instance.clone(),
            }),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}
