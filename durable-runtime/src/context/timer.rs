//! Timers.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use durable_core::{Command, Failure, Outcome};

use super::OrchestrationContext;
use crate::execution::DurableOperation;
use crate::payload::rounded_up_ms;

impl OrchestrationContext {
    /// Waits this long, counted from [`now`](Self::now); rounded up to milliseconds.
    ///
    /// A timer costs nothing while it waits and survives every crash. It fails only
    /// when the orchestration is cancelled.
    ///
    /// ```
    /// # use durable_runtime::{Failure, OrchestrationContext};
    /// # use std::time::Duration;
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// ctx.sleep(Duration::from_secs(30 * 86_400)).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn sleep(&self, duration: Duration) -> Sleep {
        self.sleep_until_ms(self.now_ms().saturating_add(rounded_up_ms(duration)))
    }

    /// Waits until this time by the store's clock. A time that has passed is now.
    ///
    /// ```
    /// # use durable_runtime::{Failure, OrchestrationContext};
    /// # use std::time::Duration;
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// let tomorrow = ctx.now() + Duration::from_secs(86_400);
    /// ctx.sleep_until(tomorrow).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn sleep_until(&self, time: SystemTime) -> Sleep {
        let since_epoch = time
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        self.sleep_until_ms(rounded_up_ms(since_epoch))
    }

    #[track_caller]
    fn sleep_until_ms(&self, fire_at_ms: u64) -> Sleep {
        Sleep {
            operation: DurableOperation::lazy(&self.shared, Ok(Command::Timer { fire_at_ms })),
        }
    }
}

/// A durable timer.
#[derive(Debug)]
#[must_use = "a timer is set when it is first polled"]
pub struct Sleep {
    operation: DurableOperation,
}

impl Future for Sleep {
    type Output = Result<(), Failure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.operation
            .poll_outcome(cx)
            .map(|outcome| match outcome {
                Outcome::Failed(failure) => Err(*failure),
                _ => Ok(()),
            })
    }
}
