//! Waiting for several futures at once, in branches that no compiler can change.
//!
//! Durable futures work with any combinator. These poll in the order in which things are
//! written down, and each child is a branch with the number of its place: equal commands
//! of one poll are told apart by their branches, and never by where their futures lie in
//! memory (see [`OrchestrationContext`](crate::OrchestrationContext)). Nothing here is
//! durable by itself, and everything works outside of orchestrations too.

mod children;
mod macros;

use std::future::{Future, poll_fn};

use children::Children;

/// Waits for all of these, and gives their outputs in the order of the futures.
///
/// Each future is a branch with the number of its place: see
/// [`branch`](crate::OrchestrationContext::branch). Only futures that were woken are polled, so a join over ten thousand activities
/// costs ten thousand polls and not their square.
///
/// ```
/// use durable_runtime::{Activity, Failure, OrchestrationContext, join_all};
///
/// const RESIZE: Activity<u32, u32> = Activity::new("resize");
///
/// async fn resize_all(ctx: OrchestrationContext, images: Vec<u32>) -> Result<u32, Failure> {
///     let calls = images.iter().map(|image| ctx.activity(RESIZE, image));
///     let sizes = join_all(calls).await;
///     sizes.into_iter().sum()
/// }
/// # let _ = resize_all;
/// ```
pub async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut children = Children::new(futures);
    let mut left = children.len();
    let mut outputs: Vec<Option<F::Output>> = (0..left).map(|_| None).collect();
    while left > 0 {
        let (index, output) = poll_fn(|cx| children.poll_next(cx)).await;
        outputs[index] = Some(output);
        left -= 1;
    }
    outputs.into_iter().flatten().collect()
}

/// Waits for the first of these, gives its place and its output, and drops the others:
/// what they stand for is cancelled. Of several that are ready the one that stands first
/// is taken. Without any future it waits for ever.
///
/// Each future is a branch with the number of its place: see
/// [`branch`](crate::OrchestrationContext::branch).
///
/// ```
/// use durable_runtime::{Activity, Failure, OrchestrationContext, select_all};
///
/// const ASK: Activity<String, u32> = Activity::new("ask");
///
/// async fn fastest(ctx: OrchestrationContext, mirrors: Vec<String>) -> Result<u32, Failure> {
///     let calls = mirrors.iter().map(|mirror| ctx.activity(ASK, mirror));
///     let (_which, answer) = select_all(calls).await;
///     answer
/// }
/// # let _ = fastest;
/// ```
pub async fn select_all<F: Future>(futures: impl IntoIterator<Item = F>) -> (usize, F::Output) {
    let mut children = Children::new(futures);
    poll_fn(|cx| children.poll_next(cx)).await
}
