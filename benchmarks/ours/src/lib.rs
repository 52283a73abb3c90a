//! The workloads on this project, with its default options.
//!
//! The setting names the store: `sqlite-full` (the default, `synchronous=FULL`),
//! `sqlite-normal`, `redis-always` (the default, `appendfsync always`) or
//! `redis-everysec`.

mod programs;
mod store;

use std::process::ExitCode;

use bench_harness::{Contender, EVENT, Problem, Program, Setup};
use durable_runtime::{Client, Runtime};

use programs::GO;

/// A node and its client.
struct Ours {
    /// Runs as long as it is held.
    _node: Runtime,
    client: Client,
}

impl Contender for Ours {
    async fn open(setup: &Setup) -> Result<Self, Problem> {
        let store = store::open(setup).await?;
        let node = Runtime::shared_builder(store, programs::registry()?)
            .start()
            .await?;
        let client = node.client();
        Ok(Self {
            _node: node,
            client,
        })
    }

    async fn start(&self, program: Program, id: &str, input: u64) -> Result<(), Problem> {
        self.client
            .start(programs::handle(program), id, &input)
            .await?;
        Ok(())
    }

    async fn wait(&self, program: Program, id: &str) -> Result<u64, Problem> {
        let instance = self.client.instance(programs::handle(program), id);
        Ok(instance.wait().await?)
    }

    async fn raise(&self, program: Program, id: &str) -> Result<(), Problem> {
        let instance = self.client.instance(programs::handle(program), id);
        Ok(instance.raise(GO, &EVENT).await?)
    }

    async fn call(&self, program: Program, id: &str, input: u64) -> Result<u64, Problem> {
        let start = self.client.start(programs::handle(program), id, &input);
        Ok(start.await?.wait().await?)
    }
}

fn main() -> ExitCode {
    bench_harness::main::<Ours>()
}
