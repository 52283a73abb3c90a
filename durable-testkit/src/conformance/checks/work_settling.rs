//! Promise 6, taking back: a work item leaves its queue only with its result
//! stored, its retry scheduled, its cancellation, or as a dead letter.

use durable_core::provider::{
    ClaimedWork, HeartbeatOutcome, InboxMessage, MessageBody, PoisonedWork, WorkResult,
};
use durable_core::{EarlierAttempts, Failure, FailureKind, Payload};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure, ensure_eq};
use super::super::node::{TestNode, retry};
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Work, a_result_goes_to_the_inbox_and_the_item_goes),
    check!(Work, a_failure_goes_to_the_inbox_and_the_item_goes),
    check!(Work, results_come_in_the_order_in_which_work_was_settled),
    check!(Work, a_retry_comes_when_it_is_due_as_the_next_attempt),
    check!(Work, attempts_are_counted),
    check!(Work, a_result_says_which_attempts_were_before_it),
    check!(Work, work_that_is_handed_back_is_ready_as_the_same_attempt),
    check!(Work, work_that_is_handed_back_waits_until_it_may_be_run),
    check!(Work, a_heartbeat_reaches_the_next_attempt),
    check!(Work, poisoned_work_fails_its_instance_and_stays_away),
    check!(Work, poisoned_work_is_listed_in_pages_until_its_purge),
    check!(Work, a_result_for_a_suspended_instance_waits),
];

pub(super) fn done() -> WorkResult {
    WorkResult::Finished(Ok(Payload::from("42")))
}

/// A node that holds the only work item, of instance `a`.
pub(super) async fn claimed(env: &Env) -> CheckResult<(TestNode<'_>, ClaimedWork)> {
    let node = env.node().await?;
    node.begin("a", |turn| turn.activity("charge")).await?;
    let work = node.take_work().await?;
    Ok((node, work))
}

/// Demands that the messages are one result of this work, after the attempts that the claim
/// says.
pub(super) fn is_result_of(
    work: &ClaimedWork,
    messages: &[InboxMessage],
    result: Result<Payload, Failure>,
) -> CheckResult {
    let bodies: Vec<&MessageBody> = messages.iter().map(|it| &it.message.body).collect();
    let expected = MessageBody::ActivityFinished {
        execution_id: work.item.key.execution_id,
        source_event_id: work.item.key.event_id,
        result,
        earlier_attempts: work.earlier_attempts(),
    };
    ensure_eq("the messages", bodies, vec![&expected])
}

async fn a_result_goes_to_the_inbox_and_the_item_goes(env: Env) -> CheckResult {
    let (node, work) = claimed(&env).await?;
    node.settle_held(&work, done()).await?;
    let ready = node.take("a").await?;
    is_result_of(&work, &ready.messages, Ok("42".into()))?;
    node.close().await?;
    env.node().await?.finds_no_work("it ended").await
}

async fn a_failure_goes_to_the_inbox_and_the_item_goes(env: Env) -> CheckResult {
    let (node, work) = claimed(&env).await?;
    let failure = Failure::application("declined", "no").with_details("51");
    let failed = WorkResult::Finished(Err(failure.clone()));
    node.settle_held(&work, failed).await?;
    let ready = node.take("a").await?;
    is_result_of(&work, &ready.messages, Err(failure))?;
    node.finds_no_work("it ended").await
}

async fn results_come_in_the_order_in_which_work_was_settled(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn.activity("one").activity("two"))
        .await?;
    let work = node.fetch_work().await?;
    ensure_eq("the work", work.len(), 2)?;
    for settled in [&work[1], &work[0]] {
        node.settle_held(settled, done()).await?;
    }
    let ready = node.take("a").await?;
    let sources = ready
        .messages
        .iter()
        .map(|queued| match &queued.message.body {
            MessageBody::ActivityFinished {
                source_event_id, ..
            } => Some(*source_event_id),
            _ => None,
        });
    let expected = [&work[1], &work[0]].map(|work| Some(work.item.key.event_id));
    ensure_eq(
        "the results",
        sources.collect::<Vec<_>>(),
        expected.to_vec(),
    )
}

async fn a_retry_comes_when_it_is_due_as_the_next_attempt(env: Env) -> CheckResult {
    let (node, work) = claimed(&env).await?;
    let not_before_ms = env.soon_ms();
    node.settle_held(&work, retry(not_before_ms)).await?;
    let early = node.fetch_work_from(&[None], 9).await?;
    if env.is_before(not_before_ms) {
        let is_early = early.work.is_empty();
        ensure(
            is_early,
            "work before its retry is due",
            "none",
            &early.work,
        )?;
        ensure_eq("when it is due", early.next_due_ms, Some(not_before_ms))?;
        env.time.pass_short().await;
        let work = node.take_work().await?;
        ensure_eq(
            "its attempt and crashes",
            (work.attempt, work.crashes),
            (2, 0),
        )?;
    }
    node.finds_no_instance("a retry is no result").await
}

async fn attempts_are_counted(env: Env) -> CheckResult {
    let (node, mut work) = claimed(&env).await?;
    for attempt in 1..4 {
        ensure_eq("the attempt", work.attempt, attempt)?;
        let again = retry(0);
        node.settle_held(&work, again).await?;
        work = node.take_work().await?;
        let back = WorkResult::HandedBack {
            not_before_ms: None,
        };
        node.settle_held(&work, back).await?;
        work = node.take_work().await?;
    }
    ensure_eq(
        "the attempt and crashes",
        (work.attempt, work.crashes),
        (4, 0),
    )
}

async fn a_result_says_which_attempts_were_before_it(env: Env) -> CheckResult {
    let (node, work) = claimed(&env).await?;
    node.settle_held(&work, retry(0)).await?;
    let work = node.take_work().await?;
    ensure_eq(
        "the attempts before",
        work.earlier_attempts(),
        EarlierAttempts::new(1, 0),
    )?;
    node.settle_held(&work, done()).await?;
    let ready = node.take("a").await?;
    is_result_of(&work, &ready.messages, Ok("42".into()))
}

async fn work_that_is_handed_back_is_ready_as_the_same_attempt(env: Env) -> CheckResult {
    let (node, work) = claimed(&env).await?;
    let back = WorkResult::HandedBack {
        not_before_ms: None,
    };
    node.settle_held(&work, back).await?;
    let again = node.take_work().await?;
    ensure_eq(
        "its attempt and crashes",
        (again.attempt, again.crashes),
        (1, 0),
    )?;
    ensure_eq("the item", again.item, work.item)
}

async fn work_that_is_handed_back_waits_until_it_may_be_run(env: Env) -> CheckResult {
    let (node, work) = claimed(&env).await?;
    let due_ms = env.soon_ms();
    let back = WorkResult::HandedBack {
        not_before_ms: Some(due_ms),
    };
    node.settle_held(&work, back).await?;
    let early = node.fetch_work_from(&[None], 9).await?;
    if env.is_before(due_ms) {
        let is_early = early.work.is_empty();
        ensure(is_early, "work before it may be run", "none", &early.work)?;
        ensure_eq("when it is due", early.next_due_ms, Some(due_ms))?;
        env.time.pass_short().await;
        ensure_eq("its attempt", node.take_work().await?.attempt, 1)?;
    }
    Ok(())
}

async fn a_heartbeat_reaches_the_next_attempt(env: Env) -> CheckResult {
    let (node, mut work) = claimed(&env).await?;
    for percent in ["10", "20"] {
        let beat = node.heartbeat_work(&work, percent).await?;
        ensure_eq("a heartbeat of held work", beat, HeartbeatOutcome::Kept)?;
    }
    let again = retry(0);
    node.settle_held(&work, again).await?;
    work = node.take_work().await?;
    ensure_eq("the heartbeat", work.heartbeat, Some("20".into()))?;
    node.close().await?;
    let work = env.node().await?.take_work().await?;
    ensure_eq(
        "the heartbeat, once more",
        work.heartbeat,
        Some("20".into()),
    )
}

async fn poisoned_work_fails_its_instance_and_stays_away(env: Env) -> CheckResult {
    let (node, work) = claimed(&env).await?;
    let failure = Failure::new(FailureKind::Poisoned, "three workers died");
    node.settle_held(&work, WorkResult::Poisoned(failure.clone()))
        .await?;
    is_result_of(&work, &node.take("a").await?.messages, Err(failure))?;
    node.settle_lost("settling poisoned work", &work, done())
        .await?;
    node.close().await?;
    env.node().await?.finds_no_work("it was set aside").await
}

async fn poisoned_work_is_listed_in_pages_until_its_purge(env: Env) -> CheckResult {
    let node = env.node().await?;
    for id in ["b", "a", "c"] {
        let two = |turn: TurnBuilder| turn.activity("charge").activity("pack");
        node.begin(id, two).await?;
    }
    let failure = Failure::new(FailureKind::Poisoned, "three workers died").with_details("3");
    let mut expected = Vec::new();
    for work in node.fetch_work().await? {
        if work.item.key.instance == "c" && work.item.name == "pack" {
            node.settle_held(&work, done()).await?;
            continue;
        }
        let poisoned = WorkResult::Poisoned(failure.clone());
        node.settle_held(&work, poisoned).await?;
        expected.push(PoisonedWork::new(work.item, failure.clone()));
    }
    ensure_eq("how much was set aside", expected.len(), 5)?;
    expected.sort_by(|one, other| one.item.key.cmp(&other.item.key));
    for page_size in [1, 2, 4, 5, 6, 1_000] {
        let listed = env.poisoned_in_pages(page_size).await?;
        let what = format!("what was set aside, in pages of {page_size}");
        ensure_eq(what, &listed, &expected)?;
    }
    for ready in node.fetch().await? {
        if ready.lease.instance == "b" {
            let turn = node.turn(&ready).completed("1");
            node.commit_done(turn.build()).await?;
        }
    }
    ensure_eq(
        "of the ended too",
        env.poisoned_in_pages(3).await?,
        expected.clone(),
    )?;
    ensure_eq("purged instances", env.purge(10).await?.instances, 1)?;
    expected.retain(|work| work.item.key.instance != "b");
    ensure_eq("what is left", env.poisoned_in_pages(3).await?, expected)
}

async fn a_result_for_a_suspended_instance_waits(env: Env) -> CheckResult {
    let (node, work) = claimed(&env).await?;
    env.suspend("a").await?;
    node.settle_held(&work, done()).await?;
    node.finds_no_instance("`a` is suspended").await?;
    env.resume("a").await?;
    is_result_of(&work, &node.take("a").await?.messages, Ok("42".into()))
}
