//! `join!`, `try_join!` and `select!` that poll their branches as they are written:
//! tokio's, always biased.

/// Waits for all of these and gives their outputs as a tuple; polled in this order.
///
/// ```
/// use std::time::Duration;
/// use durable_runtime::{Activity, Failure, OrchestrationContext, join};
///
/// const PACK: Activity<u32, u32> = Activity::new("pack");
///
/// async fn pack(ctx: OrchestrationContext, order: u32) -> Result<u32, Failure> {
///     let (packed, waited) = join!(
///         ctx.activity(PACK, &order),
///         ctx.sleep(Duration::from_secs(60)),
///     );
///     waited?;
///     packed
/// }
/// # let _ = pack;
/// ```
#[macro_export]
macro_rules! join {
    ($($branches:tt)*) => {
        $crate::__tokio::join!(biased; $($branches)*)
    };
}

/// As [`join!`], up to the first that fails: the others are dropped, and what they stand
/// for is cancelled.
///
/// ```
/// use durable_runtime::{Activity, Failure, OrchestrationContext, try_join};
///
/// const CHARGE: Activity<u32, u32> = Activity::new("charge");
/// const RESERVE: Activity<u32, u32> = Activity::new("reserve");
///
/// async fn order(ctx: OrchestrationContext, id: u32) -> Result<u32, Failure> {
///     let (paid, place) = try_join!(ctx.activity(CHARGE, &id), ctx.activity(RESERVE, &id))?;
///     Ok(paid + place)
/// }
/// # let _ = order;
/// ```
#[macro_export]
macro_rules! try_join {
    ($($branches:tt)*) => {
        $crate::__tokio::try_join!(biased; $($branches)*)
    };
}

/// Waits for the first of these branches and drops the others, so that what they stand
/// for is cancelled. It is written as `tokio::select!` is, and of branches that are ready
/// at once it takes the one that stands first.
///
/// ```
/// use std::time::Duration;
/// use durable_runtime::{EventName, Failure, OrchestrationContext, select};
///
/// const APPROVED: EventName<bool> = EventName::new("approved");
///
/// async fn approval(ctx: OrchestrationContext, wait_s: u64) -> Result<bool, Failure> {
///     select! {
///         approved = ctx.external_event(APPROVED) => approved,
///         timer = ctx.sleep(Duration::from_secs(wait_s)) => timer.map(|()| false),
///     }
/// }
/// # let _ = approval;
/// ```
#[macro_export]
macro_rules! select {
    ($($branches:tt)*) => {
        $crate::__tokio::select! { biased; $($branches)* }
    };
}
