//! What orchestration code can ask for.
//!
//! A [`Command`] has an answer that the code awaits, a [`OneWayCommand`] has none, an
//! [`Ending`] is how the code returns. The cursor turns each of them into an
//! output event and gives it its position; nothing here knows about positions.

use alloc::boxed::Box;

use crate::attribute::AttributeValue;
use crate::event::{DetachedOptions, Event};
use crate::failure::Failure;
use crate::id::{EventId, ExecutionId, PromiseToken};
use crate::options::ActivityOptions;
use crate::text::{InstanceId, Name, Payload, Version};

/// A command with an answer: made when a durable future is first polled.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command {
    /// Call an activity.
    Activity {
        /// The activity.
        name: Name,
        /// What to call it with.
        input: Payload,
        /// How to run it.
        options: ActivityOptions,
    },
    /// Set a timer.
    Timer {
        /// When it is due.
        fire_at_ms: u64,
    },
    /// Wait for an external event.
    External {
        /// The name to wait for.
        name: Name,
    },
    /// Take an external event that is there, or learn that there is none. Of one poll
    /// those who wait come first, then the looks.
    TryExternal {
        /// The name to look for.
        name: Name,
    },
    /// Listen for all external events of a name, one after the other. Each of them is an
    /// [item](crate::OpPoll::Item) of the operation, which ends when it is closed.
    ExternalEvents {
        /// The name to listen for.
        name: Name,
    },
    /// Start a sub-orchestration and wait for it.
    SubOrchestration {
        /// The orchestration.
        name: Name,
        /// The version; `None` is the newest.
        version: Option<Version>,
        /// The child's id; `None` derives one from the position of the event.
        instance: Option<InstanceId>,
        /// What to start it with.
        input: Payload,
    },
    /// Send an event to another instance and wait until it is delivered.
    SendEvent {
        /// The instance.
        target: InstanceId,
        /// The name of the event.
        name: Name,
        /// What it carries.
        data: Payload,
    },
    /// Run a side effect once and record what it returned. Runs that are first
    /// polled in one poll are concurrent: they are executed in the order of their
    /// names, one at a time.
    Run {
        /// The name of the side effect.
        name: Name,
    },
    /// Ask whether the code may take the new path of a patch.
    Patch {
        /// The patch.
        patch_id: Name,
    },
}

/// A command without an answer: made by the call itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OneWayCommand {
    /// Start another orchestration and do not wait for it.
    StartDetached {
        /// The orchestration.
        name: Name,
        /// The version; `None` is the newest.
        version: Option<Version>,
        /// Its id; `None` derives one from the position of the event.
        instance: Option<InstanceId>,
        /// What to start it with.
        input: Payload,
        /// How to start it; `None` is plainly.
        options: Option<Box<DetachedOptions>>,
    },
    /// Set a state key.
    SetState {
        /// The key.
        key: Name,
        /// Its new value.
        value: Payload,
    },
    /// Clear a state key.
    ClearState {
        /// The key.
        key: Name,
    },
    /// Set the custom status.
    SetCustomStatus {
        /// The status.
        status: Payload,
    },
    /// Clear the custom status.
    ClearCustomStatus,
    /// Set an attribute.
    SetAttribute {
        /// The attribute.
        name: Name,
        /// Its new value.
        value: AttributeValue,
    },
    /// Clear an attribute.
    ClearAttribute {
        /// The attribute.
        name: Name,
    },
    /// Send an event to another instance, without a receipt.
    SendEvent {
        /// The instance.
        target: InstanceId,
        /// The name of the event.
        name: Name,
        /// What it carries.
        data: Payload,
    },
    /// Resolve or reject a promise of another instance.
    ResolvePromise {
        /// The promise.
        target: PromiseToken,
        /// The value, or why there is none.
        resolution: Result<Payload, Failure>,
    },
}

/// How the code returned.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// With a value.
    Completed {
        /// The value.
        output: Payload,
    },
    /// With a failure.
    Failed {
        /// The failure.
        failure: Failure,
    },
    /// To go on in a new execution.
    ContinuedAsNew {
        /// What the next execution is started with.
        input: Payload,
        /// The version of the next execution; `None` is the newest.
        version: Option<Version>,
    },
}

/// The id of a child that was given none: it follows from the position of its
/// scheduling event, so it is the same in every replay.
pub(crate) fn derived_instance(
    parent: &InstanceId,
    execution_id: ExecutionId,
    event_id: EventId,
) -> InstanceId {
    InstanceId::from(alloc::format!("{parent}/{execution_id}/{event_id}"))
}

/// Stands for "derive the id" in an event that has no position yet. No stored
/// event has it: an empty id is refused wherever ids come in.
pub(crate) fn is_to_be_derived(instance: &InstanceId) -> bool {
    instance.is_empty()
}

/// No id; see [`is_to_be_derived`].
pub(crate) fn to_be_derived() -> InstanceId {
    InstanceId::from("")
}

const NO_POSITION: EventId = EventId::UNASSIGNED;

impl Command {
    /// The output event of this command, without its position. A run has none
    /// before it ran, and a look has none if it is in vain.
    pub(crate) fn into_event(self, execution_id: ExecutionId) -> Option<Event> {
        let event_id = NO_POSITION;
        Some(match self {
            Self::Activity {
                name,
                input,
                options,
            } => Event::ActivityScheduled {
                event_id,
                name,
                input,
                execution_id,
                options,
            },
            Self::Timer { fire_at_ms } => Event::TimerCreated {
                event_id,
                fire_at_ms,
                execution_id,
            },
            Self::External { name } => Event::ExternalSubscribed { event_id, name },
            Self::ExternalEvents { name } => Event::ExternalEventsSubscribed { event_id, name },
            Self::SubOrchestration {
                name,
                version,
                instance,
                input,
            } => Event::SubOrchestrationScheduled {
                event_id,
                name,
                version,
                instance: instance.unwrap_or_else(to_be_derived),
                input,
                execution_id,
            },
            Self::SendEvent { target, name, data } => Event::ExternalEventSent {
                event_id,
                target,
                name,
                data,
                awaits_receipt: true,
            },
            Self::Patch { patch_id } => Event::PatchMarked { event_id, patch_id },
            Self::Run { .. } | Self::TryExternal { .. } => return None,
        })
    }
}

impl OneWayCommand {
    /// Whether it sets or clears something that the code can read.
    pub(crate) const fn sets_value(&self) -> bool {
        match self {
            Self::SetState { .. }
            | Self::ClearState { .. }
            | Self::SetCustomStatus { .. }
            | Self::ClearCustomStatus
            | Self::SetAttribute { .. }
            | Self::ClearAttribute { .. } => true,
            Self::StartDetached { .. } | Self::SendEvent { .. } | Self::ResolvePromise { .. } => {
                false
            }
        }
    }

    /// The output event of this command, without its position.
    pub(crate) fn into_event(self) -> Event {
        let event_id = NO_POSITION;
        match self {
            Self::StartDetached {
                name,
                version,
                instance,
                input,
                options,
            } => Event::OrchestrationChained {
                event_id,
                name,
                version,
                instance: instance.unwrap_or_else(to_be_derived),
                input,
                options,
            },
            Self::SetState { key, value } => Event::StateSet {
                event_id,
                key,
                value,
            },
            Self::ClearState { key } => Event::StateCleared { event_id, key },
            Self::SetCustomStatus { status } => Event::CustomStatusSet { event_id, status },
            Self::ClearCustomStatus => Event::CustomStatusCleared { event_id },
            Self::SetAttribute { name, value } => Event::AttributeSet {
                event_id,
                name,
                value,
            },
            Self::ClearAttribute { name } => Event::AttributeCleared { event_id, name },
            Self::SendEvent { target, name, data } => Event::ExternalEventSent {
                event_id,
                target,
                name,
                data,
                awaits_receipt: false,
            },
            Self::ResolvePromise { target, resolution } => Event::PromiseResolutionSent {
                event_id,
                target,
                resolution,
            },
        }
    }
}

impl Ending {
    /// The terminal event of this ending, without its position.
    pub(crate) fn into_event(self) -> Event {
        let event_id = NO_POSITION;
        match self {
            Self::Completed { output } => Event::OrchestrationCompleted { event_id, output },
            Self::Failed { failure } => Event::OrchestrationFailed { event_id, failure },
            Self::ContinuedAsNew { input, version } => Event::OrchestrationContinuedAsNew {
                event_id,
                input,
                version,
            },
        }
    }
}
