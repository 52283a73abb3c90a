//! The client: starts instances, talks to them, reads about them. It needs only a
//! store, so it works from any process.

mod activities;
mod children;
mod error;
mod instance;
mod nodes;
mod start;
mod stream;
mod unfold;
mod view;
mod wait;

use std::fmt;
use std::sync::Arc;

use durable_core::provider::{
    InstanceFilter, InstancePage, Message, MessageBody, OutgoingMessage, PoisonedPage, Provider,
    PruneReport, PruneRequest, PurgeReport, PurgeRequest, SendOutcome, WorkKey,
};
use durable_core::{Failure, InstanceId, Limits, MessageId, Payload, PromiseToken};
use serde::Serialize;
use uuid::Uuid;

use crate::handle::OrchestrationRef;
use crate::payload::{self, PayloadSubject};
use crate::payload_codec::{ActiveCodec, PayloadCodec};

pub use activities::ActivityStatus;
pub use children::SuspendedChild;
pub use error::ClientError;
pub use instance::InstanceHandle;
pub use start::Start;
pub use stream::{StreamEntry, StreamItems, StreamReader};
pub use view::ViewChanges;
pub use wait::Wait;

/// Starts instances, talks to them and reads about them.
///
/// It needs only a store, so it works from any process; a node on the store does the
/// rest. It is cheap to clone.
///
/// ```
/// use std::sync::Arc;
/// use durable_runtime::{InstanceFilter, StatusKind};
/// use durable_runtime::{Client, ClientError, EventName, IdReuse, Orchestration};
/// use durable_testkit::MemoryProvider;
///
/// const ORDER: Orchestration<u64, String> = Orchestration::new("order");
/// const APPROVED: EventName<bool> = EventName::new("approved");
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), ClientError> {
/// let client = Client::new(MemoryProvider::new());
/// let order = client
///     .start(ORDER, "order-7", &4990)
///     .reuse(IdReuse::UseRunning) // starting it twice is starting it once
///     .await?;
/// order.raise(APPROVED, &true).await?;
///
/// let pending = InstanceFilter::all().statuses([StatusKind::Pending]);
/// let page = client.instances(&pending, None, 100).await?;
/// assert_eq!(page.instances[0].instance, "order-7");
///
/// let again = client.start(ORDER, "order-7", &4990).await;
/// assert!(matches!(again, Err(ClientError::Taken { .. })));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    parts: Arc<ClientParts>,
}

#[derive(Clone)]
struct ClientParts {
    provider: Arc<dyn Provider>,
    limits: Limits,
    codec: ActiveCodec,
    /// The provider, with everything encoded that goes into it.
    store: Arc<dyn Provider>,
}

impl Client {
    /// A client of this store.
    ///
    /// It takes a provider or an `Arc` of one that nodes and other clients share.
    pub fn new(provider: impl Provider) -> Self {
        Self::shared(Arc::new(provider))
    }

    pub(crate) fn shared(provider: Arc<dyn Provider>) -> Self {
        let parts = ClientParts {
            store: Arc::clone(&provider),
            provider,
            limits: Limits::default(),
            codec: ActiveCodec::default(),
        };
        Self {
            parts: Arc::new(parts),
        }
    }

    /// The same, with other limits for what it sends.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        self.with(|parts| parts.limits = limits)
    }

    /// The same, with payloads changed on their way into the store and back: the
    /// codec that the nodes on the store have.
    #[must_use]
    pub fn with_payload_codec(self, codec: impl PayloadCodec) -> Self {
        self.with_codec(ActiveCodec::new(codec))
    }

    pub(crate) fn with_codec(self, codec: ActiveCodec) -> Self {
        self.with(|parts| {
            parts.store = codec.store(Arc::clone(&parts.provider));
            parts.codec = codec;
        })
    }

    fn with(mut self, change: impl FnOnce(&mut ClientParts)) -> Self {
        change(Arc::make_mut(&mut self.parts));
        self
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
    ///
    /// # Errors
    ///
    /// [`ClientError::Refused`] if the value does not encode or is too large,
    /// [`NotFound`](ClientError::NotFound) or [`Ended`](ClientError::Ended) if the instance of
    /// the promise does not run, and [`Provider`](ClientError::Provider) if the store did not
    /// answer.
    pub async fn resolve_promise<T: Serialize>(
        &self,
        token: &PromiseToken,
        value: &T,
    ) -> Result<(), ClientError> {
        let subject = PayloadSubject::new("promise", token.to_string().into());
        let value = self.encode("value", &subject, value)?;
        self.settle_promise(token, Ok(value)).await
    }

    /// Rejects a promise.
    ///
    /// # Errors
    ///
    /// As [`resolve_promise`](Self::resolve_promise).
    pub async fn reject_promise(
        &self,
        token: &PromiseToken,
        failure: Failure,
    ) -> Result<(), ClientError> {
        payload::check_failure(&self.limits(), &failure).map_err(ClientError::Refused)?;
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
    ///
    /// A value that the codec of this client cannot read is left as it is stored. Of those
    /// that are to run and whose code none of the nodes that live has,
    /// [`blocked`](durable_core::provider::InstanceRecord::blocked) says so.
    ///
    /// # Errors
    ///
    /// [`ClientError::Provider`] if the store did not answer.
    pub async fn instances(
        &self,
        filter: &InstanceFilter,
        after: Option<&InstanceId>,
        max: usize,
    ) -> Result<InstancePage, ClientError> {
        let mut page = self.provider().instances(filter, after, max).await?;
        for record in &mut page.instances {
            // One record that cannot be read must not hide the others.
            let _ = self.parts.codec.decode(record).await;
        }
        nodes::note_missing_code_of_list(self.provider(), &mut page.instances).await?;
        Ok(page)
    }

    /// Lists dead letters: activities that took their workers down again and again, by key, at most `max`, after this one. They are kept for inspection
    /// until their instance is purged; their instance has their failure.
    ///
    /// A value that the codec of this client cannot read is left as it is stored.
    ///
    /// # Errors
    ///
    /// [`ClientError::Provider`] if the store did not answer.
    pub async fn poisoned(
        &self,
        after: Option<&WorkKey>,
        max: usize,
    ) -> Result<PoisonedPage, ClientError> {
        let mut page = self.provider().poisoned(after, max).await?;
        for work in &mut page.work {
            // One that cannot be read must not hide the others.
            let _ = self.parts.codec.decode(work).await;
        }
        Ok(page)
    }

    /// Removes ended instances.
    ///
    /// # Errors
    ///
    /// [`ClientError::Provider`] if the store did not answer.
    pub async fn purge(&self, purge: &PurgeRequest) -> Result<PurgeReport, ClientError> {
        Ok(self.provider().purge(purge).await?)
    }

    /// Removes past executions: an orchestration that continues as new for ever would else
    /// fill the store.
    ///
    /// ```
    /// # use durable_core::provider::{InstanceFilter, PruneRequest};
    /// # use durable_runtime::{Client, ClientError};
    /// # async fn example(client: Client) -> Result<(), ClientError> {
    /// let prune = PruneRequest::new(InstanceFilter::all(), 1_000).keep(3);
    /// while client.prune(&prune).await?.has_more {}
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ClientError::Provider`] if the store did not answer.
    pub async fn prune(&self, prune: &PruneRequest) -> Result<PruneReport, ClientError> {
        Ok(self.provider().prune(prune).await?)
    }

    /// The store; what goes into it is encoded, what comes out is not decoded.
    pub(crate) fn provider(&self) -> &dyn Provider {
        &*self.parts.store
    }

    pub(crate) fn codec(&self) -> &ActiveCodec {
        &self.parts.codec
    }

    /// The largest names and values that can be sent.
    fn limits(&self) -> Limits {
        self.parts.codec.plain_limits(self.parts.limits)
    }

    pub(crate) fn encode<T: Serialize>(
        &self,
        role: &'static str,
        subject: &PayloadSubject,
        value: &T,
    ) -> Result<Payload, ClientError> {
        let limits = self.limits();
        payload::check_name(&limits, subject)
            .and_then(|()| payload::encode(&limits, role, subject, value))
            .map_err(ClientError::Refused)
    }

    /// Refuses an id that leaves no room for the ids of messages that are derived
    /// from it.
    pub(crate) fn check_new_id(&self, id: &InstanceId) -> Result<(), ClientError> {
        payload::check_new_id(&self.limits(), id).map_err(ClientError::Refused)
    }

    pub(crate) async fn send(
        &self,
        instance: &InstanceId,
        message_id: MessageId,
        body: MessageBody,
    ) -> Result<(), ClientError> {
        let message = Message::new(message_id, body);
        let outgoing = OutgoingMessage::new(instance.clone(), message);
        let outcome = self.provider().send(outgoing).await?;
        ClientError::check(instance, outcome)
    }
}

/// An id that was never used before.
fn fresh_message_id() -> MessageId {
    MessageId::from(Uuid::new_v4().to_string())
}

impl ClientError {
    fn check(instance: &InstanceId, outcome: SendOutcome) -> Result<(), Self> {
        match outcome {
            SendOutcome::Accepted => Ok(()),
            SendOutcome::UnknownInstance => Err(Self::NotFound {
                instance: instance.clone(),
            }),
            SendOutcome::InstanceEnded => Err(Self::Ended {
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
