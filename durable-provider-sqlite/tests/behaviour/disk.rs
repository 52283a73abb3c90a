//! Real errors of the operating system: a child process whose disk fails on demand.
//!
//! The child is this very test binary with `failing_disk.c` preloaded: system
//! calls on the database fail with EIO, ENOSPC or EROFS while the child wants it. The
//! compiler that SQLite was built with builds that, too.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use durable_core::ExecutionId;
use durable_core::provider::{
    IdReuse, Message, MessageBody, Provider, ProviderError, SessionOptions, StartInstance,
    StartOutcome,
};
use durable_provider_sqlite::SqliteProvider;
use durable_testkit::TurnBuilder;

use crate::support::{COUNT, Place, audit, child, records, try_node};

/// Set for a child: where it works.
const PLACE: &str = "DURABLE_DISK_PLACE";
const FAULT: &str = "DURABLE_FAULT";
const FAULT_ONE_IN: &str = "DURABLE_FAULT_ONE_IN";

#[test]
fn a_sync_that_fails_is_unknown_and_told_by_reading_again() {
    run_child("disk::child_whose_syncs_fail", None);
}

#[test]
fn a_claim_does_not_wait_for_the_disk_and_the_turn_after_it_does() {
    run_child("disk::child_that_claims_an_instance", None);
}

#[test]
fn a_full_disk_loses_nothing_and_is_waited_out() {
    run_child("disk::child_whose_disk_is_full", None);
}

#[test]
fn a_file_system_that_is_read_only_is_named() {
    run_child("disk::child_that_may_not_write", None);
}

#[test]
fn orchestrations_finish_although_one_sync_in_five_fails() {
    run_child("disk::child_that_works_on_a_bad_disk", Some(5));
}

/// Runs a test of this binary in a process with a disk that fails.
fn run_child(name: &str, fault_one_in: Option<u32>) {
    let place = Place::new();
    let library = failing_disk(place.directory());
    let mut child = child(name);
    child
        .env(PLACE, place.directory())
        .env(FAULT, fault_file(place.directory()))
        .env("LD_PRELOAD", library);
    if let Some(one_in) = fault_one_in {
        child.env(FAULT_ONE_IN, one_in.to_string());
    }
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complained}");
    assert!(said.contains("1 passed"), "{said}{complained}");
}

fn failing_disk(directory: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/behaviour/failing_disk.c");
    let library = directory.join("failing_disk.so");
    let compiled = Command::new(std::env::var("CC").unwrap_or("cc".into()))
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .output()
        .unwrap();
    let complained = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{complained}");
    library
}

fn fault_file(directory: &Path) -> PathBuf {
    directory.join("fault")
}

/// The child's side of it.
struct Disk {
    directory: PathBuf,
}

impl Disk {
    /// None in the process that runs the tests.
    fn of_child() -> Option<Self> {
        let directory = std::env::var(PLACE).ok()?.into();
        Some(Self { directory })
    }

    fn open(&self) -> SqliteProvider {
        SqliteProvider::open(self.file()).unwrap()
    }

    fn file(&self) -> PathBuf {
        self.directory.join("store.db")
    }

    fn fail(&self, how: &str) {
        std::fs::write(fault_file(&self.directory), how).unwrap();
    }

    fn heal(&self) {
        std::fs::remove_file(fault_file(&self.directory)).unwrap();
    }
}

/// Starts an instance; answers in which execution.
async fn start(provider: &SqliteProvider, id: &str) -> Result<ExecutionId, ProviderError> {
    let start = StartInstance::new("not-registered".into(), "1".into());
    let message = Message::new(format!("start-{id}").into(), MessageBody::Start(start));
    let outcome = provider.start(&id.into(), message, IdReuse::Refuse).await?;
    match outcome {
        StartOutcome::Started { execution_id, .. } => Ok(execution_id),
        other => panic!("{other:?}"),
    }
}

async fn ids(provider: &SqliteProvider) -> Vec<String> {
    let records = records(provider).await;
    records
        .iter()
        .map(|record| record.instance.to_string())
        .collect()
}

fn started() -> Result<ExecutionId, ProviderError> {
    Ok(ExecutionId::FIRST)
}

#[tokio::test]
async fn child_whose_syncs_fail() {
    let Some(disk) = Disk::of_child() else {
        return;
    };
    let provider = disk.open();
    assert_eq!(start(&provider, "before").await, started());
    disk.fail("sync");
    let answer = start(&provider, "during").await;
    let Err(ProviderError::Unknown { .. }) = answer else {
        panic!("{answer:?}");
    };
    // It reads as if it were there, but the disk does not have it.
    let answer = start(&provider, "during").await;
    let Err(ProviderError::Unavailable { .. }) = answer else {
        panic!("{answer:?}");
    };
    disk.heal();
    assert_eq!(start(&provider, "during").await, started());
    assert_eq!(start(&provider, "after").await, started());
    assert_eq!(ids(&provider).await, ["after", "before", "during"]);
    audit(&provider).await;
}

#[tokio::test]
async fn child_that_claims_an_instance() {
    let Some(disk) = Disk::of_child() else {
        return;
    };
    let provider = disk.open();
    let session = provider.open_session(SessionOptions::default());
    let session = session.await.unwrap();
    assert_eq!(start(&provider, "held").await, started());
    disk.fail("sync");
    let ready = provider.fetch_instances(session, 9).await.unwrap();
    provider.heartbeat(session).await.unwrap();
    let turn = TurnBuilder::new(&ready.instances[0], provider.now_ms())
        .consuming(&ready.instances[0].messages)
        .started()
        .build();
    let answer = provider.commit(Arc::new(turn)).await;
    assert!(
        matches!(answer, Err(ProviderError::Unknown { .. })),
        "{answer:?}"
    );
    disk.heal();
    audit(&provider).await;
}

#[tokio::test]
async fn child_whose_disk_is_full() {
    let Some(disk) = Disk::of_child() else {
        return;
    };
    let provider = disk.open();
    assert_eq!(start(&provider, "before").await, started());
    disk.fail("full");
    for _ in 0..3 {
        let answer = start(&provider, "during").await;
        assert!(
            matches!(answer, Err(ProviderError::Unavailable { .. })),
            "{answer:?}"
        );
    }
    assert_eq!(ids(&provider).await, ["before"]);
    disk.heal();
    assert_eq!(ids(&provider).await, ["before"]);
    assert_eq!(start(&provider, "during").await, started());
    assert_eq!(ids(&provider).await, ["before", "during"]);
    audit(&provider).await;
}

#[tokio::test]
async fn child_that_may_not_write() {
    let Some(disk) = Disk::of_child() else {
        return;
    };
    drop(disk.open());
    disk.fail("read-only");
    let refused = SqliteProvider::open(disk.file());
    let Err(ProviderError::Unusable { reason }) = refused else {
        panic!("{refused:?}");
    };
    let expected = format!(
        "`{}` is read-only: make the file and its directory writable for this user",
        disk.file().display()
    );
    assert_eq!(reason, expected);
    disk.heal();
    assert_eq!(start(&disk.open(), "after").await, started());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_that_works_on_a_bad_disk() {
    const INSTANCES: u64 = 50;
    let Some(disk) = Disk::of_child() else {
        return;
    };
    let provider = loop {
        // Opening writes, too.
        if let Ok(provider) = SqliteProvider::open(disk.file()) {
            break provider;
        }
    };
    let runtime = loop {
        // So does a node that starts.
        if let Ok(runtime) = try_node(&provider).await {
            break runtime;
        }
    };
    let mut handles = Vec::new();
    for number in 0..INSTANCES {
        let id = format!("{number:02}");
        let client = runtime.client();
        let start = || {
            client
                .start(COUNT, id.as_str(), &number)
                .message_id(id.as_str())
        };
        let handle = loop {
            // A start that may have happened is sent again under its own id.
            if let Ok(handle) = start().await {
                break handle;
            }
        };
        handles.push(handle);
    }
    for (number, handle) in (0..INSTANCES).zip(handles) {
        assert_eq!(handle.wait().await.unwrap(), number + 3);
    }
    runtime.shutdown(Duration::from_secs(5)).await;
    assert_eq!(records(&provider).await.len() as u64, INSTANCES);
    audit(&provider).await;
}
