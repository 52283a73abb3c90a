//! The workloads on duroxide 0.1.32, written as its guide and examples do.
//!
//! Its SQLite provider sets `PRAGMA synchronous = WAL`, a value that SQLite does not
//! know and reads as NORMAL: an acknowledged commit can be lost in a power cut.
//!
//! Settings: `default`, and `tuned` (short polls).

mod programs;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bench_harness::{Contender, EVENT, Problem, Program, Setup};
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::{Runtime, RuntimeOptions};
use duroxide::{Client, ClientError};

/// Longer than any run is given.
const FOREVER: Duration = Duration::from_secs(3_600);
/// Before the store is asked again.
const PAUSE: Duration = Duration::from_millis(10);

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
        persistent(|| self.client.start_orchestration_typed(id, name, input)).await
    }

    async fn wait(&self, _: Program, id: &str) -> Result<u64, Problem> {
        let wait = || self.client.wait_for_orchestration_typed::<u64>(id, FOREVER);
        Ok(persistent(wait).await??)
    }

    async fn raise(&self, _: Program, id: &str) -> Result<(), Problem> {
        persistent(|| self.client.enqueue_event_typed(id, programs::GO, &EVENT)).await
    }
}

/// Calls again when the store was busy, which it is when many start at once.
async fn persistent<T, F>(call: impl Fn() -> F) -> Result<T, Problem>
where
    F: Future<Output = Result<T, ClientError>>,
{
    loop {
        match call().await {
            Err(error) if error.is_retryable() => tokio::time::sleep(PAUSE).await,
            answer => return Ok(answer?),
        }
    }
}

/// Polls as short as they help. More dispatchers do not help: there is one writer, and
/// with 4 and 8 of them instances ended as failed, with "database is locked".
fn tuned() -> RuntimeOptions {
    RuntimeOptions {
        dispatcher_min_poll_interval: Duration::from_millis(5),
        ..RuntimeOptions::default()
    }
}

fn main() -> ExitCode {
    bench_harness::main::<Duroxide>()
}
