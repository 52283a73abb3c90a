//! The code no longer does what its history says it did. The history is fine;
//! the code was changed, or depends on something that is not recorded.

use alloc::boxed::Box;
use core::fmt;

use crate::event::Event;
use crate::id::{CommandId, EventId, ExecutionId};
use crate::text::InstanceId;

/// A determinism violation: where, what the code did, what the history has.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The instance.
    pub instance: InstanceId,
    /// Its execution.
    pub execution_id: ExecutionId,
    /// The event of the history at which the two part.
    pub event_id: EventId,
    /// The command that is concerned, if it is one.
    pub command_id: Option<CommandId>,
    /// What the code did here; it has no position. `None`: nothing.
    pub code: Option<Box<Event>>,
    /// What the history has here.
    pub history: Box<Event>,
    /// How the two differ.
    pub difference: Difference,
    /// Where the history has later what the code did here, as far as it was read.
    pub found_later: Option<EventId>,
}

/// How code and history differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Difference {
    /// The code did something of another kind.
    Kind,
    /// The name differs.
    Name,
    /// The input differs, as text and as JSON.
    Input,
    /// The id of the child or of the started instance differs.
    Instance,
    /// The state key differs.
    Key,
    /// The number of the promise differs.
    Number,
    /// The receiver of the message differs.
    Target,
    /// One of the two waits for the receipt of the message.
    Receipt,
    /// The cancelled operation differs.
    Source,
    /// The patch differs.
    Patch,
    /// The returned value, failure or version differs.
    Ending,
    /// The code emitted a command, or ended, where the history goes on with an input.
    CommandWhereInput,
    /// The history has a command that the code no longer emits.
    CommandMissing,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind => "the kind differs",
            Self::Name => "the name differs",
            Self::Input => "the input differs",
            Self::Instance => "the instance id differs",
            Self::Key => "the key differs",
            Self::Number => "the promise number differs",
            Self::Target => "the receiver differs",
            Self::Receipt => "one of the two waits for a receipt",
            Self::Source => "the cancelled operation differs",
            Self::Patch => "the patch differs",
            Self::Ending => "the returned value differs",
            Self::CommandWhereInput => "the code did more before this input than it did then",
            Self::CommandMissing => "the code no longer does this",
        })
    }
}

impl Violation {
    /// What probably changed in the code, and what to do about it.
    pub fn hint(&self) -> ViolationHint {
        let returned = self.code.as_ref().is_some_and(|code| code.is_terminal());
        match (self.difference, self.found_later) {
            (Difference::Number | Difference::Source, _) => ViolationHint::Order,
            (Difference::CommandMissing, _) => ViolationHint::Removed,
            (_, Some(found_later)) => ViolationHint::RemovedOrMoved { found_later },
            (Difference::Kind | Difference::CommandWhereInput, None) if returned => {
                ViolationHint::Removed
            }
            (Difference::Kind | Difference::CommandWhereInput | Difference::Receipt, None) => {
                ViolationHint::Added
            }
            (Difference::Name | Difference::Key | Difference::Target | Difference::Patch, None) => {
                ViolationHint::AddedOrRenamed
            }
            (Difference::Input | Difference::Instance | Difference::Ending, None) => {
                ViolationHint::Value
            }
        }
    }

    /// The sentence without its first words, "determinism violation": for a failure whose
    /// kind says so.
    pub fn without_kind(&self) -> impl fmt::Display + '_ {
        WithoutKind(self)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "determinism violation {}", WithoutKind(self))
    }
}

struct WithoutKind<'a>(&'a Violation);

impl fmt::Display for WithoutKind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation {
            instance,
            execution_id,
            event_id,
            command_id,
            code,
            history,
            difference,
            found_later: _,
        } = self.0;
        write!(
            f,
            "in instance `{instance}`, execution {execution_id}, at event {event_id}"
        )?;
        if let Some(command) = command_id {
            write!(f, ", {command}")?;
        }
        write!(f, ": the history has {history}, ")?;
        match code {
            Some(code) => write!(f, "the code did {code}")?,
            None => f.write_str("the code did nothing")?,
        }
        write!(f, " ({difference}). Hint: {}", self.0.hint())
    }
}

impl core::error::Error for Violation {}

/// What probably changed in the code, and what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ViolationHint {
    /// The history has later what the code did here: a call before it was removed, or the
    /// two were swapped.
    RemovedOrMoved {
        /// Where the history has it.
        found_later: EventId,
    },
    /// The history does not have what the code did here: the call was added.
    Added,
    /// The code no longer does what the history has here.
    Removed,
    /// The history has a call of the same kind with another name, and not that of the code.
    AddedOrRenamed,
    /// The same call has another value.
    Value,
    /// The same calls come in another order.
    Order,
}

impl fmt::Display for ViolationHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RemovedOrMoved { found_later } => {
                return write!(
                    f,
                    "the history has this later, at event {found_later}: was a call before it \
                     removed, or were two calls swapped, since this instance started? Guard the \
                     change with `patched`, or register it as a new version"
                );
            }
            Self::Added => {
                "was a call added since this instance started? \
                 Guard it with `patched`, or register the change as a new version"
            }
            Self::Removed => {
                "was a call removed, or does a condition depend on something that is not recorded? \
                 Guard the change with `patched`, or register it as a new version"
            }
            Self::AddedOrRenamed => {
                "was a call added or renamed since this instance started? Guard an added call with \
                 `patched`, and keep the old name of a renamed one for running instances"
            }
            Self::Value => {
                "does the value depend on time, randomness, the environment or the order of a \
                 hash map? Take it from the context (`now`, `uuid`, `random`) or record it with `run`"
            }
            Self::Order => {
                "does the order of calls depend on something that is not recorded, \
                 such as an unbiased select over values that are ready at once? Use `biased;` there"
            }
        })
    }
}
