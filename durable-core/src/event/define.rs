//! What is made from the table of events: the types, and everything that is done with
//! each field by its role.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::{fmt, mem};

use serde::{Deserialize, Serialize};

use super::compare::{Owner, Position};
use super::key::EventKey;
use super::parts::{Carried, DetachedOptions, Parent};
use super::role::{self, Role};
use crate::attribute::AttributeValue;
use crate::failure::Failure;
use crate::id::{CommandKind, EventId, ExecutionId, PromiseToken};
use crate::limits::{LimitError, Limits};
use crate::options::ActivityOptions;
use crate::payloads::{PayloadMut, VisitPayloads};
use crate::text::{InstanceId, MessageId, Name, Payload, Version};
use crate::violation::Difference;

/// On which side of the code an event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventClass {
    /// It came from outside and is delivered to the code.
    Input,
    /// The code emitted it in answer to the inputs so far.
    Output,
    /// The code ended the execution.
    Terminal,
    /// The execution was ended from outside, without the code having said so.
    Forced,
}

macro_rules! define_events {
    ($(
        $(#[$meta:meta])*
        $number:literal $class:ident $(($command:ident))? $name:ident {
            $( $(#[$field_meta:meta])* $field:ident: $type:ty as $role:expr, )*
        }
    )*) => {
        /// One fact in the history of an execution.
        ///
        /// Every variant has an `event_id`: its position, given by the cursor
        /// before anything is stored and never changed. A completion names the
        /// event that asked for it in `source_event_id`.
        ///
        /// ```
        /// use durable_core::{Event, EventId, EventKind};
        ///
        /// let done = Event::ActivityCompleted {
        ///     event_id: EventId::new(3),
        ///     source_event_id: EventId::new(2),
        ///     result: "42".into(),
        /// };
        /// assert_eq!(done.event_id(), EventId::new(3));
        /// assert_eq!(done.source_event_id(), Some(EventId::new(2)));
        /// assert_eq!(done.kind(), EventKind::ActivityCompleted);
        /// assert!(done.is_input());
        /// ```
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "type")]
        #[non_exhaustive]
        pub enum Event {
            $(
                $(#[$meta])*
                $name {
                    /// Its position in the history.
                    event_id: EventId,
                    $( $(#[$field_meta])* $field: $type, )*
                },
            )*
        }

        /// The kind of an [`Event`]; its number is what is stored and is never
        /// given to another kind.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum EventKind {
            $( $(#[$meta])* $name = $number, )*
        }

        impl EventKind {
            /// All kinds, in the order of their numbers.
            pub const ALL: &'static [Self] = &[ $( Self::$name, )* ];

            /// The kind with this number.
            pub const fn from_number(number: u16) -> Option<Self> {
                match number {
                    $( $number => Some(Self::$name), )*
                    _ => None,
                }
            }

            /// The name of the kind, as in `Event`.
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$name => stringify!($name), )*
                }
            }

            /// On which side of the code events of this kind stand.
            pub const fn class(self) -> EventClass {
                match self {
                    $( Self::$name => EventClass::$class, )*
                }
            }

            /// The kind of command that an event of this kind records; `None` for
            /// inputs, cancellations and terminals.
            pub const fn command_kind(self) -> Option<CommandKind> {
                match self {
                    $( $( Self::$name => Some(CommandKind::$command), )? )*
                    _ => None,
                }
            }

            /// For a completion or a cancellation: the kind of the event that its
            /// `source_event_id` must name.
            pub fn source_kind(self) -> Option<Self> {
                match self {
                    $( Self::$name => {
                        let kind = None;
                        $( let kind = kind.or(Role::<$type>::source_kind(&$role)); )*
                        kind
                    } )*
                }
            }
        }

        impl Event {
            /// Its position in the history.
            pub const fn event_id(&self) -> EventId {
                match self {
                    $( Self::$name { event_id, .. } )|* => *event_id,
                }
            }

            /// Its kind.
            pub const fn kind(&self) -> EventKind {
                match self {
                    $( Self::$name { .. } => EventKind::$name, )*
                }
            }

            /// The event that this one completes or cancels.
            ///
            /// External events have none: they are matched by name.
            pub fn source_event_id(&self) -> Option<EventId> {
                match self {
                    $( Self::$name { event_id: _, $( $field, )* } => {
                        let source = None;
                        $( let source = source.or($role.source_event_id($field)); )*
                        source
                    } )*
                }
            }

            /// Gives the event its position, and what follows from it. Only the cursor
            /// does this.
            pub(crate) fn assign(&mut self, owner: Owner<'_>, position: EventId) {
                let at = Position { owner, event_id: position };
                match self {
                    $( Self::$name { event_id, $( $field, )* } => {
                        *event_id = position;
                        $( $role.assign(at, $field); )*
                    } )*
                }
            }

            /// The event as the code emitted it, before it had a position.
            pub(crate) fn unassigned(&self, owner: Owner<'_>) -> Self {
                let at = Position { owner, event_id: self.event_id() };
                let mut event = self.clone();
                match &mut event {
                    $( Self::$name { event_id, $( $field, )* } => {
                        *event_id = EventId::UNASSIGNED;
                        $( $role.unassign(at, $field); )*
                    } )*
                }
                event
            }

            /// Whether the code did what is recorded, by the fields that are compared;
            /// if not, the first field that differs.
            ///
            /// The recorded value wins where a field is not compared: a timer's time, a
            /// state's value, a message's data, a run's result, a status.
            pub(crate) fn compare(
                &self,
                owner: Owner<'_>,
                recorded: &Self,
            ) -> Result<(), Difference> {
                let at = Position { owner, event_id: recorded.event_id() };
                if mem::discriminant(self) != mem::discriminant(recorded) {
                    return Err(Difference::Kind);
                }
                match self {
                    $( Self::$name { event_id: _, $( $field, )* } => {
                        $(
                            let Self::$name { $field: other, .. } = recorded else {
                                return Err(Difference::Kind);
                            };
                            $role.compare(at, $field, other)?;
                        )*
                        Ok(())
                    } )*
                }
            }

            /// Whether the code did what is recorded, and both are alike also in what
            /// replay does not compare.
            pub(crate) fn is_exact(&self, owner: Owner<'_>, recorded: &Self) -> bool {
                let at = Position { owner, event_id: recorded.event_id() };
                if mem::discriminant(self) != mem::discriminant(recorded) {
                    return false;
                }
                match self {
                    $( Self::$name { event_id: _, $( $field, )* } => {
                        $(
                            let Self::$name { $field: other, .. } = recorded else {
                                return false;
                            };
                            if !$role.is_exact(at, $field, other) {
                                return false;
                            }
                        )*
                        true
                    } )*
                }
            }

            /// Adds what tells the event apart from others of its kind.
            pub(super) fn add_to_key<'a>(&'a self, key: &mut EventKey<'a>, owner: Owner<'_>) {
                let at = Position { owner, event_id: self.event_id() };
                match self {
                    $( Self::$name { event_id: _, $( $field, )* } => {
                        $( $role.add_to_key(key, at, $field); )*
                    } )*
                }
            }

            /// Measures its names and payloads.
            pub(crate) fn check_limits(&self, limits: &Limits) -> Result<(), LimitError> {
                match self {
                    $( Self::$name { event_id: _, $( $field, )* } => {
                        $( $role.check_limits(limits, $field)?; )*
                        Ok(())
                    } )*
                }
            }

            /// Shows what it is called, and then what else is said of it.
            fn show_fields(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $( Self::$name { event_id: _, $( $field, )* } => {
                        $( $role.show_name($field, f)?; )*
                        $( $role.show_detail($field, f)?; )*
                        Ok(())
                    } )*
                }
            }
        }

        impl VisitPayloads for Event {
            fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
                match self {
                    $( Self::$name { event_id: _, $( $field, )* } => {
                        $( $role.visit_payloads($field, payloads); )*
                    } )*
                }
            }
        }
    };
}

__event_table!(define_events);

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One line, for people. Payloads stay out: they may be secret and they may be long.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().name())?;
        self.show_fields(f)?;
        match self.source_event_id() {
            Some(source) => write!(f, " of event {source}"),
            None => Ok(()),
        }
    }
}
