//! Timers.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use durable_core::{Failure, Outcome, Request};

use super::OrchestrationContext;
use crate::future::Operation;

impl OrchestrationContext {
    /// Waits this long, from now or from the time when the orchestration got here.
    ///
    /// A timer costs nothing while it waits and survives every crash. It fails only
    /// when the orchestration is cancelled.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        let wait_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        self.sleep_until_ms(self.now_ms().saturating_add(wait_ms))
    }

    /// Waits until this time.
    pub fn sleep_until(&self, time: SystemTime) -> Sleep {
        let since_epoch = time
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        let due_ms = u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX);
        self.sleep_until_ms(due_ms)
    }

    fn sleep_until_ms(&self, fire_at_ms: u64) -> Sleep {
        Sleep {
            operation: Operation::lazy(&self.shared, Ok(Request::Timer { fire_at_ms })),
        }
    }
}

/// A durable timer.
#[derive(Debug)]
#[must_use = "a timer is set when it is first polled"]
pub struct Sleep {
    operation: Operation,
}

impl Future for Sleep {
    type Output = Result<(), Failure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.operation
            .poll_settled(cx)
            .map(|settled| match settled.outcome {
                Outcome::Failed(failure) => Err(failure),
                _ => Ok(()),
            })
    }
}
