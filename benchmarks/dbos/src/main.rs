//! The workloads on DBOS 0.5.0 with Postgres, written as its documentation does.
//!
//! Postgres runs with `synchronous_commit=on` and `fsync=on`, its defaults.
//!
//! Settings: `default`, and `tuned` (more connections, short polls, no wait for company
//! before a wake-up).

mod programs;

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bench_harness::{Contender, EVENT, Problem, Program, Setup};
use dbos::{Config, DBOS, EngineOnly, StartOptions, WorkflowHandle};

use programs::Programs;

struct Dbos {
    dbos: DBOS,
    programs: Programs,
    /// Of workflows that run in this process; the others are polled for.
    handles: Mutex<HashMap<String, WorkflowHandle<u64, EngineOnly>>>,
}

impl Contender for Dbos {
    async fn open(setup: &Setup) -> Result<Self, Problem> {
        let default = Config {
            app_version: Some("1.0.0".to_owned()),
            ..Config::new("bench", &setup.server)
        };
        let config = match setup.settings.as_str() {
            "default" => default,
            "tuned" => tuned(default),
            other => return Err(format!("there is no setting `{other}`").into()),
        };
        let dbos = DBOS::new(config);
        let programs = Programs::register(&dbos)?;
        dbos.launch().await?;
        let handles = Mutex::default();
        Ok(Self {
            dbos,
            programs,
            handles,
        })
    }

    async fn start(&self, program: Program, id: &str, input: u64) -> Result<(), Problem> {
        let options = StartOptions {
            workflow_id: Some(id),
            ..StartOptions::default()
        };
        let workflow = self.programs.workflow(program);
        let handle = workflow.start_with(input, options).await?;
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        handles.insert(id.to_owned(), handle);
        Ok(())
    }

    async fn wait(&self, _: Program, id: &str) -> Result<u64, Problem> {
        let handle = {
            let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
            handles.remove(id)
        };
        let handle = match handle {
            Some(handle) => handle,
            None => self.dbos.retrieve_workflow(id)?,
        };
        Ok(handle.result().await?)
    }

    async fn raise(&self, _: Program, id: &str) -> Result<(), Problem> {
        Ok(self.dbos.send(id, &EVENT).await?)
    }
}

/// What was fastest of what its configuration allows.
fn tuned(default: Config) -> Config {
    Config {
        max_connections: 40,
        outcome_poll_interval: Some(Duration::from_millis(20)),
        notification_coalesce: Some(Duration::ZERO),
        ..default
    }
}

fn main() -> ExitCode {
    bench_harness::main::<Dbos>()
}
