//! Going on in a new execution.

use std::future::pending;

use durable_core::{Ending, Failure, Payload, Version};
use serde::Serialize;

use super::{Misuse, OrchestrationContext};
use crate::payload;

impl OrchestrationContext {
    /// Ends this execution and goes on in a new one with an empty history, on the
    /// newest registered version.
    ///
    /// State, custom status, unread events and a requested cancellation go along.
    /// Activities and children that are still open are cancelled. Nothing happens before the
    /// returned future is awaited, and its value never comes: write
    /// `return ctx.continue_as_new(&n).await`.
    ///
    /// ```
    /// # use durable_runtime::{Failure, OrchestrationContext};
    /// async fn count(ctx: OrchestrationContext, mut seen: u64) -> Result<u64, Failure> {
    ///     while !ctx.should_continue_as_new() {
    ///         if ctx.external_event::<bool>("is last").await? {
    ///             return Ok(seen);
    ///         }
    ///         seen += 1;
    ///     }
    ///     ctx.continue_as_new(&seen).await
    /// }
    /// # let _ = count;
    /// ```
    ///
    /// # Errors
    ///
    /// A failure of kind `InvalidPayload` or `LimitExceeded` if the input does not encode or is
    /// too large, and `DeterminismViolation` if the caller is not the orchestration itself.
    #[must_use = "the execution ends when this is awaited: `return ctx.continue_as_new(..).await`"]
    pub async fn continue_as_new<I: Serialize, O>(&self, input: &I) -> Result<O, Failure> {
        let input = self.encode_next(input)?;
        self.end_with(Ending::ContinuedAsNew {
            input,
            version: None,
        })
        .await
    }

    /// As [`continue_as_new`](Self::continue_as_new), on the version that this
    /// execution runs on.
    ///
    /// # Errors
    ///
    /// As [`continue_as_new`](Self::continue_as_new).
    #[must_use = "the execution ends when this is awaited: `return ctx.continue_as_new_same_version(..).await`"]
    pub async fn continue_as_new_same_version<I: Serialize, O>(
        &self,
        input: &I,
    ) -> Result<O, Failure> {
        let input = self.encode_next(input)?;
        let version: Option<Version> = Some(self.version());
        self.end_with(Ending::ContinuedAsNew { input, version })
            .await
    }

    fn encode_next<I: Serialize>(&self, input: &I) -> Result<Payload, Failure> {
        let subject = self.subject("instance", self.shared.instance.as_str().into())?;
        payload::encode(self.limits(), "input", &subject, input)
    }

    async fn end_with<O>(&self, ending: Ending) -> Result<O, Failure> {
        self.shared
            .enter()
            .map_err(Misuse::to_failure)?
            .ending
            .get_or_insert_with(|| Box::new(ending));
        pending().await
    }
}
