//! Which names and payloads are measured before anything is written: all that a
//! caller hands in. Reasons and failure messages are measured as payloads.

use durable_core::provider::{
    InstanceStatus, Message, MessageBody, StartInstance, TurnCommit, WorkItem, WorkResult,
};
use durable_core::{Event, Failure, FailureKind, InstanceId, LimitError, Limits, Name, Payload};

type Checked = Result<(), LimitError>;

pub(crate) fn check_turn(limits: Limits, turn: &TurnCommit) -> Checked {
    let next = turn.next_execution.iter().flat_map(|next| &next.events);
    for entry in turn.events.iter().chain(next) {
        check_event(limits, &entry.event)?;
    }
    for item in &turn.new_work {
        check_work(limits, item)?;
    }
    for outgoing in &turn.new_messages {
        check_message(limits, &outgoing.target, &outgoing.message)?;
    }
    if let Some((name, version)) = &turn.update.running {
        limits.check_name("orchestration", name)?;
        limits.check_name("version", version)?;
    }
    if let Some(custom_status) = &turn.update.custom_status {
        limits.check_payload("custom status", custom_status)?;
    }
    if let Some(blocked) = &turn.update.blocked {
        check_failure(limits, blocked)?;
    }
    match &turn.update.status {
        Some(InstanceStatus::Completed { output }) => limits.check_payload("output", output),
        Some(
            InstanceStatus::Suspended { failure }
            | InstanceStatus::Failed { failure }
            | InstanceStatus::Terminated { failure },
        ) => check_failure(limits, failure),
        _ => Ok(()),
    }
}

pub(crate) fn check_message(limits: Limits, target: &InstanceId, message: &Message) -> Checked {
    limits.check_name("instance", target)?;
    limits.check_name("message", &message.message_id)?;
    match &message.body {
        MessageBody::Start(start) => check_start(limits, start),
        MessageBody::ActivityFinished { result, .. }
        | MessageBody::SubOrchestrationFinished { result, .. }
        | MessageBody::PromiseSettled {
            resolution: result, ..
        } => check_result(limits, result),
        MessageBody::ExternalRaised { name, data } => {
            limits.check_name("event", name)?;
            limits.check_payload("event data", data)
        }
        MessageBody::Cancel { reason } | MessageBody::Terminate { reason } => {
            limits.check_payload("reason", reason)
        }
        _ => Ok(()),
    }
}

pub(crate) fn check_work_result(limits: Limits, result: &WorkResult) -> Checked {
    match result {
        WorkResult::Finished(result) => check_result(limits, result),
        WorkResult::Poisoned(failure) => check_failure(limits, failure),
        WorkResult::Retry { .. } | WorkResult::HandedBack { .. } => Ok(()),
    }
}

pub(crate) fn check_failure(limits: Limits, failure: &Failure) -> Checked {
    if let FailureKind::Application(kind) = &failure.kind {
        limits.check_name("failure kind", kind)?;
    }
    limits.check_payload("failure message", &failure.message)?;
    let details = failure.details.as_ref();
    details.map_or(Ok(()), |details| {
        limits.check_payload("failure details", details)
    })
}

fn check_result(limits: Limits, result: &Result<Payload, Failure>) -> Checked {
    match result {
        Ok(value) => limits.check_payload("result", value),
        Err(failure) => check_failure(limits, failure),
    }
}

fn check_start(limits: Limits, start: &StartInstance) -> Checked {
    limits.check_name("orchestration", &start.name)?;
    if let Some(version) = &start.version {
        limits.check_name("version", version)?;
    }
    limits.check_payload("input", &start.input)
}

fn check_work(limits: Limits, item: &WorkItem) -> Checked {
    check_call(limits, "activity", &item.name, &item.input)?;
    check_queue(limits, item.options.queue.as_ref())
}

fn check_call(limits: Limits, what: &'static str, name: &Name, input: &Payload) -> Checked {
    limits.check_name(what, name)?;
    limits.check_payload("input", input)
}

fn check_queue(limits: Limits, queue: Option<&Name>) -> Checked {
    queue.map_or(Ok(()), |queue| limits.check_name("queue", queue))
}

fn check_event(limits: Limits, event: &Event) -> Checked {
    match event {
        Event::OrchestrationStarted { name, input, .. } => {
            check_call(limits, "orchestration", name, input)
        }
        Event::ActivityScheduled {
            name,
            input,
            options,
            ..
        } => {
            check_call(limits, "activity", name, input)?;
            check_queue(limits, options.queue.as_ref())
        }
        Event::SubOrchestrationScheduled {
            name,
            instance,
            input,
            ..
        }
        | Event::OrchestrationChained {
            name,
            instance,
            input,
            ..
        } => {
            limits.check_name("instance", instance)?;
            check_call(limits, "orchestration", name, input)
        }
        Event::ExternalEventSent {
            target, name, data, ..
        } => {
            limits.check_name("instance", target)?;
            limits.check_name("event", name)?;
            limits.check_payload("event data", data)
        }
        Event::ExternalEvent { name, data, .. } => {
            limits.check_name("event", name)?;
            limits.check_payload("event data", data)
        }
        Event::StateSet { key, value, .. } => {
            limits.check_name("state key", key)?;
            limits.check_payload("state", value)
        }
        Event::OperationCompleted { name, result, .. } => {
            limits.check_name("operation", name)?;
            check_result(limits, result)
        }
        Event::PromiseResolutionSent {
            target, resolution, ..
        } => {
            limits.check_name("instance", &target.instance)?;
            check_result(limits, resolution)
        }
        _ => check_small_event(limits, event),
    }
}

/// Events with one name, one payload or one failure.
fn check_small_event(limits: Limits, event: &Event) -> Checked {
    match event {
        Event::ActivityCompleted { result, .. }
        | Event::SubOrchestrationCompleted { result, .. } => limits.check_payload("result", result),
        Event::PromiseResolved { value, .. } => limits.check_payload("result", value),
        Event::CustomStatusSet { status, .. } => limits.check_payload("custom status", status),
        Event::OrchestrationCompleted { output, .. } => limits.check_payload("output", output),
        Event::OrchestrationContinuedAsNew { input, .. } => limits.check_payload("input", input),
        Event::OrchestrationCancelRequested { reason, .. } => {
            limits.check_payload("reason", reason)
        }
        Event::ActivityFailed { failure, .. }
        | Event::SubOrchestrationFailed { failure, .. }
        | Event::PromiseRejected { failure, .. }
        | Event::OrchestrationFailed { failure, .. }
        | Event::OrchestrationTerminated { failure, .. } => check_failure(limits, failure),
        Event::ExternalSubscribed { name, .. } => limits.check_name("event", name),
        Event::StateCleared { key, .. } => limits.check_name("state key", key),
        Event::PromiseCreated { name, .. } => limits.check_name("promise", name),
        Event::PatchMarked { patch_id, .. } => limits.check_name("patch", patch_id),
        _ => Ok(()),
    }
}
