//! Promise 1, once: the same commit sent twice is applied once, and one whose
//! answer was not waited for is applied or not, never half.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use durable_core::provider::{CommitOutcome, WorkResult};
use durable_core::{EventId, ExecutionId, Payload};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckFailure, CheckResult, ensure_eq};
use super::super::node::message_ids;
use super::commit_atomicity::rich_turn;
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(AtomicCommit, the_same_commit_twice_is_applied_once),
    check!(AtomicCommit, a_repeated_commit_has_the_same_claims),
    check!(
        AtomicCommit,
        a_repeated_commit_is_known_after_the_lease_was_given_back
    ),
    check!(AtomicCommit, an_empty_turn_is_known_again),
    check!(AtomicCommit, only_the_last_commit_is_known_again),
    check!(
        AtomicCommit,
        a_commit_that_was_dropped_is_whole_or_not_at_all
    ),
];

async fn the_same_commit_twice_is_applied_once(env: Env) -> CheckResult {
    env.start("a").await?;
    let node = env.node().await?;
    let ready = node.take("a").await?;
    let due_ms = env.past_ms();
    let turn = rich_turn(&node, &ready, due_ms).keeping_the_lease().build();
    node.commit_done(turn.clone()).await?;
    is_already_done(node.commit(turn.clone()).await?)?;

    let history = env.history("a", turn.execution_id).await?;
    ensure_eq("the history", history, turn.events)?;
    node.take_work().await?;
    ensure_eq("fired timers", env.fire_timers(9).await?.fired, 1)?;
    let taken = node.take_all(&["a", "b"]).await?;
    let told = message_ids(&taken[1]);
    ensure_eq("messages for `b`", told, vec!["from-a", "also-from-a"])
}

async fn a_repeated_commit_has_the_same_claims(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let turn = node.first_turn(&ready).activity("charge").activity("ship");
    let turn = turn.claiming(5).build();
    let first = node.commit_done(turn.clone()).await?;
    ensure_eq("claims of the first answer", first.claimed.len(), 2)?;
    match node.commit(turn.clone()).await? {
        CommitOutcome::AlreadyDone(again) => {
            ensure_eq(
                "claims of the second answer",
                &again.claimed,
                &first.claimed,
            )?;
        }
        other => is_already_done(other)?,
    }
    let done = WorkResult::Finished(Ok(Payload::from("1")));
    node.settle_held(&first.claimed[0], done).await?;
    match node.commit(turn).await? {
        CommitOutcome::AlreadyDone(again) => {
            let what = "claims of an answer after one of them was settled";
            ensure_eq(what, again.claimed, first.claimed)
        }
        other => is_already_done(other),
    }
}

async fn a_repeated_commit_is_known_after_the_lease_was_given_back(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (turn, _) = node.begin("a", |turn| turn).await?;
    is_already_done(node.commit(turn).await?)
}

async fn an_empty_turn_is_known_again(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (turn, _) = node.begin("a", TurnBuilder::keeping_the_lease).await?;
    let empty = TurnBuilder::after(&turn, env.now_ms()).keeping_the_lease();
    let empty = empty.build();
    node.commit_done(empty.clone()).await?;
    is_already_done(node.commit(empty).await?)?;
    let record = env.record("a").await?;
    ensure_eq("the tail", record.last_event_id, EventId::FIRST)
}

async fn only_the_last_commit_is_known_again(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (first, _) = node.begin("a", TurnBuilder::keeping_the_lease).await?;
    let second = TurnBuilder::after(&first, env.now_ms()).activity("charge");
    let second = second.keeping_the_lease().build();
    node.commit_done(second.clone()).await?;
    let outcome = node.commit(first).await?;
    let expected = CommitOutcome::Conflict {
        execution_id: ExecutionId::FIRST,
        last_event_id: EventId::new(2),
    };
    ensure_eq("a commit before the last one, again", outcome, expected)?;
    is_already_done(node.commit(second).await?)
}

async fn a_commit_that_was_dropped_is_whole_or_not_at_all(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (mut turn, _) = node.begin("a", TurnBuilder::keeping_the_lease).await?;
    let execution_id = turn.execution_id;
    let mut written = turn.events.clone();
    for polls in 0..8 {
        let next = TurnBuilder::after(&turn, env.now_ms()).keeping_the_lease();
        turn = next
            .activity("charge")
            .custom_status(format!("{polls}"))
            .build();
        poll_and_drop(env.provider().commit(Arc::new(turn.clone())), polls).await;
        // Sent again, it answers after the dropped one in any case.
        match node.commit(turn.clone()).await? {
            CommitOutcome::Done(_) | CommitOutcome::AlreadyDone(_) => {}
            other => {
                let found = format!("{other:?}");
                let what = "a commit that was dropped, sent again";
                return Err(CheckFailure::new(what, "Done or AlreadyDone", found));
            }
        }
        written.extend(turn.events.clone());
        ensure_eq(
            "the history",
            &env.history("a", execution_id).await?,
            &written,
        )?;
    }
    ensure_eq("the work", node.fetch_work().await?.len(), 8)
}

/// Polls a future so often, unless it is ready before, and drops it.
async fn poll_and_drop<T>(future: impl Future<Output = T>, polls: usize) {
    let mut future = pin!(future);
    for _ in 0..polls {
        if poll_fn(|context| Poll::Ready(future.as_mut().poll(context)))
            .await
            .is_ready()
        {
            return;
        }
        tokio::task::yield_now().await;
    }
}

fn is_already_done(outcome: CommitOutcome) -> CheckResult {
    match outcome {
        CommitOutcome::AlreadyDone(_) => Ok(()),
        other => Err(CheckFailure::new(
            "the last commit, sent again",
            "AlreadyDone",
            format!("{other:?}"),
        )),
    }
}
