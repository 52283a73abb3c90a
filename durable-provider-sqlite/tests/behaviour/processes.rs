//! Several processes on one file, played by handles that share nothing but the file.

use std::time::{Duration, Instant};

use durable_core::InstanceId;
use durable_core::provider::{
    IdReuse, OutgoingMessage, Provider, ProviderError, SessionOptions, WakeSeq, WakeTopic,
};
use durable_provider_sqlite::SqliteProvider;
use durable_testkit::{ManualClock, event_message, start_message};

use crate::support::{COUNT, Place, audit, node};

fn an_hour() -> SessionOptions {
    SessionOptions::new("test").session_timeout_ms(3_600_000)
}

async fn start(provider: &SqliteProvider, id: &str) {
    let id = InstanceId::from(id);
    let message = start_message(format!("start-{id}"));
    let _ = provider.start(&id, message, IdReuse::Refuse).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn news_from_another_process_comes_within_the_bound() {
    let place = Place::new();
    let (here, there) = (place.open(), place.open());
    let session = here.open_session(an_hour()).await.unwrap();
    let mut worst = Duration::ZERO;
    for round in 0..5 {
        let seen = here.fetch_instances(session, 9).await.unwrap().seen;
        let topic = WakeTopic::Instances;
        let mut wait = std::pin::pin!(here.wait(Some(session), &topic, seen));
        let early = tokio::time::timeout(Duration::from_millis(20), &mut wait).await;
        // What the last round left behind is no news for long.
        if early.is_ok() {
            continue;
        }
        start(&there, &format!("{round}")).await;
        let began = Instant::now();
        wait.await.unwrap();
        worst = worst.max(began.elapsed());
        let ready = here.fetch_instances(session, 9).await.unwrap();
        assert_eq!(ready.instances.len(), 1);
    }
    assert!(worst < Duration::from_secs(2), "{worst:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_from_another_process_reaches_the_holder() {
    let place = Place::new();
    let (here, there) = (place.open(), place.open());
    let session = here.open_session(an_hour()).await.unwrap();
    start(&here, "a").await;
    let ready = here.fetch_instances(session, 9).await.unwrap();
    assert_eq!(ready.instances.len(), 1);
    let outgoing = OutgoingMessage::new("a".into(), event_message("m1"));
    let _ = there.send(outgoing).await.unwrap();
    let wait = here.wait(Some(session), &WakeTopic::Instances, ready.seen);
    wait.await.unwrap();
    let again = here.fetch_instances(session, 9).await.unwrap();
    assert_eq!(again.instances[0].lease, ready.instances[0].lease);
    assert_eq!(again.instances[0].messages.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_dies_is_noticed_by_one_that_waits() {
    let place = Place::new();
    let (living, dying) = (place.open(), place.open());
    let heir = living.open_session(an_hour()).await.unwrap();
    let doomed = dying.open_session(an_hour()).await.unwrap();
    start(&living, "a").await;
    let lost = dying.fetch_instances(doomed, 9).await.unwrap();
    assert_eq!(lost.instances.len(), 1);
    let nothing = living.fetch_instances(heir, 9).await.unwrap();
    assert_eq!(nothing.instances, []);
    let began = Instant::now();
    drop(dying);
    let mut seen = nothing.seen;
    let ready = loop {
        seen = living
            .wait(Some(heir), &WakeTopic::Instances, seen)
            .await
            .unwrap();
        let ready = living.fetch_instances(heir, 9).await.unwrap();
        if !ready.instances.is_empty() {
            break ready;
        }
    };
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(ready.instances[0].crashes, 1);
    assert!(ready.instances[0].lease.token > lost.instances[0].lease.token);
}

#[tokio::test]
async fn a_session_of_a_living_process_is_left_alone() {
    let place = Place::new();
    let here = place.open();
    let session = here.open_session(an_hour()).await.unwrap();
    start(&here, "a").await;
    let held = here.fetch_instances(session, 9).await.unwrap();
    for _ in 0..3 {
        let there = place.open();
        let other = there.open_session(an_hour()).await.unwrap();
        let nothing = there.fetch_instances(other, 9).await.unwrap();
        assert_eq!(nothing.instances, []);
    }
    assert!(here.heartbeat(session).await.is_ok());
    assert_eq!(held.instances.len(), 1);
}

#[tokio::test]
async fn a_session_that_another_process_ended_is_lost() {
    let place = Place::new();
    let clock = ManualClock::starting_at(1_000);
    let here = place.open_at(ManualClock::starting_at(1_000));
    let there = place.open_at(clock.clone());
    let options = an_hour().session_timeout_ms(100);
    let session = here.open_session(options).await.unwrap();
    clock.set(1_200);
    let _ = there.fire_timers(0).await.unwrap();
    let answer = here.heartbeat(session).await;
    assert_eq!(answer, Err(ProviderError::SessionLost { session }));
    let wait = here.wait(Some(session), &WakeTopic::Timers, WakeSeq(u64::MAX));
    assert_eq!(wait.await, Err(ProviderError::SessionLost { session }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_nodes_share_the_work_of_one_file() {
    const INSTANCES: u64 = 60;
    let place = Place::new();
    let (here, there) = (place.open(), place.open());
    let (first, second) = (node(&here).await, node(&there).await);
    let mut handles = Vec::new();
    for number in 0..INSTANCES {
        let client = if number % 2 == 0 {
            first.client()
        } else {
            second.client()
        };
        let start = client.start(COUNT, format!("count-{number}"), &number);
        handles.push(start.await.unwrap());
    }
    for (number, handle) in (0..INSTANCES).zip(handles) {
        assert_eq!(handle.wait().await.unwrap(), number + 3);
    }
    first.shutdown(Duration::from_secs(5)).await;
    second.shutdown(Duration::from_secs(5)).await;
    audit(&here).await;
}
