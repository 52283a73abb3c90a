//! `join!`, `try_join!` and `select!` that poll their branches as they are written and
//! number them: tokio's, always biased, with each future as a branch of its own.

/// Waits for all of these and gives their outputs as a tuple; polled in this order.
///
/// Each future is a branch with the number of its place: see
/// [`branch`](crate::OrchestrationContext::branch).
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
    ($($future:expr),* $(,)?) => {
        $crate::__join_branches!(join [] 0; $($future,)*)
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
    ($($future:expr),* $(,)?) => {
        $crate::__join_branches!(try_join [] 0; $($future,)*)
    };
}

/// Numbers the futures, one after the other: `[numbered futures] next number; the rest`.
#[doc(hidden)]
#[macro_export]
macro_rules! __join_branches {
    ($join:ident [$($numbered:tt)*] $index:expr;) => {
        $crate::__tokio::$join!(biased; $($numbered)*)
    };
    ($join:ident [$($numbered:tt)*] $index:expr; $future:expr, $($rest:tt)*) => {
        $crate::__join_branches!(
            $join
            [$($numbered)* $crate::__IndexedBranch { index: $index, future: $future },]
            $index + 1;
            $($rest)*
        )
    };
}

/// Waits for the first of these branches and drops the others, so that what they stand
/// for is cancelled. It is written as `tokio::select!` is, and of branches that are ready
/// at once it takes the one that stands first.
///
/// Each future is a branch with the number of its place: see
/// [`branch`](crate::OrchestrationContext::branch).
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
        $crate::__select_branches!([] 0; $($branches)*)
    };
}

/// Numbers the branches, one after the other: `[numbered branches] next number; the rest`.
/// A branch ends as one of `tokio::select!` does: a block needs no comma.
#[doc(hidden)]
#[macro_export]
macro_rules! __select_branches {
    ([$($numbered:tt)*] $index:expr; $(else => $else:expr $(,)?)?) => {
        $crate::__tokio::select! { biased; $($numbered)* $(else => $else)? }
    };
    ([$($numbered:tt)*] $index:expr;
        $bind:pat = $future:expr $(, if $condition:expr)? => $handler:block, $($rest:tt)*
    ) => {
        $crate::__select_branches!(
            [$($numbered)*
                $bind = $crate::__IndexedBranch { index: $index, future: $future }
                    $(, if $condition)? => $handler,
            ]
            $index + 1;
            $($rest)*
        )
    };
    ([$($numbered:tt)*] $index:expr;
        $bind:pat = $future:expr $(, if $condition:expr)? => $handler:block $($rest:tt)*
    ) => {
        $crate::__select_branches!(
            [$($numbered)*
                $bind = $crate::__IndexedBranch { index: $index, future: $future }
                    $(, if $condition)? => $handler,
            ]
            $index + 1;
            $($rest)*
        )
    };
    ([$($numbered:tt)*] $index:expr;
        $bind:pat = $future:expr $(, if $condition:expr)? => $handler:expr $(, $($rest:tt)*)?
    ) => {
        $crate::__select_branches!(
            [$($numbered)*
                $bind = $crate::__IndexedBranch { index: $index, future: $future }
                    $(, if $condition)? => { $handler },
            ]
            $index + 1;
            $($($rest)*)?
        )
    };
}
