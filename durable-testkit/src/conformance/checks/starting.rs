//! The rules of starting: ids that are taken, requests that are repeated,
//! execution ids that only rise.

use std::sync::Arc;

use durable_core::provider::{
    ExecutionRecord, IdReuse, InstanceStatus, MessageBody, ProviderError, StartOutcome, StatusKind,
    WakeSeq,
};
use durable_core::{EventId, ExecutionId, InstanceId};
use tokio::task::JoinSet;

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckFailure, CheckResult, ensure, ensure_eq};
use super::super::node::message_ids;
use crate::conformance::samples;
use crate::message::{comparable, event_message, start_message};
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Lifecycle, a_start_creates_a_pending_instance),
    check!(Lifecycle, a_start_is_handed_out_as_it_was_sent),
    check!(Lifecycle, a_start_is_repeated_by_its_message_id),
    check!(Lifecycle, a_taken_id_is_refused),
    check!(Lifecycle, a_running_instance_can_be_used),
    check!(Lifecycle, an_ended_instance_can_be_started_anew),
    check!(Lifecycle, a_restart_is_repeated_by_its_message_id),
    check!(Lifecycle, only_a_start_starts),
    check!(Lifecycle, a_start_is_not_sent),
    check!(Lifecycle, a_commit_starts_instances),
    check!(Lifecycle, a_start_of_a_commit_for_a_taken_id_is_a_message),
    check!(Lifecycle, execution_ids_rise_after_a_purge),
    check!(
        Lifecycle,
        execution_ids_rise_after_continue_as_new_and_a_purge
    ),
    check!(Lifecycle, concurrent_starts_create_one_instance),
];

/// The answer to a start that began this execution.
fn started(execution: u64) -> StartOutcome {
    StartOutcome::Started {
        execution_id: ExecutionId::new(execution),
        seen: Some(WakeSeq::default()),
    }
}

/// The answer to one that had begun it before.
fn known(execution: u64) -> StartOutcome {
    StartOutcome::Started {
        execution_id: ExecutionId::new(execution),
        seen: None,
    }
}

async fn a_start_creates_a_pending_instance(env: Env) -> CheckResult {
    let before_ms = env.past_ms();
    let message = samples::full_start();
    let outcome = env
        .start_with("a", message.clone(), IdReuse::Refuse)
        .await?;
    ensure_eq("the answer", outcome, started(1))?;
    let record = env.record("a").await?;
    let MessageBody::Start(start) = message.body else {
        return Err(CheckFailure::new(
            "the sample",
            "a start",
            "another message",
        ));
    };
    ensure_eq("the id", record.instance.as_str(), "a")?;
    ensure_eq("the execution", record.execution_id, ExecutionId::FIRST)?;
    ensure_eq("the name", record.name, start.name)?;
    ensure_eq("the version", record.version, start.version)?;
    ensure_eq("the parent", record.parent, start.parent)?;
    ensure_eq("the attributes", record.attributes, start.attributes)?;
    ensure_eq("the status", record.status, InstanceStatus::Pending)?;
    ensure_eq("the custom status", record.custom_status, None)?;
    ensure_eq("what blocks it", record.blocked, None)?;
    ensure_eq("the tail", record.last_event_id, EventId::UNASSIGNED)?;
    let created_ms = record.created_at_ms;
    let what = "when it was created";
    let after_ms = env.now_ms() + env.time.skew_ms();
    let expected = format!("from {before_ms} to {after_ms}");
    let is_now = (before_ms..=after_ms).contains(&created_ms);
    ensure(is_now, what, expected, created_ms)?;
    ensure_eq("when it changed", record.updated_at_ms, created_ms)?;
    let executions = env.provider().executions(&"a".into()).await?;
    let expected = ExecutionRecord::new(ExecutionId::FIRST, EventId::UNASSIGNED);
    ensure_eq("the executions", executions, vec![expected])
}

async fn a_start_is_handed_out_as_it_was_sent(env: Env) -> CheckResult {
    let message = samples::full_start();
    let _ = env
        .start_with("a", message.clone(), IdReuse::Refuse)
        .await?;
    let ready = env.node().await?.take("a").await?;
    ensure_eq("the execution", ready.execution_id, ExecutionId::FIRST)?;
    ensure_eq("the tail", ready.last_event_id, EventId::UNASSIGNED)?;
    ensure_eq("the last commit", ready.last_commit_id, None)?;
    let messages = ready.messages.into_iter().map(|queued| queued.message);
    ensure_eq("the messages", messages.collect::<Vec<_>>(), vec![message])
}

async fn a_start_is_repeated_by_its_message_id(env: Env) -> CheckResult {
    let node = env.node().await?;
    let first = env.start_with("a", start_message("s1"), IdReuse::Refuse);
    ensure_eq("the answer", first.await?, started(1))?;
    for reuse in [IdReuse::Refuse, IdReuse::RestartEnded] {
        let outcome = env.start_with("a", start_message("s1"), reuse).await?;
        ensure_eq(format!("the answer, with {reuse:?}"), outcome, known(1))?;
    }
    let ready = node.take("a").await?;
    ensure_eq("the messages", message_ids(&ready), vec!["s1"])?;
    node.commit_done(node.first_turn(&ready).completed("1").build())
        .await?;
    for reuse in [IdReuse::Refuse, IdReuse::UseRunning, IdReuse::RestartEnded] {
        let outcome = env.start_with("a", start_message("s1"), reuse).await?;
        let what = format!("the answer after its end, with {reuse:?}");
        ensure_eq(what, outcome, known(1))?;
    }
    node.finds_no_instance("the start was consumed").await
}

async fn a_taken_id_is_refused(env: Env) -> CheckResult {
    let node = env.node().await?;
    let taken = |status| StartOutcome::Taken {
        execution_id: ExecutionId::FIRST,
        status,
    };
    env.start("a").await?;
    let outcome = env.start_with("a", start_message("other"), IdReuse::Refuse);
    ensure_eq(
        "while it is pending",
        outcome.await?,
        taken(StatusKind::Pending),
    )?;
    let ready = node.take("a").await?;
    ensure_eq("its messages", ready.messages.len(), 1)?;
    node.commit_done(node.first_turn(&ready).completed("1").build())
        .await?;
    for reuse in [IdReuse::Refuse, IdReuse::UseRunning] {
        let outcome = env.start_with("a", start_message("other"), reuse).await?;
        let what = format!("after its end, with {reuse:?}");
        ensure_eq(what, outcome, taken(StatusKind::Completed))?;
    }
    node.finds_no_instance("the starts were refused").await
}

async fn a_running_instance_can_be_used(env: Env) -> CheckResult {
    let node = env.node().await?;
    let running = StartOutcome::AlreadyRunning {
        execution_id: ExecutionId::FIRST,
    };
    env.start("a").await?;
    for reuse in [IdReuse::UseRunning, IdReuse::RestartEnded] {
        let outcome = env.start_with("a", start_message("other"), reuse).await?;
        ensure_eq(format!("a pending one, with {reuse:?}"), outcome, running)?;
    }
    let ready = node.take("a").await?;
    ensure_eq("its messages", ready.messages.len(), 1)?;
    node.commit_done(node.first_turn(&ready).build()).await?;
    for reuse in [IdReuse::UseRunning, IdReuse::RestartEnded] {
        let outcome = env.start_with("a", start_message("other"), reuse).await?;
        ensure_eq(format!("a running one, with {reuse:?}"), outcome, running)?;
    }
    node.finds_no_instance("it was used as it is").await
}

async fn an_ended_instance_can_be_started_anew(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn.custom_status("1").completed("1"))
        .await?;
    let again = env.start_with("a", samples::full_start(), IdReuse::RestartEnded);
    ensure_eq("the answer", again.await?, started(2))?;
    let record = env.record("a").await?;
    ensure_eq("the status", record.status, InstanceStatus::Pending)?;
    ensure_eq("the execution", record.execution_id, ExecutionId::new(2))?;
    ensure_eq("the name", record.name.as_str(), "ship")?;
    ensure_eq("the custom status", record.custom_status, None)?;
    ensure_eq("the tail", record.last_event_id, EventId::UNASSIGNED)?;
    let ready = node.take("a").await?;
    ensure_eq(
        "what is handed out",
        ready.execution_id,
        ExecutionId::new(2),
    )?;
    ensure_eq("its messages", message_ids(&ready), vec!["full-start"])?;
    node.commit_done(node.first_turn(&ready).build()).await?;
    let first = env.history("a", ExecutionId::FIRST).await?;
    ensure_eq("events of the first execution", first.len(), 3)?;
    let second = env.history("a", ExecutionId::new(2)).await?;
    ensure_eq("events of the second execution", second.len(), 1)
}

async fn a_restart_is_repeated_by_its_message_id(env: Env) -> CheckResult {
    let node = env.node().await?;
    let reuse = IdReuse::RestartEnded;
    for (message_id, execution) in [("s1", 1), ("s2", 2), ("s3", 3)] {
        for answer in [started(execution), known(execution)] {
            let outcome = env.start_with("a", start_message(message_id), reuse);
            ensure_eq("the answer", outcome.await?, answer)?;
        }
        let ready = node.take("a").await?;
        ensure_eq("the messages", message_ids(&ready), vec![message_id])?;
        node.commit_done(node.first_turn(&ready).completed("1").build())
            .await?;
    }
    let oldest = env.start_with("a", start_message("s1"), reuse).await?;
    ensure_eq("the answer to the oldest", oldest, known(1))
}

async fn only_a_start_starts(env: Env) -> CheckResult {
    let answer = env
        .start_with("a", event_message("m1"), IdReuse::Refuse)
        .await;
    let is_invalid = matches!(answer, Err(ProviderError::Invalid { .. }));
    ensure(is_invalid, "a start with an event", "Invalid", answer)?;
    let found = env.provider().instance(&"a".into()).await?;
    ensure(found.is_none(), "the instance", "none", found)
}

async fn a_start_is_not_sent(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    for target in ["a", "b"] {
        let answer = env.send(target, start_message("s1")).await;
        let is_invalid = matches!(answer, Err(ProviderError::Invalid { .. }));
        ensure(is_invalid, "a start that is sent", "Invalid", answer)?;
    }
    node.finds_no_instance("an invalid request writes nothing")
        .await
}

async fn a_commit_starts_instances(env: Env) -> CheckResult {
    let node = env.node().await?;
    let start = samples::full_start();
    node.begin("a", |turn| turn.message("b", start.clone()))
        .await?;
    let ready = node.take("b").await?;
    ensure_eq("the execution", ready.execution_id, ExecutionId::FIRST)?;
    let messages = ready.messages.into_iter().map(|queued| queued.message);
    ensure_eq("the messages", messages.collect::<Vec<_>>(), vec![start])?;
    let record = env.record("b").await?;
    ensure_eq("the name", record.name.as_str(), "ship")?;
    ensure_eq("the status", record.status, InstanceStatus::Pending)
}

async fn a_start_of_a_commit_for_a_taken_id_is_a_message(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("b", |turn| turn).await?;
    let start = samples::full_start();
    node.begin("a", |turn| turn.message("b", start)).await?;
    let ready = node.take("b").await?;
    ensure_eq("the execution", ready.execution_id, ExecutionId::FIRST)?;
    ensure_eq("the messages", message_ids(&ready), vec!["full-start"])?;
    let record = env.record("b").await?;
    ensure_eq("the name", record.name.as_str(), "fulfil")?;
    ensure_eq("the status", record.status, InstanceStatus::Running)
}

async fn execution_ids_rise_after_a_purge(env: Env) -> CheckResult {
    let node = env.node().await?;
    for execution in 1..=3 {
        let found = env.start("a").await?;
        ensure_eq("the execution", found, ExecutionId::new(execution))?;
        let ready = node.take("a").await?;
        ensure_eq("its last commit", ready.last_commit_id, None)?;
        node.commit_done(node.first_turn(&ready).completed("1").build())
            .await?;
        env.purge(100).await?;
    }
    node.begin("b", |turn| turn.message("a", start_message("s")))
        .await?;
    let ready = node.take("a").await?;
    let what = "the execution of one that a commit started";
    ensure_eq(what, ready.execution_id, ExecutionId::new(4))
}

async fn execution_ids_rise_after_continue_as_new_and_a_purge(env: Env) -> CheckResult {
    let node = env.node().await?;
    let begun = node.begin("a", |turn| turn.continued_as_new().keeping_the_lease());
    let (turn, _) = begun.await?;
    let last = TurnBuilder::after(&turn, env.now_ms()).completed("1");
    node.commit_done(last.build()).await?;
    env.purge(100).await?;
    ensure_eq("the execution", env.start("a").await?, ExecutionId::new(3))
}

async fn concurrent_starts_create_one_instance(env: Env) -> CheckResult {
    let mut tasks = JoinSet::new();
    for number in 0..8 {
        let provider = Arc::clone(env.provider());
        tasks.spawn(async move {
            let id = InstanceId::from("a");
            let message = start_message(format!("s{number}"));
            provider.start(&id, message, IdReuse::UseRunning).await
        });
    }
    let mut outcomes = Vec::new();
    for outcome in tasks.join_all().await {
        outcomes.push(comparable(outcome?));
    }
    let began = outcomes.iter().filter(|outcome| **outcome == started(1));
    ensure_eq("starts that created it", began.count(), 1)?;
    let ready = env.node().await?.take("a").await?;
    ensure_eq("its messages", ready.messages.len(), 1)
}
