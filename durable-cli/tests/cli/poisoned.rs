//! `poisoned`.

use std::time::Duration;

use durable_core::EventId;
use durable_core::provider::{Provider, SessionOptions, SettleOutcome, WorkResult, WorkSettlement};
use durable_provider_sqlite::SqliteProvider;
use durable_runtime::{Failure, FailureKind, Runtime, RuntimeOptions};
use serde_json::json;

use crate::support::{Place, QUICK, registry};

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_listed_until_they_are_purged() {
    let place = Place::filled().await;
    let none = place.durable(&["poisoned"]).done();
    assert_eq!(none, "there are no dead letters\n");
    assert_eq!(place.json(&["poisoned"]), json!({ "poisoned": [] }));

    poison(&place).await;
    let listed = place.json(&["poisoned"]);
    let [work] = &listed["poisoned"].as_array().unwrap()[..] else {
        panic!("{listed}");
    };
    assert!(work["scheduled_at_ms"].is_u64(), "{work}");
    let mut rest = work.clone();
    rest.as_object_mut().unwrap().remove("scheduled_at_ms");
    let expected = json!({
        "instance": "bad-1", "execution": 1, "event": 2, "command": "Activity(0)",
        "activity": "double", "queue": null, "input": 21,
        "failure": {
            "kind": "poisoned", "message": "three workers died", "details": null,
            "retryable": false,
        },
    });
    assert_eq!(rest, expected);
    let text = place.durable(&["poisoned"]).done();
    let [head, line] = text.lines().collect::<Vec<_>>()[..] else {
        panic!("{text}");
    };
    assert!(head.starts_with("instance  execution  event  activity  scheduled (UTC)"));
    assert!(line.starts_with("bad-1"), "{line}");
    assert!(line.ends_with("poisoned: three workers died"), "{line}");

    place.durable(&["purge", "--prefix", "bad"]).done();
    let none = place.durable(&["poisoned"]).done();
    assert_eq!(none, "there are no dead letters\n");
}

/// Runs `bad-1` on a node that runs no activities, and sets its activity aside.
async fn poison(place: &Place) {
    let options = RuntimeOptions::default().max_activities(0);
    let store = SqliteProvider::open(place.file()).unwrap();
    let node = Runtime::builder(store, registry()).options(options);
    let node = node.start().await.unwrap();
    let bad = node.client().start(QUICK, "bad-1", &21).await.unwrap();
    bad.wait_until(|record| record.last_event_id == EventId::new(2))
        .await
        .unwrap();
    let worker = SqliteProvider::open(place.file()).unwrap();
    let session = worker.open_session(SessionOptions::default());
    let session = session.await.unwrap();
    let batch = worker.fetch_work(session, &[None], 10).await.unwrap();
    let [claimed] = &batch.work[..] else {
        panic!("{batch:?}");
    };
    let failure = Failure::new(FailureKind::Poisoned, "three workers died");
    let settlement = WorkSettlement::new(claimed.lease.clone(), WorkResult::Poisoned(failure));
    let settled = worker.settle_work(settlement).await.unwrap();
    assert_eq!(settled, SettleOutcome::Settled);
    worker.close_session(session).await.unwrap();
    bad.wait().await.unwrap_err();
    node.shutdown(Duration::from_secs(5)).await;
}
