//! Promise 1, all or nothing: a commit is applied whole, and one that is refused
//! changes nothing.

use durable_core::EventId;
use durable_core::provider::{
    CommitOutcome, InstanceStatus, ProviderError, ReadyInstance, TurnCommit,
};
use futures::future::join_all;

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure, ensure_eq};
use super::super::node::{TestNode, message_ids, work_items};
use crate::message::{event_message, start_message};
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(AtomicCommit, a_commit_is_applied_whole),
    check!(AtomicCommit, a_commit_in_conflict_changes_nothing),
    check!(AtomicCommit, a_fenced_commit_changes_nothing),
    check!(AtomicCommit, a_refused_commit_changes_nothing),
    check!(
        AtomicCommit,
        turns_that_are_committed_at_once_do_not_hurt_each_other
    ),
    check!(AtomicCommit, calls_for_nothing_do_nothing),
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
/// when it was started, once its lease is free. It is free again afterwards.
pub(super) async fn nothing_was_applied(env: &Env) -> CheckResult {
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
    let fired = env.fire_timers(10).await?;
    ensure_eq(
        "timers that fire or wait",
        (fired.fired, fired.next_due_ms),
        (0, None),
    )?;
    let ready = node.take("a").await?;
    ensure_eq("messages in the inbox of `a`", ready.messages.len(), 1)?;
    node.close().await
}

async fn a_commit_is_applied_whole(env: Env) -> CheckResult {
    env.start("a").await?;
    let node = env.node().await?;
    let ready = node.take("a").await?;
    let due_ms = env.past_ms();
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
    ensure_eq("the history", &history, &turn.events)?;
    let work = node.take_work().await?;
    ensure_eq("the work item", &work.item, &work_items(&turn)[0])?;
    ensure_eq("fired timers", env.fire_timers(9).await?.fired, 1)?;
    let taken = node.take_all(&["a", "b"]).await?;
    ensure_eq("messages for `a`: its timer", taken[0].messages.len(), 1)?;
    let told = message_ids(&taken[1]);
    ensure_eq("messages for `b`", told, vec!["from-a", "also-from-a"])
}

async fn a_commit_in_conflict_changes_nothing(env: Env) -> CheckResult {
    env.start("a").await?;
    let node = env.node().await?;
    let ready = node.take("a").await?;
    let due_ms = env.past_ms();
    let mut moved = ready.clone();
    moved.last_event_id = EventId::new(3);
    let outcome = node
        .commit(rich_turn(&node, &moved, due_ms).build())
        .await?;
    let expected = CommitOutcome::Conflict {
        execution_id: ready.execution_id,
        last_event_id: EventId::UNASSIGNED,
    };
    ensure_eq("a commit from another tail", outcome, expected)?;
    node.release(&ready, None).await?;
    nothing_was_applied(&env).await
}

async fn a_fenced_commit_changes_nothing(env: Env) -> CheckResult {
    env.start("a").await?;
    let node = env.node().await?;
    let ready = node.take("a").await?;
    let due_ms = env.past_ms();
    node.release(&ready, None).await?;
    let outcome = node
        .commit(rich_turn(&node, &ready, due_ms).build())
        .await?;
    ensure_eq("a commit without the lease", outcome, CommitOutcome::Fenced)?;
    nothing_was_applied(&env).await
}

async fn a_refused_commit_changes_nothing(env: Env) -> CheckResult {
    env.start("a").await?;
    let node = env.node().await?;
    let ready = node.take("a").await?;
    let due_ms = env.past_ms();
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
    nothing_was_applied(&env).await
}

async fn turns_that_are_committed_at_once_do_not_hurt_each_other(env: Env) -> CheckResult {
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
    let answers = join_all(turns.into_iter().map(|turn| node.commit(turn))).await;
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
        "the answers to four turns",
        "Done, Fenced, Invalid, Done",
        &answers,
    )?;
    for (id, tail) in [("a", 2), ("b", 0), ("c", 0), ("d", 2)] {
        let found = env.record(id).await?.last_event_id;
        ensure_eq(format!("the tail of {id}"), found, EventId::new(tail))?;
    }
    Ok(())
}

async fn calls_for_nothing_do_nothing(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn.activity("charge")).await?;
    env.raise("a", "m1").await?;
    env.provider().release(Vec::new()).await?;
    ensure_eq("fired of no timers", env.fire_timers(0).await?.fired, 0)?;
    let none = node.fetch_batch(0).await?.instances;
    ensure(none.is_empty(), "a fetch of no instances", "none", none)?;
    let none = node.fetch_work_from(&[None], 0).await?.work;
    ensure(none.is_empty(), "a fetch of no work", "none", none)?;
    let none = node.fetch_work_from(&[], 10).await?.work;
    ensure(none.is_empty(), "a fetch from no queue", "none", none)?;
    ensure_eq("purged of none", env.purge(0).await?.instances, 0)?;
    node.take("a").await?;
    node.take_work().await?;
    Ok(())
}
