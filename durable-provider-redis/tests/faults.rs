//! What goes wrong between a node and its server: answers that are lost, servers that come
//! back, memory that is full, replicas that are missing, keys that were removed.
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use durable_core::provider::{
    CommitOutcome, IdReuse, InstanceStatus, Message, Provider, ProviderError, ReadyInstance,
    Release, SessionId, SessionOptions, StartOutcome, TurnCommit,
};
use durable_core::{ExecutionId, InstanceId};
use durable_provider_redis::{Durability, RedisProvider};
use durable_testkit::{TurnBuilder, start_message};

use support::code::{COUNT, GATED, GO, audit, history, node};
use support::proxy::Proxy;
use support::server::{Server, store_options};

const NOW_MS: u64 = 1_700_000_000_000;

fn start_of(id: &str) -> Message {
    start_message(format!("start-{id}"))
}

async fn start(provider: &RedisProvider, id: &str) -> Result<StartOutcome, ProviderError> {
    let (id, message) = (InstanceId::from(id), start_of(id));
    provider.start(&id, message, IdReuse::Refuse).await
}

async fn session(provider: &RedisProvider) -> SessionId {
    let options = SessionOptions::new("test").session_timeout_ms(3_600_000);
    provider.open_session(options).await.unwrap()
}

async fn claim(provider: &RedisProvider, session: SessionId) -> ReadyInstance {
    let ready = provider.fetch_instances(session, 9).await.unwrap();
    let [ready] = ready.instances.try_into().unwrap();
    ready
}

async fn commit(
    provider: &RedisProvider,
    turn: &TurnCommit,
) -> Result<CommitOutcome, ProviderError> {
    provider.commit(Arc::new(turn.clone())).await
}

fn first_turn(ready: &ReadyInstance) -> TurnBuilder {
    let turn = TurnBuilder::new(ready, NOW_MS);
    turn.consuming(&ready.messages).started().activity("charge")
}

/// Calls until the store answers; bounded, because the server is another process.
async fn eventually<T>(call: impl AsyncFn() -> Result<T, ProviderError>) -> T {
    let began = Instant::now();
    loop {
        match call().await {
            Ok(answer) => return answer,
            Err(ProviderError::Unavailable { .. } | ProviderError::Unknown { .. }) => {
                assert!(
                    began.elapsed() < Duration::from_secs(30),
                    "the store is away"
                );
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_restarts_knows_its_data_and_learns_the_scripts_again() {
    let mut server = Server::start();
    let provider = server.open(store_options()).await;
    let _ = start(&provider, "a").await.unwrap();
    let session = session(&provider).await;
    server.kill();
    assert!(matches!(
        start(&provider, "b").await,
        Err(ProviderError::Unavailable { .. } | ProviderError::Unknown { .. })
    ));
    server.restart();
    let _ = eventually(async || start(&provider, "b").await).await;
    let ready = provider.fetch_instances(session, 9).await.unwrap();
    assert_eq!(ready.instances.len(), 2);
    server.command("SCRIPT FLUSH");
    let turn = first_turn(&ready.instances[0]).build();
    let outcome = commit(&provider, &turn).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Done(_)), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_memory_refuses_writes_and_loses_nothing() {
    let server = Server::start();
    let provider = server.open(store_options()).await;
    let session = session(&provider).await;
    let _ = start(&provider, "a").await.unwrap();
    let ready = claim(&provider, session).await;
    let turn = first_turn(&ready).build();
    server.command("CONFIG SET maxmemory 1");
    let refused = [
        start(&provider, "b").await.unwrap_err(),
        commit(&provider, &turn).await.unwrap_err(),
    ];
    for error in refused {
        let ProviderError::Unavailable { reason } = error else {
            panic!("{error}");
        };
        assert!(reason.contains("maxmemory"), "{reason}");
    }
    assert_eq!(provider.instance(&"b".into()).await.unwrap(), None);
    provider.heartbeat(session).await.unwrap();
    assert_eq!(
        history(&provider, &"a".into(), ExecutionId::FIRST).await,
        []
    );
    server.command("CONFIG SET maxmemory 0");
    let outcome = commit(&provider, &turn).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Done(_)), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_answer_is_lost_is_applied_once() {
    let server = Server::start();
    let proxy = Proxy::before(server.port()).await;
    let options = store_options()
        .response_timeout(Duration::from_millis(300))
        // The one that is frozen: it must be replaced.
        .connections(1);
    let provider = RedisProvider::open_with(&[&proxy.url()], options.clone())
        .await
        .unwrap();
    let session = session(&provider).await;
    // The server must know the script: it is the answer that gets lost, not the question.
    let _ = start(&provider, "before").await.unwrap();
    let before = first_turn(&claim(&provider, session).await)
        .completed("1")
        .build();
    let _ = commit(&provider, &before).await.unwrap();
    let _ = start(&provider, "a").await.unwrap();
    let ready = claim(&provider, session).await;
    let turn = first_turn(&ready).keeping_the_lease().claiming(1).build();
    proxy.swallow_answers(true);
    let lost = commit(&provider, &turn).await.unwrap_err();
    assert!(matches!(lost, ProviderError::Unknown { .. }), "{lost}");
    proxy.swallow_answers(false);
    let outcome = eventually(async || commit(&provider, &turn).await).await;
    let CommitOutcome::AlreadyDone(committed) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(committed.claimed.len(), 1);
    assert_eq!(
        committed.claimed[0].item,
        turn.work_item(turn.new_work[0]).unwrap()
    );
    let direct = server.open(options).await;
    let entries = history(&direct, &"a".into(), ExecutionId::FIRST).await;
    assert_eq!(entries, turn.events);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_behind_a_frozen_connection_loses_its_lease_and_can_do_no_harm() {
    let server = Server::start();
    let options = store_options();
    let (old, new) = (
        server.open(options.clone()).await,
        server.open(options).await,
    );
    let short = SessionOptions::new("frozen").session_timeout_ms(100);
    let lost = old.open_session(short).await.unwrap();
    let _ = start(&old, "a").await.unwrap();
    let ready = claim(&old, lost).await;
    let zombie = first_turn(&ready).keeping_the_lease().claiming(1).build();
    let heir = session(&new).await;
    let due_ms = new.fetch_instances(heir, 9).await.unwrap().next_due_ms;
    assert!(due_ms.is_some(), "the heir knows when to look");
    let claimed = eventually(async || {
        let ready = new.fetch_instances(heir, 9).await?;
        ready
            .instances
            .into_iter()
            .next()
            .ok_or(ProviderError::Unavailable {
                reason: "not late yet".into(),
            })
    })
    .await;
    assert_eq!(claimed.crashes, 1);
    assert!(claimed.lease.token > ready.lease.token);
    let outcome = commit(&old, &zombie).await.unwrap();
    assert_eq!(outcome, CommitOutcome::Fenced);
    old.release(vec![Release::new(ready.lease)]).await.unwrap();
    let beat = old.heartbeat(lost).await;
    assert_eq!(beat, Err(ProviderError::SessionLost { session: lost }));
    let outcome = commit(&new, &first_turn(&claimed).build()).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Done(_)), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_too_few_replicas_have_is_unknown() {
    let server = Server::start();
    let options = store_options()
        .wait_replicas(1)
        .wait_timeout(Duration::from_millis(50))
        .durability(Durability::Relaxed);
    let provider = server.open(options).await;
    let error = start(&provider, "a").await.unwrap_err();
    let ProviderError::Unknown { reason } = error else {
        panic!("{error}");
    };
    assert!(reason.contains("0 of 1 replicas"), "{reason}");
    assert!(provider.instance(&"a".into()).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_replica_acknowledged_survives_the_loss_of_the_primary() {
    let mut primary = Server::start();
    let port = primary.port().to_string();
    let durable = ["--appendonly", "yes", "--appendfsync", "always"];
    let following = ["--replicaof", "127.0.0.1", &port];
    let replica = Server::with(&[durable.as_slice(), &following].concat());
    let began = Instant::now();
    while !primary.command("INFO replication").contains("state=online") {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "the replica does not follow"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let options = store_options()
        .wait_replicas(1)
        .wait_timeout(Duration::from_secs(10));
    let provider = primary.open(options.clone()).await;
    let before = session(&provider).await;
    let mut turns = Vec::new();
    for number in 0..30 {
        let id = format!("i-{number}");
        let _ = start(&provider, &id).await.unwrap();
        let turn = first_turn(&claim(&provider, before).await).build();
        assert!(matches!(
            commit(&provider, &turn).await,
            Ok(CommitOutcome::Done(_))
        ));
        turns.push(turn);
    }
    primary.kill();
    replica.command("REPLICAOF NO ONE");
    let promoted = options.wait_replicas(0);
    let provider = replica.open(promoted).await;
    for turn in &turns {
        let entries = history(&provider, &turn.lease.instance, ExecutionId::FIRST).await;
        assert_eq!(entries, turn.events, "{}", turn.lease.instance);
        let again = commit(&provider, turn).await.unwrap();
        assert!(matches!(again, CommitOutcome::AlreadyDone(_)), "{again:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_whose_history_was_removed_is_stopped_and_named() {
    let server = Server::start();
    let options = store_options();
    let prefix = options.prefix.clone();
    let provider = server.open(options).await;
    let hour = Duration::from_secs(3_600);
    let first = node(&provider, hour).await;
    for id in ["broken", "whole"] {
        let instance = first.client().start(GATED, id, &1).await.unwrap();
        eventually(async || {
            let record = provider.instance(instance.id()).await?;
            match record.is_some_and(|record| record.last_event_id.get() >= 4) {
                true => Ok(()),
                false => Err(ProviderError::Unavailable {
                    reason: "it does not wait yet".into(),
                }),
            }
        })
        .await;
    }
    first.shutdown(Duration::from_secs(5)).await;
    let removed = server.command(&format!("DEL {{{prefix}:0}}:h:1:broken"));
    assert!(removed.starts_with(":1"), "{removed}");

    let second = node(&provider, hour).await;
    let broken = second.client().instance(GATED, "broken");
    broken.raise(GO, &0).await.unwrap();
    let whole = second.client().instance(GATED, "whole");
    whole.raise(GO, &0).await.unwrap();
    assert_eq!(whole.wait().await.unwrap(), 5);
    let failure = eventually(async || {
        match provider
            .instance(&"broken".into())
            .await?
            .map(|record| record.status)
        {
            Some(InstanceStatus::Suspended { failure }) => Ok(failure),
            _ => Err(ProviderError::Unavailable {
                reason: "it is not stopped yet".into(),
            }),
        }
    })
    .await;
    assert!(failure.message.contains("`broken`"), "{failure:?}");
    second.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_whose_record_was_removed_is_named_and_others_go_on() {
    let server = Server::start();
    let options = store_options();
    let prefix = options.prefix.clone();
    let provider = server.open(options).await;
    let session = session(&provider).await;
    let _ = start(&provider, "broken").await.unwrap();
    let _ = start(&provider, "whole").await.unwrap();
    server.command(&format!("DEL {{{prefix}:0}}:i:broken"));
    let error = provider.instance(&"broken".into()).await.unwrap_err();
    let ProviderError::Damaged { reason } = error else {
        panic!("{error}");
    };
    assert!(reason.contains("`broken`"), "{reason}");
    let ready = claim(&provider, session).await;
    assert_eq!(ready.lease.instance, "whole");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_with_a_damaged_message_is_stopped_and_others_go_on() {
    let server = Server::start();
    let options = store_options();
    let prefix = options.prefix.clone();
    let provider = server.open(options).await;
    let session = session(&provider).await;
    let _ = start(&provider, "broken").await.unwrap();
    let _ = start(&provider, "whole").await.unwrap();
    server.command(&format!("XADD {{{prefix}:0}}:in:broken * id m m damaged"));
    let ready = claim(&provider, session).await;
    assert_eq!(ready.lease.instance, "whole");
    let record = provider.instance(&"broken".into()).await.unwrap().unwrap();
    let InstanceStatus::Suspended { failure } = record.status else {
        panic!("{record:?}");
    };
    assert!(failure.message.contains("of `broken`"), "{failure:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_with_a_damaged_work_item_is_stopped_and_others_go_on() {
    let server = Server::start();
    let options = store_options();
    let work = format!("{{{}:0}}:w", options.prefix);
    let provider = server.open(options).await;
    let session = session(&provider).await;
    for id in ["damaged", "removed", "whole"] {
        let _ = start(&provider, id).await.unwrap();
        let turn = first_turn(&claim(&provider, session).await).build();
        let _ = commit(&provider, &turn).await.unwrap();
    }
    server.command(&format!("HSET {work} i1:2:damaged nonsense"));
    assert_eq!(
        server.command(&format!("HDEL {work} i1:2:removed")),
        ":1\r\n"
    );
    let batch = provider.fetch_work(session, &[None], 9);
    let [only] = batch.await.unwrap().work.try_into().unwrap();
    assert_eq!(only.lease.key.instance, "whole");
    for id in ["damaged", "removed"] {
        let record = provider.instance(&id.into()).await.unwrap().unwrap();
        let InstanceStatus::Suspended { failure } = record.status else {
            panic!("{record:?}");
        };
        let expected = format!("work item 1:2:{id}");
        assert!(failure.message.contains(&expected), "{failure:?}");
    }
    let batch = provider.fetch_work(session, &[None], 9);
    assert_eq!(batch.await.unwrap().work, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_outlive_a_server_that_is_away_for_a_while() {
    let mut server = Server::start();
    let options = store_options();
    let provider = server.open(options).await;
    let runtime = node(&provider, Duration::from_secs(60)).await;
    let client = runtime.client();
    let before = client.start(GATED, "before", &1).await.unwrap();
    for _ in 0..3 {
        server.kill();
        server.restart();
    }
    eventually(async || match before.raise_with_id("go", GO, &0).await {
        Ok(()) => Ok(()),
        Err(_) => Err(ProviderError::Unavailable {
            reason: "away".into(),
        }),
    })
    .await;
    eventually(async || {
        let record = provider.instance(&"before".into()).await?;
        match record.is_some_and(|record| record.status.kind().is_ended()) {
            true => Ok(()),
            false => Err(ProviderError::Unavailable {
                reason: "not yet".into(),
            }),
        }
    })
    .await;
    let after = client.start(COUNT, "after", &1).await.unwrap();
    assert_eq!(after.wait().await.unwrap(), 4);
    runtime.shutdown(Duration::from_secs(5)).await;
    audit(&provider).await;
}
