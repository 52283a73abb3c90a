//! Limits and awkward data: what is too large or empty is refused before anything
//! is written, and everything else comes back as it was.

use durable_core::provider::{
    HeartbeatOutcome, IdReuse, InstanceStatus, Message, MessageBody, ProviderError, StartInstance,
    WorkResult, WorkSettlement,
};
use durable_core::{InstanceId, Name, Payload};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure, ensure_eq};
use super::super::node::{message_ids, work_items};
use crate::conformance::samples::AWKWARD_NAMES;
use crate::message::{event_message, start_message};
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Limits, empty_names_are_refused),
    check!(Limits, the_longest_names_are_accepted),
    check!(Limits, names_that_are_too_long_are_refused),
    check!(Limits, the_largest_payload_is_accepted),
    check!(Limits, payloads_that_are_too_large_are_refused),
    check!(Limits, a_result_that_is_too_large_leaves_the_work_held),
    check!(Limits, a_message_that_is_too_large_is_refused),
    check!(Limits, awkward_instance_ids_are_kept_apart),
    check!(Limits, awkward_names_come_back_as_they_were),
    check!(Limits, awkward_message_ids_are_kept_apart),
    check!(Limits, empty_payloads_come_back_as_they_were),
    check!(Limits, payloads_of_a_mebibyte_come_back_as_they_were),
];

#[track_caller]
fn is_refused<T: std::fmt::Debug>(what: &str, answer: Result<T, ProviderError>) -> CheckResult {
    let is_refused = matches!(answer, Err(ProviderError::Refused(_)));
    ensure(is_refused, what, "Refused", answer)
}

fn start_with_input(input: String) -> Message {
    Message {
        message_id: "s1".into(),
        body: MessageBody::Start(StartInstance::new("fulfil".into(), input.into())),
    }
}

async fn empty_names_are_refused(env: Env) -> CheckResult {
    let answer = env
        .start_with("", start_message("s1"), IdReuse::Refuse)
        .await;
    is_refused("an empty instance id", answer)?;
    let answer = env
        .start_with("a", start_message(""), IdReuse::Refuse)
        .await;
    is_refused("an empty message id of a start", answer)?;
    let found = env.provider().instance(&"a".into()).await?;
    ensure(found.is_none(), "the instance", "none", found)?;
    env.start("a").await?;
    let answer = env.send("a", event_message("")).await;
    is_refused("an empty message id", answer)?;
    let ready = env.node().await?.take("a").await?;
    ensure_eq("messages of `a`", ready.messages.len(), 1)
}

async fn the_longest_names_are_accepted(env: Env) -> CheckResult {
    let node = env.node().await?;
    let longest = "n".repeat(env.limits.max_name_bytes);
    let id = InstanceId::from(longest.as_str());
    let message = start_message(longest.as_str());
    let _ = env.start_with(id, message, IdReuse::Refuse).await?;
    let ready = node.take(&longest).await?;
    ensure_eq(
        "the message id",
        message_ids(&ready),
        vec![longest.as_str()],
    )?;
    let queue = Some(Name::from(longest.as_str()));
    let turn = node.first_turn(&ready);
    let turn = turn.activity_on(queue.clone(), longest.as_str(), "{}");
    let turn = turn.build();
    node.commit_done(turn.clone()).await?;
    let work = node.fetch_work_from(&[queue], 9).await?.work;
    let items: Vec<_> = work.into_iter().map(|work| work.item).collect();
    ensure_eq("the work", items, work_items(&turn))
}

async fn names_that_are_too_long_are_refused(env: Env) -> CheckResult {
    let long = "n".repeat(env.limits.max_name_bytes + 1);
    let id = InstanceId::from(long.as_str());
    let answer = env.start_with(id.clone(), start_message("s1"), IdReuse::Refuse);
    is_refused("too long an instance id", answer.await)?;
    let found = env.provider().instance(&id).await.unwrap_or_default();
    ensure(found.is_none(), "the instance", "none", found)?;
    let message = start_message(long.as_str());
    let answer = env.start_with("a", message, IdReuse::Refuse).await;
    is_refused("too long a message id", answer)?;
    env.start("a").await?;
    let answer = env.send("a", event_message(long.as_str())).await;
    is_refused("too long a message id of an event", answer)?;
    let node = env.node().await?;
    let ready = node.take("a").await?;
    let turn = node.first_turn(&ready).activity(long).build();
    is_refused("too long an activity", node.commit(turn).await)?;
    ensure_eq("the tail", env.record("a").await?.last_event_id.get(), 0)
}

async fn the_largest_payload_is_accepted(env: Env) -> CheckResult {
    let largest = "x".repeat(env.limits.max_payload_bytes);
    let message = start_with_input(largest);
    let _ = env
        .start_with("a", message.clone(), IdReuse::Refuse)
        .await?;
    let ready = env.node().await?.take("a").await?;
    let is_same = ready.messages.len() == 1 && ready.messages[0].message == message;
    ensure(
        is_same,
        "the largest payload",
        "as it was",
        ready.messages.len(),
    )
}

async fn payloads_that_are_too_large_are_refused(env: Env) -> CheckResult {
    let large = "x".repeat(env.limits.max_payload_bytes + 1);
    let message = start_with_input(large.clone());
    let answer = env.start_with("a", message, IdReuse::Refuse).await;
    is_refused("too large an input", answer)?;
    let found = env.provider().instance(&"a".into()).await?;
    ensure(found.is_none(), "the instance", "none", found)?;
    let node = env.node().await?;
    let begun = node.begin("a", |turn| turn.activity("charge").keeping_the_lease());
    let (turn, _) = begun.await?;
    let next = TurnBuilder::after(&turn, env.now_ms()).completed(large.as_str());
    is_refused("too large an output", node.commit(next.build()).await)?;
    let status = env.record("a").await?.status;
    ensure_eq("the status", status, InstanceStatus::Running)?;
    let work = node.take_work().await?;
    let beat = env.provider().heartbeat_work(&work.lease, large.into());
    is_refused("too large a heartbeat", beat.await)
}

async fn a_result_that_is_too_large_leaves_the_work_held(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn.activity("charge")).await?;
    let work = node.take_work().await?;
    let large = "x".repeat(env.limits.max_payload_bytes + 1);
    let result = WorkResult::Finished(Ok(large.into()));
    let settlement = WorkSettlement::new(work.lease.clone(), result);
    let answer = env.provider().settle_work(settlement).await;
    is_refused("too large a result", answer)?;
    node.finds_no_instance("the result was refused").await?;
    let done = WorkResult::Finished(Ok("1".into()));
    node.settle_held(&work, done).await
}

async fn a_message_that_is_too_large_is_refused(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    let mut large = event_message("m1");
    large.body = MessageBody::ExternalRaised {
        name: "approval".into(),
        data: "x".repeat(env.limits.max_payload_bytes + 1).into(),
    };
    let answer = env.send("a", large).await;
    is_refused("too large a message", answer)?;
    node.finds_no_instance("a refused request writes nothing")
        .await
}

async fn awkward_instance_ids_are_kept_apart(env: Env) -> CheckResult {
    let node = env.node().await?;
    for id in AWKWARD_NAMES {
        env.start(*id).await?;
        env.raise(*id, &format!("for {id}")).await?;
    }
    for ready in node.take_all(AWKWARD_NAMES).await? {
        let id = ready.lease.instance.clone();
        let found = message_ids(&ready).last().map(|id| (*id).to_owned());
        let what = format!("the last message of {id:?}");
        ensure_eq(what, found, Some(format!("for {id}")))?;
        let turn = node.first_turn(&ready).custom_status(id.as_str());
        node.commit_done(turn.activity("charge").completed(id.as_str()).build())
            .await?;
    }
    for id in AWKWARD_NAMES {
        let record = env.record(id).await?;
        ensure_eq("the id", record.instance.as_str(), *id)?;
        let what = format!("the custom status of {id:?}");
        ensure_eq(what, record.custom_status, Some(Payload::from(*id)))?;
        let history = env.history(id, record.execution_id).await?;
        ensure_eq(format!("events of {id:?}"), history.len(), 4)?;
    }
    Ok(())
}

async fn awkward_names_come_back_as_they_were(env: Env) -> CheckResult {
    let node = env.node().await?;
    let on_each = |turn: TurnBuilder| {
        AWKWARD_NAMES.iter().fold(turn, |turn, name| {
            turn.activity_on(Some(Name::from(*name)), *name, *name)
        })
    };
    let (turn, _) = node.begin("a", on_each).await?;
    let items = work_items(&turn);
    let history = env.history("a", turn.execution_id).await?;
    ensure_eq("the history", history, turn.events)?;
    for (name, item) in AWKWARD_NAMES.iter().zip(&items) {
        let queue = [Some(Name::from(*name))];
        let work = node.fetch_work_from(&queue, 100).await?.work;
        let items: Vec<_> = work.iter().map(|work| &work.item).collect();
        ensure_eq(format!("the work of queue {name:?}"), items, vec![item])?;
    }
    Ok(())
}

async fn awkward_message_ids_are_kept_apart(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    for id in AWKWARD_NAMES {
        env.raise("a", id).await?;
    }
    let ready = node.take("a").await?;
    ensure_eq("the messages", message_ids(&ready), AWKWARD_NAMES.to_vec())
}

async fn empty_payloads_come_back_as_they_were(env: Env) -> CheckResult {
    payloads_travel(&env, "").await
}

async fn payloads_of_a_mebibyte_come_back_as_they_were(env: Env) -> CheckResult {
    let size = env.limits.max_payload_bytes.min(1024 * 1024);
    payloads_travel(&env, &"\u{00e4}\0\"'".repeat(size / 5)).await
}

/// Sends a payload along every way there is.
async fn payloads_travel(env: &Env, payload: &str) -> CheckResult {
    let node = env.node().await?;
    let message = start_with_input(payload.into());
    let _ = env
        .start_with("a", message.clone(), IdReuse::Refuse)
        .await?;
    let ready = node.take("a").await?;
    ensure_eq("the start", &ready.messages[0].message, &message)?;
    let turn = node.first_turn(&ready).custom_status(payload);
    let turn = turn.activity_on(None, "charge", payload).build();
    node.commit_done(turn.clone()).await?;
    let work = node.take_work().await?;
    ensure_eq("the work", &work.item, &work_items(&turn)[0])?;
    let beat = node.heartbeat_work(&work, payload).await?;
    ensure_eq("a heartbeat", beat, HeartbeatOutcome::Kept)?;
    let back = WorkResult::HandedBack {
        not_before_ms: None,
    };
    node.settle_held(&work, back).await?;
    let work = node.take_work().await?;
    ensure_eq("the heartbeat", work.heartbeat.as_deref(), Some(payload))?;
    let done = WorkResult::Finished(Ok(payload.into()));
    node.settle_held(&work, done).await?;
    let ready = node.take("a").await?;
    let result = match ready.messages.first().map(|queued| &queued.message.body) {
        Some(MessageBody::ActivityFinished { result, .. }) => result.as_deref().ok(),
        _ => None,
    };
    ensure_eq("the result", result, Some(payload))?;
    let last = node.turn(&ready).consuming(&ready.messages);
    node.commit_done(last.completed(payload).build()).await?;
    let record = env.record("a").await?;
    ensure_eq(
        "the custom status",
        record.custom_status.as_deref(),
        Some(payload),
    )?;
    let output = payload.into();
    ensure_eq(
        "the status",
        record.status,
        InstanceStatus::Completed { output },
    )?;
    let history = env.history("a", turn.execution_id).await?;
    let begun = &history[..turn.events.len().min(history.len())];
    ensure_eq("the history", begun, turn.events.as_slice())
}
