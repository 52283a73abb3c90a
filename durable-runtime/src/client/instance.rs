//! One instance, seen from outside.

use std::marker::PhantomData;

use durable_core::provider::{
    ExecutionRecord, HistoryPage, InboxPage, InboxSeq, InstanceRecord, MessageBody, WakeSeq,
    WakeTopic,
};
use durable_core::{
    EventId, ExecutionId, Failure, FailureKind, InstanceId, MessageId, VisitPayloads,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Client, ClientError, Wait, fresh_message_id, nodes};
use crate::attribute::{Attribute, AttributeType};
use crate::handle::EventRef;
use crate::payload::{self, PayloadSubject};

/// One instance, seen from outside. Made by [`Client::start`] or [`Client::instance`].
///
/// ```
/// use durable_runtime::{EventId, ExecutionId};
/// use durable_runtime::{ClientError, InstanceHandle};
///
/// async fn look_at(order: InstanceHandle<String>) -> Result<String, ClientError> {
///     let record = order.record().await?;
///     if let Some(reason) = record.blocked {
///         return Ok(format!("no node can run it: {reason}"));
///     }
///     let page = order.history(ExecutionId::FIRST, EventId::UNASSIGNED, 100).await?;
///     for entry in &page.entries {
///         println!("{} {}", entry.event_id(), entry.event.kind());
///     }
///     order.cancel("the customer changed their mind").await?;
///     order.wait().await
/// }
/// # let _ = look_at;
/// ```
#[derive(Debug)]
pub struct InstanceHandle<O> {
    pub(super) client: Client,
    pub(super) id: InstanceId,
    /// From where to wait for it without having looked, if it was started by this.
    pub(super) started: Option<WakeSeq>,
    was_started: bool,
    output: PhantomData<fn() -> O>,
}

impl<O> Clone for InstanceHandle<O> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            id: self.id.clone(),
            started: self.started,
            was_started: self.was_started,
            output: PhantomData,
        }
    }
}

impl<O> InstanceHandle<O> {
    pub(super) fn new(client: Client, id: InstanceId) -> Self {
        Self {
            client,
            id,
            started: None,
            was_started: false,
            output: PhantomData,
        }
    }

    /// A handle on an instance that was just started, if it is known what was seen then.
    pub(super) fn started(client: Client, id: InstanceId, seen: Option<WakeSeq>) -> Self {
        Self {
            client,
            id,
            started: seen,
            was_started: true,
            output: PhantomData,
        }
    }

    /// Whether the start that gave this handle started the instance, now or in an earlier
    /// attempt. It did not if the instance ran and was taken as it was.
    pub fn was_started(&self) -> bool {
        self.was_started
    }

    /// Its id.
    pub fn id(&self) -> &InstanceId {
        &self.id
    }

    /// Waits until it has ended, and gives what it returned. Continuing as new is no end.
    ///
    /// An instance that is suspended is not waited for, unless the wait is
    /// [told to](Wait::through_suspension): only a client can make it go on.
    ///
    /// # Errors
    ///
    /// [`ClientError::Failed`] with its failure if it failed or was terminated,
    /// [`Suspended`](ClientError::Suspended) with the reason if it is suspended,
    /// [`TimedOut`](ClientError::TimedOut) if it has not ended within the
    /// [timeout](Wait::timeout), if one was set,
    /// [`NotFound`](ClientError::NotFound) if there is no such instance,
    /// [`InvalidPayload`](ClientError::InvalidPayload) if its output is not an `O`,
    /// [`Unreadable`](ClientError::Unreadable) if the codec cannot read it, and
    /// [`Provider`](ClientError::Provider) if the store did not answer.
    pub fn wait(&self) -> Wait<'_, O>
    where
        O: DeserializeOwned,
    {
        Wait::new(self)
    }

    /// Waits until its record is as wanted.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record).
    pub async fn wait_until(
        &self,
        mut is_wanted: impl FnMut(&InstanceRecord) -> bool,
    ) -> Result<InstanceRecord, ClientError> {
        let topic = WakeTopic::Instance(self.id.clone());
        let mut seen = WakeSeq::default();
        loop {
            let record = self.stored_record().await?;
            if is_wanted(&record) {
                return Ok(record);
            }
            seen = self.client.provider().wait(None, &topic, seen).await?;
        }
    }

    /// What is known of it. [`blocked`](InstanceRecord::blocked) says what keeps it from going
    /// on, or one of its branches: no node that lives has its orchestration, has an activity
    /// that it waits for, or takes work from the queue of that activity; or a child that it
    /// waits for is suspended.
    ///
    /// The last is read from its history, and of the first hundred open children
    /// ([`suspended_children`](Self::suspended_children) looks at all of them, and at theirs).
    ///
    /// # Errors
    ///
    /// [`ClientError::NotFound`] if there is no such instance,
    /// [`Unreadable`](ClientError::Unreadable) if the codec cannot read it, and
    /// [`Provider`](ClientError::Provider) if the store did not answer.
    pub async fn record(&self) -> Result<InstanceRecord, ClientError> {
        let mut record = self.stored_record().await?;
        nodes::note_missing_code(self.client.provider(), &mut record).await?;
        if nodes::is_waiting(&record) {
            record.blocked = match self.unserved_activity().await? {
                Some(unserved) => Some(unserved),
                None => self.suspended_child(&record).await?,
            };
        }
        Ok(record)
    }

    /// What the store has of it.
    pub(super) async fn stored_record(&self) -> Result<InstanceRecord, ClientError> {
        let record = self.client.provider().instance(&self.id).await?;
        let mut record = record.ok_or_else(|| ClientError::NotFound {
            instance: self.id.clone(),
        })?;
        self.readable(&mut record).await?;
        Ok(record)
    }

    /// What its code said of itself.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record), and [`ClientError::InvalidPayload`] if the status is not a
    /// `T`.
    pub async fn custom_status<T: DeserializeOwned>(&self) -> Result<Option<T>, ClientError> {
        let record = self.stored_record().await?;
        let subject = PayloadSubject::new("orchestration", record.name);
        record
            .custom_status
            .map(|status| payload::decode("custom status", &subject, None, &status))
            .transpose()
            .map_err(ClientError::InvalidPayload)
    }

    /// The value of an attribute of it.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record), and [`ClientError::InvalidPayload`] if the value is not a
    /// `T`.
    pub async fn attribute<T: AttributeType>(
        &self,
        attribute: Attribute<T>,
    ) -> Result<Option<T>, ClientError> {
        let record = self.stored_record().await?;
        let value = record.attributes.get(attribute.name());
        attribute.read(value).map_err(ClientError::InvalidPayload)
    }

    /// Raises an event for it.
    ///
    /// # Errors
    ///
    /// [`ClientError::Refused`] if the name or the data is not valid,
    /// [`NotFound`](ClientError::NotFound) or [`Ended`](ClientError::Ended) if no such instance
    /// runs, and [`Provider`](ClientError::Provider) if the store did not answer.
    pub async fn raise<T: Serialize>(
        &self,
        event: impl EventRef<T>,
        data: &T,
    ) -> Result<(), ClientError> {
        self.raise_with_id(fresh_message_id(), event, data).await
    }

    /// Raises an event under an id of the caller's: raising it again with the same
    /// id does not repeat it.
    ///
    /// # Errors
    ///
    /// As [`raise`](Self::raise).
    pub async fn raise_with_id<T: Serialize>(
        &self,
        message_id: impl Into<MessageId>,
        event: impl EventRef<T>,
        data: &T,
    ) -> Result<(), ClientError> {
        let subject = PayloadSubject::new("event", event.into_name());
        let data = self.client.encode("data", &subject, data)?;
        let body = MessageBody::ExternalRaised {
            name: subject.name,
            data,
        };
        self.client.send(&self.id, message_id.into(), body).await
    }

    /// Asks it to stop. It decides itself how, and can clean up.
    ///
    /// # Errors
    ///
    /// [`ClientError::NotFound`] or [`Ended`](ClientError::Ended) if no such instance runs, and
    /// [`Provider`](ClientError::Provider) if the store did not answer.
    pub async fn cancel(&self, reason: impl Into<String>) -> Result<(), ClientError> {
        let body = MessageBody::Cancel {
            reason: reason.into(),
        };
        self.client.send(&self.id, fresh_message_id(), body).await
    }

    /// Ends it at once. Its code does not run again, not even if it is suspended.
    ///
    /// # Errors
    ///
    /// As [`cancel`](Self::cancel).
    pub async fn terminate(&self, reason: impl Into<String>) -> Result<(), ClientError> {
        let body = MessageBody::Terminate {
            failure: Failure::new(FailureKind::Terminated, reason),
        };
        self.client.send(&self.id, fresh_message_id(), body).await?;
        // A suspended instance can be claimed when it is resumed; its end comes
        // before its code. Another one stays as it is, also one that has ended
        // by now.
        let _ = self.client.provider().resume(&self.id).await?;
        Ok(())
    }

    /// Stops it until it is resumed. Nothing is lost.
    ///
    /// # Errors
    ///
    /// As [`cancel`](Self::cancel).
    pub async fn suspend(&self, reason: impl Into<String>) -> Result<(), ClientError> {
        let failure = Failure::new(FailureKind::Suspended, reason);
        let outcome = self.client.provider().suspend(&self.id, failure).await?;
        ClientError::check(&self.id, outcome)
    }

    /// Lets it go on after it was suspended.
    ///
    /// # Errors
    ///
    /// As [`cancel`](Self::cancel).
    pub async fn resume(&self) -> Result<(), ClientError> {
        let outcome = self.client.provider().resume(&self.id).await?;
        ClientError::check(&self.id, outcome)
    }

    /// Its executions that are still stored.
    ///
    /// # Errors
    ///
    /// [`ClientError::Provider`] if the store did not answer.
    pub async fn executions(&self) -> Result<Vec<ExecutionRecord>, ClientError> {
        Ok(self.client.provider().executions(&self.id).await?)
    }

    /// A part of the history of one of its executions.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unreadable`] if the codec cannot read an entry, and
    /// [`Provider`](ClientError::Provider) if the store did not answer.
    pub async fn history(
        &self,
        execution_id: ExecutionId,
        after: EventId,
        max: usize,
    ) -> Result<HistoryPage, ClientError> {
        let history = self
            .client
            .provider()
            .history(&self.id, execution_id, after, max);
        let mut page = history.await?;
        self.readable(&mut page.entries).await?;
        Ok(page)
    }

    /// The messages that wait in its inbox, after this place: what was sent to it and
    /// no turn has taken yet. Looking takes nothing.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unreadable`] if the codec cannot read a message, and
    /// [`Provider`](ClientError::Provider) if the store did not answer.
    pub async fn inbox(&self, after: InboxSeq, max: usize) -> Result<InboxPage, ClientError> {
        let inbox = self.client.provider().inbox(&self.id, after, max);
        let mut page = inbox.await?;
        for delivered in &mut page.messages {
            self.readable(&mut delivered.message).await?;
        }
        Ok(page)
    }

    pub(super) async fn readable(&self, value: &mut impl VisitPayloads) -> Result<(), ClientError> {
        let decoded = self.client.codec().decode(value).await;
        decoded.map_err(|error| ClientError::Unreadable {
            instance: self.id.clone(),
            error,
        })
    }
}
