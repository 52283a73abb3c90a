//! Starting an instance.

use std::future::IntoFuture;
use std::marker::PhantomData;
use std::pin::Pin;

use durable_core::provider::{IdReuse, Message, MessageBody, StartInstance, StartOutcome};
use durable_core::{InstanceId, MessageId, TraceParent};
use serde::Serialize;

use super::{Client, ClientError, InstanceHandle, fresh_message_id};
use crate::attribute::{Attribute, AttributeType, IntoAttribute, set_within_limits};
use crate::handle::OrchestrationName;
use crate::payload::PayloadSubject;
use crate::trace;

/// A start: set its options, then await it.
#[derive(Debug)]
#[must_use = "an instance is started when this is awaited"]
pub struct Start<O> {
    client: Client,
    id: InstanceId,
    start: Result<StartInstance, ClientError>,
    message_id: MessageId,
    reuse: IdReuse,
    output: PhantomData<fn() -> O>,
}

impl<O> Start<O> {
    pub(super) fn new<I: Serialize>(
        client: Client,
        orchestration: OrchestrationName,
        id: InstanceId,
        input: &I,
    ) -> Self {
        let OrchestrationName { name, version } = orchestration;
        let subject = PayloadSubject::new("orchestration", name);
        let start = client
            .check_new_id(&id)
            .and_then(|()| client.encode("input", &subject, input))
            .map(|input| {
                let mut start = StartInstance::new(subject.name, input);
                start.version = version;
                start
            });
        Self {
            client,
            id,
            start,
            message_id: fresh_message_id(),
            reuse: IdReuse::default(),
            output: PhantomData,
        }
    }

    /// What to do when the id is taken; by default the start is refused.
    pub fn reuse(mut self, reuse: IdReuse) -> Self {
        self.reuse = reuse;
        self
    }

    /// Gives the instance an attribute by which it is found, from its start on.
    ///
    /// ```
    /// # use durable_runtime::{Attribute, Client, ClientError, Orchestration};
    /// # const BILL: Orchestration<u64, ()> = Orchestration::new("bill");
    /// const CUSTOMER: Attribute<String> = Attribute::new("customer");
    ///
    /// # async fn example(client: Client) -> Result<(), ClientError> {
    /// let bill = client
    ///     .start(BILL, "bill-7", &4990)
    ///     .attribute(CUSTOMER, "c-17")
    ///     .await?;
    /// # let _ = bill;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// An instance that has ended and is started anew has the attributes of the new start. One
    /// that runs and is [taken as it is](IdReuse::UseRunning) keeps its own.
    pub fn attribute<T: AttributeType>(
        mut self,
        attribute: Attribute<T>,
        value: impl IntoAttribute<T>,
    ) -> Self {
        let limits = self.client.limits();
        self.start = self.start.and_then(|mut start| {
            let (name, value) = (attribute.name(), value.into_value());
            set_within_limits(&limits, &mut start.attributes, name, value)
                .map_err(ClientError::Refused)?;
            Ok(start)
        });
        self
    }

    /// Has the instance belong to this trace: its turns, its activities and what it starts have
    /// spans in it, also after continue-as-new.
    ///
    /// With the feature `opentelemetry` it is by default the span in which the start is awaited, if
    /// the layer of `tracing-opentelemetry` knows it.
    ///
    /// ```
    /// # use durable_runtime::{Client, ClientError, Orchestration, TraceParent};
    /// # const BILL: Orchestration<u64, ()> = Orchestration::new("bill");
    /// # async fn example(client: Client, header: &str) -> Result<(), ClientError> {
    /// let mut start = client.start(BILL, "bill-7", &4990);
    /// if let Ok(parent) = header.parse::<TraceParent>() {
    ///     start = start.trace_parent(parent);
    /// }
    /// start.await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn trace_parent(mut self, parent: TraceParent) -> Self {
        self.start = self.start.map(|start| start.trace_parent(parent));
        self
    }

    /// Names this start, so that sending it again does not start it twice.
    pub fn message_id(mut self, id: impl Into<MessageId>) -> Self {
        self.message_id = id.into();
        self
    }

    async fn send(self) -> Result<InstanceHandle<O>, ClientError> {
        let Self {
            client,
            id,
            start,
            message_id,
            reuse,
            ..
        } = self;
        let mut start = start?;
        start.trace_parent = start.trace_parent.or_else(trace::current);
        let message = Message {
            message_id,
            body: MessageBody::Start(start),
        };
        let outcome = client.provider().start(&id, message, reuse).await?;
        match outcome {
            StartOutcome::Started { seen, .. } => Ok(InstanceHandle::started(client, id, seen)),
            StartOutcome::AlreadyRunning { .. } => Ok(InstanceHandle::new(client, id)),
            StartOutcome::Taken {
                execution_id,
                status,
            } => Err(ClientError::Taken {
                instance: id,
                execution_id,
                status,
            }),
        }
    }
}

impl<O: 'static> IntoFuture for Start<O> {
    type Output = Result<InstanceHandle<O>, ClientError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}
