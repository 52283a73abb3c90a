//! Promise 1, all or nothing: a commit is applied whole, and one that is refused
//! changes nothing.

use durable_core::EventId;
use durable_core::provider::{
    CommitOutcome, InstanceStatus, ProviderError, ReadyInstance, TurnCommit, WorkKey,
};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure, ensure_eq};
use super::super::node::{TestNode, message_ids};
use crate::message::{event_message, start_message};
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(AtomicCommit, a_commit_is_applied_whole),
    check!(AtomicCommit, a_commit_in_conflict_changes_nothing),
    check!(AtomicCommit, a_fenced_commit_changes_nothing),
    check!(
        AtomicCommit,
        a_commit_with_a_gap_is_invalid_and_changes_nothing
    ),
    check!(AtomicCommit, a_refused_commit_changes_nothing),
    check!(AtomicCommit, a_next_execution_must_begin_with_event_one),
    check!(AtomicCommit, the_turns_of_a_batch_do_not_hurt_each_other),
    check!(AtomicCommit, two_turns_of_one_instance_fit_in_a_batch),
    check!(AtomicCommit, empty_batches_do_nothing),
    check!(
        AtomicCommit,
        what_is_created_and_cancelled_in_one_turn_leaves_nothing
    ),
];

/// A turn that changes everything that a turn can change: four events, work, a
/// timer, the record, and `b` started and told something.
pub(super) fn rich_turn(node: &TestNode<'_>, ready: &ReadyInstance, due_ms: u64) -> TurnBuilder {
    node.turn(ready)
        .consuming(&ready.messages)
        .started()
        .activity("charge")
        .timer(due_ms)
        .custom_status("\"packing\"")
        .message("b", start_message("from-a"))
        .message("b", event_message("also-from-a"))
}

/// Demands that nothing of a [`rich_turn`] of `a` was applied: `a` is as it was
/// when it was started, once its lease is free.
async fn nothing_was_applied(env: &Env, due_ms: u64) -> CheckResult {
    let record = env.record("a").await?;
    ensure_eq("the status", &record.status, &InstanceStatus::Pending)?;
    ensure_eq("the custom status", record.custom_status, None)?;
    ensure_eq("the tail", record.last_event_id, EventId::UNASSIGNED)?;
    let history = env.history("a", record.execution_id).await?;
    ensure(history.is_empty(), "the history", "no entry", history)?;
    let other = env.provider().instance(&"b".into()).await?;
    ensure(other.is_none(), "the started instance", "none", other)?;

    let node = env.node().await?;
    node.finds_no_work("no work was scheduled").await?;
    let fired = env.provider().fire_timers(10, due_ms).await?;
    ensure_eq(
        "timers that fire or wait",
        (fired.fired, fired.next_due_ms),
        (0, None),
    )?;
    let ready = node.take("a").await?;
    ensure_eq("messages in the inbox of `a`", ready.messages.len(), 1)
}

async fn a_commit_is_applied_whole(env: Env) -> CheckResult {
    env.start("a").await?;
    let node = env.node().await?;
    let ready = node.take("a").await?;
    let due_ms = env.store_time_ms().await?;
    let turn = rich_turn(&node, &ready, due_ms).build();
    node.commit_done(turn.clone()).await?;

    let record = env.record("a").await?;
    ensure_eq("the status", &record.status, &InstanceStatus::Running)?;
    ensure_eq(
        "the custom status",
        record.custom_status,
        Some("\"packing\"".into()),
    )?;
    ensure_eq("the name", record.name.as_str(), "fulfil")?;
    ensure_eq("the version", record.version, Some("1.0.0".into()))?;
    ensure_eq("the tail", record.last_event_id, EventId::new(4))?;
    let history = env.history("a", turn.execution_id).await?;
    ensure_eq("the history", history, turn.events)?;
    let work = node.take_work().await?;
    ensure_eq("the work item", &work.item, &turn.new_work[0])?;
    ensure_eq(
        "fired timers",
        env.provider().fire_timers(9, env.now_ms()).await?.fired,
        1,
    )?;
    let taken = node.take_all(&["a", "b"]).await?;
    ensure_eq("messages for `a`: its timer", taken[0].messages.len(), 1)?;
    let told = message_ids(&taken[1]);
    ensure_eq("messages for `b`", told, vec!["from-a", "also-from-a"])
}

async fn a_commit_in_conflict_changes_nothing(env: Env) -> CheckResult {
    env.start("a").await?;
    let node = env.node().await?;
    let ready = node.take("a").await?;
    let due_ms = env.store_time_ms().await?;
    let moved = ReadyInstance {
        last_event_id: EventId::new(3),
        ..ready.clone()
    };
    let outcome = node
        .commit(rich_turn(&node, &moved, due_ms).build())
        .await?;
    let expected = CommitOutcome::Conflict {
        execution_id: ready.execution_id,
        last_event_id: EventId::UNASSIGNED,
    };
    ensure_eq("a commit from another tail", outcome, expected)?;
    node.release(&ready, None).await?;
    nothing_was_applied(&env, due_ms).await
}

async fn a_fenced_commit_changes_nothing(env: Env) -> CheckResult {
    env.start("a").await?;
    let node = env.node().await?;
    let ready = node.take("a").await?;
    let due_ms = env.store_time_ms().await?;
    node.release(&ready, None).await?;
    let outcome = node
        .commit(rich_turn(&node, &ready, due_ms).build())
        .await?;
    ensure_eq("a commit without the lease", outcome, CommitOutcome::Fenced)?;
    nothing_was_applied(&env, due_ms).await
}

async fn a_commit_with_a_gap_is_invalid_and_changes_nothing(env: Env) -> CheckResult {
    env.start("a").await?;
    let node = env.node().await?;
    let ready = node.take("a").await?;
    let due_ms = env.store_time_ms().await?;
    let mut turn = rich_turn(&node, &ready, due_ms).build();
    turn.events.remove(1);
    is_invalid("events with a gap", node.commit(turn).await)?;
    node.release(&ready, None).await?;
    nothing_was_applied(&env, due_ms).await
}

async fn a_refused_commit_changes_nothing(env: Env) -> CheckResult {
    env.start("a").await?;
    let node = env.node().await?;
    let ready = node.take("a").await?;
    let due_ms = env.store_time_ms().await?;
    let too_large = "x".repeat(env.limits.max_payload_bytes + 1);
    let turn = rich_turn(&node, &ready, due_ms).activity_on(None, "large", too_large);
    let answer = node.commit(turn.build()).await;
    let is_refused = matches!(answer, Err(ProviderError::Refused(_)));
    ensure(
        is_refused,
        "a turn with too large an input",
        "Refused",
        answer,
    )?;
    node.release(&ready, None).await?;
    nothing_was_applied(&env, due_ms).await
}

async fn a_next_execution_must_begin_with_event_one(env: Env) -> CheckResult {
    env.start("a").await?;
    let node = env.node().await?;
    let ready = node.take("a").await?;
    let turn = node.first_turn(&ready).continued_as_new().build();

    let mut skipped = turn.clone();
    if let Some(next) = &mut skipped.next_execution {
        next.execution_id = next.execution_id.next();
    }
    is_invalid(
        "a next execution that leaves one out",
        node.commit(skipped).await,
    )?;
    let mut empty = turn.clone();
    if let Some(next) = &mut empty.next_execution {
        next.events.clear();
    }
    is_invalid("a next execution without event 1", node.commit(empty).await)?;
    node.commit_done(turn).await?;
    Ok(())
}

async fn the_turns_of_a_batch_do_not_hurt_each_other(env: Env) -> CheckResult {
    let node = env.node().await?;
    for id in ["a", "b", "c", "d"] {
        env.start(id).await?;
    }
    let taken = node.take_all(&["a", "b", "c", "d"]).await?;
    let mut turns: Vec<TurnCommit> = taken
        .iter()
        .map(|ready| node.first_turn(ready).activity("charge").build())
        .collect();
    turns[1].lease.token += 1_000;
    turns[2].events.remove(0);
    let answers = env.provider().commit(turns).await;
    ensure_eq("answers to four turns", answers.len(), 4)?;
    ensure(
        matches!(
            answers.as_slice(),
            [
                Ok(CommitOutcome::Done(_)),
                Ok(CommitOutcome::Fenced),
                Err(ProviderError::Invalid { .. }),
                Ok(CommitOutcome::Done(_)),
            ]
        ),
        "the answers, in the order of the turns",
        "Done, Fenced, Invalid, Done",
        &answers,
    )?;
    for (id, tail) in [("a", 2), ("b", 0), ("c", 0), ("d", 2)] {
        let found = env.record(id).await?.last_event_id;
        ensure_eq(format!("the tail of {id}"), found, EventId::new(tail))?;
    }
    Ok(())
}

async fn two_turns_of_one_instance_fit_in_a_batch(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let first = node.first_turn(&ready).keeping_the_lease().build();
    let second = TurnBuilder::after(&first, env.now_ms()).activity("charge");
    let answers = env.provider().commit(vec![first, second.build()]).await;
    let are_done = answers.len() == 2
        && answers
            .iter()
            .all(|answer| matches!(answer, Ok(CommitOutcome::Done(_))));
    ensure(are_done, "two turns in order", "Done, Done", answers)?;
    let record = env.record("a").await?;
    ensure_eq("the tail", record.last_event_id, EventId::new(2))
}

async fn empty_batches_do_nothing(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn.activity("charge")).await?;
    env.raise("a", "m1").await?;
    let (provider, now_ms) = (env.provider(), env.now_ms());
    ensure_eq(
        "answers to no turn",
        provider.commit(Vec::new()).await.len(),
        0,
    )?;
    ensure_eq(
        "answers to no message",
        provider.send(Vec::new(), now_ms).await?.len(),
        0,
    )?;
    let answers = provider.settle_work(Vec::new(), now_ms).await?;
    ensure_eq("answers to no settlement", answers.len(), 0)?;
    provider.release(Vec::new(), now_ms).await?;
    ensure_eq(
        "fired of no timers",
        provider.fire_timers(0, now_ms).await?.fired,
        0,
    )?;
    let none = node.fetch_batch(0).await?.instances;
    ensure(none.is_empty(), "a fetch of no instances", "none", none)?;
    let none = node.fetch_work_from(&[None], 0).await?.work;
    ensure(none.is_empty(), "a fetch of no work", "none", none)?;
    let none = node.fetch_work_from(&[], 10).await?.work;
    ensure(none.is_empty(), "a fetch from no queue", "none", none)?;
    node.take("a").await?;
    node.take_work().await?;
    Ok(())
}

async fn what_is_created_and_cancelled_in_one_turn_leaves_nothing(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let due_ms = env.store_time_ms().await?;
    let key = WorkKey {
        instance: "a".into(),
        execution_id: ready.execution_id,
        event_id: EventId::new(2),
    };
    let turn = node.first_turn(&ready).activity("charge").timer(due_ms);
    let turn = turn.cancelling_work(&key).cancelling_timer(EventId::new(3));
    node.commit_done(turn.build()).await?;
    node.finds_no_work("the work was cancelled in the turn that scheduled it")
        .await?;
    let fired = env.provider().fire_timers(9, env.now_ms()).await?;
    ensure_eq(
        "timers that fire or wait",
        (fired.fired, fired.next_due_ms),
        (0, None),
    )
}

fn is_invalid(what: &str, answer: Result<CommitOutcome, ProviderError>) -> CheckResult {
    let is_invalid = matches!(answer, Err(ProviderError::Invalid { .. }));
    ensure(is_invalid, what, "Invalid", answer)
}
