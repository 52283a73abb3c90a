//! What a session's node can run decides what it is given: at a cost that does not grow with
//! what waits for others, in every partition, and through any handle.
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::{
    CommitOutcome, IdReuse, Message, MessageBody, Provider, ReadyInstance, Release, ServedCode,
    SessionId, SessionOptions, StartInstance, WorkResult, WorkSettlement,
};
use durable_core::{Failure, InstanceId};
use durable_provider_redis::RedisProvider;
use durable_testkit::TurnBuilder;
use support::server::{Server, store_options};

const NOW_MS: u64 = 1_700_000_000_000;

async fn start(provider: &RedisProvider, id: impl Into<InstanceId>, name: &str) {
    let (id, start) = (id.into(), StartInstance::new(name.into(), "{}".into()));
    let message = Message::new("start".into(), MessageBody::Start(start));
    let outcome = provider.start(&id, message, IdReuse::Refuse).await;
    let _ = outcome.unwrap();
}

fn hour(code: Option<ServedCode>) -> SessionOptions {
    let mut options = SessionOptions::new("test").session_timeout_ms(3_600_000);
    options.code = code;
    options
}

async fn fetch(provider: &RedisProvider, session: SessionId) -> Vec<ReadyInstance> {
    let ready = provider.fetch_instances(session, 1_000).await;
    ready.unwrap().instances
}

/// Starts an instance and lets it call an activity, which stays in the queue.
async fn queue_activity(provider: &RedisProvider, session: SessionId, id: String, activity: &str) {
    start(provider, id, "fulfil").await;
    let [ready] = fetch(provider, session).await.try_into().unwrap();
    let turn = TurnBuilder::new(&ready, NOW_MS).consuming(&ready.messages);
    let turn = turn.started().activity(activity).build();
    let outcome = provider.commit(Arc::new(turn)).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Done(_)), "{outcome:?}");
}

/// How many commands the server has run, also within scripts.
fn commands(server: &Server) -> u64 {
    let stats = server.command("INFO commandstats");
    let calls = stats.lines().filter_map(|line| {
        let (name, rest) = line.split_once(":calls=")?;
        let calls: u64 = rest.split(',').next()?.parse().ok()?;
        (name != "cmdstat_info").then_some(calls)
    });
    calls.sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_costs_the_same_however_much_waits_for_other_code() {
    let server = Server::start();
    // Nothing looks by itself meanwhile.
    let options = store_options().poll_interval(Duration::from_secs(3_600));
    let provider = server.open(options).await;
    let any = provider.open_session(hour(None)).await.unwrap();
    let code = ServedCode::new()
        .orchestration("order", "1.0.0")
        .activity("charge");
    let session = provider.open_session(hour(Some(code))).await.unwrap();
    let mut costs = Vec::new();
    for waiting in [1, 1, 300] {
        for number in 0..waiting {
            let id = format!("work-{}-{number}", costs.len());
            queue_activity(&provider, any, id, "ship").await;
        }
        for number in 0..waiting {
            start(&provider, format!("i-{}-{number}", costs.len()), "bill").await;
        }
        let before = commands(&server);
        assert_eq!(fetch(&provider, session).await, []);
        let work = provider.fetch_work(session, &[None], 100).await.unwrap();
        assert_eq!(work.work, []);
        costs.push(commands(&server) - before);
        // What the session that runs any code takes, it keeps.
        if waiting == 1 {
            assert_eq!(fetch(&provider, any).await.len(), 1);
            let work = provider.fetch_work(any, &[None], 100).await.unwrap();
            assert_eq!(work.work.len(), 1);
        }
    }
    // The first calls bring the scripts along.
    assert_eq!(costs[2], costs[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_given_its_code_through_any_handle_in_every_partition() {
    for partitions in [1, 3] {
        let server = Server::start();
        let options = store_options().partitions(Some(partitions));
        let (one, other) = (
            server.open(options.clone()).await,
            server.open(options).await,
        );
        let code = ServedCode::new()
            .orchestration("order", "1.0.0")
            .activity("charge");
        let options = hour(Some(code)).queues(vec![None, Some("gpu".into())]);
        let session = one.open_session(options.clone()).await.unwrap();
        let any = one.open_session(hour(None)).await.unwrap();
        for number in 0..12 {
            let name = ["order", "bill"][number % 2];
            start(&one, format!("{name}-{number}"), name).await;
        }
        let ids = |ready: Vec<ReadyInstance>| {
            let mut ids: Vec<String> = ready
                .into_iter()
                .map(|ready| ready.lease.instance.to_string())
                .collect();
            ids.sort();
            ids
        };
        let orders: Vec<String> = [0, 10, 2, 4, 6, 8].map(|n| format!("order-{n}")).into();
        assert_eq!(ids(fetch(&other, session).await), orders);
        let bills: Vec<String> = [1, 11, 3, 5, 7, 9].map(|n| format!("bill-{n}")).into();
        assert_eq!(ids(fetch(&other, any).await), bills);

        for activity in ["ship", "charge"] {
            for number in 0..4 {
                queue_activity(&one, any, format!("{activity}-{number}"), activity).await;
            }
        }
        let work = other.fetch_work(session, &[None], 100).await.unwrap().work;
        assert_eq!(work.len(), 4);
        assert!(work.iter().all(|claimed| claimed.item.name == "charge"));

        for handle in [&one, &other] {
            let live = handle.sessions().await.unwrap();
            let told: Vec<_> = live
                .into_iter()
                .map(|live| (live.session, live.options))
                .collect();
            assert_eq!(told, [(session, options.clone()), (any, hour(None))]);
        }
        one.close_session(session).await.unwrap();
        one.close_session(any).await.unwrap();
        assert_eq!(other.sessions().await.unwrap(), []);
        assert_eq!(server.command("KEYS *:s:*"), "*0\r\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_delayed_for_ever_is_never_ready() {
    let server = Server::start();
    let provider = server.open(store_options()).await;
    let session = provider.open_session(hour(None)).await.unwrap();
    queue_activity(&provider, session, "work".into(), "charge").await;
    let work = provider.fetch_work(session, &[None], 9).await.unwrap();
    let [claimed] = work.work.try_into().unwrap();
    let result = WorkResult::Retry {
        not_before_ms: u64::MAX,
        failure: Failure::application("busy", "later"),
    };
    let settled = provider.settle_work(WorkSettlement::new(claimed.lease, result));
    let _ = settled.await.unwrap();
    let work = provider.fetch_work(session, &[None], 9).await.unwrap();
    assert_eq!(work.work, []);
    assert!(work.next_due_ms > Some(NOW_MS), "{:?}", work.next_due_ms);

    start(&provider, "late", "order").await;
    let [ready] = fetch(&provider, session).await.try_into().unwrap();
    let mut release = Release::new(ready.lease);
    release.not_before_ms = Some(u64::MAX);
    provider.release(vec![release]).await.unwrap();
    let ready = provider.fetch_instances(session, 9).await.unwrap();
    assert_eq!(ready.instances, []);
    assert!(ready.next_due_ms > Some(NOW_MS), "{:?}", ready.next_due_ms);
}
