//! The views of an instance, seen from outside.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use durable_core::provider::{SourceEvent, ViewRecord, WakeSeq, WakeTopic};
use durable_core::{InstanceId, Name};
use futures_core::Stream;
use serde::de::DeserializeOwned;

use super::unfold::{Step, Unfold};
use super::{ClientError, InstanceHandle};
use crate::handle::ViewRef;
use crate::payload::{self, PayloadSubject};

/// How many views are read at once.
const PAGE: usize = 100;

impl<O> InstanceHandle<O> {
    /// The latest value of a view that it published, if it has one. No node needs to run, and
    /// the instance may have ended.
    ///
    /// ```
    /// use durable_runtime::{ClientError, InstanceHandle, View};
    ///
    /// const CART: View<Vec<String>> = View::new("cart");
    ///
    /// async fn items(order: InstanceHandle<()>) -> Result<usize, ClientError> {
    ///     Ok(order.view(CART).await?.map_or(0, |cart| cart.len()))
    /// }
    /// # let _ = items;
    /// ```
    ///
    /// # Errors
    ///
    /// [`ClientError::NotFound`] if there is no such instance,
    /// [`InvalidPayload`](ClientError::InvalidPayload) if the value is not a `T`,
    /// [`Unreadable`](ClientError::Unreadable) if the codec cannot read it, and
    /// [`Provider`](ClientError::Provider) if the store did not answer.
    pub async fn view<T: DeserializeOwned>(
        &self,
        view: impl ViewRef<T>,
    ) -> Result<Option<T>, ClientError> {
        let name = view.into_name();
        match self.client.provider().view(&self.id, &name).await? {
            Some(mut record) => {
                self.readable(&mut record).await?;
                value_of(&record).map(Some)
            }
            None => self.stored_record().await.map(|_| None),
        }
    }

    /// All views that it has, by name, with their values as they are stored and when they
    /// changed. The [custom status](durable_core::CUSTOM_STATUS_VIEW) is one of them.
    ///
    /// # Errors
    ///
    /// [`ClientError::NotFound`] if there is no such instance,
    /// [`Unreadable`](ClientError::Unreadable) if the codec cannot read a value, and
    /// [`Provider`](ClientError::Provider) if the store did not answer.
    pub async fn views(&self) -> Result<Vec<ViewRecord>, ClientError> {
        let mut views: Vec<ViewRecord> = Vec::new();
        let mut after: Option<Name> = None;
        loop {
            let provider = self.client.provider();
            let page = provider.views(&self.id, after.as_ref(), PAGE).await?;
            views.extend(page.views);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        if views.is_empty() {
            self.stored_record().await?;
        }
        self.readable(&mut views).await?;
        Ok(views)
    }

    /// Follows a view: its value, if it has one, and then every newer one, until the instance
    /// has ended and its last value was given.
    ///
    /// A reader that is slower than the orchestration is given the latest value, and none
    /// twice. A view that is cleared gives nothing until the next value. The store wakes the
    /// reader: nothing polls.
    ///
    /// ```
    /// use durable_runtime::{ClientError, InstanceHandle, View};
    /// use futures::TryStreamExt;
    ///
    /// const PERCENT: View<u8> = View::new("percent");
    ///
    /// async fn follow(upload: InstanceHandle<()>) -> Result<(), ClientError> {
    ///     let mut changes = upload.view_changes(PERCENT);
    ///     while let Some(percent) = changes.try_next().await? {
    ///         println!("{percent} %");
    ///     }
    ///     Ok(())
    /// }
    /// # let _ = follow;
    /// ```
    ///
    /// # Errors
    ///
    /// As [`view`](Self::view). The stream goes on after a value that is not a `T`, and ends after
    /// every other error.
    pub fn view_changes<T: DeserializeOwned>(&self, view: impl ViewRef<T>) -> ViewChanges<T> {
        self.follow(view.into_name(), |record| value_of(&record))
    }

    /// Follows a view as [`view_changes`](Self::view_changes) does, with its values as they are
    /// stored and when they changed.
    ///
    /// # Errors
    ///
    /// As [`views`](Self::views). The stream ends after an error.
    pub fn view_records(&self, view: impl Into<Name>) -> ViewChanges<ViewRecord> {
        self.follow(view.into(), Ok)
    }

    fn follow<T>(
        &self,
        name: Name,
        read: fn(ViewRecord) -> Result<T, ClientError>,
    ) -> ViewChanges<T> {
        let follower = Follower {
            instance: InstanceHandle::new(self.client.clone(), self.id.clone()),
            name,
            topic: WakeTopic::Views(self.id.clone()),
            seen: WakeSeq::default(),
            given: None,
            has_ended: false,
        };
        ViewChanges {
            instance: self.id.clone(),
            records: Unfold::new(Some(follower), Follower::step),
            read,
        }
    }
}

/// The values of a view, as they change; made by [`InstanceHandle::view_changes`].
#[must_use = "nothing is read before it is polled"]
pub struct ViewChanges<T> {
    instance: InstanceId,
    records: Unfold<Option<Follower>, Result<ViewRecord, ClientError>>,
    read: fn(ViewRecord) -> Result<T, ClientError>,
}

impl<T> Stream for ViewChanges<T> {
    type Item = Result<T, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let record = Pin::new(&mut self.records).poll_next(cx);
        record.map(|record| record.map(|record| record.and_then(self.read)))
    }
}

impl<T> fmt::Debug for ViewChanges<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewChanges")
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}

/// How far a reader has followed a view.
struct Follower {
    instance: InstanceHandle<()>,
    name: Name,
    topic: WakeTopic,
    seen: WakeSeq,
    /// The event that published the value that was given last.
    given: Option<SourceEvent>,
    /// Whether the instance had ended before that value was read.
    has_ended: bool,
}

impl Follower {
    /// One value, or the last thing that there is to say.
    fn step(follower: Option<Self>) -> Step<Option<Self>, Result<ViewRecord, ClientError>> {
        Box::pin(async {
            let mut follower = follower?;
            match follower.next().await {
                Ok(Some(record)) => Some((Ok(record), Some(follower))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        })
    }

    /// The next value; `None` after the last one.
    async fn next(&mut self) -> Result<Option<ViewRecord>, ClientError> {
        let provider = self.instance.client.provider();
        while !self.has_ended {
            let status = match provider.instance(&self.instance.id).await? {
                Some(record) => record.status.kind(),
                // It had ended, and was removed since.
                None if self.seen != WakeSeq::default() || self.given.is_some() => return Ok(None),
                None => return Err(self.instance.not_found()),
            };
            // The record was read first: the value of an instance that has ended is the last.
            let view = provider.view(&self.instance.id, &self.name).await?;
            self.has_ended = status.is_ended();
            if let Some(mut view) = view
                && self.given.is_none_or(|given| given < view.source)
            {
                self.given = Some(view.source);
                self.instance.readable(&mut view).await?;
                return Ok(Some(view));
            }
            if !self.has_ended {
                self.seen = provider.wait(None, &self.topic, self.seen).await?;
            }
        }
        Ok(None)
    }
}

fn value_of<T: DeserializeOwned>(record: &ViewRecord) -> Result<T, ClientError> {
    let subject = PayloadSubject::new("view", record.name.clone());
    payload::decode("value", &subject, None, &record.value).map_err(ClientError::InvalidPayload)
}
