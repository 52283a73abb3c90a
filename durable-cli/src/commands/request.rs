//! `durable request`: makes a request of an instance and prints the answer.

use durable_core::Name;
use durable_runtime::{ClientError, InstanceHandle, RequestError};
use serde_json::{Value, json};

use crate::args::RequestArgs;
use crate::error::CliError;
use crate::output::Output;
use crate::store::Store;
use crate::table::harmless;

pub(crate) async fn request(
    store: &Store,
    output: Output,
    request: RequestArgs,
) -> Result<(), CliError> {
    let instance: InstanceHandle<Value> = store.client().instance::<Value, Value>("", &*request.id);
    let name = Name::from(request.name);
    let mut call = instance.request::<Value, Value, Value>(name.clone(), &request.input.0);
    call = call.timeout(request.timeout);
    if let Some(id) = request.request_id {
        call = call.id(id);
    }
    let answer = call.await.map_err(refused)?;
    match output.is_json {
        true => output.json(&json!({
            "instance": instance.id(),
            "request": name,
            "answer": answer,
        })),
        false => output.line(&harmless(&answer.to_string())),
    }
}

/// An error of the instance or of the store is told as everywhere else.
fn refused(error: RequestError<Value>) -> CliError {
    match error {
        RequestError::NotAnswered {
            error: error @ (ClientError::NotFound { .. } | ClientError::Provider(_)),
            ..
        } => CliError::Client(error),
        error => CliError::Request(Box::new(error)),
    }
}
