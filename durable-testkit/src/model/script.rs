//! What a script is made of. Every operation can be left out of a script and the
//! rest still makes sense, so that a failing script shrinks well: what is not
//! there (a session, a lease, a work item) makes the operation do nothing.

use std::fmt;

use durable_core::provider::{IdReuse, ReceiptWhen};
use durable_core::{Failure, FailureKind};

use crate::conformance::TurnFlaw;

/// A sequence of calls. It prints as one call a line.
///
/// It prints as one line for each call; see the example of
/// [`ModelFailure`](crate::ModelFailure).
#[derive(Clone, PartialEq, Eq)]
pub struct ModelScript(pub(super) Vec<ScriptCall>);

/// One of a few instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ScriptInstance(pub(super) u8);

/// One of a few nodes, each with a session or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ScriptNode(pub(super) u8);

/// One of a few message ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScriptMessageId(pub(super) u8);

/// One of the work items that were ever claimed, counted around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScriptWork(pub(super) u8);

/// One of two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptQueue {
    Default,
    Named,
}

/// When something is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptDue {
    Now,
    /// After this many milliseconds; with a clock of the store's own, never.
    In(u16),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScriptCall {
    Pass(u16),
    Open(ScriptNode),
    Heartbeat(ScriptNode),
    CancelledWork(ScriptNode),
    Close(ScriptNode),
    Start(ScriptInstance, ScriptMessageId, IdReuse, ScriptStart),
    Send(ScriptInstance, ScriptMessageId),
    Fetch(ScriptNode),
    Commit(ScriptNode, ScriptInstance, ScriptTurn),
    CommitAgain(ScriptNode, ScriptInstance),
    Release(ScriptNode, ScriptInstance, Option<ScriptDue>, ScriptRelease),
    FetchWork(ScriptNode, ScriptQueue),
    Settle(ScriptWork, ScriptSettlement),
    HeartbeatWork(ScriptWork),
    FireTimers(u8),
    Suspend(ScriptInstance),
    Resume(ScriptInstance),
    Purge(u8),
    Prune(ScriptInstance, ScriptPrune),
}

/// What a start brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ScriptStart {
    pub(super) has_event: bool,
    pub(super) begins: Option<ScriptDue>,
    pub(super) deadline: Option<ScriptDue>,
}

/// What is said of an instance that is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptRelease {
    Silently,
    Blocked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptSettlement {
    Success,
    Failure,
    Retry(ScriptDue),
    HandedBack(Option<ScriptDue>),
    Poisoned,
}

/// A turn of an instance that a node was handed, now or some time ago.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScriptTurn {
    /// How many of the messages that it was given are consumed.
    pub(super) consume: u8,
    pub(super) activities: Vec<ScriptActivity>,
    pub(super) timers: Vec<ScriptDue>,
    /// Which of the activities and timers that it scheduled are given up, or
    /// finished in memory, counted around.
    pub(super) cancel_activity: Option<u8>,
    pub(super) finish_activity: Option<u8>,
    pub(super) cancel_timer: Option<u8>,
    pub(super) message: Option<(ScriptInstance, ScriptMessage)>,
    pub(super) custom_status: Option<ScriptStatus>,
    /// How many attributes the instance has after it.
    pub(super) attributes: Option<u8>,
    pub(super) ending: ScriptTurnEnd,
    pub(super) from_wrong_tail: bool,
    /// Whether its entries are recorded later than the store's clock shows.
    pub(super) recorded_ahead: bool,
    pub(super) claim: bool,
    pub(super) flaw: Option<ScriptFlaw>,
}

/// An activity call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScriptActivity {
    pub(super) queue: ScriptQueue,
    /// Its total timeout in milliseconds; with a clock of the store's own, it never passes.
    pub(super) timeout_ms: Option<u16>,
}

/// What a turn does with the custom status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptStatus {
    Set,
    Clear,
}

/// Which past executions are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScriptPrune {
    pub(super) keep: u8,
    /// Only those that ended so long ago, in milliseconds.
    pub(super) older_than_ms: Option<u16>,
    pub(super) max: u8,
}

/// Why a turn is to be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptFlaw {
    /// It contradicts itself.
    Invalid(TurnFlaw),
    /// It breaks a limit.
    EmptyName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptMessage {
    Start(ScriptMessageId, IdReuse),
    Event(ScriptMessageId),
    /// An event with a receipt.
    EventWithReceipt(ScriptMessageId, ReceiptWhen),
}

/// How a turn leaves its instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptTurnEnd {
    Kept,
    Free,
    Delayed(ScriptDue),
    Blocked(ScriptDue),
    Suspended,
    ContinuedAsNew,
    Completed,
}

impl ScriptInstance {
    pub(super) const ALL: [Self; 3] = [Self(0), Self(1), Self(2)];

    pub(super) fn id(self) -> durable_core::InstanceId {
        self.to_string().into()
    }
}

impl ScriptRelease {
    pub(super) fn blocked(self) -> Option<Failure> {
        match self {
            Self::Silently => None,
            Self::Blocked => Some(Failure::new(FailureKind::NotRegistered, "no version")),
        }
    }
}

impl fmt::Display for ScriptInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["a", "b", "c"][usize::from(self.0) % 3])
    }
}

impl fmt::Display for ScriptNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node{}", self.0)
    }
}

impl fmt::Display for ScriptMessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "m{}", self.0)
    }
}

impl fmt::Display for ScriptWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "work{}", self.0)
    }
}

impl fmt::Display for ScriptQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::Named => "gpu",
        })
    }
}

impl fmt::Display for ScriptDue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now => f.write_str("now"),
            Self::In(ms) => write!(f, "in {ms} ms"),
        }
    }
}

impl fmt::Display for ScriptActivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "activity on {}", self.queue)?;
        match self.timeout_ms {
            Some(timeout_ms) => write!(f, " within {timeout_ms} ms"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ScriptPrune {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {}, keep {}", self.max, self.keep)?;
        match self.older_than_ms {
            Some(ms) => write!(f, ", older than {ms} ms"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ScriptSettlement {
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

impl fmt::Display for ScriptTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = vec![format!("consume {}", self.consume)];
        if self.from_wrong_tail {
            parts.push("from a wrong tail".into());
        }
        if self.recorded_ahead {
            parts.push("recorded ahead".into());
        }
        parts.extend(self.activities.iter().map(ToString::to_string));
        parts.extend(self.timers.iter().map(|due| format!("timer {due}")));
        let numbered = [
            ("cancel activity", self.cancel_activity),
            ("finish activity", self.finish_activity),
            ("cancel timer", self.cancel_timer),
        ];
        for (what, number) in numbered {
            parts.extend(number.map(|number| format!("{what} {number}")));
        }
        parts.extend(self.message.map(|(to, sent)| match sent {
            ScriptMessage::Start(id, reuse) => format!("start {to} by {id}, {reuse:?}"),
            ScriptMessage::Event(id) => format!("event {id} to {to}"),
            ScriptMessage::EventWithReceipt(id, when) => {
                format!("event {id} to {to}, receipt {when:?}")
            }
        }));
        parts.extend(self.custom_status.map(|status| match status {
            ScriptStatus::Set => "custom status".into(),
            ScriptStatus::Clear => "no custom status".into(),
        }));
        parts.extend(self.attributes.map(|count| format!("{count} attributes")));
        if self.claim {
            parts.push("claim".into());
        }
        parts.extend(self.flaw.map(|flaw| match flaw {
            ScriptFlaw::Invalid(flaw) => format!("invalid: {flaw:?}"),
            ScriptFlaw::EmptyName => "an empty name".into(),
        }));
        parts.push(match self.ending {
            ScriptTurnEnd::Kept => "keep the lease".into(),
            ScriptTurnEnd::Free => "free".into(),
            ScriptTurnEnd::Delayed(due) => format!("free, not before {due}"),
            ScriptTurnEnd::Blocked(due) => format!("blocked, not before {due}"),
            ScriptTurnEnd::Suspended => "suspend".into(),
            ScriptTurnEnd::ContinuedAsNew => "continue as new".into(),
            ScriptTurnEnd::Completed => "complete".into(),
        });
        f.write_str(&parts.join(", "))
    }
}

impl fmt::Display for ScriptCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass(ms) => write!(f, "pass({ms} ms)"),
            Self::Open(node) => write!(f, "{node}.open_session()"),
            Self::Heartbeat(node) => write!(f, "{node}.heartbeat()"),
            Self::CancelledWork(node) => write!(f, "{node}.cancelled_work()"),
            Self::Close(node) => write!(f, "{node}.close_session()"),
            Self::Start(instance, sent, reuse, brings) => {
                write!(f, "start({instance}, {sent}, {reuse:?}, {brings:?})")
            }
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
                    ScriptRelease::Silently => f.write_str(")"),
                    ScriptRelease::Blocked => f.write_str(", blocked)"),
                }
            }
            Self::FetchWork(node, queue) => write!(f, "{node}.fetch_work({queue})"),
            Self::Settle(work, how) => write!(f, "settle_work({work}: {how})"),
            Self::HeartbeatWork(work) => write!(f, "heartbeat_work({work})"),
            Self::FireTimers(max) => write!(f, "fire_timers({max})"),
            Self::Suspend(instance) => write!(f, "suspend({instance})"),
            Self::Resume(instance) => write!(f, "resume({instance})"),
            Self::Purge(max) => write!(f, "purge({max})"),
            Self::Prune(instance, prune) => write!(f, "prune({instance}: {prune})"),
        }
    }
}

impl fmt::Display for ModelScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, op) in self.0.iter().enumerate() {
            writeln!(f, "{number:>3}  {op}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for ModelScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        fmt::Display::fmt(self, f)
    }
}
