//! The workloads on this project, with its default options: on any store. There is a
//! binary for each kind of store, which links no other one, as a user's would.

mod programs;

use std::marker::PhantomData;
use std::process::ExitCode;
use std::sync::Arc;

use bench_harness::{Contender, EVENT, Problem, Program, Setup};
use durable_runtime::{Client, Provider, Runtime};

use programs::GO;

/// A kind of store.
pub trait Store: Send + Sync + 'static {
    /// Opens the store that the setting names.
    fn open(setup: &Setup) -> impl Future<Output = Result<Arc<dyn Provider>, Problem>> + Send;
}

/// A node and its client.
struct Ours<S> {
    /// Runs as long as it is held.
    _node: Runtime,
    client: Client,
    store: PhantomData<S>,
}

impl<S: Store> Contender for Ours<S> {
    async fn open(setup: &Setup) -> Result<Self, Problem> {
        let store = S::open(setup).await?;
        let node = Runtime::builder(store, programs::registry()?)
            .start()
            .await?;
        let client = node.client();
        Ok(Self {
            _node: node,
            client,
            store: PhantomData,
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

/// Runs the workload of the command line.
#[must_use]
pub fn main<S: Store>() -> ExitCode {
    bench_harness::main::<Ours<S>>()
}

/// An unknown setting.
#[must_use]
pub fn unknown(setup: &Setup) -> Problem {
    format!("there is no setting `{}`", setup.settings).into()
}
