//! Records, operations and events as JSON: the same shape in every command.

use durable_core::provider::{InstanceRecord, InstanceStatus, WorkState};
use durable_core::{CommandId, Failure, HistoryEntry};
use durable_runtime::{ActivityStatus, SuspendedChild};
use serde_json::{Value, json};

use crate::json::value_of;
use crate::operation::{Operation, OperationOutcome};

pub(super) fn failure(failure: &Failure) -> Value {
    json!({
        "kind": failure.kind.to_string(),
        "message": failure.message,
        "details": failure.details.as_deref().map(value_of),
        "retryable": failure.retryable,
    })
}

pub(super) fn record(record: &InstanceRecord) -> Value {
    let (output, stopped) = match &record.status {
        InstanceStatus::Completed { output } => (Some(value_of(output)), None),
        InstanceStatus::Suspended { failure }
        | InstanceStatus::Failed { failure }
        | InstanceStatus::Terminated { failure } => (None, Some(failure)),
        InstanceStatus::Pending | InstanceStatus::Running => (None, None),
    };
    json!({
        "instance": record.instance,
        "orchestration": record.name,
        "version": record.version,
        "status": record.status.kind().to_string(),
        "execution": record.execution_id,
        "last_event": record.last_event_id,
        "begins_at_ms": record.begins_at_ms,
        "created_at_ms": record.created_at_ms,
        "updated_at_ms": record.updated_at_ms,
        "custom_status": record.custom_status.as_deref().map(value_of),
        "output": output,
        "failure": stopped.map(failure),
        "blocked": record.blocked.as_ref().map(failure),
        "parent": record.parent,
        "attributes": record.attributes,
    })
}

pub(super) fn operation(operation: &Operation) -> Value {
    let end = operation.end.as_ref().map(|end| {
        let (outcome, kind) = match &end.outcome {
            OperationOutcome::Succeeded => ("succeeded", None),
            OperationOutcome::Failed(kind) => ("failed", Some(kind.to_string())),
            OperationOutcome::GivenUp => ("given_up", None),
        };
        json!({
            "event": end.event_id,
            "at_ms": end.at_ms,
            "outcome": outcome,
            "failure": kind,
        })
    });
    json!({
        "event": operation.event_id,
        "command": operation.command.to_string(),
        "name": operation.name,
        "begun_at_ms": operation.begun_at_ms,
        "due_at_ms": operation.due_at_ms,
        "target": operation.target,
        "end": end,
        "certain": operation.is_certain,
    })
}

pub(super) fn activity(activity: &ActivityStatus) -> Value {
    let work = &activity.work;
    let (session, ready_at_ms) = match work.state {
        WorkState::Held { session } => (Some(session.0), None),
        WorkState::Queued { ready_at_ms } => (None, Some(ready_at_ms)),
    };
    json!({
        "execution": work.item.key.execution_id,
        "event": work.item.key.event_id,
        "name": work.item.name,
        "queue": work.item.options.queue,
        "attempt": work.attempt,
        "crashes": work.crashes,
        "session": session,
        "ready_at_ms": ready_at_ms,
        "heartbeat": work.heartbeat.as_deref().map(value_of),
        "last_failure": work.last_failure.as_ref().map(failure),
        "cancelled": work.is_cancelled,
        "blocked": activity.blocked.as_ref().map(failure),
    })
}

pub(super) fn suspended_child(child: &SuspendedChild) -> Value {
    json!({
        "instance": child.instance,
        "parent": child.parent,
        "failure": failure(&child.failure),
    })
}

pub(super) fn entry(entry: &HistoryEntry, command: Option<CommandId>) -> Value {
    json!({
        "event": entry.event_id(),
        "recorded_at_ms": entry.recorded_at_ms,
        "kind": entry.event.kind().name(),
        "command": command.map(|command| command.to_string()),
        "source_event": entry.event.source_event_id(),
        "details": entry.event,
    })
}
