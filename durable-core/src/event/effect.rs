//! What an event asks of the world, once it is recorded.
//!
//! The runtime does what the effects of a turn's events say, in the order of the events.
//! Nothing here is done, and no event is judged by whether it may have its effect.

use alloc::boxed::Box;

use super::define::Event;
use super::parts::Requester;
use crate::failure::Failure;
use crate::id::{EventId, PromiseToken};
use crate::options::ActivityOptions;
use crate::text::{InstanceId, MessageId, Name, Payload, Version};

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
    StartDetached(InstanceStart<'a>),
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
    /// A request is to be made of another instance. The code waits for the answer.
    SendRequest {
        /// The instance.
        target: &'a InstanceId,
        /// The request.
        name: &'a Name,
        /// What it carries.
        input: &'a Payload,
    },
    /// A request is to be answered.
    AnswerRequest {
        /// The event that brought it.
        event_id: EventId,
        /// Its id.
        message_id: &'a MessageId,
        /// The orchestration that waits for the answer; `None` is a client.
        requester: Option<&'a Requester>,
        /// The answer, or why there is none.
        result: &'a Result<Payload, Failure>,
    },
    /// A view of the instance has a new value, or none any more: what the event says.
    ChangeView {
        /// The view.
        name: &'a Name,
    },
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
    /// A request of this orchestration.
    RequestOf(Box<Requester>),
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
                EndedOperation::Plain
                | EndedOperation::WithDeadline
                | EndedOperation::RequestOf(_) => Effect::None,
            },
            Self::OrchestrationChained {
                name,
                version,
                instance,
                input,
                ..
            } => Effect::StartDetached(InstanceStart {
                name,
                version: version.as_ref(),
                instance,
                input,
            }),
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
            Self::RequestSent {
                target,
                name,
                input,
                ..
            } => Effect::SendRequest {
                target,
                name,
                input,
            },
            Self::RequestAnswered {
                source_event_id,
                message_id,
                result,
                ..
            } => Effect::AnswerRequest {
                event_id: *source_event_id,
                message_id,
                requester: match ended {
                    EndedOperation::RequestOf(requester) => Some(requester),
                    EndedOperation::Plain
                    | EndedOperation::WithDeadline
                    | EndedOperation::Child(_) => None,
                },
                result,
            },
            Self::ViewPublished { name, .. } | Self::ViewCleared { name, .. } => {
                Effect::ChangeView { name }
            }
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
            | Self::RequestReceived { .. }
            | Self::RequestCompleted { .. }
            | Self::RequestFailed { .. }
            | Self::PatchMarked { .. }
            | Self::OrchestrationCancelRequested { .. } => Effect::None,
        }
    }
}
