//! Patches: changing code that running instances still use.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use durable_core::{Command, Name, Outcome};

use super::{Misuse, OrchestrationContext};
use crate::execution::DurableOperation;

impl OrchestrationContext {
    /// Whether this execution may take the new path of a change.
    ///
    /// True for executions that come here for the first time, and from then on for
    /// the whole execution; false for those that went past here before the change.
    ///
    /// ```
    /// # use durable_runtime::{Activity, Failure, OrchestrationContext};
    /// # const CHECK_STOCK: Activity<u32, ()> = Activity::new("check-stock");
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// if ctx.patched("check-stock-first").await {
    ///     ctx.activity(CHECK_STOCK, &7).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn patched(&self, patch_id: impl Into<Name>) -> Patched {
        let command = self
            .subject("patch", patch_id.into())
            .map(|subject| Command::Patch {
                patch_id: subject.name,
            });
        if command.is_err() {
            self.shared.lock().misuse.get_or_insert(Misuse::PatchName);
        }
        Patched {
            operation: DurableOperation::lazy(&self.shared, command),
        }
    }
}

/// The answer to [`OrchestrationContext::patched`].
#[derive(Debug)]
#[must_use = "the question is asked when the future is first polled"]
pub struct Patched {
    operation: DurableOperation,
}

impl Future for Patched {
    type Output = bool;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        let this = self.get_mut();
        this.operation
            .poll_outcome(cx)
            .map(|outcome| outcome == Outcome::Patched(true))
    }
}
