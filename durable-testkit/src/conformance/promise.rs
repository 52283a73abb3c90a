//! What a check stands for.

use std::fmt;

/// A promise of the storage contract, as
/// [`Provider`](durable_core::provider::Provider) numbers them, or a group of
/// rules that stand at its methods.
///
/// ```
/// use durable_testkit::ContractPromise;
///
/// assert_eq!(ContractPromise::Inbox.number(), Some(4));
/// assert_eq!(ContractPromise::Limits.number(), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ContractPromise {
    /// 1: a commit is all or nothing, and applied once.
    AtomicCommit,
    /// 2: one owner.
    OneOwner,
    /// 3: history is append-only.
    AppendOnly,
    /// 4: a message leaves the inbox only in the commit that consumed it.
    Inbox,
    /// 5: messages wake the holder, or make the instance ready.
    WakeUps,
    /// 6: work leaves its queue only for a reason.
    Work,
    /// 7: no timer fires early.
    Timers,
    /// 8: what was acknowledged survives.
    Durability,
    /// 9: what is ready is found without polling.
    Finding,
    /// 10: reads can page.
    Paging,
    /// 11: a session is given only what its node has the code for.
    Code,
    /// The store's clock: it never goes back, and records agree with it.
    Time,
    /// The rules of starting, stopping and removing instances.
    Lifecycle,
    /// Requests of clients are admitted once, and their answers are kept.
    Requests,
    /// What is too large or empty is refused before anything is written.
    Limits,
}

impl ContractPromise {
    /// Its number in the contract.
    pub const fn number(self) -> Option<u8> {
        Some(match self {
            Self::AtomicCommit => 1,
            Self::OneOwner => 2,
            Self::AppendOnly => 3,
            Self::Inbox => 4,
            Self::WakeUps => 5,
            Self::Work => 6,
            Self::Timers => 7,
            Self::Durability => 8,
            Self::Finding => 9,
            Self::Paging => 10,
            Self::Code => 11,
            Self::Time | Self::Lifecycle | Self::Requests | Self::Limits => return None,
        })
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::AtomicCommit => "a commit is all or nothing, and applied once",
            Self::OneOwner => "two sessions never hold an instance at once",
            Self::AppendOnly => "history is append-only",
            Self::Inbox => "a message leaves the inbox only in the commit that consumed it",
            Self::WakeUps => "a message wakes the holder, or makes the instance ready",
            Self::Work => "a work item leaves its queue only for a reason",
            Self::Timers => "no timer fires early",
            Self::Durability => "what was acknowledged survives",
            Self::Finding => "what is ready is found without polling",
            Self::Paging => "reads can page",
            Self::Code => "a session is given only what its node has the code for",
            Self::Time => "the store's clock never goes back, and records agree with it",
            Self::Lifecycle => "instances are started, stopped and removed as the methods say",
            Self::Requests => "requests are admitted once, and their answers are kept",
            Self::Limits => "what is too large is refused before anything is written",
        }
    }
}

impl fmt::Display for ContractPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number() {
            Some(number) => write!(f, "promise {number}: {}", self.sentence()),
            None => f.write_str(self.sentence()),
        }
    }
}
