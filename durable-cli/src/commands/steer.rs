//! `durable cancel`, `suspend`, `resume`, `terminate`: one word to several instances.
//! Each is told on its own; one that refuses does not keep the others from it.

use durable_core::InstanceId;
use durable_runtime::{ClientError, InstanceHandle};
use serde_json::{Value, json};

use crate::args::Steer;
use crate::error::CliError;
use crate::output::Output;
use crate::store::Store;
use crate::table::harmless;

pub(crate) async fn cancel(store: &Store, output: Output, steer: &Steer) -> Result<(), CliError> {
    let mut told = Told::new(output, "asked to stop", steer.ids.len());
    for id in &steer.ids {
        told.note(id, handle(store, id).cancel(&steer.reason).await)?;
    }
    told.end()
}

pub(crate) async fn suspend(store: &Store, output: Output, steer: &Steer) -> Result<(), CliError> {
    let mut told = Told::new(output, "suspended", steer.ids.len());
    for id in &steer.ids {
        told.note(id, handle(store, id).suspend(&steer.reason).await)?;
    }
    told.end()
}

pub(crate) async fn resume(store: &Store, output: Output, ids: &[String]) -> Result<(), CliError> {
    let mut told = Told::new(output, "resumed", ids.len());
    for id in ids {
        told.note(id, handle(store, id).resume().await)?;
    }
    told.end()
}

pub(crate) async fn terminate(
    store: &Store,
    output: Output,
    steer: &Steer,
) -> Result<(), CliError> {
    let mut told = Told::new(output, "to be terminated", steer.ids.len());
    for id in &steer.ids {
        told.note(id, handle(store, id).terminate(&steer.reason).await)?;
    }
    told.end()
}

fn handle(store: &Store, id: &str) -> InstanceHandle<Value> {
    store.client().instance::<Value, Value>("", id)
}

/// Who was told, and who refused.
struct Told {
    output: Output,
    done: &'static str,
    of: usize,
    outcomes: Vec<Value>,
    refused: Vec<CliError>,
}

impl Told {
    fn new(output: Output, done: &'static str, of: usize) -> Self {
        Self {
            output,
            done,
            of,
            outcomes: Vec::new(),
            refused: Vec::new(),
        }
    }

    fn note(&mut self, id: &str, result: Result<(), ClientError>) -> Result<(), CliError> {
        let error = result.err().map(CliError::Client);
        let message = error.as_ref().map(ToString::to_string);
        self.outcomes.push(json!({
            "instance": InstanceId::from(id),
            "done": error.is_none(),
            "error": message,
        }));
        match error {
            None if !self.output.is_json => {
                let line = format!("{}: {}", harmless(id), self.done);
                self.output.line(&line)?;
            }
            None => {}
            Some(error) => {
                // The only one is told as the command's own error.
                if self.of > 1 && !self.output.is_json {
                    self.output.error(&error);
                }
                self.refused.push(error);
            }
        }
        Ok(())
    }

    fn end(mut self) -> Result<(), CliError> {
        if self.of == 1
            && let Some(error) = self.refused.pop()
        {
            return Err(error);
        }
        if self.output.is_json {
            self.output.json(&json!({ "instances": self.outcomes }))?;
        }
        match self.refused.len() {
            0 => Ok(()),
            failed => Err(CliError::SomeFailed {
                failed,
                of: self.of,
            }),
        }
    }
}
