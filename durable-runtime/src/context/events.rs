//! External events as a stream that subscribes once.

use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use durable_core::{Command, Failure};
use futures_core::stream::{FusedStream, Stream};
use serde::de::DeserializeOwned;

use super::OrchestrationContext;
use crate::execution::DurableOperation;
use crate::handle::EventRef;
use crate::payload::PayloadSubject;

impl OrchestrationContext {
    /// All events of this name, one after the other: a [`Stream`] with one subscription.
    ///
    /// A loop over [`external_event`](Self::external_event) adds a subscription to the history
    /// for each event; this adds one when it is first polled, and then nothing but the events.
    ///
    /// Events come in the order in which they were raised, also those that came before. The
    /// stream takes one at a time, when it is polled: what it has not taken is unread, and
    /// other futures and streams of that name take it in the order in which they ask. To drop
    /// the stream ends the subscription; unread events stay for the next reader and go along
    /// with continue-as-new.
    ///
    /// An event that is no `T` is an item with a failure of kind `InvalidPayload`, and the
    /// stream goes on. A cancellation is an item with a failure of kind `Cancelled`, after
    /// which the stream has ended.
    ///
    /// ```
    /// # use durable_runtime::{Activity, EventName, Failure, OrchestrationContext};
    /// # const LINE: EventName<String> = EventName::new("line");
    /// # const PRINT: Activity<String, ()> = Activity::new("print");
    /// async fn printer(ctx: OrchestrationContext) -> Result<(), Failure> {
    ///     let mut lines = ctx.external_events(LINE);
    ///     while let Some(line) = lines.next().await {
    ///         ctx.activity(PRINT, &line?).await?;
    ///         if ctx.should_continue_as_new() {
    ///             return ctx.continue_as_new(&()).await;
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// # let _ = printer;
    /// ```
    #[track_caller]
    pub fn external_events<T>(&self, event: impl EventRef<T>) -> ExternalEvents<T> {
        let name = event.into_name();
        let subject = PayloadSubject::new("event", name.clone());
        let command = self
            .subject("event", name)
            .map(|subject| Command::ExternalEvents { name: subject.name });
        ExternalEvents {
            operation: DurableOperation::lazy(&self.shared, command),
            subject,
            data: PhantomData,
        }
    }
}

/// The events of [`OrchestrationContext::external_events`].
#[derive(Debug)]
#[must_use = "events are listened for when the stream is first polled"]
pub struct ExternalEvents<T> {
    operation: DurableOperation,
    subject: PayloadSubject,
    data: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> ExternalEvents<T> {
    /// The next event; `None` once the stream has ended.
    ///
    /// The future can be dropped at any time, such as in a `select!`: no event is lost.
    pub async fn next(&mut self) -> Option<Result<T, Failure>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl<T: DeserializeOwned> Stream for ExternalEvents<T> {
    type Item = Result<T, Failure>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        this.operation.poll_next(&this.subject, cx)
    }
}

impl<T: DeserializeOwned> FusedStream for ExternalEvents<T> {
    fn is_terminated(&self) -> bool {
        self.operation.is_done()
    }
}
