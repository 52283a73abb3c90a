//! Branches that the code names.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use durable_core::Name;
use pin_project_lite::pin_project;

use super::OrchestrationContext;
use crate::execution::{BranchSegment, within};

impl OrchestrationContext {
    /// Names a branch of the code, for combinators that do not: what `future` asks of
    /// the context is told apart by this name from what other branches ask.
    ///
    /// It changes nothing but the order of the commands of one poll (see *Equal commands*
    /// [above](Self#equal-commands)). Where equal commands come from one place in two
    /// branches, such as a helper that is called in each, name the branches or use this
    /// crate's own [`join!`](crate::join), [`try_join!`](crate::try_join),
    /// [`select!`](crate::select), [`join_all`](crate::join_all) and
    /// [`select_all`](crate::select_all), which number theirs.
    ///
    /// Branches within branches have a path, which is compared from the outermost on. Code
    /// around branches comes before them, numbered ones come before named ones, and those
    /// are in the order of their names. So names must differ from each other, and stay in
    /// their order while instances run.
    ///
    /// ```
    /// use std::time::Duration;
    /// use durable_runtime::{Activity, Failure, OrchestrationContext};
    ///
    /// const ASK: Activity<String, bool> = Activity::new("ask");
    ///
    /// // Both pollers begin with the same command, from the same line.
    /// async fn poll(ctx: &OrchestrationContext, whom: &str) -> Result<(), Failure> {
    ///     loop {
    ///         ctx.sleep(Duration::from_secs(60)).await?;
    ///         if ctx.activity(ASK, &whom.to_owned()).await? {
    ///             return Ok(());
    ///         }
    ///     }
    /// }
    ///
    /// async fn either(ctx: OrchestrationContext, _: ()) -> Result<&'static str, Failure> {
    ///     tokio::select! {
    ///         done = ctx.branch("ada", poll(&ctx, "ada")) => done.map(|()| "ada"),
    ///         done = ctx.branch("bob", poll(&ctx, "bob")) => done.map(|()| "bob"),
    ///     }
    /// }
    /// # let _ = either;
    /// ```
    pub fn branch<F: IntoFuture>(&self, name: impl Into<Name>, future: F) -> Branch<F::IntoFuture> {
        Branch {
            segment: BranchSegment::Name(name.into()),
            future: future.into_future(),
        }
    }
}

pin_project! {
    /// A future that is a branch of its own; made by [`OrchestrationContext::branch`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless they are polled"]
    pub struct Branch<F> {
        segment: BranchSegment,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Branch<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        within(this.segment.clone(), || this.future.poll(cx))
    }
}

/// A child of a combinator of this crate. A struct with public fields, so that a macro can
/// write it without a call: temporaries in `future` then live as long as they would alone.
#[doc(hidden)]
#[derive(Debug)]
#[must_use = "futures do nothing unless they are polled"]
pub struct IndexedBranch<F> {
    pub index: usize,
    pub future: F,
}

impl<F: IntoFuture> IntoFuture for IndexedBranch<F> {
    type Output = F::Output;
    type IntoFuture = Branch<F::IntoFuture>;

    fn into_future(self) -> Self::IntoFuture {
        Branch {
            segment: BranchSegment::Index(self.index),
            future: self.future.into_future(),
        }
    }
}
