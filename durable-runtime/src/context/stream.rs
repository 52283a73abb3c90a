//! Streams: what the orchestration tells clients while it works.

use std::marker::PhantomData;

use durable_core::provider::StreamPush;
use durable_core::{Failure, Name};
use serde::Serialize;

use super::OrchestrationContext;
use crate::execution::Misuse;
use crate::handle::StreamRef;
use crate::payload;

impl OrchestrationContext {
    /// A stream of this instance, to push items to.
    ///
    /// Items are stored in the commit of the turn, in the order of the pushes, and only once: a
    /// replay pushes nothing. They are not part of the history, and no code reads them: clients
    /// [do](crate::InstanceHandle::stream). A stream keeps its latest items.
    ///
    /// ```
    /// # use durable_runtime::{EventStream, Failure, OrchestrationContext};
    /// const PROGRESS: EventStream<String> = EventStream::new("progress");
    ///
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// ctx.stream(PROGRESS).push(&"packed".to_owned())?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream<T>(&self, stream: impl StreamRef<T>) -> StreamWriter<'_, T> {
        StreamWriter {
            context: self,
            stream: stream.into_name(),
            items: PhantomData,
        }
    }
}

/// A stream that the orchestration pushes items to; made by [`OrchestrationContext::stream`].
#[derive(Debug)]
#[must_use = "nothing is pushed before `push`"]
pub struct StreamWriter<'a, T> {
    context: &'a OrchestrationContext,
    stream: Name,
    items: PhantomData<fn(T)>,
}

impl<T: Serialize> StreamWriter<'_, T> {
    /// Adds an item to the stream, with the commit of the turn.
    ///
    /// # Errors
    ///
    /// A failure of kind `LimitExceeded` if the name of the stream is empty or too long or the item
    /// too large, `InvalidPayload` if the item does not encode, and `DeterminismViolation` if the
    /// caller is not the orchestration itself.
    pub fn push(&self, item: &T) -> Result<(), Failure> {
        let subject = self.context.subject("stream", self.stream.clone())?;
        let value = payload::encode(self.context.limits(), "item", &subject, item)?;
        let stream = subject.name;
        let entered = self.context.shared.enter();
        let mut state = entered.map_err(Misuse::to_failure)?;
        if !state.is_replaying() {
            state.pushed.push(StreamPush { stream, value });
        }
        Ok(())
    }
}
