//! What the tests share: a file to be at, code to run, and an audit of what is stored.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use durable_core::filter::{InstanceQuery, Order};
use durable_core::provider::{Clock, InstanceRecord, Provider};
use durable_core::{EventId, ExecutionId, History, HistoryEntry, InstanceId};
use durable_provider_sqlite::{SqliteOptions, SqliteProvider};
use durable_runtime::{
    Activity, ActivityContext, EventName, Failure, Orchestration, OrchestrationContext, Registry,
    RegistryBuilder, Runtime, RuntimeOptions, StartError,
};
use tempfile::TempDir;

/// Adds one.
pub(crate) const ADD: Activity<u64, u64> = Activity::new("add");
/// Adds one, three times.
pub(crate) const COUNT: Orchestration<u64, u64> = Orchestration::new("count");
/// Adds one, waits to be told, adds two.
pub(crate) const GATED: Orchestration<u64, u64> = Orchestration::new("gated");
/// What a gated one waits for.
pub(crate) const GO: EventName<u64> = EventName::new("go");

async fn add(_: ActivityContext, number: u64) -> Result<u64, Failure> {
    Ok(number + 1)
}

async fn count(ctx: OrchestrationContext, start: u64) -> Result<u64, Failure> {
    let one = ctx.activity(ADD, &start).await?;
    let two = ctx.activity(ADD, &one).await?;
    ctx.activity(ADD, &two).await
}

async fn gated(ctx: OrchestrationContext, start: u64) -> Result<u64, Failure> {
    let one = ctx.activity(ADD, &start).await?;
    let told: u64 = ctx.external_event(GO).await?;
    let two = ctx.activity(ADD, &(one + told)).await?;
    ctx.activity(ADD, &two).await
}

/// The code of all tests.
pub(crate) fn registry() -> Registry {
    code().build().unwrap()
}

/// The code of all tests, and room for more.
pub(crate) fn code() -> RegistryBuilder {
    Registry::builder()
        .activity(ADD, add)
        .orchestration(COUNT, count)
        .orchestration(GATED, gated)
}

/// A directory with a database, removed with the test.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("store.db")
    }

    pub(crate) fn open(&self) -> SqliteProvider {
        SqliteProvider::open(self.file()).unwrap()
    }

    /// The store in the file, as a process with this clock has it.
    pub(crate) fn open_at(&self, clock: impl Clock) -> SqliteProvider {
        let options = SqliteOptions::default().clock(clock);
        SqliteProvider::open_with(self.file(), options).unwrap()
    }

    /// A plain connection, as an administrator or a vandal would have it.
    pub(crate) fn raw(&self) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.file()).unwrap();
        connection.busy_timeout(Duration::from_secs(10)).unwrap();
        connection
    }
}

/// This very test binary as another process, which runs one test.
pub(crate) fn child(test: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args([test, "--exact", "--nocapture"]);
    child
}

/// Tells the parent something: one line in one write.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// A node that gives up nothing for the crashes of its predecessors.
pub(crate) async fn node(provider: &SqliteProvider) -> Runtime {
    try_node(provider).await.unwrap()
}

/// As [`node`], on a disk that may refuse it.
pub(crate) async fn try_node(provider: &SqliteProvider) -> Result<Runtime, StartError> {
    let options = RuntimeOptions::default()
        .session_timeout(Duration::from_secs(3_600))
        .max_crashes(1_000_000);
    Runtime::builder(provider.clone(), registry())
        .options(options)
        .start()
        .await
}

/// All instances.
pub(crate) async fn records(provider: &SqliteProvider) -> Vec<InstanceRecord> {
    let query = InstanceQuery::all().ordered(Order::BY_ID);
    let mut all: Vec<InstanceRecord> = Vec::new();
    let mut after = None;
    loop {
        let page = provider
            .instances(&query, after.as_ref(), 100)
            .await
            .unwrap();
        all.extend(page.instances);
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

/// The whole history of an execution.
pub(crate) async fn history(
    provider: &SqliteProvider,
    id: &InstanceId,
    execution_id: ExecutionId,
) -> Vec<HistoryEntry> {
    let page = provider.history(id, execution_id, EventId::UNASSIGNED, usize::MAX);
    page.await.unwrap().entries
}

/// The file is sound and every history is one that a run can have written, without
/// gaps and up to the tail that its record names.
pub(crate) async fn audit(provider: &SqliteProvider) {
    let report = provider.integrity_check().await.unwrap();
    assert!(report.is_sound(), "{report}");
    for record in records(provider).await {
        for execution in provider.executions(&record.instance).await.unwrap() {
            let entries = history(provider, &record.instance, execution.execution_id).await;
            let last = entries
                .last()
                .map_or(EventId::UNASSIGNED, HistoryEntry::event_id);
            assert_eq!(last, execution.last_event_id, "{}", record.instance);
            assert_eq!(last.get(), entries.len() as u64, "{}", record.instance);
            let history = History::new(record.instance.clone(), execution.execution_id, entries);
            history.validate().unwrap();
        }
    }
}
