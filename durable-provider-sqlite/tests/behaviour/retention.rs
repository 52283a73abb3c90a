//! Removing what is no longer needed, and keeping the file and its log in bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use durable_core::filter::Filter;
use durable_core::provider::{
    CommitOutcome, IdReuse, Provider, PurgeRequest, SessionOptions, StartOutcome, StatusKind,
};
use durable_core::{ExecutionId, InstanceId};
use durable_provider_sqlite::{SqliteOptions, SqliteProvider};
use durable_testkit::{ManualClock, TurnBuilder, start_message};

use crate::support::{Place, audit, records};

/// Starts an instance and ends it in its first turn.
async fn start_and_end(provider: &SqliteProvider, id: &str) {
    let now_ms = provider.now_ms();
    let session = provider.open_session(SessionOptions::default());
    let session = session.await.unwrap();
    let id = InstanceId::from(id);
    let message = start_message(format!("start-{id}-{now_ms}"));
    let _ = provider
        .start(&id, message, IdReuse::RestartEnded)
        .await
        .unwrap();
    let ready = provider.fetch_instances(session, 1).await.unwrap();
    let ready = &ready.instances[0];
    let turn = TurnBuilder::new(ready, now_ms).consuming(&ready.messages);
    let turn = turn.started().completed("{}").build();
    let outcome = provider.commit(Arc::new(turn)).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Done(_)), "{outcome:?}");
    provider.close_session(session).await.unwrap();
}

#[tokio::test]
async fn ended_instances_are_removed_by_age_and_status_and_their_ids_stay_above() {
    let place = Place::new();
    let clock = ManualClock::starting_at(1_000);
    let provider = place.open_at(clock.clone());
    for id in ["a", "b", "c", "d"] {
        start_and_end(&provider, id).await;
        clock.advance(1);
    }
    let id = InstanceId::from("running");
    let started = provider.start(&id, start_message("s"), IdReuse::Refuse);
    let _ = started.await.unwrap();
    let purge = |max, statuses: &[StatusKind]| {
        let filter = match statuses {
            [] => Filter::all(),
            statuses => Filter::status_in(statuses.iter().copied()),
        };
        PurgeRequest::new(filter.and(Filter::changed_before_ms(1_003)), max)
    };
    let nothing = provider
        .purge(&purge(9, &[StatusKind::Failed]))
        .await
        .unwrap();
    assert_eq!((nothing.instances, nothing.has_more), (0, false));
    let some = provider.purge(&purge(2, &[])).await.unwrap();
    assert_eq!((some.instances, some.has_more), (2, true));
    let rest = provider
        .purge(&purge(9, &[StatusKind::Completed]))
        .await
        .unwrap();
    assert_eq!((rest.instances, rest.has_more), (1, false));
    let left: Vec<InstanceId> = records(&provider)
        .await
        .into_iter()
        .map(|record| record.instance)
        .collect();
    assert_eq!(left, ["d", "running"].map(InstanceId::from));
    drop(provider);

    let provider = place.open();
    let id = InstanceId::from("a");
    let again = provider.start(&id, start_message("again"), IdReuse::Refuse);
    let StartOutcome::Started { execution_id, .. } = again.await.unwrap() else {
        panic!("it was not started");
    };
    assert_eq!(execution_id, ExecutionId::new(2));
    audit(&provider).await;
}

#[tokio::test]
async fn a_purge_gives_room_back() {
    let place = Place::new();
    let provider = place.open();
    for number in 0..300 {
        start_and_end(&provider, &format!("{number:04}{}", "x".repeat(900))).await;
    }
    let pages = || -> i64 {
        let raw = place.raw();
        raw.query_row("PRAGMA page_count", [], |row| row.get(0))
            .unwrap()
    };
    let before = pages();
    let purge = PurgeRequest::new(Filter::all(), 1_000);
    let removed = provider.purge(&purge).await.unwrap();
    assert_eq!(removed.instances, 300);
    provider.vacuum(100_000).await.unwrap();
    let after = pages();
    assert!(after < before, "{before} pages before, {after} after");
    audit(&provider).await;
}

#[tokio::test]
async fn the_log_stays_in_bounds_while_readers_read_all_the_time() {
    let place = Place::new();
    let options = SqliteOptions::default().checkpoint_pages(50);
    let provider = SqliteProvider::open_with(place.file(), options).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    // They overlap, so there is always one, but none stays for long.
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (reader, is_over) = (place.raw(), Arc::clone(&is_over));
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let read = "BEGIN; SELECT count(*) FROM record;";
                    reader.execute_batch(read).unwrap();
                    std::thread::sleep(Duration::from_millis(5));
                    reader.execute_batch("COMMIT").unwrap();
                }
            })
        })
        .collect();
    let mut longest = 0;
    for number in 0..400 {
        let id = InstanceId::from(format!("{number}{}", "x".repeat(800)));
        let start = provider.start(&id, start_message("s"), IdReuse::Refuse);
        let _ = start.await.unwrap();
        let mut log = place.file().into_os_string();
        log.push("-wal");
        longest = longest.max(std::fs::metadata(log).unwrap().len());
    }
    is_over.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.join().unwrap();
    }
    // Four times the threshold, and what is written between two looks; without them
    // it would be 18 MB.
    assert!(longest < 4096 * 50 * 30, "{longest} bytes");
}
