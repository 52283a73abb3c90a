//! What a node removes in the background, and when.

use std::time::Duration;

/// What a node removes in the background: ended instances, and past executions of those that
/// continue as new. Without it everything stays until a client removes it.
///
/// Every node of a store may have it; what one has removed is gone for the others.
///
/// ```
/// use std::time::Duration;
///
/// use durable_runtime::{Retention, RuntimeOptions};
///
/// const DAY: Duration = Duration::from_secs(86_400);
///
/// let retention = Retention::default().ended_for(30 * DAY).executions(3);
/// let options = RuntimeOptions::default().retention(retention);
/// # let _ = options;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// How long an instance stays after it ended. Default: `None`, for ever.
    pub ended_for: Option<Duration>,
    /// How many executions of an instance stay, the current one among them. Default: `None`,
    /// all of them, unless `executions_for` is set.
    pub executions: Option<usize>,
    /// How long a past execution stays after it ended. Default: `None`, no longer than
    /// `executions` says.
    pub executions_for: Option<Duration>,
    /// The longest interval between two rounds of removing; each is shorter by a random part,
    /// so that the nodes of a store take turns. Default: 10 min.
    pub interval: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            ended_for: None,
            executions: None,
            executions_for: None,
            interval: Duration::from_secs(600),
        }
    }
}

impl Retention {
    /// Removes instances so long after they ended.
    #[must_use]
    pub const fn ended_for(mut self, time: Duration) -> Self {
        self.ended_for = Some(time);
        self
    }

    /// Keeps so many executions of each instance, the current one among them.
    #[must_use]
    pub const fn executions(mut self, executions: usize) -> Self {
        self.executions = Some(executions);
        self
    }

    /// Keeps past executions for so long after they ended.
    #[must_use]
    pub const fn executions_for(mut self, time: Duration) -> Self {
        self.executions_for = Some(time);
        self
    }

    /// Looks for what is to be removed at least so often.
    #[must_use]
    pub const fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }
}
