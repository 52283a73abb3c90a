//! What the user sees: who says what, and when since the beginning.

use std::time::{Duration, SystemTime};

/// Writes lines with the time since the parent began.
#[derive(Debug, Clone)]
pub(crate) struct Screen {
    began_at_ms: u64,
    is_child: bool,
}

impl Screen {
    pub(crate) fn of_parent() -> Self {
        Self {
            began_at_ms: now_ms(),
            is_child: false,
        }
    }

    pub(crate) fn of_child(began_at_ms: u64) -> Self {
        Self {
            began_at_ms,
            is_child: true,
        }
    }

    pub(crate) fn began_at_ms(&self) -> u64 {
        self.began_at_ms
    }

    pub(crate) fn is_child(&self) -> bool {
        self.is_child
    }

    pub(crate) fn say(&self, what: &str) {
        let since = Duration::from_millis(now_ms().saturating_sub(self.began_at_ms));
        let process = std::process::id();
        println!("{:5.2} s  process {process}  {what}", since.as_secs_f64());
    }
}

pub(crate) fn now_ms() -> u64 {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since_epoch.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
