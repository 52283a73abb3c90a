//! Promise 8: what was acknowledged survives the death of the process at any
//! instant. A crash here is a provider that is dropped as it is and a store that
//! is opened again; real kills are a provider's own tests.

use std::collections::BTreeSet;
use std::sync::Arc;

use durable_core::provider::{
    CommitOutcome, HeartbeatOutcome, IdReuse, InstanceStatus, StartOutcome, StatusKind, WakeSeq,
    WorkResult,
};
use durable_core::{EventId, ExecutionId};

use super::super::check::{Check, check};
use super::super::env::{Env, suspension};
use super::super::failure::{CheckFailure, CheckResult, ensure, ensure_eq};
use super::super::node::{message_ids, retry, work_keys};
use crate::message::start_message;
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Durability, a_commit_is_known_again_after_a_crash, needs OpenAgain),
    check!(Durability, a_start_is_known_again_after_a_crash, needs OpenAgain),
    check!(Durability, session_ids_are_new_after_a_crash, needs OpenAgain),
    check!(Durability, tokens_and_places_rise_across_a_crash, needs OpenAgain),
    check!(Durability, an_old_lease_is_fenced_after_a_crash, needs OpenAgain),
    check!(Durability, a_suspended_instance_stays_suspended_across_a_crash, needs OpenAgain),
    check!(Durability, delays_survive_a_crash, needs OpenAgain),
    check!(Durability, attempts_and_heartbeats_survive_a_crash, needs OpenAgain),
    check!(Durability, cancelled_work_does_not_come_back_after_a_crash, needs OpenAgain),
    check!(Durability, execution_ids_rise_across_purge_and_crash, needs OpenAgain),
    check!(Durability, a_second_handle_sees_what_was_written, needs OpenAgain),
    check!(OneOwner, a_second_handle_respects_leases, needs OpenAgain),
];

async fn a_commit_is_known_again_after_a_crash(env: Env) -> CheckResult {
    let node = env.mortal_node().await?;
    let begun = node.begin("a", |turn| turn.activity("charge").claiming(1));
    let (turn, first) = begun.await?;
    let env = env.crash().await;
    match env.provider().commit(Arc::new(turn.clone())).await? {
        CommitOutcome::AlreadyDone(again) => {
            ensure_eq("the claims", again.claimed, first.claimed)?;
        }
        other => {
            let found = format!("{other:?}");
            return Err(CheckFailure::new("the last commit", "AlreadyDone", found));
        }
    }
    let history = env.history("a", turn.execution_id).await?;
    ensure_eq("the history", history, turn.events)
}

async fn a_start_is_known_again_after_a_crash(env: Env) -> CheckResult {
    let started = |seen| StartOutcome::Started {
        execution_id: ExecutionId::FIRST,
        seen,
    };
    let first = env.start_with("a", start_message("s1"), IdReuse::Refuse);
    ensure_eq(
        "the first answer",
        first.await?,
        started(Some(WakeSeq::default())),
    )?;
    let env = env.crash().await;
    let again = env.start_with("a", start_message("s1"), IdReuse::Refuse);
    ensure_eq("the answer after the crash", again.await?, started(None))?;
    let ready = env.node().await?.take("a").await?;
    ensure_eq("the messages", message_ids(&ready), vec!["s1"])
}

async fn session_ids_are_new_after_a_crash(env: Env) -> CheckResult {
    let mut used = BTreeSet::new();
    for _ in 0..3 {
        used.insert(env.mortal_node().await?.session);
    }
    let env = env.crash().await;
    for _ in 0..3 {
        let session = env.node().await?.session;
        let is_new = used.insert(session);
        ensure(is_new, "a session after a crash", "a new id", session)?;
    }
    Ok(())
}

async fn tokens_and_places_rise_across_a_crash(env: Env) -> CheckResult {
    let node = env.mortal_node().await?;
    node.begin("a", |turn| turn.activity("charge")).await?;
    env.raise("a", "m1").await?;
    let before = node.take("a").await?;
    let work_before = node.take_work().await?;
    let env = env.crash().await;
    env.raise("a", "m2").await?;
    env.time.pass_short().await;
    let node = env.node().await?;
    let after = node.take("a").await?;
    ensure_eq("the messages", message_ids(&after), vec!["m1", "m2"])?;
    let tokens = (before.lease.token, after.lease.token);
    ensure(
        tokens.0 < tokens.1,
        "the tokens of the instance",
        "they rise",
        tokens,
    )?;
    let places = (after.messages[0].seq, after.messages[1].seq);
    let rise = before.messages[0].seq == places.0 && places.0 < places.1;
    ensure(
        rise,
        "the places of the messages",
        "kept, and rising",
        places,
    )?;
    let work = node.take_work().await?;
    let tokens = (work_before.lease.token, work.lease.token);
    ensure(
        tokens.0 < tokens.1,
        "the tokens of the work",
        "they rise",
        tokens,
    )
}

async fn an_old_lease_is_fenced_after_a_crash(env: Env) -> CheckResult {
    env.start("a").await?;
    let node = env.mortal_node().await?;
    let turn = node.first_turn(&node.take("a").await?).build();
    let env = env.crash().await;
    env.time.pass_short().await;
    let node = env.node().await?;
    let held = node.take("a").await?;
    ensure_eq("the crashes", held.crashes, 1)?;
    let outcome = node.commit(turn).await?;
    ensure_eq(
        "a commit of before the crash",
        outcome,
        CommitOutcome::Fenced,
    )?;
    node.commit_done(node.first_turn(&held).build()).await?;
    Ok(())
}

async fn a_suspended_instance_stays_suspended_across_a_crash(env: Env) -> CheckResult {
    env.start("a").await?;
    env.suspend("a").await?;
    let env = env.crash().await;
    let status = env.record("a").await?.status;
    let suspended = InstanceStatus::Suspended {
        failure: suspension(),
    };
    ensure_eq("the status", status, suspended)?;
    let node = env.node().await?;
    node.finds_no_instance("`a` is suspended").await?;
    env.resume("a").await?;
    node.take("a").await?;
    Ok(())
}

async fn delays_survive_a_crash(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn.activity("charge")).await?;
    env.raise("a", "m1").await?;
    let far_ms = env.far_ms();
    node.release(&node.take("a").await?, Some(far_ms)).await?;
    let again = retry(far_ms);
    node.settle_held(&node.take_work().await?, again).await?;
    let env = env.crash().await;
    let node = env.node().await?;
    node.finds_no_instance("`a` is delayed").await?;
    node.finds_no_work("the retry is delayed").await?;
    let due = node.fetch_work_from(&[None], 1).await?.next_due_ms;
    ensure_eq("when the retry is due", due, Some(far_ms))
}

async fn attempts_and_heartbeats_survive_a_crash(env: Env) -> CheckResult {
    let node = env.mortal_node().await?;
    node.begin("a", |turn| turn.activity("charge")).await?;
    let work = node.take_work().await?;
    let again = retry(0);
    node.settle_held(&work, again).await?;
    let work = node.take_work().await?;
    let beat = node.heartbeat_work(&work, "50").await?;
    ensure_eq("a heartbeat of held work", beat, HeartbeatOutcome::Kept)?;
    let env = env.crash().await;
    env.time.pass_short().await;
    let again = env.node().await?.take_work().await?;
    ensure_eq("the item", again.item, work.item)?;
    ensure_eq(
        "its attempt and crashes",
        (again.attempt, again.crashes),
        (2, 1),
    )?;
    ensure_eq("its heartbeat", again.heartbeat, Some("50".into()))
}

async fn cancelled_work_does_not_come_back_after_a_crash(env: Env) -> CheckResult {
    let node = env.mortal_node().await?;
    let begun = node.begin("a", |turn| {
        turn.activity("held").keeping_the_lease().claiming(1)
    });
    let (turn, _) = begun.await?;
    let next = TurnBuilder::after(&turn, env.now_ms());
    let next = next.cancelling_work(&work_keys(&turn)[0]);
    node.commit_done(next.build()).await?;
    let env = env.crash().await;
    env.time.pass_short().await;
    env.node().await?.finds_no_work("it was cancelled").await
}

async fn execution_ids_rise_across_purge_and_crash(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn.completed("1")).await?;
    ensure_eq("purged instances", env.purge(10).await?.instances, 1)?;
    let env = env.crash().await;
    ensure_eq("the execution", env.start("a").await?, ExecutionId::new(2))
}

async fn a_second_handle_sees_what_was_written(env: Env) -> CheckResult {
    let node = env.node().await?;
    let begun = node.begin("a", |turn| turn.activity("charge").completed("1"));
    let (turn, _) = begun.await?;
    let there = env.second_handle().await;
    let record = there.instance(&"a".into()).await?;
    let status = record.map(|record| record.status.kind());
    ensure_eq("the status there", status, Some(StatusKind::Completed))?;
    let from = EventId::UNASSIGNED;
    let page = there
        .history(&"a".into(), turn.execution_id, from, 100)
        .await?;
    ensure_eq("the history there", page.entries, turn.events)
}

async fn a_second_handle_respects_leases(env: Env) -> CheckResult {
    let here = env.node().await?;
    let there = env.node_on(env.second_handle().await).await?;
    let is_new = here.session != there.session;
    ensure(is_new, "the session there", "another id", there.session)?;
    here.begin("b", |turn| turn.activity("charge")).await?;
    env.start("a").await?;
    let ready = here.take("a").await?;
    let work = here.take_work().await?;
    there.finds_no_instance("`a` is held here").await?;
    there.finds_no_work("the work is held here").await?;
    here.release(&ready, None).await?;
    let taken = there.take("a").await?;
    let outcome = here.commit(here.first_turn(&ready).build()).await?;
    ensure_eq("a commit here", outcome, CommitOutcome::Fenced)?;
    there.commit_done(there.first_turn(&taken).build()).await?;
    let done = WorkResult::Finished(Ok("1".into()));
    here.settle_held(&work, done).await
}
