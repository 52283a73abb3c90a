//! The workloads on durust 0.2.3, written as its README and examples do.
//!
//! Its SQLite provider sets `synchronous=FULL`.
//!
//! Settings: `default`, and `tuned` (the throughput knobs of its README, idle waits as
//! short as it allows).
//!
//! It has no way to wait for a result but reading the history. So the caller that waits is
//! told by the worker's event that a task of its run was committed, and then reads
//! what is new; one at a time, so that waiting does not compete with working.

mod programs;
mod results;

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use bench_harness::{Contender, EVENT, Problem, Program, Setup};
use durust::{Client, RunId, SqliteBackend, Worker};
use tokio::runtime::Handle;

use programs::Number;
use results::Results;

const QUEUE: &str = "bench";

struct Durust {
    client: Client<SqliteBackend>,
    results: Results,
}

impl Contender for Durust {
    async fn open(setup: &Setup) -> Result<Self, Problem> {
        let backend = SqliteBackend::open(setup.dir.join("durust.db"))?;
        let results = Results::new(backend.clone());
        let builder = Worker::builder(backend.clone())
            .worker_id("bench")
            .workflow_task_queue(QUEUE)
            .activity_task_queue(QUEUE)
            .on_event(results.sink());
        let builder = programs::register(builder);
        let builder = match setup.settings.as_str() {
            "default" => builder,
            "tuned" => builder
                .max_local_activities_per_workflow_task(64)
                .max_cached_workflows(10_000)
                .max_concurrent_workflow_tasks(256)
                .workflow_task_prefetch_limit(32)
                .workflow_task_commit_batch_size(32)
                .max_concurrent_activities(512)
                .activity_task_batch_size(64)
                .activity_completion_batch_size(32)
                .idle_wait(Duration::from_millis(5))
                .max_idle_wait(Duration::from_millis(5))
                .maintenance_interval(Duration::from_millis(10))
                .max_maintenance_interval(Duration::from_millis(10)),
            other => return Err(format!("there is no setting `{other}`").into()),
        };
        let mut worker = builder.build();
        // What it runs cannot be moved between threads, so it has one of its own.
        let runtime = Handle::current();
        thread::spawn(move || runtime.block_on(worker.run()));
        let client = Client::new(backend);
        Ok(Self { client, results })
    }

    async fn start(&self, program: Program, id: &str, input: u64) -> Result<(), Problem> {
        let run = self.run(program, id, input).await?;
        self.results.expect(id, run);
        Ok(())
    }

    async fn wait(&self, program: Program, id: &str) -> Result<u64, Problem> {
        // To start what is there already gives its run.
        let run = match self.results.expected(id) {
            Some(run) => run,
            None => self.run(program, id, 0).await?,
        };
        self.results.wait(&run).await
    }

    async fn raise(&self, _: Program, id: &str) -> Result<(), Problem> {
        let signal_id = format!("{id}/go");
        let signalled = self
            .client
            .signal_workflow(id, programs::GO, signal_id, EVENT);
        signalled.await?;
        Ok(())
    }
}

impl Durust {
    async fn run(&self, program: Program, id: &str, number: u64) -> Result<RunId, Problem> {
        let input = Number { number };
        let client = &self.client;
        let run = match program {
            Program::Chain => {
                client
                    .start_workflow::<programs::chain>(id, QUEUE, input)
                    .await
            }
            Program::FanOut => {
                client
                    .start_workflow::<programs::fan_out>(id, QUEUE, input)
                    .await
            }
            Program::One => {
                client
                    .start_workflow::<programs::one>(id, QUEUE, input)
                    .await
            }
            Program::Gated => {
                client
                    .start_workflow::<programs::gated>(id, QUEUE, input)
                    .await
            }
            Program::Mixed => {
                client
                    .start_workflow::<programs::mixed>(id, QUEUE, input)
                    .await
            }
        };
        Ok(run?)
    }
}

fn main() -> ExitCode {
    bench_harness::main::<Durust>()
}
