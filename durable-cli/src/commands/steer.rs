//! `durable cancel`, `suspend`, `resume`, `terminate`: one command for several instances.
//! Each instance is handled on its own: a failure for one does not stop the others.

use durable_core::InstanceId;
use durable_core::filter::Filter;
use durable_core::provider::StatusKind;
use durable_runtime::{ClientError, InstanceHandle};
use serde_json::{Value, json};

use crate::args::{Steer, Targets};
use crate::error::CliError;
use crate::output::Output;
use crate::read;
use crate::store::Store;
use crate::table::harmless;

/// The statuses of instances that can be stopped.
const NOT_ENDED: &[StatusKind] = &[
    StatusKind::Pending,
    StatusKind::Running,
    StatusKind::Suspended,
];

pub(crate) async fn cancel(store: &Store, output: Output, steer: &Steer) -> Result<(), CliError> {
    let ids = meant(store, &steer.targets, NOT_ENDED).await?;
    let mut told = Told::new(output, "asked to stop", ids.len());
    for id in &ids {
        told.note(id, handle(store, id).cancel(&steer.reason).await)?;
    }
    told.end()
}

pub(crate) async fn suspend(store: &Store, output: Output, steer: &Steer) -> Result<(), CliError> {
    let stoppable = [StatusKind::Pending, StatusKind::Running];
    let ids = meant(store, &steer.targets, &stoppable).await?;
    let mut told = Told::new(output, "suspended", ids.len());
    for id in &ids {
        told.note(id, handle(store, id).suspend(&steer.reason).await)?;
    }
    told.end()
}

pub(crate) async fn resume(
    store: &Store,
    output: Output,
    targets: &Targets,
) -> Result<(), CliError> {
    let ids = meant(store, targets, &[StatusKind::Suspended]).await?;
    let mut told = Told::new(output, "resumed", ids.len());
    for id in &ids {
        told.note(id, handle(store, id).resume().await)?;
    }
    told.end()
}

pub(crate) async fn terminate(
    store: &Store,
    output: Output,
    steer: &Steer,
) -> Result<(), CliError> {
    let ids = meant(store, &steer.targets, NOT_ENDED).await?;
    let mut told = Told::new(output, "to be terminated", ids.len());
    for id in &ids {
        told.note(id, handle(store, id).terminate(&steer.reason).await)?;
    }
    let is_told = !output.is_json && told.has_done_any();
    if is_told && store.client().nodes().await?.is_empty() {
        output.line("no node lives on this store: they end when one does")?;
    }
    told.end()
}

/// The named instances, or those that match the filter and have one of these statuses.
async fn meant(
    store: &Store,
    targets: &Targets,
    able: &[StatusKind],
) -> Result<Vec<InstanceId>, CliError> {
    let are_named = !targets.ids.is_empty();
    if are_named != targets.filter.means_all() {
        return Err(CliError::WhichInstances { are_named });
    }
    if are_named {
        return Ok(targets.ids.iter().map(|id| id.as_str().into()).collect());
    }
    let filter = targets.filter.to_filter(store.now_ms())?;
    let able = Filter::status_in(able.iter().copied());
    let records = read::records(store, &filter.and(able)).await?;
    Ok(records.into_iter().map(|record| record.instance).collect())
}

fn handle(store: &Store, id: &str) -> InstanceHandle<Value> {
    store.client().instance::<Value, Value>("", id)
}

/// The outcome for each instance.
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

    /// Whether an instance accepted it.
    fn has_done_any(&self) -> bool {
        self.outcomes.len() > self.refused.len()
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
                // The failure of a single instance is the command's own error.
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
        } else if self.of == 0 {
            self.output.line("no instances match")?;
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
