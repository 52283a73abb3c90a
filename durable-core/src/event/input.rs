//! What an input tells the execution.

use super::define::{Event, EventKind};
use super::parts::Carried;
use crate::failure::Failure;
use crate::id::EventId;
use crate::text::{MessageId, Name, Payload};

/// What an input tells the execution.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Input<'a> {
    /// It begins, with what the execution before it left behind.
    Start(Option<&'a Carried>),
    /// An operation came to its end.
    Completion(Completion<'a>),
    /// An external event arrived.
    External {
        name: &'a Name,
        data: &'a Payload,
        message_id: &'a MessageId,
    },
    /// It is asked to stop.
    Cancel { reason: &'a str },
}

/// The end of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Completion<'a> {
    /// The event that scheduled the operation.
    pub(crate) source_event_id: EventId,
    /// The kind that this event must have.
    pub(crate) source_kind: EventKind,
    pub(crate) brings: Brings<'a>,
}

/// What a completion brings.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Brings<'a> {
    Value(&'a Payload),
    Failure(&'a Failure),
    /// Nothing but the news that a timer fired.
    Nothing,
    /// Nothing but the news that a message was delivered.
    Receipt,
}

impl Event {
    /// What it tells the execution, if it is an input.
    #[inline]
    pub(crate) fn input(&self) -> Option<Input<'_>> {
        let brings = match self {
            Self::OrchestrationStarted { carried, .. } => {
                return Some(Input::Start(carried.as_deref()));
            }
            Self::ExternalEvent {
                name,
                data,
                message_id,
                ..
            } => {
                return Some(Input::External {
                    name,
                    data,
                    message_id,
                });
            }
            Self::OrchestrationCancelRequested { reason, .. } => {
                return Some(Input::Cancel { reason });
            }
            Self::ActivityCompleted { result: value, .. }
            | Self::SubOrchestrationCompleted { result: value, .. }
            | Self::PromiseResolved { value, .. } => Brings::Value(value),
            Self::ActivityFailed { failure, .. }
            | Self::SubOrchestrationFailed { failure, .. }
            | Self::PromiseRejected { failure, .. }
            | Self::ExternalEventUndeliverable { failure, .. } => Brings::Failure(failure),
            Self::TimerFired { .. } => Brings::Nothing,
            Self::ExternalEventDelivered { .. } => Brings::Receipt,
            Self::ActivityScheduled { .. }
            | Self::ActivityCancelRequested { .. }
            | Self::TimerCreated { .. }
            | Self::TimerCancelled { .. }
            | Self::ExternalSubscribed { .. }
            | Self::ExternalEventsSubscribed { .. }
            | Self::SubOrchestrationScheduled { .. }
            | Self::SubOrchestrationCancelRequested { .. }
            | Self::OrchestrationChained { .. }
            | Self::OperationCompleted { .. }
            | Self::StateSet { .. }
            | Self::StateCleared { .. }
            | Self::PromiseCreated { .. }
            | Self::ExternalEventSent { .. }
            | Self::PromiseResolutionSent { .. }
            | Self::CustomStatusSet { .. }
            | Self::CustomStatusCleared { .. }
            | Self::AttributeSet { .. }
            | Self::AttributeCleared { .. }
            | Self::PatchMarked { .. }
            | Self::OrchestrationCompleted { .. }
            | Self::OrchestrationFailed { .. }
            | Self::OrchestrationContinuedAsNew { .. }
            | Self::OrchestrationTerminated { .. } => return None,
        };
        Some(Input::Completion(Completion {
            source_event_id: self.source_event_id()?,
            source_kind: self.kind().source_kind()?,
            brings,
        }))
    }
}
