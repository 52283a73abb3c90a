//! Opening a file: what it is made like, what is refused, what stays.

use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::{
    CommitOutcome, Committed, IdReuse, Provider, ProviderError, SessionOptions, StartOutcome,
};
use durable_core::{ExecutionId, InstanceId};
use durable_provider_sqlite::{Durability, SqliteOptions, SqliteProvider};
use durable_testkit::{ManualClock, TurnBuilder, start_message};

use crate::support::{COUNT, Place, audit, node, records};

fn refusal(place: &Place) -> String {
    match SqliteProvider::open(place.file()) {
        Err(ProviderError::Unusable { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

#[cfg(unix)]
#[tokio::test]
async fn everything_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let provider = place.open();
    let session = provider.open_session(SessionOptions::default());
    session.await.unwrap();
    let mut names = Vec::new();
    for file in std::fs::read_dir(place.directory()).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        names.push(file.file_name().into_string().unwrap());
        assert_eq!(mode, 0o600, "{names:?}");
    }
    names.sort();
    assert_eq!(names[..3], ["store.db", "store.db-shm", "store.db-wal"]);
    assert!(names[3].starts_with("store.db.session-"), "{names:?}");
    assert_eq!(names.len(), 4);
}

#[tokio::test]
async fn a_closed_session_leaves_no_lock_file() {
    let place = Place::new();
    let provider = place.open();
    let session = provider
        .open_session(SessionOptions::default())
        .await
        .unwrap();
    provider.close_session(session).await.unwrap();
    let files = std::fs::read_dir(place.directory()).unwrap();
    assert!(files.map(|file| file.unwrap().file_name()).all(|name| {
        let name = name.into_string().unwrap();
        !name.contains("session")
    }));
}

#[test]
fn the_file_says_whose_it_is() {
    let place = Place::new();
    drop(place.open());
    let pragma = |name: &str| -> String {
        let raw = place.raw();
        let text = |row: &rusqlite::Row<'_>| {
            row.get_ref(0).map(|value| match value.as_i64() {
                Ok(number) => number.to_string(),
                Err(_) => value.as_str().unwrap().to_owned(),
            })
        };
        raw.query_row(&format!("PRAGMA {name}"), [], text).unwrap()
    };
    assert_eq!(pragma("application_id"), 0x4455_5241.to_string());
    assert_eq!(pragma("user_version"), "1");
    assert_eq!(pragma("journal_mode"), "wal");
    assert_eq!(pragma("auto_vacuum"), "2");
    assert_eq!(pragma("page_size"), "4096");
}

#[test]
fn every_table_is_strict() {
    let place = Place::new();
    drop(place.open());
    let lax = "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND strict = 0 AND name NOT LIKE 'sqlite%'";
    let count: i64 = place.raw().query_row(lax, [], |row| row.get(0)).unwrap();
    assert_eq!(count, 0);
}

#[test]
fn a_database_of_another_application_is_refused_and_not_touched() {
    let place = Place::new();
    place
        .raw()
        .execute_batch("CREATE TABLE theirs (a)")
        .unwrap();
    let before = std::fs::read(place.file()).unwrap();
    let reason = refusal(&place);
    assert!(reason.contains("another application"), "{reason}");
    assert_eq!(std::fs::read(place.file()).unwrap(), before);
}

#[test]
fn a_newer_schema_is_refused_and_not_touched() {
    let place = Place::new();
    drop(place.open());
    place.raw().pragma_update(None, "user_version", 7).unwrap();
    let before = std::fs::read(place.file()).unwrap();
    let reason = refusal(&place);
    assert!(reason.contains("schema version 7"), "{reason}");
    assert!(reason.contains("upgrade this node"), "{reason}");
    assert_eq!(std::fs::read(place.file()).unwrap(), before);
}

#[test]
fn what_is_no_database_is_refused() {
    let place = Place::new();
    std::fs::write(
        place.file(),
        "this is a letter, not a database\n".repeat(400),
    )
    .unwrap();
    let reason = refusal(&place);
    assert!(reason.contains("not a database"), "{reason}");
}

#[tokio::test]
async fn a_preallocated_log_is_read_after_a_crash() {
    let place = Place::new();
    let provider = place.open();
    let log = |place: &Place| place.directory().join("store.db-wal");
    for number in 0..20_u64 {
        let id = InstanceId::from(format!("{number:02}"));
        let message = start_message(format!("start-{number}"));
        let started = provider.start(&id, message, IdReuse::Refuse);
        started.await.map(drop).unwrap();
        let length = std::fs::metadata(log(&place)).unwrap().len();
        assert!(length >= 1024 * 1024, "{number}: {length}");

        // What a crash right now would leave.
        let image = Place::new();
        std::fs::copy(place.file(), image.file()).unwrap();
        std::fs::copy(log(&place), log(&image)).unwrap();
        let after = image.open();
        assert_eq!(records(&after).await.len() as u64, number + 1);
        audit(&after).await;
    }
}

#[test]
fn a_torn_file_is_refused() {
    let place = Place::new();
    drop(place.open());
    let mut bytes = std::fs::read(place.file()).unwrap();
    for byte in &mut bytes[100..3_000] {
        *byte = 0xff;
    }
    std::fs::write(place.file(), bytes).unwrap();
    let reason = refusal(&place);
    assert!(reason.contains("restore a backup"), "{reason}");
}

#[test]
fn a_missing_directory_is_named() {
    let place = Place::new();
    let path = place.directory().join("nowhere/store.db");
    let Err(ProviderError::Unusable { reason }) = SqliteProvider::open(path) else {
        panic!("it was opened");
    };
    assert!(reason.contains("nowhere/store.db"), "{reason}");
}

#[tokio::test]
async fn what_was_started_is_there_after_a_reopen_also_with_relaxed_durability() {
    for durability in [Durability::Full, Durability::Relaxed] {
        let place = Place::new();
        let options = SqliteOptions::default().durability(durability);
        let id = InstanceId::from("a");
        let first = ExecutionId::FIRST;
        for is_new in [true, false, false] {
            let provider = SqliteProvider::open_with(place.file(), options.clone()).unwrap();
            let started = provider.start(&id, start_message("s"), IdReuse::Refuse);
            let StartOutcome::Started { execution_id, seen } = started.await.unwrap() else {
                panic!("it was not started");
            };
            assert_eq!((execution_id, seen.is_some()), (first, is_new));
            assert!(provider.instance(&id).await.unwrap().is_some());
            audit(&provider).await;
        }
    }
}

#[tokio::test]
async fn the_store_s_time_does_not_go_back_over_a_reopen() {
    let place = Place::new();
    let at = |now_ms| place.open_at(ManualClock::starting_at(now_ms));
    let id = InstanceId::from("a");
    let started = at(9_000)
        .start(&id, start_message("s"), IdReuse::Refuse)
        .await;
    assert!(matches!(started, Ok(StartOutcome::Started { .. })));
    assert_eq!(at(5).now_ms(), 9_000, "a start tells the time");

    let clock = ManualClock::starting_at(9_100);
    let provider = place.open_at(clock.clone());
    let session = provider.open_session(SessionOptions::default());
    let ready = provider.fetch_instances(session.await.unwrap(), 1);
    let ready = ready.await.unwrap().instances.remove(0);
    clock.set(9_200);
    let turn = TurnBuilder::new(&ready, 9_200).consuming(&ready.messages);
    let turn = Arc::new(turn.started().keeping_the_lease().build());
    let done = CommitOutcome::Done(Committed::default());
    assert_eq!(provider.commit(turn).await, Ok(done));
    let meta = "SELECT now_ms FROM meta";
    let meta_ms: i64 = place.raw().query_row(meta, [], |row| row.get(0)).unwrap();
    assert_eq!(meta_ms, 9_100, "a turn writes no row for the time");
    drop(provider);
    assert_eq!(at(5).now_ms(), 9_200, "and tells it nevertheless");
}

#[tokio::test]
async fn after_the_last_node_has_gone_the_file_alone_has_everything() {
    let place = Place::new();
    let provider = place.open();
    let runtime = node(&provider).await;
    let instance = runtime.client().start(COUNT, "a", &1).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 4);
    runtime.shutdown(Duration::from_secs(5)).await;
    let copy = Place::new();
    std::fs::copy(place.file(), copy.file()).unwrap();
    let copied = records(&copy.open()).await;
    assert_eq!(copied, records(&provider).await);
    assert_eq!(copied.len(), 1);
}

#[tokio::test]
async fn the_log_of_the_next_node_is_preallocated_again() {
    let place = Place::new();
    let provider = place.open();
    let log = place.directory().join("store.db-wal");
    let length = || std::fs::metadata(&log).unwrap().len();
    for id in ["a", "b"] {
        let runtime = node(&provider).await;
        let instance = runtime.client().start(COUNT, id, &1).await.unwrap();
        assert_eq!(instance.wait().await.unwrap(), 4);
        assert!(length() >= 1024 * 1024, "{id}: {}", length());
        runtime.shutdown(Duration::from_secs(5)).await;
        assert_eq!(length(), 0, "{id}");
    }
}

#[tokio::test]
async fn the_log_is_as_long_as_what_was_written_without_preallocation() {
    let place = Place::new();
    let options = SqliteOptions::default().preallocate_wal(false);
    let provider = SqliteProvider::open_with(place.file(), options).unwrap();
    for number in 0..20_u64 {
        let id = InstanceId::from(format!("{number}"));
        let started = provider.start(&id, start_message("s"), IdReuse::Refuse);
        started.await.map(drop).unwrap();
    }
    let raw = place.raw();
    let frames: i64 = raw
        .query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get(1))
        .unwrap();
    let log = place.directory().join("store.db-wal");
    let length = std::fs::metadata(log).unwrap().len();
    // The header of the log, and the header and the page of each frame.
    assert_eq!(length, 32 + frames.unsigned_abs() * (24 + 4096));
    assert_eq!(records(&provider).await.len(), 20);
    audit(&provider).await;
}
