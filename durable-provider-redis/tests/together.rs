//! Turns that share a call: each has its own answer, and a refused one hinders no other.
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::sync::Arc;

use durable_core::provider::{
    CommitOutcome, IdReuse, Provider, ProviderError, ReadyInstance, SessionOptions, TurnCommit,
};
use durable_core::{EventId, ExecutionId};
use durable_provider_redis::RedisProvider;
use durable_testkit::{TurnBuilder, start_message};
use futures::future::join_all;
use support::code::audit;
use support::server::{Server, store_options};

const NOW_MS: u64 = 1_700_000_000_000;
const INSTANCES: usize = 24;

async fn claimed(provider: &RedisProvider) -> Vec<ReadyInstance> {
    for number in 0..INSTANCES {
        let message = start_message(format!("start-{number}"));
        let id = format!("i-{number}").into();
        let start = provider.start(&id, message, IdReuse::Refuse);
        let _ = start.await.unwrap();
    }
    let options = SessionOptions::new("test").session_timeout_ms(3_600_000);
    let session = provider.open_session(options).await.unwrap();
    let ready = provider.fetch_instances(session, INSTANCES);
    ready.await.unwrap().instances
}

fn first_turn(ready: &ReadyInstance) -> TurnCommit {
    let turn = TurnBuilder::new(ready, NOW_MS).consuming(&ready.messages);
    turn.started().activity("charge").build()
}

/// Commits turns at once, so that they share calls.
async fn commit_all(
    provider: &RedisProvider,
    turns: Vec<TurnCommit>,
) -> Vec<Result<CommitOutcome, ProviderError>> {
    let commits = turns
        .into_iter()
        .map(|turn| provider.commit(Arc::new(turn)));
    join_all(commits).await
}

fn calls(server: &Server) -> u64 {
    let stats = server.command("INFO commandstats");
    let mut lines = stats.lines();
    let line = lines.find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    let count = line.and_then(|line| line.split(',').next()).unwrap();
    count.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_that_share_a_call_are_answered_one_by_one() {
    let server = Server::start();
    let provider = server.open(store_options()).await;
    let ready = claimed(&provider).await;
    assert_eq!(ready.len(), INSTANCES);
    let mut turns: Vec<TurnCommit> = ready.iter().map(first_turn).collect();
    // By the place: 0 is sound, 1 is done already, 2 is fenced, 3 is of another execution.
    for (place, turn) in turns.iter_mut().enumerate() {
        match place % 4 {
            1 => {
                let answer = provider.commit(Arc::new(turn.clone())).await;
                assert!(matches!(answer, Ok(CommitOutcome::Done(_))), "{answer:?}");
            }
            2 => turn.lease.token += 1,
            3 => {
                let mut other = ready[place].clone();
                other.execution_id = ExecutionId::new(2);
                *turn = first_turn(&other);
            }
            _ => {}
        }
    }
    let before = calls(&server);
    let answers = commit_all(&provider, turns).await;
    let made = calls(&server) - before;
    assert!(made < INSTANCES as u64 / 2, "{made} calls");
    for (place, answer) in answers.iter().enumerate() {
        let is_expected = match (place % 4, answer) {
            (0, Ok(CommitOutcome::Done(_))) | (1, Ok(CommitOutcome::AlreadyDone(_))) => true,
            (2, Ok(CommitOutcome::Fenced)) => true,
            (3, Ok(CommitOutcome::Conflict { last_event_id, .. })) => {
                *last_event_id == EventId::UNASSIGNED
            }
            _ => false,
        };
        assert!(is_expected, "{place}: {answer:?}");
        let record = provider.instance(&ready[place].lease.instance).await;
        let stored = record.unwrap().unwrap().last_event_id;
        assert_eq!(stored.get(), if place % 4 < 2 { 2 } else { 0 }, "{place}");
    }
    assert_eq!(answers.len(), INSTANCES);
    audit(&provider).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_keys_were_replaced_fails_alone_and_is_named() {
    let server = Server::start();
    let options = store_options();
    let prefix = options.prefix.clone();
    let provider = server.open(options).await;
    let ready = claimed(&provider).await;
    server.command(&format!("SET {{{prefix}:0}}:h:1:i-7 other"));
    let turns = ready.iter().map(first_turn).collect();
    let answers = commit_all(&provider, turns).await;
    for (ready, answer) in ready.iter().zip(&answers) {
        let instance = &ready.lease.instance;
        if instance.as_str() != "i-7" {
            assert!(matches!(answer, Ok(CommitOutcome::Done(_))), "{answer:?}");
            continue;
        }
        let Err(ProviderError::Damaged { reason }) = answer else {
            panic!("{answer:?}");
        };
        assert!(
            reason.contains("`i-7`") && reason.contains("WRONGTYPE"),
            "{reason}"
        );
    }
    assert_eq!(answers.len(), INSTANCES);
}
