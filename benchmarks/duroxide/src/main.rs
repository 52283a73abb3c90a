//! The workloads on duroxide 0.1.32, written as its guide and examples do.
//!
//! Its SQLite provider sets `PRAGMA synchronous = WAL`, a value that SQLite does not
//! know and reads as NORMAL: an acknowledged commit can be lost in a power cut.
//!
//! Settings: `default`, and `tuned` (more dispatchers, short polls).

mod programs;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bench_harness::{Contender, EVENT, Problem, Program, Setup};
use duroxide::Client;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::{Runtime, RuntimeOptions};

/// Longer than any run is given.
const FOREVER: Duration = Duration::from_secs(3_600);

struct Duroxide {
    /// Runs as long as it is held.
    _runtime: Arc<Runtime>,
    client: Client,
}

impl Contender for Duroxide {
    async fn open(setup: &Setup) -> Result<Self, Problem> {
        let path = setup.dir.join("duroxide.db");
        let url = format!("sqlite:{}?mode=rwc", path.display());
        let store = Arc::new(SqliteProvider::new(&url, None).await?);
        let options = match setup.settings.as_str() {
            "default" => RuntimeOptions::default(),
            "tuned" => tuned(),
            other => return Err(format!("there is no setting `{other}`").into()),
        };
        let runtime = Runtime::start_with_options(
            store.clone(),
            programs::activities(),
            programs::orchestrations(),
            options,
        );
        Ok(Self {
            _runtime: runtime.await,
            client: Client::new(store),
        })
    }

    async fn start(&self, program: Program, id: &str, input: u64) -> Result<(), Problem> {
        let name = program.name();
        let started = self.client.start_orchestration_typed(id, name, input);
        Ok(started.await?)
    }

    async fn wait(&self, _: Program, id: &str) -> Result<u64, Problem> {
        let output = self.client.wait_for_orchestration_typed(id, FOREVER);
        Ok(output.await??)
    }

    async fn raise(&self, _: Program, id: &str) -> Result<(), Problem> {
        let raised = self.client.enqueue_event_typed(id, programs::GO, &EVENT);
        Ok(raised.await?)
    }
}

/// What was fastest of what its options allow: polls as short as they help, and a few
/// dispatchers; more of them wait for each other's write locks.
fn tuned() -> RuntimeOptions {
    RuntimeOptions {
        dispatcher_min_poll_interval: Duration::from_millis(5),
        orchestration_concurrency: 4,
        worker_concurrency: 8,
        ..RuntimeOptions::default()
    }
}

fn main() -> ExitCode {
    bench_harness::main::<Duroxide>()
}
