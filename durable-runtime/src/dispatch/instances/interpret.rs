//! What a message means to an execution.

use durable_core::provider::{Message, MessageBody, StartInstance, WorkKey};
use durable_core::{Carried, Event, EventId, ExecutionId, Failure, Payload, Version};

use super::Incoming;
use crate::dispatch::activities;
use crate::execution::{Execution, ExecutionFault};
use crate::registry::Registry;

/// What a message means to an execution.
#[derive(Debug)]
pub(super) enum Meaning {
    /// An input, to be delivered.
    Input(Event),
    /// The total timeout of an open activity has passed: it fails, and its work is
    /// cancelled.
    DeadlinePassed(PassedDeadline),
    /// A start for an instance that has started: the parent that sent it is to be told.
    StartRefused(StartInstance),
    /// Nothing: it is for another execution, or about something unknown.
    Nothing(&'static str),
}

/// The total timeout of an activity has passed.
#[derive(Debug)]
pub(super) struct PassedDeadline {
    /// Its `ActivityScheduled`.
    pub(super) scheduled: EventId,
    /// What the code gets to know.
    pub(super) failure: Failure,
    /// When it passed, by the store's clock.
    pub(super) due_ms: u64,
}

impl PassedDeadline {
    /// The input that ends the activity.
    pub(super) fn into_event(self) -> Event {
        activity_event(self.scheduled, Err(self.failure))
    }
}

/// Reads what came in. It is a fault if this node cannot decode it, or lacks the
/// orchestration that it starts.
pub(super) fn interpret(
    execution: &Execution,
    registry: &Registry,
    incoming: &Incoming,
) -> Result<Meaning, ExecutionFault> {
    match incoming {
        Incoming::Result(done) => Ok(activity_finished(
            execution,
            &done.lease.key,
            done.result.clone(),
        )),
        Incoming::Settled(_) => Ok(Meaning::Nothing("settled")),
        Incoming::Unreadable(unreadable) => Err(unreadable.error.clone().into()),
        Incoming::Message(delivered) => interpret_message(execution, registry, &delivered.message),
    }
}

fn activity_finished(
    execution: &Execution,
    key: &WorkKey,
    result: Result<Payload, Failure>,
) -> Meaning {
    if key.execution_id != execution.execution_id() {
        return Meaning::Nothing("other_execution");
    }
    Meaning::Input(activity_event(key.event_id, result))
}

fn interpret_message(
    execution: &Execution,
    registry: &Registry,
    message: &Message,
) -> Result<Meaning, ExecutionFault> {
    if let Some(addressed) = addressed_execution(&message.body)
        && addressed != execution.execution_id()
    {
        return Ok(Meaning::Nothing("other_execution"));
    }
    if execution.identity().is_none() && !matches!(message.body, MessageBody::Start(_)) {
        return Ok(Meaning::Nothing("before_start"));
    }
    let event_id = EventId::UNASSIGNED;
    Ok(match message.body.clone() {
        MessageBody::Start(start) => return interpret_start(execution, registry, start),
        MessageBody::ActivityFinished {
            source_event_id,
            result,
            ..
        } => Meaning::Input(activity_event(source_event_id, result)),
        MessageBody::TimerFired {
            source_event_id,
            fire_at_ms,
            ..
        } => timer_fired(execution, source_event_id, fire_at_ms),
        MessageBody::SubOrchestrationFinished {
            source_event_id,
            result,
            ..
        } => Meaning::Input(match result {
            Ok(result) => Event::SubOrchestrationCompleted {
                event_id,
                source_event_id,
                result,
            },
            Err(failure) => Event::SubOrchestrationFailed {
                event_id,
                source_event_id,
                failure,
            },
        }),
        MessageBody::ExternalRaised { name, data } => Meaning::Input(Event::ExternalEvent {
            event_id,
            name,
            data,
            message_id: message.message_id.clone(),
        }),
        MessageBody::PromiseSettled {
            number, resolution, ..
        } => promise_settled(execution, number, resolution),
        MessageBody::Cancel { reason } => {
            Meaning::Input(Event::OrchestrationCancelRequested { event_id, reason })
        }
        MessageBody::Terminate { failure } => {
            Meaning::Input(Event::OrchestrationTerminated { event_id, failure })
        }
        _ => Meaning::Nothing("unknown_message"),
    })
}

/// The execution that a message is meant for, if it is meant for a certain one.
fn addressed_execution(body: &MessageBody) -> Option<ExecutionId> {
    match body {
        MessageBody::ActivityFinished { execution_id, .. }
        | MessageBody::TimerFired { execution_id, .. }
        | MessageBody::SubOrchestrationFinished { execution_id, .. }
        | MessageBody::PromiseSettled { execution_id, .. } => Some(*execution_id),
        _ => None,
    }
}

fn interpret_start(
    execution: &Execution,
    registry: &Registry,
    start: StartInstance,
) -> Result<Meaning, ExecutionFault> {
    if let Some(identity) = execution.identity() {
        let is_repeated = start.parent.is_some() && start.parent == identity.parent;
        return Ok(match is_repeated {
            true => Meaning::Nothing("started_already"),
            false => Meaning::StartRefused(start),
        });
    }
    let version = start
        .version
        .clone()
        .or_else(|| registry.newest_version(&start.name));
    match version {
        Some(version) if registry.orchestration(&start.name, &version).is_some() => {
            Ok(Meaning::Input(Event::OrchestrationStarted {
                event_id: EventId::UNASSIGNED,
                name: start.name,
                version,
                input: start.input,
                parent: start.parent,
                carried: Carried::of_start(start.attributes, start.trace_parent),
            }))
        }
        _ => Err(ExecutionFault::NotRegistered {
            name: start.name,
            version: start.version.unwrap_or_else(|| Version::from("(any)")),
        }),
    }
}

fn activity_event(source_event_id: EventId, result: Result<Payload, Failure>) -> Event {
    let event_id = EventId::UNASSIGNED;
    match result {
        Ok(result) => Event::ActivityCompleted {
            event_id,
            source_event_id,
            result,
        },
        Err(failure) => Event::ActivityFailed {
            event_id,
            source_event_id,
            failure,
        },
    }
}

/// The deadline of an activity is a timer that is named by the activity's own event.
fn timer_fired(execution: &Execution, source_event_id: EventId, fire_at_ms: u64) -> Meaning {
    match execution.activity_deadline(source_event_id) {
        Some(deadline) => Meaning::DeadlinePassed(PassedDeadline {
            scheduled: source_event_id,
            failure: activities::total_timeout(&deadline.name, deadline.total_timeout_ms),
            due_ms: fire_at_ms,
        }),
        None => Meaning::Input(Event::TimerFired {
            event_id: EventId::UNASSIGNED,
            source_event_id,
            fire_at_ms,
        }),
    }
}

fn promise_settled(
    execution: &Execution,
    number: u64,
    resolution: Result<Payload, Failure>,
) -> Meaning {
    let event_id = EventId::UNASSIGNED;
    let Some(source_event_id) = execution.promise_event_id(number) else {
        return Meaning::Nothing("promise_not_open");
    };
    Meaning::Input(match resolution {
        Ok(value) => Event::PromiseResolved {
            event_id,
            source_event_id,
            value,
        },
        Err(failure) => Event::PromiseRejected {
            event_id,
            source_event_id,
            failure,
        },
    })
}
