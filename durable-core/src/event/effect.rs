//! What an event asks of the world, once it is recorded.
//!
//! The runtime does what the effects of a turn's events say, in the order of the events.
//! Nothing here is done, and no event is judged by whether it may have its effect.

use alloc::boxed::Box;

use super::define::Event;
use super::parts::DetachedOptions;
use crate::failure::Failure;
use crate::id::{EventId, PromiseToken};
use crate::options::ActivityOptions;
use crate::text::{InstanceId, Name, Payload, Version};

/// What an event asks of the world.
///
/// It can be matched exhaustively on purpose, unlike [`Event`]: a runtime that leaves an
/// effect out is wrong, and the compiler should say so.
/// [`AppendedEntry::effect`](crate::AppendedEntry::effect) gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect<'a> {
    /// Nothing: it concerns the code alone.
    None,
    /// The instance runs this code from now on.
    Begin {
        /// The orchestration.
        name: &'a Name,
        /// Its version.
        version: &'a Version,
    },
    /// An activity is to be run.
    RunActivity {
        /// The activity.
        name: &'a Name,
        /// What to call it with.
        input: &'a Payload,
        /// How to run it.
        options: &'a ActivityOptions,
    },
    /// The code no longer waits for an activity.
    CancelActivity {
        /// Its `ActivityScheduled`.
        event_id: EventId,
        /// Whether it has a total timeout: its deadline is to be removed, too.
        has_deadline: bool,
    },
    /// An activity with a total timeout has ended: its deadline is to be removed.
    RemoveDeadline {
        /// Its `ActivityScheduled`.
        event_id: EventId,
    },
    /// A timer is to fire.
    SetTimer {
        /// When.
        fire_at_ms: u64,
    },
    /// The code no longer waits for a timer.
    CancelTimer {
        /// Its `TimerCreated`.
        event_id: EventId,
    },
    /// A child is to be started. Its parent waits for its result.
    StartChild(InstanceStart<'a>),
    /// The code no longer waits for a child.
    CancelChild {
        /// Its `SubOrchestrationScheduled`.
        event_id: EventId,
        /// The child.
        instance: &'a InstanceId,
    },
    /// An instance is to be started that no parent waits for.
    StartDetached(InstanceStart<'a>, Option<&'a DetachedOptions>),
    /// An event is to be raised at another instance.
    RaiseEvent {
        /// The instance.
        target: &'a InstanceId,
        /// The name of the event.
        name: &'a Name,
        /// What it carries.
        data: &'a Payload,
        /// Whether the code is to be told what became of it.
        awaits_receipt: bool,
    },
    /// A promise of another instance is to be resolved or rejected.
    SettlePromise {
        /// The promise.
        target: &'a PromiseToken,
        /// The value, or why there is none.
        resolution: &'a Result<Payload, Failure>,
    },
    /// The instance has a new custom status.
    SetCustomStatus {
        /// The status.
        status: &'a Payload,
    },
    /// The instance has no custom status any more.
    ClearCustomStatus,
    /// The instance has other attributes: those that [the cursor](crate::Cursor::attributes)
    /// says.
    ChangeAttributes,
    /// The execution ends and goes on in a new one.
    ContinueAsNew,
    /// The execution ends with a value, and the instance with it.
    Complete {
        /// The value.
        output: &'a Payload,
    },
    /// The execution ends with a failure, and the instance with it.
    Fail {
        /// The failure.
        failure: &'a Failure,
    },
    /// The execution was ended from outside, and the instance with it.
    Terminate {
        /// Why.
        failure: &'a Failure,
    },
}

/// An instance that is to be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstanceStart<'a> {
    /// The orchestration.
    pub name: &'a Name,
    /// The version; `None` is the newest.
    pub version: Option<&'a Version>,
    /// The id of the instance.
    pub instance: &'a InstanceId,
    /// What to start it with.
    pub input: &'a Payload,
}

/// What the cursor knows of the operation that an event ends, and the event does not say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum EndedOperation {
    /// Nothing, or the event ends none.
    #[default]
    Plain,
    /// An activity with a total timeout.
    WithDeadline,
    /// This child.
    Child(Box<InstanceId>),
}

impl Event {
    /// What the event asks of the world, once it is recorded.
    pub(crate) fn effect<'a>(&'a self, ended: &'a EndedOperation) -> Effect<'a> {
        let has_deadline = *ended == EndedOperation::WithDeadline;
        match self {
            Self::OrchestrationStarted { name, version, .. } => Effect::Begin { name, version },
            Self::ActivityScheduled {
                name,
                input,
                options,
                ..
            } => Effect::RunActivity {
                name,
                input,
                options,
            },
            Self::ActivityCancelRequested {
                source_event_id, ..
            } => Effect::CancelActivity {
                event_id: *source_event_id,
                has_deadline,
            },
            Self::ActivityCompleted {
                source_event_id, ..
            }
            | Self::ActivityFailed {
                source_event_id, ..
            } => match has_deadline {
                true => Effect::RemoveDeadline {
                    event_id: *source_event_id,
                },
                false => Effect::None,
            },
            Self::TimerCreated { fire_at_ms, .. } => Effect::SetTimer {
                fire_at_ms: *fire_at_ms,
            },
            Self::TimerCancelled {
                source_event_id, ..
            } => Effect::CancelTimer {
                event_id: *source_event_id,
            },
            Self::SubOrchestrationScheduled {
                name,
                version,
                instance,
                input,
                ..
            } => Effect::StartChild(InstanceStart {
                name,
                version: version.as_ref(),
                instance,
                input,
            }),
            Self::SubOrchestrationCancelRequested {
                source_event_id, ..
            } => match ended {
                EndedOperation::Child(instance) => Effect::CancelChild {
                    event_id: *source_event_id,
                    instance,
                },
                EndedOperation::Plain | EndedOperation::WithDeadline => Effect::None,
            },
            Self::OrchestrationChained {
                name,
                version,
                instance,
                input,
                options,
                ..
            } => {
                let start = InstanceStart {
                    name,
                    version: version.as_ref(),
                    instance,
                    input,
                };
                Effect::StartDetached(start, options.as_deref())
            }
            Self::ExternalEventSent {
                target,
                name,
                data,
                awaits_receipt,
                ..
            } => Effect::RaiseEvent {
                target,
                name,
                data,
                awaits_receipt: *awaits_receipt,
            },
            Self::PromiseResolutionSent {
                target, resolution, ..
            } => Effect::SettlePromise { target, resolution },
            Self::CustomStatusSet { status, .. } => Effect::SetCustomStatus { status },
            Self::CustomStatusCleared { .. } => Effect::ClearCustomStatus,
            Self::AttributeSet { .. } | Self::AttributeCleared { .. } => Effect::ChangeAttributes,
            Self::OrchestrationContinuedAsNew { .. } => Effect::ContinueAsNew,
            Self::OrchestrationCompleted { output, .. } => Effect::Complete { output },
            Self::OrchestrationFailed { failure, .. } => Effect::Fail { failure },
            Self::OrchestrationTerminated { failure, .. } => Effect::Terminate { failure },
            Self::TimerFired { .. }
            | Self::ExternalSubscribed { .. }
            | Self::ExternalEventsSubscribed { .. }
            | Self::ExternalEvent { .. }
            | Self::ExternalEventDelivered { .. }
            | Self::ExternalEventUndeliverable { .. }
            | Self::SubOrchestrationCompleted { .. }
            | Self::SubOrchestrationFailed { .. }
            | Self::OperationCompleted { .. }
            | Self::StateSet { .. }
            | Self::StateCleared { .. }
            | Self::PromiseCreated { .. }
            | Self::PromiseResolved { .. }
            | Self::PromiseRejected { .. }
            | Self::PatchMarked { .. }
            | Self::OrchestrationCancelRequested { .. } => Effect::None,
        }
    }
}
