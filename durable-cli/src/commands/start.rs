//! `durable start`, `raise`, `resolve`, `reject`: messages to instances.

use durable_core::{Failure, Name, Version};
use durable_runtime::{InstanceHandle, OrchestrationName, Start as Starting};
use serde_json::{Value, json};

use crate::args::{Raise, Reject, Resolve, Start};
use crate::error::CliError;
use crate::output::Output;
use crate::store::Store;
use crate::table::harmless;
use crate::time::utc;

pub(crate) async fn start(store: &Store, output: Output, start: Start) -> Result<(), CliError> {
    let orchestration = OrchestrationName {
        name: Name::from(start.name),
        version: start.at.map(Version::from),
    };
    let mut starting: Starting<Value> =
        store
            .client()
            .start(orchestration, start.id, &start.input.0);
    if let Some(reuse) = start.reuse {
        starting = starting.reuse(reuse.into());
    }
    for event in &start.with_event {
        starting = starting.with_event(event.name.clone(), &event.data);
    }
    if let Some(delay) = start.after {
        starting = starting.after(delay);
    }
    if let Some(within) = start.deadline {
        starting = starting.deadline(within);
    }
    let started: InstanceHandle<Value> = starting.await?;
    let record = started.record().await?;
    if output.is_json {
        return output.json(&json!({
            "instance": record.instance,
            "execution": record.execution_id,
            "status": record.status.kind().to_string(),
            "started": started.was_started(),
            "begins_at_ms": record.begins_at_ms,
        }));
    }
    let begins = record
        .begins_at_ms
        .map(|at_ms| format!(", begins at {}", utc(at_ms)));
    let taken = match started.was_started() {
        true => "",
        false => ", as it was",
    };
    output.line(&format!(
        "{}: execution {} is {}{}{taken}",
        harmless(&record.instance),
        record.execution_id,
        record.status.kind(),
        begins.unwrap_or_default(),
    ))
}

pub(crate) async fn raise(store: &Store, output: Output, raise: Raise) -> Result<(), CliError> {
    let instance: InstanceHandle<Value> = store.client().instance::<Value, Value>("", &*raise.id);
    let event = Name::from(raise.event);
    match raise.message_id {
        Some(id) => {
            let raised = instance.raise_with_id(id, event.clone(), &raise.data.0);
            raised.await?;
        }
        None => instance.raise(event.clone(), &raise.data.0).await?,
    }
    if output.is_json {
        return output.json(&json!({ "instance": instance.id(), "event": event }));
    }
    let (event, id) = (harmless(&event), harmless(instance.id()));
    output.line(&format!("raised `{event}` for {id}"))
}

pub(crate) async fn resolve(
    store: &Store,
    output: Output,
    resolve: &Resolve,
) -> Result<(), CliError> {
    let client = store.client();
    client
        .resolve_promise(&resolve.token, &resolve.value.0)
        .await?;
    settled(output, "resolved", &resolve.token.to_string())
}

pub(crate) async fn reject(store: &Store, output: Output, reject: Reject) -> Result<(), CliError> {
    let failure = Failure::application(reject.kind, reject.reason);
    store
        .client()
        .reject_promise(&reject.token, failure)
        .await?;
    settled(output, "rejected", &reject.token.to_string())
}

fn settled(output: Output, how: &str, token: &str) -> Result<(), CliError> {
    match output.is_json {
        true => output.json(&json!({ "promise": token, "settled": how })),
        false => output.line(&format!("{how} {}", harmless(token))),
    }
}
