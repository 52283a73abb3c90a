//! Promise 3: history is append-only, keyed by instance, execution and event id.

use durable_core::provider::{CommitOutcome, ExecutionRecord};
use durable_core::{EventId, ExecutionId};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure, ensure_eq};
use crate::conformance::samples;
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(AppendOnly, a_second_write_of_an_event_is_refused),
    check!(AppendOnly, every_kind_of_event_is_read_as_it_was_written),
    check!(AppendOnly, turns_are_appended_in_order),
    check!(AppendOnly, continue_as_new_begins_the_next_execution),
    check!(AppendOnly, executions_keep_their_own_histories),
    check!(AppendOnly, what_is_not_stored_has_an_empty_history),
];

async fn a_second_write_of_an_event_is_refused(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let first = node.first_turn(&ready).activity("charge");
    let first = first.keeping_the_lease().build();
    node.commit_done(first.clone()).await?;
    let second = node.first_turn(&ready).activity("refund");
    let outcome = node.commit(second.keeping_the_lease().build()).await?;
    let expected = CommitOutcome::Conflict {
        execution_id: first.execution_id,
        last_event_id: EventId::new(2),
    };
    ensure_eq("a second write of events 1 and 2", outcome, expected)?;
    let history = env.history("a", first.execution_id).await?;
    ensure_eq("the history", history, first.events)
}

async fn every_kind_of_event_is_read_as_it_was_written(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let mut turn = node.turn(&ready).build();
    turn.events = samples::entries_of_every_kind(env.now_ms());
    node.commit_done(turn.clone()).await?;
    let history = env.history("a", turn.execution_id).await?;
    ensure_eq("the number of entries", history.len(), turn.events.len())?;
    for (found, written) in history.into_iter().zip(turn.events) {
        let what = format!("a {}", written.event.kind());
        ensure_eq(what, found, written)?;
    }
    Ok(())
}

async fn turns_are_appended_in_order(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (mut turn, _) = node.begin("a", TurnBuilder::keeping_the_lease).await?;
    let execution_id = turn.execution_id;
    let mut written = turn.events.clone();
    for number in 0..10 {
        env.time.tick().await;
        let next = TurnBuilder::after(&turn, env.now_ms()).keeping_the_lease();
        turn = next
            .activity(format!("activity-{number}"))
            .custom_status(format!("{number}"))
            .build();
        written.extend(turn.events.clone());
        node.commit_done(turn.clone()).await?;
        let tail = env.record("a").await?.last_event_id;
        ensure_eq("the tail in the record", tail.get(), written.len() as u64)?;
    }
    ensure_eq(
        "the history",
        env.history("a", execution_id).await?,
        written,
    )
}

async fn continue_as_new_begins_the_next_execution(env: Env) -> CheckResult {
    let node = env.node().await?;
    let begun = node.begin("a", |turn| turn.custom_status("1").continued_as_new());
    let (turn, _) = begun.await?;
    let record = env.record("a").await?;
    ensure_eq("the execution", record.execution_id, ExecutionId::new(2))?;
    ensure_eq("its tail", record.last_event_id, EventId::FIRST)?;
    ensure_eq("the custom status", record.custom_status, Some("1".into()))?;
    let executions = env.provider().executions(&"a".into()).await?;
    let expected = [(1, turn.events.len()), (2, 1)].map(|(number, tail)| {
        ExecutionRecord::new(ExecutionId::new(number), EventId::new(tail as u64))
    });
    ensure_eq("the executions", executions, expected.to_vec())?;
    env.raise("a", "m1").await?;
    let ready = node.take("a").await?;
    ensure_eq(
        "what is handed out",
        ready.execution_id,
        ExecutionId::new(2),
    )?;
    ensure_eq("its tail", ready.last_event_id, EventId::FIRST)?;
    ensure_eq(
        "its last commit",
        ready.last_commit_id,
        Some(turn.commit_id),
    )
}

async fn executions_keep_their_own_histories(env: Env) -> CheckResult {
    let node = env.node().await?;
    let begun = node.begin("a", |turn| {
        turn.activity("charge")
            .continued_as_new()
            .keeping_the_lease()
    });
    let (first, _) = begun.await?;
    let second = TurnBuilder::after(&first, env.now_ms()).activity("ship");
    let second = second.build();
    node.commit_done(second.clone()).await?;
    let history = env.history("a", ExecutionId::FIRST).await?;
    ensure_eq("the first history", &history, &first.events)?;
    let begun_with = first.next_execution.map(|next| next.events);
    let mut expected = begun_with.unwrap_or_default();
    expected.extend(second.events);
    let history = env.history("a", ExecutionId::new(2)).await?;
    ensure_eq("the second history", history, expected)
}

async fn what_is_not_stored_has_an_empty_history(env: Env) -> CheckResult {
    env.start("a").await?;
    for (id, execution) in [("a", 1), ("a", 2), ("unknown", 1)] {
        let execution_id = ExecutionId::new(execution);
        let page = env
            .provider()
            .history(&id.into(), execution_id, EventId::UNASSIGNED, 10)
            .await?;
        let is_empty = page.entries.is_empty() && !page.has_more;
        let what = format!("execution {execution} of {id}");
        ensure(is_empty, what, "an empty history", page)?;
    }
    let executions = env.provider().executions(&"unknown".into()).await?;
    ensure(
        executions.is_empty(),
        "the executions of an unknown instance",
        "none",
        executions,
    )
}
