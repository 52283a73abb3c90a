//! The streams of an instance, read from outside.

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use durable_core::Name;
use durable_core::provider::{
    StreamBounds, StreamItem, StreamPage, StreamSource, WakeSeq, WakeTopic,
};
use futures_core::Stream;
use serde::de::DeserializeOwned;

use super::unfold::{Step, Unfold};
use super::{ClientError, InstanceHandle};
use crate::handle::StreamRef;
use crate::payload::{self, PayloadSubject};

/// How many items are read at once.
const PAGE: usize = 256;

/// An item of a stream, made by a [`StreamReader`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamEntry<T> {
    /// Its place in the stream, from 0: a reader that comes back goes on
    /// [from](StreamReader::from_offset) the next one.
    pub offset: u64,
    /// Where it comes from: an activity that was retried emits again, as another attempt.
    pub source: StreamSource,
    /// The store's time when it was added.
    pub added_at_ms: u64,
    /// The item.
    pub value: T,
}

impl<O> InstanceHandle<O> {
    /// Reads a stream of it: the items that are stored, and then every new one, until the instance
    /// has ended and all was read. No node needs to run. The store wakes the reader: nothing polls.
    ///
    /// ```
    /// use durable_runtime::{ClientError, EventStream, InstanceHandle};
    /// use futures::TryStreamExt;
    ///
    /// const TOKENS: EventStream<String> = EventStream::new("tokens");
    ///
    /// async fn show(answer: InstanceHandle<String>, from: u64) -> Result<(), ClientError> {
    ///     let mut tokens = answer.stream(TOKENS).from_offset(from);
    ///     while let Some(token) = tokens.try_next().await? {
    ///         println!("{}: {}", token.offset, token.value);
    ///     }
    ///     Ok(())
    /// }
    /// # let _ = show;
    /// ```
    ///
    /// # Errors
    ///
    /// The stream gives [`ClientError::StreamTrimmed`] if the item of the offset is no longer stored,
    /// and goes on with the first one that is; [`InvalidPayload`](ClientError::InvalidPayload) if an
    /// item is not a `T`, and goes on with the next. It ends after
    /// [`NotFound`](ClientError::NotFound) if there is no such instance,
    /// [`Unreadable`](ClientError::Unreadable) if the codec cannot read an item, and
    /// [`Provider`](ClientError::Provider) if the store did not answer.
    pub fn stream<T: DeserializeOwned>(&self, stream: impl StreamRef<T>) -> StreamReader<T> {
        StreamReader {
            items: self.stream_items(stream.into_name()),
            values: PhantomData,
        }
    }

    /// Reads a stream of it as [`stream`](Self::stream) does, with its items as they are stored.
    ///
    /// # Errors
    ///
    /// As those of [`stream`](Self::stream), but for
    /// [`InvalidPayload`](ClientError::InvalidPayload).
    pub fn stream_items(&self, stream: impl Into<Name>) -> StreamItems {
        let stream = stream.into();
        StreamItems {
            stream: stream.clone(),
            follower: Some(StreamFollower {
                instance: InstanceHandle::new(self.client.clone(), self.id.clone()),
                stream,
                topic: WakeTopic::Streams(self.id.clone()),
                seen: WakeSeq::default(),
                next: None,
                read: VecDeque::new(),
            }),
            items: None,
        }
    }

    /// A part of a stream of it: at most `max` items from this offset on, or from the first one
    /// that is stored.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unreadable`] if the codec cannot read an item, and
    /// [`Provider`](ClientError::Provider) if the store did not answer.
    pub async fn stream_page(
        &self,
        stream: impl Into<Name>,
        from: u64,
        max: usize,
    ) -> Result<StreamPage, ClientError> {
        let stream = stream.into();
        let provider = self.client.provider();
        let mut page = provider.stream(&self.id, &stream, from, max).await?;
        self.readable(&mut page.items).await?;
        Ok(page)
    }

    /// Its streams, by name, with what is stored of each.
    ///
    /// # Errors
    ///
    /// [`ClientError::Provider`] if the store did not answer.
    pub async fn streams(&self) -> Result<Vec<(Name, StreamBounds)>, ClientError> {
        let mut streams = Vec::new();
        let mut after: Option<Name> = None;
        loop {
            let provider = self.client.provider();
            let page = provider.streams(&self.id, after.as_ref(), PAGE).await?;
            streams.extend(page.streams);
            after = page.next;
            if after.is_none() {
                return Ok(streams);
            }
        }
    }
}

/// The items of a stream as they are stored; made by [`InstanceHandle::stream_items`].
#[must_use = "nothing is read before it is polled"]
pub struct StreamItems {
    stream: Name,
    /// Where to begin, until it has begun.
    follower: Option<StreamFollower>,
    items: Option<Unfold<Option<StreamFollower>, Result<StreamItem, ClientError>>>,
}

impl StreamItems {
    /// Begins with this offset instead of the first item that is stored.
    pub fn from_offset(mut self, offset: u64) -> Self {
        if let Some(follower) = &mut self.follower {
            follower.next = Some(offset);
        }
        self
    }
}

impl Stream for StreamItems {
    type Item = Result<StreamItem, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(follower) = self.follower.take() {
            self.items = Some(Unfold::new(Some(follower), StreamFollower::step));
        }
        match &mut self.items {
            Some(items) => Pin::new(items).poll_next(cx),
            None => Poll::Ready(None),
        }
    }
}

impl fmt::Debug for StreamItems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamItems").finish_non_exhaustive()
    }
}

/// A reader of a stream; made by [`InstanceHandle::stream`].
#[must_use = "nothing is read before it is polled"]
pub struct StreamReader<T> {
    items: StreamItems,
    values: PhantomData<fn(T)>,
}

impl<T> StreamReader<T> {
    /// Begins with this offset, such as the one after the last item that was read before a
    /// disconnect, instead of the first item that is stored.
    pub fn from_offset(mut self, offset: u64) -> Self {
        self.items = self.items.from_offset(offset);
        self
    }
}

impl<T: DeserializeOwned> Stream for StreamReader<T> {
    type Item = Result<StreamEntry<T>, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = Pin::new(&mut self.items).poll_next(cx);
        polled.map(|item| item.map(|item| entry_of(&self.items.stream, item?)))
    }
}

impl<T> fmt::Debug for StreamReader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamReader").finish_non_exhaustive()
    }
}

fn entry_of<T: DeserializeOwned>(
    stream: &Name,
    item: StreamItem,
) -> Result<StreamEntry<T>, ClientError> {
    let subject = PayloadSubject::new("stream", stream.clone());
    let value = payload::decode("item", &subject, None, &item.value);
    Ok(StreamEntry {
        offset: item.offset,
        source: item.source,
        added_at_ms: item.added_at_ms,
        value: value.map_err(ClientError::InvalidPayload)?,
    })
}

/// How far a reader has read a stream.
struct StreamFollower {
    instance: InstanceHandle<()>,
    stream: Name,
    topic: WakeTopic,
    seen: WakeSeq,
    /// The offset to go on with; `None` is the first one that is stored.
    next: Option<u64>,
    /// Items that were read and not given yet.
    read: VecDeque<StreamItem>,
}

/// Whether a stream goes on after this error.
fn goes_on(error: &ClientError) -> bool {
    matches!(error, ClientError::StreamTrimmed { .. })
}

impl StreamFollower {
    /// One item, or what there is to say instead of it.
    fn step(follower: Option<Self>) -> Step<Option<Self>, Result<StreamItem, ClientError>> {
        Box::pin(async {
            let mut follower = follower?;
            match follower.item().await {
                Ok(Some(item)) => Some((Ok(item), Some(follower))),
                Ok(None) => None,
                Err(error) => {
                    let rest = goes_on(&error).then_some(follower);
                    Some((Err(error), rest))
                }
            }
        })
    }

    /// The next item; `None` after the last one.
    async fn item(&mut self) -> Result<Option<StreamItem>, ClientError> {
        loop {
            if let Some(item) = self.read.pop_front() {
                self.next = Some(item.offset + 1);
                return Ok(Some(item));
            }
            let provider = self.instance.client.provider();
            // The status first: what an instance that has ended pushed is there by now.
            let has_ended = match provider.instance(&self.instance.id).await? {
                Some(record) => record.status.kind().is_ended(),
                // It had ended, and was removed since.
                None if self.seen != WakeSeq::default() || self.next.is_some() => return Ok(None),
                None => return Err(self.instance.not_found()),
            };
            let from = self.next.unwrap_or(0);
            let page = self.instance.stream_page(self.stream.clone(), from, PAGE);
            let StreamPage { bounds, items, .. } = page.await?;
            self.read = items.into();
            if bounds.first > from && self.next.replace(bounds.first).is_some() {
                return Err(ClientError::StreamTrimmed {
                    instance: self.instance.id.clone(),
                    stream: self.stream.clone(),
                    requested: from,
                    first: bounds.first,
                });
            }
            if !self.read.is_empty() {
                continue;
            }
            if has_ended {
                return Ok(None);
            }
            let provider = self.instance.client.provider();
            self.seen = provider.wait(None, &self.topic, self.seen).await?;
        }
    }
}
