//! Names that try to be keys, payloads at the limit, and what stays when all is done.
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::{
    IdReuse, Message, MessageBody, Provider, ProviderError, PurgeRequest, SessionOptions,
    SettleOutcome, StartInstance, TurnCommit, WorkResult, WorkSettlement,
};
use durable_core::{InstanceId, LimitError, Limits, Name};
use durable_testkit::{TurnBuilder, event_message, start_message};
use futures::future::try_join_all;

use support::code::{COUNT, PARENT, audit, node, records};
use support::server::{Server, store_options};

const NOW_MS: u64 = 1_700_000_000_000;

fn hostile_names() -> Vec<String> {
    let mut names: Vec<String> = [
        "{a}",
        "}{",
        "{other:0}:i:x",
        "a:b:c",
        "1:2",
        "\0",
        "a\0b",
        "\r\n$4\r\n",
        "'; DROP",
        "\"",
        "ü𝄞",
        " ",
        "-",
        "+",
        "(a",
        "[a",
        "*",
        "%d%s",
        "w:gpu",
    ]
    .map(str::to_owned)
    .into();
    names.push("n".repeat(1_018));
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_names_come_back_as_they_were() {
    for partitions in [1, 3] {
        let server = Server::start();
        let options = store_options().partitions(Some(partitions));
        let provider = server.open(options).await;
        let hour = SessionOptions::new("{\0}").session_timeout_ms(3_600_000);
        let session = provider.open_session(hour).await.unwrap();
        let names = hostile_names();
        for name in &names {
            let (id, message) = (
                InstanceId::from(name.as_str()),
                start_message(name.as_str()),
            );
            let start = provider.start(&id, message, IdReuse::Refuse);
            let _ = start.await.unwrap();
        }
        let mut listed: Vec<String> = records(&provider)
            .await
            .into_iter()
            .map(|record| record.instance.to_string())
            .collect();
        listed.sort();
        let mut expected = names.clone();
        expected.sort();
        assert_eq!(listed, expected);

        let ready = provider.fetch_instances(session, 100).await.unwrap();
        assert_eq!(ready.instances.len(), names.len());
        let mut turns: Vec<Arc<TurnCommit>> = Vec::new();
        for (ready, queue) in ready.instances.iter().zip(names.iter().cycle().skip(1)) {
            let to = InstanceId::from(names[0].as_str());
            let turn = TurnBuilder::new(ready, NOW_MS)
                .consuming(&ready.messages)
                .started()
                .activity_on(Some(Name::from(queue.as_str())), queue.clone(), "{}")
                .timer(NOW_MS)
                .message(to, event_message(format!("event {queue}")))
                .build();
            turns.push(Arc::new(turn));
        }
        let commits = turns.iter().map(|turn| provider.commit(Arc::clone(turn)));
        let _ = try_join_all(commits).await.unwrap();
        let queues: Vec<Option<Name>> = names
            .iter()
            .map(|name| Some(Name::from(name.as_str())))
            .collect();
        let work = provider
            .fetch_work(session, &queues, 100)
            .await
            .unwrap()
            .work;
        assert_eq!(work.len(), names.len());
        for claimed in &work {
            let turn = turns
                .iter()
                .find(|turn| turn.lease.instance == claimed.item.key.instance)
                .unwrap();
            assert_eq!(
                Some(&claimed.item),
                turn.work_item(turn.new_work[0]).as_ref()
            );
        }
        for claimed in work {
            let result = WorkResult::Finished(Ok("1".into()));
            let settled = provider.settle_work(WorkSettlement::new(claimed.lease, result));
            assert_eq!(settled.await.unwrap(), SettleOutcome::Settled);
        }
        let fired = provider.fire_timers(100).await.unwrap();
        assert_eq!((fired.fired, fired.next_due_ms), (names.len(), None));
        let ready = provider.fetch_instances(session, 100).await.unwrap();
        let messages: usize = ready
            .instances
            .iter()
            .map(|ready| ready.messages.len())
            .sum();
        assert_eq!(messages, 3 * names.len());
    }
}

fn start_with(input: String) -> Message {
    let start = StartInstance::new("large".into(), input.into());
    Message::new("m".into(), MessageBody::Start(start))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_at_the_limit_is_kept_and_one_over_it_is_never_sent() {
    let server = Server::start();
    let provider = server.open(store_options()).await;
    let max = Limits::default().max_payload_bytes;
    let keys = server.command("DBSIZE");
    let over = start_with("x".repeat(max + 1));
    let refused = provider.start(&"over".into(), over, IdReuse::Refuse).await;
    assert_eq!(
        refused,
        Err(ProviderError::Refused(LimitError::PayloadTooLarge {
            what: "input",
            bytes: max + 1,
            max_bytes: max,
        }))
    );
    assert_eq!(server.command("DBSIZE"), keys);
    let message = start_with("x".repeat(max));
    let id = InstanceId::from("at");
    let start = provider.start(&id, message.clone(), IdReuse::Refuse);
    let _ = start.await.unwrap();
    let session = provider
        .open_session(SessionOptions::default())
        .await
        .unwrap();
    let ready = provider.fetch_instances(session, 9).await.unwrap();
    assert_eq!(ready.instances[0].messages[0].message, message);
}

/// What is done is deleted; what is purged leaves the memory of its execution.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_stays_of_what_was_purged_but_its_tombstone() {
    const RUNS: usize = 40;
    for partitions in [1, 4] {
        let server = Server::start();
        let options = store_options().partitions(Some(partitions));
        let provider = server.open(options).await;
        let runtime = node(&provider, Duration::from_secs(60)).await;
        for number in 0..RUNS {
            let client = runtime.client();
            let counted = client
                .start(COUNT, format!("count-{number}"), &1)
                .await
                .unwrap();
            let parent = client
                .start(PARENT, format!("parent-{number}"), &1)
                .await
                .unwrap();
            assert_eq!(counted.wait().await.unwrap(), 4);
            assert_eq!(parent.wait().await.unwrap(), 4);
        }
        runtime.shutdown(Duration::from_secs(5)).await;
        audit(&provider).await;
        let purge = PurgeRequest::new(durable_core::filter::Filter::all(), 1_000);
        let report = provider.purge(&purge).await.unwrap();
        assert_eq!((report.instances, report.has_more), (3 * RUNS, false));
        // Per partition: its counter, its tombstones, its empty queue and outbox, and what it
        // heard from others; and the record of the store.
        let keys: usize = server
            .command("DBSIZE")
            .trim_matches([':', '\r', '\n'])
            .parse()
            .unwrap();
        assert!(
            keys <= 5 * partitions + 1,
            "{keys} keys: {}",
            server.command("KEYS *")
        );
    }
}
