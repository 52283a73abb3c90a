//! The table of all events.

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::parts::{Carried, Parent};
use crate::failure::Failure;
use crate::id::{EventId, ExecutionId, PromiseToken};
use crate::options::ActivityOptions;
use crate::text::{InstanceId, MessageId, Name, Payload, Version};

/// On which side of the code an event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventClass {
    /// It came from outside and is delivered to the code.
    Input,
    /// The code emitted it in answer to the inputs so far.
    Output,
    /// It ends the execution.
    Terminal,
}

/// Defines [`Event`] and [`EventKind`] from one list of
/// `number class Name { fields }`, and gives every event its `event_id`.
macro_rules! events {
    ($(
        $(#[$meta:meta])*
        $number:literal $class:ident $name:ident {
            $( $(#[$field_meta:meta])* $field:ident: $type:ty, )*
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
        }

        impl Event {
            /// Its position in the history.
            pub const fn event_id(&self) -> EventId {
                match self {
                    $( Self::$name { event_id, .. } )|* => *event_id,
                }
            }

            /// Gives the event its position. Only the cursor does this.
            pub(crate) fn set_event_id(&mut self, position: EventId) {
                match self {
                    $( Self::$name { event_id, .. } )|* => *event_id = position,
                }
            }

            /// Its kind.
            pub const fn kind(&self) -> EventKind {
                match self {
                    $( Self::$name { .. } => EventKind::$name, )*
                }
            }
        }
    };
}

events! {
    /// The execution began. Always event 1.
    1 Input OrchestrationStarted {
        /// The orchestration.
        name: Name,
        /// The version that this execution runs on until its end.
        version: Version,
        /// What it was started with.
        input: Payload,
        /// The parent that waits for it, if it is a sub-orchestration.
        parent: Option<Parent>,
        /// What the execution before it left behind.
        carried: Carried,
    }

    /// The code called an activity. A full record of the work.
    2 Output ActivityScheduled {
        /// The activity.
        name: Name,
        /// What it is called with.
        input: Payload,
        /// The execution that called it.
        execution_id: ExecutionId,
        /// How it is to be run.
        options: ActivityOptions,
    }

    /// An activity succeeded.
    3 Input ActivityCompleted {
        /// Its `ActivityScheduled`.
        source_event_id: EventId,
        /// What it returned.
        result: Payload,
    }

    /// An activity failed for good.
    4 Input ActivityFailed {
        /// Its `ActivityScheduled`.
        source_event_id: EventId,
        /// Why.
        failure: Failure,
    }

    /// The code gave up an activity that had not finished.
    5 Output ActivityCancelRequested {
        /// Its `ActivityScheduled`.
        source_event_id: EventId,
    }

    /// The code set a timer.
    6 Output TimerCreated {
        /// When it is due, by the store's clock.
        fire_at_ms: u64,
        /// The execution that set it.
        execution_id: ExecutionId,
    }

    /// A timer fired.
    7 Input TimerFired {
        /// Its `TimerCreated`.
        source_event_id: EventId,
        /// When it was due.
        fire_at_ms: u64,
    }

    /// The code gave up a timer that had not fired.
    8 Output TimerCancelled {
        /// Its `TimerCreated`.
        source_event_id: EventId,
    }

    /// The code began to wait for an external event.
    9 Output ExternalSubscribed {
        /// The name it waits for.
        name: Name,
    }

    /// A client or another instance raised an event. It is matched by name: the
    /// sender knows no event ids.
    10 Input ExternalEvent {
        /// The name it was raised with.
        name: Name,
        /// What it carries.
        data: Payload,
        /// The sender's id of it.
        message_id: MessageId,
    }

    /// The code started a sub-orchestration and waits for it.
    11 Output SubOrchestrationScheduled {
        /// The orchestration.
        name: Name,
        /// The version asked for; `None` is the newest.
        version: Option<Version>,
        /// The child's instance id.
        instance: InstanceId,
        /// What it is started with.
        input: Payload,
        /// The execution that started it.
        execution_id: ExecutionId,
    }

    /// A sub-orchestration succeeded.
    12 Input SubOrchestrationCompleted {
        /// Its `SubOrchestrationScheduled`.
        source_event_id: EventId,
        /// What it returned.
        result: Payload,
    }

    /// A sub-orchestration failed, or could not be started.
    13 Input SubOrchestrationFailed {
        /// Its `SubOrchestrationScheduled`.
        source_event_id: EventId,
        /// Why.
        failure: Failure,
    }

    /// The code gave up a sub-orchestration that had not finished.
    14 Output SubOrchestrationCancelRequested {
        /// Its `SubOrchestrationScheduled`.
        source_event_id: EventId,
    }

    /// The code started another orchestration and does not wait for it.
    15 Output OrchestrationChained {
        /// The orchestration.
        name: Name,
        /// The version asked for; `None` is the newest.
        version: Option<Version>,
        /// Its instance id.
        instance: InstanceId,
        /// What it is started with.
        input: Payload,
    }

    /// A recorded side effect ran.
    16 Output OperationCompleted {
        /// The name that the code gave it.
        name: Name,
        /// What it returned.
        result: Result<Payload, Failure>,
    }

    /// The code set a state key.
    17 Output StateSet {
        /// The key.
        key: Name,
        /// Its new value.
        value: Payload,
    }

    /// The code cleared a state key.
    18 Output StateCleared {
        /// The key.
        key: Name,
    }

    /// The code created a promise.
    19 Output PromiseCreated {
        /// The name that the code gave it.
        name: Name,
        /// Which promise of the execution it is, from 0.
        number: u64,
    }

    /// A promise was resolved.
    20 Input PromiseResolved {
        /// Its `PromiseCreated`.
        source_event_id: EventId,
        /// The value.
        value: Payload,
    }

    /// A promise was rejected.
    21 Input PromiseRejected {
        /// Its `PromiseCreated`.
        source_event_id: EventId,
        /// Why.
        failure: Failure,
    }

    /// The code sent an event to another instance.
    22 Output ExternalEventSent {
        /// The instance.
        target: InstanceId,
        /// The name of the event.
        name: Name,
        /// What it carries.
        data: Payload,
    }

    /// The code resolved or rejected a promise of another instance.
    23 Output PromiseResolutionSent {
        /// The promise.
        target: PromiseToken,
        /// The value, or why there is none.
        resolution: Result<Payload, Failure>,
    }

    /// The code set its custom status.
    24 Output CustomStatusSet {
        /// The status.
        status: Payload,
    }

    /// The code took the new path of a patch.
    25 Output PatchMarked {
        /// The patch.
        patch_id: Name,
    }

    /// A client or the parent asked the execution to stop. The code decides how.
    26 Input OrchestrationCancelRequested {
        /// Why.
        reason: String,
    }

    /// The code returned a value.
    27 Terminal OrchestrationCompleted {
        /// The value.
        output: Payload,
    }

    /// The code returned a failure.
    28 Terminal OrchestrationFailed {
        /// The failure.
        failure: Failure,
    }

    /// The code goes on in a new execution with an empty history.
    29 Terminal OrchestrationContinuedAsNew {
        /// What the next execution is started with.
        input: Payload,
        /// The version of the next execution; `None` is the newest.
        version: Option<Version>,
    }

    /// The execution was ended from outside: terminated, or failed by policy
    /// after a panic or a violation.
    30 Terminal OrchestrationTerminated {
        /// Why.
        failure: Failure,
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
