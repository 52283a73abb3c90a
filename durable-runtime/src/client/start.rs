//! Starting an instance.

use std::future::IntoFuture;
use std::marker::PhantomData;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use durable_core::provider::{IdReuse, Message, MessageBody, StartInstance, StartOutcome};
use durable_core::{InstanceId, MessageId, UnreadEvent};
use serde::Serialize;

use super::{Client, ClientError, InstanceHandle, fresh_message_id};
use crate::attribute::{Attribute, AttributeType, IntoAttribute, set_within_limits};
use crate::handle::{EventRef, OrchestrationName};
use crate::payload::{PayloadSubject, rounded_up_ms};

/// A start: set its options, then await it.
#[derive(Debug)]
#[must_use = "an instance is started when this is awaited"]
pub struct Start<O> {
    client: Client,
    id: InstanceId,
    start: Result<StartInstance, ClientError>,
    message_id: MessageId,
    reuse: Option<IdReuse>,
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
            reuse: None,
            output: PhantomData,
        }
    }

    /// What to do when the id is taken; by default the start is refused, and one
    /// [with an event](Self::with_event) takes an instance that runs.
    pub fn reuse(mut self, reuse: IdReuse) -> Self {
        self.reuse = Some(reuse);
        self
    }

    /// Starts the instance with an event, or gives the event to the instance that runs: one
    /// step of the store, all of it or nothing.
    ///
    /// An instance that is started has the event before its code runs.
    /// [`was_started`](InstanceHandle::was_started) says which of the two happened. An instance
    /// that has ended is refused, or started anew with the event, as [`reuse`](Self::reuse) says.
    ///
    /// ```
    /// # use durable_runtime::{Client, ClientError, EventName, IdReuse, Orchestration};
    /// # const CART: Orchestration<(), u32> = Orchestration::new("cart");
    /// # const ADD: EventName<String> = EventName::new("add");
    /// # async fn example(client: Client) -> Result<(), ClientError> {
    /// let cart = client
    ///     .start(CART, "cart-7", &())
    ///     .with_event(ADD, &"apple".to_owned())
    ///     .reuse(IdReuse::RestartEnded)
    ///     .await?;
    /// println!("a new cart: {}", cart.was_started());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The event has an id that follows from that of the start, so that the same start sent
    /// again ([`message_id`](Self::message_id)) raises it once.
    pub fn with_event<T: Serialize>(mut self, event: impl EventRef<T>, data: &T) -> Self {
        let subject = PayloadSubject::new("event", event.into_name());
        self.start = self.start.and_then(|mut start| {
            let data = self.client.encode("data", &subject, data)?;
            start
                .events
                .push(UnreadEvent::new(subject.name, data, MessageId::from("")));
            Ok(start)
        });
        self
    }

    /// Has the instance begin at this time by the store's clock; until then it is pending.
    ///
    /// Events that come before it begins wait for it. A cancellation or a termination is heard
    /// at once: the instance begins, or ends, without its delay.
    ///
    /// ```
    /// # use durable_runtime::{Client, ClientError, Orchestration};
    /// # use std::time::Duration;
    /// # const REMIND: Orchestration<u32, ()> = Orchestration::new("remind");
    /// # async fn example(client: Client) -> Result<(), ClientError> {
    /// let tomorrow = Duration::from_secs(86_400);
    /// client.start(REMIND, "remind-7", &7).after(tomorrow).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn at(self, time: SystemTime) -> Self {
        let since_epoch = time.duration_since(SystemTime::UNIX_EPOCH);
        self.begins_at_ms(rounded_up_ms(since_epoch.unwrap_or_default()))
    }

    /// Has the instance begin after this time, as [`at`](Self::at).
    pub fn after(self, delay: Duration) -> Self {
        let now_ms = self.client.provider().now_ms();
        self.begins_at_ms(now_ms.saturating_add(rounded_up_ms(delay)))
    }

    fn begins_at_ms(mut self, begins_at_ms: u64) -> Self {
        self.start = self.start.map(|start| start.begins_at_ms(begins_at_ms));
        self
    }

    /// Has the store end the instance if it has not ended after this time, from now on by the
    /// store's clock.
    ///
    /// It ends as terminated, with a failure of kind `Timeout`, also while it waits for its
    /// [begin](Self::at), while it is suspended, and while no node that lives has its code: any
    /// node ends it. The deadline stays through continue-as-new; an instance that is started anew
    /// has the deadline of the new start.
    ///
    /// ```
    /// # use durable_runtime::{Client, ClientError, Orchestration};
    /// # use std::time::Duration;
    /// # const ORDER: Orchestration<u32, ()> = Orchestration::new("order");
    /// # async fn example(client: Client) -> Result<(), ClientError> {
    /// let a_week = Duration::from_secs(7 * 86_400);
    /// client.start(ORDER, "order-7", &7).deadline(a_week).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn deadline(mut self, within: Duration) -> Self {
        let now_ms = self.client.provider().now_ms();
        let deadline_ms = now_ms.saturating_add(rounded_up_ms(within));
        self.start = self.start.map(|start| start.deadline_ms(deadline_ms));
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
        for (number, event) in start.events.iter_mut().enumerate() {
            event.message_id = MessageId::from(format!("{message_id}/{number}"));
        }
        let reuse = reuse.unwrap_or(match start.events.is_empty() {
            true => IdReuse::Refuse,
            false => IdReuse::UseRunning,
        });
        let message = Message::new(message_id, MessageBody::Start(start));
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
