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

impl Difference {
    /// What usually causes it, and what to do.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Kind | Self::CommandWhereInput => {
                "was a call added, removed or moved since this instance started? \
                 Guard the change with `patched`, or register it as a new version"
            }
            Self::CommandMissing => {
                "was a call removed, or does a condition depend on something that is not recorded? \
                 Guard the change with `patched`, or register it as a new version"
            }
            Self::Name | Self::Key | Self::Target | Self::Patch => {
                "was something renamed since this instance started? \
                 Keep the old name for running instances"
            }
            Self::Input | Self::Instance | Self::Ending => {
                "does the value depend on time, randomness, the environment or the order of a \
                 hash map? Take it from the context (`now`, `uuid`, `random`) or record it with `run`"
            }
            Self::Number | Self::Source => {
                "does the order of calls depend on something that is not recorded, \
                 such as an unbiased select over values that are ready at once? Use `biased;` there"
            }
        }
    }
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
            Self::Source => "the cancelled operation differs",
            Self::Patch => "the patch differs",
            Self::Ending => "the returned value differs",
            Self::CommandWhereInput => "the code did more before this input than it did then",
            Self::CommandMissing => "the code no longer does this",
        })
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            instance,
            execution_id,
            event_id,
            ..
        } = self;
        write!(
            f,
            "determinism violation in instance `{instance}`, execution {execution_id}, \
             at event {event_id}"
        )?;
        if let Some(command) = self.command_id {
            write!(f, ", {command}")?;
        }
        write!(f, ": the history has {}, ", self.history)?;
        match &self.code {
            Some(code) => write!(f, "the code did {code}")?,
            None => f.write_str("the code did nothing")?,
        }
        write!(
            f,
            " ({}). Hint: {}",
            self.difference,
            self.difference.hint()
        )
    }
}

impl core::error::Error for Violation {}
