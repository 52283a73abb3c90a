//! What a script is made of. Every operation can be left out of a script and the
//! rest still makes sense, so that a failing script shrinks well: what is not
//! there (a session, a lease, a work item) makes the operation do nothing.

use std::fmt;

use durable_core::provider::IdReuse;
use durable_core::{Failure, FailureKind};

/// A sequence of calls. It prints as one call a line.
///
/// It prints as one line for each call; see the example of
/// [`ModelFailure`](crate::ModelFailure).
#[derive(Clone, PartialEq, Eq)]
pub struct Script(pub(super) Vec<Op>);

/// One of a few instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Instance(pub(super) u8);

/// One of a few nodes, each with a session or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Node(pub(super) u8);

/// One of a few message ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent(pub(super) u8);

/// One of the work items that were ever claimed, counted around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Claimed(pub(super) u8);

/// One of two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queue {
    Default,
    Named,
}

/// When something is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Now,
    /// After this many milliseconds; with a clock of the store's own, never.
    In(u16),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Op {
    Pass(u16),
    Open(Node),
    Heartbeat(Node),
    Close(Node),
    Start(Instance, Sent, IdReuse),
    Send(Instance, Sent),
    Fetch(Node),
    Commit(Node, Instance, Turn),
    CommitAgain(Node, Instance),
    Release(Node, Instance, Option<Due>, Returned),
    FetchWork(Node, Queue),
    Settle(Claimed, Settlement),
    HeartbeatWork(Claimed),
    FireTimers(u8),
    Suspend(Instance),
    Resume(Instance),
    Purge(u8),
}

/// What is said of an instance that is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Returned {
    Silently,
    Blocked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settlement {
    Success,
    Failure,
    Retry(Due),
    HandedBack(Option<Due>),
    Poisoned,
}

/// A turn of an instance that a node was handed, now or some time ago.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turn {
    /// How many of the messages that it was given are consumed.
    pub(super) consume: u8,
    pub(super) activities: Vec<Queue>,
    pub(super) timers: Vec<Due>,
    /// Which of the activities and timers that it scheduled are given up, or
    /// finished in memory, counted around.
    pub(super) cancel_activity: Option<u8>,
    pub(super) finish_activity: Option<u8>,
    pub(super) cancel_timer: Option<u8>,
    pub(super) message: Option<(Instance, Letter)>,
    pub(super) custom_status: bool,
    pub(super) ending: Ending,
    pub(super) from_wrong_tail: bool,
    pub(super) claim: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letter {
    Start(Sent),
    Event(Sent),
}

/// How a turn leaves its instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Kept,
    Free,
    Delayed(Due),
    Blocked(Due),
    Suspended,
    ContinuedAsNew,
    Completed,
}

impl Instance {
    pub(super) const ALL: [Self; 3] = [Self(0), Self(1), Self(2)];

    pub(super) fn id(self) -> durable_core::InstanceId {
        self.to_string().into()
    }
}

impl Returned {
    pub(super) fn blocked(self) -> Option<Failure> {
        match self {
            Self::Silently => None,
            Self::Blocked => Some(Failure::new(FailureKind::NotRegistered, "no version")),
        }
    }
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["a", "b", "c"][usize::from(self.0) % 3])
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node{}", self.0)
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "m{}", self.0)
    }
}

impl fmt::Display for Claimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "work{}", self.0)
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::Named => "gpu",
        })
    }
}

impl fmt::Display for Due {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now => f.write_str("now"),
            Self::In(ms) => write!(f, "in {ms} ms"),
        }
    }
}

impl fmt::Display for Settlement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Success => f.write_str("success"),
            Self::Failure => f.write_str("failure"),
            Self::Retry(due) => write!(f, "retry {due}"),
            Self::HandedBack(None) => f.write_str("handed back"),
            Self::HandedBack(Some(due)) => write!(f, "handed back, not before {due}"),
            Self::Poisoned => f.write_str("poisoned"),
        }
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = vec![format!("consume {}", self.consume)];
        if self.from_wrong_tail {
            parts.push("from a wrong tail".into());
        }
        parts.extend(self.activities.iter().map(|on| format!("activity on {on}")));
        parts.extend(self.timers.iter().map(|due| format!("timer {due}")));
        let numbered = [
            ("cancel activity", self.cancel_activity),
            ("finish activity", self.finish_activity),
            ("cancel timer", self.cancel_timer),
        ];
        for (what, number) in numbered {
            parts.extend(number.map(|number| format!("{what} {number}")));
        }
        parts.extend(self.message.map(|(to, letter)| match letter {
            Letter::Start(id) => format!("start {to} by {id}"),
            Letter::Event(id) => format!("event {id} to {to}"),
        }));
        if self.custom_status {
            parts.push("custom status".into());
        }
        if self.claim {
            parts.push("claim".into());
        }
        parts.push(match self.ending {
            Ending::Kept => "keep the lease".into(),
            Ending::Free => "free".into(),
            Ending::Delayed(due) => format!("free, not before {due}"),
            Ending::Blocked(due) => format!("blocked, not before {due}"),
            Ending::Suspended => "suspend".into(),
            Ending::ContinuedAsNew => "continue as new".into(),
            Ending::Completed => "complete".into(),
        });
        f.write_str(&parts.join(", "))
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass(ms) => write!(f, "pass({ms} ms)"),
            Self::Open(node) => write!(f, "{node}.open_session()"),
            Self::Heartbeat(node) => write!(f, "{node}.heartbeat()"),
            Self::Close(node) => write!(f, "{node}.close_session()"),
            Self::Start(instance, sent, reuse) => write!(f, "start({instance}, {sent}, {reuse:?})"),
            Self::Send(instance, sent) => write!(f, "send({instance}, {sent})"),
            Self::Fetch(node) => write!(f, "{node}.fetch_instances()"),
            Self::Commit(node, instance, turn) => write!(f, "{node}.commit({instance}: {turn})"),
            Self::CommitAgain(node, instance) => write!(f, "{node}.commit({instance}: again)"),
            Self::Release(node, instance, due, returned) => {
                write!(f, "{node}.release({instance}")?;
                if let Some(due) = due {
                    write!(f, ", not before {due}")?;
                }
                match returned {
                    Returned::Silently => f.write_str(")"),
                    Returned::Blocked => f.write_str(", blocked)"),
                }
            }
            Self::FetchWork(node, queue) => write!(f, "{node}.fetch_work({queue})"),
            Self::Settle(work, how) => write!(f, "settle_work({work}: {how})"),
            Self::HeartbeatWork(work) => write!(f, "heartbeat_work({work})"),
            Self::FireTimers(max) => write!(f, "fire_timers({max})"),
            Self::Suspend(instance) => write!(f, "suspend({instance})"),
            Self::Resume(instance) => write!(f, "resume({instance})"),
            Self::Purge(max) => write!(f, "purge({max})"),
        }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, op) in self.0.iter().enumerate() {
            writeln!(f, "{number:>3}  {op}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        fmt::Display::fmt(self, f)
    }
}
