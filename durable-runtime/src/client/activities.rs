//! The open activity calls of an instance, seen from outside.

use durable_core::provider::{OpenActivity, OpenWorkPage, SourceEvent};
use durable_core::{EventId, Failure, Name};
use serde::de::DeserializeOwned;

use super::{ClientError, InstanceHandle, nodes};
use crate::payload::{self, PayloadSubject};

/// How many open calls are read at once.
const PAGE: usize = 100;

/// An activity call that has not finished. Made by [`InstanceHandle::activities`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActivityStatus {
    /// What the store knows of it: where it is, its attempts, why the last one failed.
    pub work: OpenActivity,
    /// Why it is not run: no node that lives has the activity, or takes work from its queue.
    pub blocked: Option<Failure>,
}

impl ActivityStatus {
    /// The activity.
    pub fn name(&self) -> &Name {
        &self.work.item.name
    }

    /// The event that scheduled it.
    pub fn event_id(&self) -> EventId {
        self.work.item.key.event_id
    }

    /// The details of its last heartbeat, if it sent one.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidPayload`] if they are not a `T`.
    pub fn heartbeat<T: DeserializeOwned>(&self) -> Result<Option<T>, ClientError> {
        let subject = PayloadSubject::new("activity", self.name().clone());
        let details = self.work.heartbeat.as_ref();
        details
            .map(|details| payload::decode("heartbeat", &subject, Some(self.event_id()), details))
            .transpose()
            .map_err(ClientError::InvalidPayload)
    }
}

impl<O> InstanceHandle<O> {
    /// Its activity calls that have not finished, by the events that scheduled them: whether
    /// each waits or runs, which attempt it is, why the last one failed and what its last
    /// heartbeat said.
    ///
    /// ```
    /// use durable_runtime::{ClientError, InstanceHandle};
    ///
    /// async fn percent_done(upload: InstanceHandle<()>) -> Result<Option<u8>, ClientError> {
    ///     let activities = upload.activities().await?;
    ///     let copy = activities.iter().find(|activity| *activity.name() == "copy");
    ///     copy.map_or(Ok(None), |copy| copy.heartbeat::<u8>())
    /// }
    /// # let _ = percent_done;
    /// ```
    ///
    /// # Errors
    ///
    /// As [`open_work`](Self::open_work).
    pub async fn activities(&self) -> Result<Vec<ActivityStatus>, ClientError> {
        let mut open: Vec<OpenActivity> = Vec::new();
        let mut after = None;
        loop {
            let page = self.open_work(after, PAGE).await?;
            open.extend(page.activities);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let nodes = self.client.provider().sessions().await?;
        let status = |work: OpenActivity| ActivityStatus {
            blocked: nodes::unserved(&nodes, &work),
            work,
        };
        Ok(open.into_iter().map(status).collect())
    }

    /// A part of its open activity calls and timers, after this event: at most `max` events.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unreadable`] if the codec cannot read a call, and
    /// [`Provider`](ClientError::Provider) if the store did not answer.
    pub async fn open_work(
        &self,
        after: Option<SourceEvent>,
        max: usize,
    ) -> Result<OpenWorkPage, ClientError> {
        let mut page = self
            .client
            .provider()
            .open_work(&self.id, after, max)
            .await?;
        self.readable(&mut page.activities).await?;
        Ok(page)
    }

    /// Why the first of its open activity calls that no node runs is not run.
    pub(super) async fn unserved_activity(&self) -> Result<Option<Failure>, ClientError> {
        let provider = self.client.provider();
        let mut nodes = None;
        let mut after = None;
        loop {
            // What a payload codec changes is not looked at.
            let page = provider.open_work(&self.id, after, PAGE).await?;
            if nodes.is_none() && !page.activities.is_empty() {
                nodes = Some(provider.sessions().await?);
            }
            let nodes = nodes.as_deref().unwrap_or_default();
            let mut open = page.activities.iter();
            if let Some(failure) = open.find_map(|open| nodes::unserved(nodes, open)) {
                return Ok(Some(failure));
            }
            after = page.next;
            if after.is_none() {
                return Ok(None);
            }
        }
    }
}
