//! Numbers that identify: positions in a history, executions, commands, promises.
//!
//! [`EventId`] is the only correlation id there is. A [`CommandId`] such as
//! `Activity(1)` is for people: it stands in violations, logs and views, and is
//! counted from the same history, so it never disagrees with it.

use alloc::string::ToString;
use core::fmt;
use core::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use serde::{Deserialize as DeriveDeserialize, Serialize as DeriveSerialize};

use crate::event::Event;
use crate::text::InstanceId;

/// The position of an event in its execution's history: 1, 2, 3, … without gaps.
///
/// ```
/// use durable_core::EventId;
///
/// assert_eq!(EventId::FIRST.next(), EventId::new(2));
/// assert_eq!(EventId::UNASSIGNED.next(), EventId::FIRST);
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, DeriveSerialize, DeriveDeserialize,
)]
#[serde(transparent)]
pub struct EventId(u64);

impl EventId {
    /// The position before the first event: the tail of an empty history, and
    /// the id of an event that has not been given its position.
    pub const UNASSIGNED: Self = Self(0);

    /// The position of `OrchestrationStarted`.
    pub const FIRST: Self = Self(1);

    /// The position with this number.
    pub const fn new(position: u64) -> Self {
        Self(position)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The position after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The number of an execution of an instance. It rises for ever: an id is not
/// used again, not even after the instance was purged and started anew.
///
/// ```
/// use durable_core::ExecutionId;
///
/// assert_eq!(ExecutionId::FIRST.next().get(), 2);
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, DeriveSerialize, DeriveDeserialize,
)]
#[serde(transparent)]
pub struct ExecutionId(u64);

impl ExecutionId {
    /// The first execution of an instance id that was never used.
    pub const FIRST: Self = Self(1);

    /// The execution with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The execution after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Defines [`CommandKind`] from the list of its variants.
macro_rules! command_kinds {
    ($( $(#[$meta:meta])* $kind:ident, )*) => {
        /// What a command is counted as; see [`CommandId`]. The table of events says
        /// which kind an event records.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum CommandKind {
            $( $(#[$meta])* $kind, )*
        }

        impl CommandKind {
            const COUNT: usize = [ $( Self::$kind, )* ].len();
        }
    };
}

command_kinds! {
    /// An activity.
    Activity,
    /// A sub-orchestration.
    SubOrchestration,
    /// A timer.
    Timer,
    /// A subscription to an external event.
    External,
    /// A recorded side effect.
    Run,
    /// A promise.
    Promise,
    /// A state change: set and clear share the count.
    State,
    /// A message to another instance: an event, a promise resolution or the answer to a
    /// request.
    Message,
    /// A detached start.
    Detached,
    /// A view: publish and clear share the count.
    View,
    /// A patch mark.
    Patch,
    /// An attribute: set and clear share the count.
    Attribute,
    /// A request of another instance.
    Request,
}

/// The n-th command of its kind in an execution, counted from 0 in history order.
///
/// ```
/// use durable_core::{CommandId, CommandKind};
///
/// let second = CommandId { kind: CommandKind::Activity, number: 1 };
/// assert_eq!(second.to_string(), "Activity(1)");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId {
    /// What it is.
    pub kind: CommandKind,
    /// Which of its kind, from 0.
    pub number: u64,
}

impl fmt::Display for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({})", self.kind, self.number)
    }
}

/// Counts commands per kind while a history is walked.
///
/// ```
/// use durable_core::{CommandNumbering, Event, EventId};
///
/// let mut numbering = CommandNumbering::default();
/// let cleared = Event::StateCleared { event_id: EventId::new(2), key: "rounds".into() };
/// assert_eq!(numbering.number(&cleared).unwrap().to_string(), "State(0)");
/// assert_eq!(numbering.number(&cleared).unwrap().to_string(), "State(1)");
/// ```
#[derive(Debug, Clone, Default)]
pub struct CommandNumbering {
    /// Narrow, since every execution in memory has them: a history is told to continue
    /// as new long before it has billions of events.
    counts: [u32; CommandKind::COUNT],
}

impl CommandNumbering {
    /// Numbers the next event; `None` if it records no command.
    pub fn number(&mut self, event: &Event) -> Option<CommandId> {
        let kind = event.kind().command_kind()?;
        let id = self.upcoming(kind);
        let count = &mut self.counts[kind as usize];
        *count = count.saturating_add(1);
        Some(id)
    }

    /// The id that the next command of this kind will get.
    pub fn upcoming(&self, kind: CommandKind) -> CommandId {
        CommandId {
            kind,
            number: self.counts[kind as usize].into(),
        }
    }
}

/// Names one promise, for the one who resolves it: `instance/execution/Promise(n)`.
///
/// ```
/// use durable_core::PromiseToken;
///
/// let token: PromiseToken = "orders/7/3/Promise(0)".parse().unwrap();
/// assert_eq!(token.instance, "orders/7");
/// assert_eq!(token.execution_id.get(), 3);
/// assert_eq!(token.to_string(), "orders/7/3/Promise(0)");
/// assert!("orders".parse::<PromiseToken>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct PromiseToken {
    /// The instance that waits.
    pub instance: InstanceId,
    /// Its execution.
    pub execution_id: ExecutionId,
    /// Which promise of that execution, from 0.
    pub number: u64,
}

impl PromiseToken {
    /// The promise of this execution with this number.
    pub const fn new(instance: InstanceId, execution_id: ExecutionId, number: u64) -> Self {
        Self {
            instance,
            execution_id,
            number,
        }
    }
}

impl fmt::Display for PromiseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{}/Promise({})",
            self.instance, self.execution_id, self.number
        )
    }
}

/// The text is not of the form `instance/execution/Promise(n)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidPromiseToken;

impl fmt::Display for InvalidPromiseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a promise token has the form `instance/execution/Promise(n)`")
    }
}

impl core::error::Error for InvalidPromiseToken {}

impl FromStr for PromiseToken {
    type Err = InvalidPromiseToken;

    fn from_str(text: &str) -> Result<Self, InvalidPromiseToken> {
        let mut parts = text.rsplitn(3, '/');
        let (Some(promise), Some(execution), Some(instance)) =
            (parts.next(), parts.next(), parts.next())
        else {
            return Err(InvalidPromiseToken);
        };
        let number = promise
            .strip_prefix("Promise(")
            .and_then(|rest| rest.strip_suffix(')'))
            .and_then(parse_canonical)
            .ok_or(InvalidPromiseToken)?;
        let execution = parse_canonical(execution).ok_or(InvalidPromiseToken)?;
        Ok(Self {
            instance: InstanceId::from(instance),
            execution_id: ExecutionId::new(execution),
            number,
        })
    }
}

/// Parses a number that prints as the same text: no sign, no leading zero.
fn parse_canonical(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

impl Serialize for PromiseToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PromiseToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = InstanceId::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}
