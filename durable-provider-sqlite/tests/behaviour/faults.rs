//! What goes wrong outside: disks, files, rows, other processes, hostile input.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use durable_core::filter::{Filter, InstanceQuery, Order};
use durable_core::provider::{
    CommitOutcome, IdReuse, InboxSeq, InstanceStatus, Message, MessageBody, OutgoingMessage,
    Provider, ProviderError, SendOutcome, SessionOptions, StartInstance, StartOutcome, StatusKind,
};
use durable_core::{EventId, ExecutionId, InstanceId, LimitError, Limits};
use durable_provider_sqlite::{SqliteOptions, SqliteProvider};
use durable_testkit::{TurnBuilder, event_message, start_message};

use crate::support::{COUNT, GATED, GO, Place, audit, node};

async fn start(provider: &SqliteProvider, id: &str) -> Result<(), ProviderError> {
    let message_id = format!("start-{}", id.get(..9).unwrap_or(id));
    let (id, message) = (id.into(), start_message(message_id));
    let started = provider.start(&id, message, IdReuse::Refuse);
    started.await.map(drop)
}

#[tokio::test]
async fn a_file_that_is_removed_is_noticed_before_anything_is_acknowledged() {
    let place = Place::new();
    let provider = place.open();
    start(&provider, "a").await.unwrap();
    std::fs::remove_file(place.file()).unwrap();
    for id in ["b", "c"] {
        let Err(ProviderError::Unusable { reason }) = start(&provider, id).await else {
            panic!("it was acknowledged");
        };
        assert!(reason.contains("removed or replaced"), "{reason}");
    }
}

#[tokio::test]
async fn a_file_that_is_replaced_is_left_alone() {
    let place = Place::new();
    let provider = place.open();
    start(&provider, "a").await.unwrap();
    let other = Place::new();
    drop(other.open());
    std::fs::rename(other.file(), place.file()).unwrap();
    assert!(matches!(
        start(&provider, "b").await,
        Err(ProviderError::Unusable { .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_history_stops_its_instance_and_no_other() {
    let place = Place::new();
    let provider = place.open();
    let runtime = node(&provider).await;
    for id in ["damaged", "sound"] {
        let instance = runtime.client().start(GATED, id, &1).await.unwrap();
        let waits =
            |record: &durable_core::provider::InstanceRecord| record.last_event_id.get() >= 4;
        while !waits(&instance.record().await.unwrap()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    runtime.shutdown(Duration::from_secs(5)).await;
    let flip = "UPDATE history SET entry = CAST(substr(entry, 1, 20) || x'ff' || substr(entry, 22) AS BLOB) WHERE event_id = 2 AND instance_key = (SELECT key FROM record WHERE id = 'damaged')";
    assert_eq!(place.raw().execute(flip, []).unwrap(), 1);

    let id = InstanceId::from("damaged");
    let page = provider.history(&id, ExecutionId::FIRST, EventId::UNASSIGNED, 9);
    let Err(ProviderError::Damaged { reason }) = page.await else {
        panic!("it was read");
    };
    assert!(
        reason.contains("`damaged`, execution 1, event 2"),
        "{reason}"
    );
    let report = provider.integrity_check().await.unwrap();
    assert_eq!(report.damages.len(), 1);
    assert_eq!(report.damages[0].instance.as_deref(), Some("damaged"));
    assert_eq!(report.damages[0].what, "execution 1, event 2");

    let runtime = node(&provider).await;
    let sound = runtime.client().instance(GATED, "sound");
    let damaged = runtime.client().instance(GATED, "damaged");
    sound.raise(GO, &0).await.unwrap();
    damaged.raise(GO, &0).await.unwrap();
    assert_eq!(sound.wait().await.unwrap(), 4);
    let stopped = damaged.wait_until(|record| record.status.kind() == StatusKind::Suspended);
    let InstanceStatus::Suspended { failure } = stopped.await.unwrap().status else {
        panic!("it is suspended");
    };
    assert!(failure.message.contains("event 2"), "{failure}");
    runtime.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn a_damaged_message_stops_its_instance_and_no_other() {
    let place = Place::new();
    let provider = place.open();
    start(&provider, "damaged").await.unwrap();
    start(&provider, "sound").await.unwrap();
    let flip = "UPDATE inbox SET message = CAST(x'7f' || substr(message, 2) AS BLOB) WHERE message_id = 'start-damaged'";
    assert_eq!(place.raw().execute(flip, []).unwrap(), 1);
    let session = provider
        .open_session(SessionOptions::default())
        .await
        .unwrap();
    let ready = provider.fetch_instances(session, 9).await.unwrap();
    assert_eq!(ready.instances.len(), 1);
    assert_eq!(ready.instances[0].lease.instance, "sound");
    let record = provider.instance(&"damaged".into()).await.unwrap().unwrap();
    let InstanceStatus::Suspended { failure } = record.status else {
        panic!("it is suspended");
    };
    assert!(failure.message.contains("to `damaged`"), "{failure}");
}

#[tokio::test]
async fn work_whose_event_is_damaged_is_not_claimed_and_its_instance_is_suspended() {
    let of_damaged =
        "WHERE event_id = 2 AND instance_key = (SELECT key FROM record WHERE id = 'damaged')";
    let flip = "UPDATE history SET entry = CAST(x'7f' || substr(entry, 2) AS BLOB)";
    let other_event = "UPDATE history SET entry = (SELECT entry FROM history WHERE event_id = 1)";
    let cases = [
        (
            flip,
            "execution 1, event 2",
            "`damaged`, execution 1, event 2: ",
        ),
        (other_event, "", "event 2: the entry of event 1 is there"),
        (
            "DELETE FROM history",
            "the entry of work 1/2",
            "event 2: the entry that scheduled work is not stored",
        ),
    ];
    for (vandalism, checked, told) in cases {
        let place = Place::new();
        let provider = place.open();
        let session = provider.open_session(SessionOptions::default());
        let session = session.await.unwrap();
        for id in ["damaged", "sound"] {
            start(&provider, id).await.unwrap();
        }
        let ready = provider.fetch_instances(session, 9).await.unwrap();
        for ready in &ready.instances {
            let turn = TurnBuilder::new(ready, provider.now_ms()).consuming(&ready.messages);
            let turn = turn.started().activity("charge").build();
            let outcome = provider.commit(Arc::new(turn)).await;
            assert!(matches!(outcome, Ok(CommitOutcome::Done(_))));
        }
        let vandalism = format!("{vandalism} {of_damaged}");
        assert_eq!(place.raw().execute(&vandalism, []).unwrap(), 1);
        let report = provider.integrity_check().await.unwrap();
        let found = report.damages.first().map(|damage| damage.what.as_str());
        assert_eq!(found.unwrap_or_default(), checked, "{report}");
        for expected in [vec!["sound"], vec![]] {
            let batch = provider.fetch_work(session, &[None], 9).await.unwrap();
            let work = batch.work.iter();
            let claimed: Vec<&str> = work.map(|work| work.lease.key.instance.as_str()).collect();
            assert_eq!(claimed, expected);
        }
        let record = provider.instance(&"damaged".into()).await.unwrap().unwrap();
        let InstanceStatus::Suspended { failure } = record.status else {
            panic!("it is suspended");
        };
        assert!(failure.message.contains(told), "{failure}");
        let sound = provider.instance(&"sound".into()).await.unwrap().unwrap();
        assert_eq!(sound.status, InstanceStatus::Running);
    }
}

#[tokio::test]
async fn a_start_is_not_lost_to_an_older_message_with_its_id() {
    let place = Place::new();
    let provider = place.open();
    let session = provider.open_session(SessionOptions::default());
    let session = session.await.unwrap();
    start(&provider, "a").await.unwrap();
    let ready = provider.fetch_instances(session, 9).await.unwrap();
    let ready = &ready.instances[0];
    let late = OutgoingMessage::new("a".into(), event_message("same"));
    assert_eq!(provider.send(late).await, Ok(SendOutcome::Accepted));
    let turn = TurnBuilder::new(ready, provider.now_ms()).consuming(&ready.messages);
    let ended = turn.started().completed("1").build();
    let outcome = provider.commit(Arc::new(ended)).await;
    assert!(matches!(outcome, Ok(CommitOutcome::Done(_))));
    let (id, again) = (InstanceId::from("a"), start_message("same"));
    let started = provider.start(&id, again.clone(), IdReuse::RestartEnded);
    let StartOutcome::Started { execution_id, .. } = started.await.unwrap() else {
        panic!("it was not started");
    };
    assert_eq!(execution_id, ExecutionId::new(2));
    let inbox = provider.inbox(&id, InboxSeq::default(), 9).await;
    let inbox = inbox.unwrap().messages.into_iter();
    let messages: Vec<Message> = inbox.map(|queued| queued.message).collect();
    assert_eq!(messages, [event_message("same"), again]);
}

#[tokio::test]
async fn a_damaged_status_is_named_and_hides_no_other() {
    let place = Place::new();
    let provider = place.open();
    for id in ["a", "b", "c"] {
        start(&provider, id).await.unwrap();
    }
    let flip = "UPDATE record SET status = x'00' WHERE id = 'b'";
    place.raw().execute(flip, []).unwrap();
    let read = provider.instance(&"b".into()).await;
    assert!(matches!(read, Err(ProviderError::Damaged { reason }) if reason.contains("`b`")));
    let page = provider
        .instances(&InstanceQuery::all().ordered(Order::BY_ID), None, 9)
        .await
        .unwrap();
    assert_eq!(page.instances.len(), 3);
    assert!(page.instances[1].blocked.is_some());
    assert!(page.instances[0].blocked.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_storm_of_other_writers_loses_nothing() {
    const INSTANCES: u64 = 40;
    let place = Place::new();
    let provider = place.open();
    let is_over = Arc::new(AtomicBool::new(false));
    let mut vandals = Vec::new();
    for _ in 0..2 {
        let (raw, is_over) = (place.raw(), Arc::clone(&is_over));
        vandals.push(std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                raw.execute_batch("BEGIN IMMEDIATE").unwrap();
                std::thread::sleep(Duration::from_millis(3));
                raw.execute_batch("COMMIT").unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        }));
    }
    let runtime = node(&provider).await;
    let mut handles = Vec::new();
    for number in 0..INSTANCES {
        let start = runtime.client().start(COUNT, format!("{number}"), &number);
        handles.push(start.await.unwrap());
    }
    for (number, handle) in (0..INSTANCES).zip(handles) {
        assert_eq!(handle.wait().await.unwrap(), number + 3);
    }
    runtime.shutdown(Duration::from_secs(5)).await;
    is_over.store(true, Ordering::Relaxed);
    for vandal in vandals {
        vandal.join().unwrap();
    }
    audit(&provider).await;
}

#[tokio::test]
async fn a_file_that_stays_busy_is_unavailable_and_then_goes_on() {
    let place = Place::new();
    let options = SqliteOptions::default().busy_timeout(Duration::from_millis(50));
    let provider = SqliteProvider::open_with(place.file(), options).unwrap();
    let raw = place.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = start(&provider, "a").await.unwrap_err();
    assert!(refused.is_retryable(), "{refused}");
    let none = provider.instance(&"a".into()).await.unwrap();
    assert_eq!(none, None, "readers are not blocked, and nothing happened");
    raw.execute_batch("COMMIT").unwrap();
    start(&provider, "a").await.unwrap();
}

#[tokio::test]
async fn a_payload_at_the_limit_is_stored_and_one_over_it_writes_nothing() {
    let place = Place::new();
    let options = SqliteOptions::default().limits(Limits::new().max_payload_bytes(100_000));
    let provider = SqliteProvider::open_with(place.file(), options).unwrap();
    let message = |bytes: usize| {
        let start = StartInstance::new("fulfil".into(), "x".repeat(bytes).into());
        Message::new(format!("start-{bytes}").into(), MessageBody::Start(start))
    };
    let before = provider.statistics();
    let id = InstanceId::from("b");
    let over = provider.start(&id, message(100_001), IdReuse::Refuse);
    let expected = LimitError::PayloadTooLarge {
        what: "input",
        bytes: 100_001,
        max_bytes: 100_000,
    };
    assert_eq!(over.await, Err(ProviderError::Refused(expected)));
    assert_eq!(provider.statistics(), before);

    let _ = provider
        .start(&"a".into(), message(100_000), IdReuse::Refuse)
        .await
        .unwrap();
    drop(provider);
    let provider = place.open();
    let session = provider
        .open_session(SessionOptions::default())
        .await
        .unwrap();
    let mut ready = provider
        .fetch_instances(session, 9)
        .await
        .unwrap()
        .instances;
    assert_eq!(ready.remove(0).messages[0].message, message(100_000));
}

#[tokio::test]
async fn hostile_names_are_names() {
    let names = [
        "\0",
        "a\0b",
        "'; DROP TABLE history; --",
        "\" OR 1=1",
        "%_*?[a-z]",
        "../../etc/passwd",
        "\u{feff}\u{202e}",
        "e\u{301}",
        "\u{e9}",
        "{curly}",
        " ",
        "注文 🛒",
    ];
    let place = Place::new();
    let provider = place.open();
    for name in names {
        start(&provider, name).await.unwrap();
    }
    let long = "x".repeat(1_024);
    start(&provider, &long).await.unwrap();
    assert!(matches!(
        start(&provider, "").await,
        Err(ProviderError::Refused(_))
    ));
    let too_long = "x".repeat(1_025);
    assert!(matches!(
        start(&provider, &too_long).await,
        Err(ProviderError::Refused(_))
    ));
    let page = provider
        .instances(&InstanceQuery::all().ordered(Order::BY_ID), None, 99)
        .await
        .unwrap();
    let listed: Vec<InstanceId> = page
        .instances
        .into_iter()
        .map(|record| record.instance)
        .collect();
    let mut expected: Vec<InstanceId> = names.iter().map(|name| (*name).into()).collect();
    expected.push(long.as_str().into());
    expected.sort();
    assert_eq!(listed, expected);
    for prefix in ["%", "a\0", "'", "_"] {
        let query = InstanceQuery::new(Filter::id_starts_with(prefix));
        let found = provider
            .instances(&query, None, 99)
            .await
            .unwrap()
            .instances;
        let meant = names.iter().filter(|name| name.starts_with(prefix)).count();
        assert_eq!(found.len(), meant, "{prefix:?}");
    }
    audit(&provider).await;
}
