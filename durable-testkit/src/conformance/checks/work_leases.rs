//! Promise 6, fencing: a settlement or a heartbeat under a lease that is no longer held
//! is answered with `LeaseLost` and changes nothing.

use durable_core::provider::{ClaimedWork, HeartbeatOutcome, WorkLease, WorkResult};
use durable_core::{Failure, FailureKind};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure, ensure_eq};
use super::super::node::{TestNode, retry};
use super::work_settling::{claimed, done, is_result_of};

pub(super) const CHECKS: &[Check] = &[
    check!(Work, a_second_settlement_changes_nothing),
    check!(Work, a_forged_settlement_changes_nothing),
    check!(Work, a_settlement_of_a_dead_session_changes_nothing),
    check!(Work, a_settlement_of_a_closed_session_changes_nothing),
    check!(
        Work,
        a_settlement_of_a_lost_lease_changes_nothing_whatever_it_says
    ),
    check!(Work, a_heartbeat_of_a_lost_lease_changes_nothing),
];

async fn a_second_settlement_changes_nothing(env: Env) -> CheckResult {
    let (node, work) = claimed(&env).await?;
    node.settle_held(&work, done()).await?;
    let again = WorkResult::Finished(Ok("43".into()));
    node.settle_lost("settling settled work", &work, again)
        .await?;
    let ready = node.take("a").await?;
    is_result_of(&work, &ready.messages, Ok("42".into()))
}

async fn a_forged_settlement_changes_nothing(env: Env) -> CheckResult {
    let (node, work) = claimed(&env).await?;
    let other = env.node().await?;
    for forged in forged(&work, &other) {
        let what = format!("settling work under {:?}", forged.lease);
        other.settle_lost(what, &forged, done()).await?;
    }
    node.finds_no_instance("no result was accepted").await?;
    node.settle_held(&work, done()).await
}

/// The same work under leases that no session has.
fn forged(work: &ClaimedWork, other: &TestNode<'_>) -> [ClaimedWork; 2] {
    let of_another = WorkLease {
        session: other.session,
        ..work.lease.clone()
    };
    let later = WorkLease {
        token: work.lease.token + 1,
        ..work.lease.clone()
    };
    [of_another, later].map(|lease| {
        let mut forged = work.clone();
        forged.lease = lease;
        forged
    })
}

async fn a_settlement_of_a_dead_session_changes_nothing(env: Env) -> CheckResult {
    let (dead, heir) = (env.mortal_node().await?, env.node().await?);
    heir.begin("a", |turn| turn.activity("charge")).await?;
    let lost = dead.take_work().await?;
    env.time.pass_short().await;
    let what = "settling work of a dead session, before it is taken";
    dead.settle_lost(what, &lost, done()).await?;
    let held = heir.take_work().await?;
    let again = retry(0);
    for result in [done(), again] {
        dead.settle_lost("settling work of a dead session", &lost, result)
            .await?;
    }
    heir.finds_no_instance("no result was accepted").await?;
    heir.finds_no_work("the heir holds it").await?;
    heir.settle_held(&held, done()).await?;
    is_result_of(&held, &heir.take("a").await?.messages, Ok("42".into()))
}

async fn a_settlement_of_a_closed_session_changes_nothing(env: Env) -> CheckResult {
    let (node, work) = claimed(&env).await?;
    node.close().await?;
    node.settle_lost("settling work of a closed session", &work, done())
        .await?;
    let other = env.node().await?;
    other.finds_no_instance("no result was accepted").await?;
    let again = other.take_work().await?;
    other.settle_held(&again, done()).await
}

async fn a_settlement_of_a_lost_lease_changes_nothing_whatever_it_says(env: Env) -> CheckResult {
    let (first, lost) = claimed(&env).await?;
    let second = env.node().await?;
    let back = WorkResult::HandedBack {
        not_before_ms: None,
    };
    first.settle_held(&lost, back).await?;
    for result in every_result(&env) {
        let what = format!("settling work that was handed back: {result:?}");
        first.settle_lost(what, &lost, result).await?;
    }
    let held = second.take_work().await?;
    is_as_it_was(&held, &lost, 1)?;
    for result in every_result(&env) {
        let what = format!("settling work that another session holds: {result:?}");
        first.settle_lost(what, &lost, result).await?;
    }
    first.finds_no_work("another session holds it").await?;
    let again = retry(0);
    second.settle_held(&held, again).await?;
    let again = second.take_work().await?;
    is_as_it_was(&again, &lost, 2)?;
    second.settle_held(&again, done()).await?;
    for result in every_result(&env) {
        let what = format!("settling work that has ended: {result:?}");
        first.settle_lost(what, &lost, result).await?;
    }
    let dead_letters = env.poisoned_in_pages(9).await?;
    ensure_eq("the dead letters", dead_letters, Vec::new())?;
    let ready = second.take("a").await?;
    is_result_of(&again, &ready.messages, Ok("42".into()))?;
    second.finds_no_work("it has ended").await
}

/// All that a settlement can say, each with something to be found.
fn every_result(env: &Env) -> [WorkResult; 5] {
    let far_ms = env.far_ms();
    [
        WorkResult::Finished(Ok("\"zombie\"".into())),
        WorkResult::Finished(Err(Failure::application("zombie", "no"))),
        retry(far_ms),
        WorkResult::HandedBack {
            not_before_ms: Some(far_ms),
        },
        WorkResult::Poisoned(Failure::new(FailureKind::Poisoned, "zombie")),
    ]
}

/// Demands that a claim is this attempt at the same work, with nothing left behind.
fn is_as_it_was(claim: &ClaimedWork, before: &ClaimedWork, attempt: u32) -> CheckResult {
    ensure_eq("the item", &claim.item, &before.item)?;
    let found = (claim.attempt, claim.crashes, claim.heartbeat.as_ref());
    let what = "its attempt, crashes and heartbeat";
    ensure_eq(what, found, (attempt, 0, None))?;
    let is_new = claim.lease.token > before.lease.token;
    ensure(is_new, "its token", "a higher one", &claim.lease)
}

async fn a_heartbeat_of_a_lost_lease_changes_nothing(env: Env) -> CheckResult {
    let (dead, heir) = (env.mortal_node().await?, env.node().await?);
    heir.begin("a", |turn| turn.activity("charge")).await?;
    let lost = dead.take_work().await?;
    env.time.pass_short().await;
    is_not_kept(&dead, "before it is taken", &lost).await?;
    let held = heir.take_work().await?;
    ensure_eq("the heartbeat", &held.heartbeat, &None)?;
    is_not_kept(&dead, "after it was taken", &lost).await?;
    for forged in forged(&held, &dead) {
        let when = format!("under {:?}", forged.lease);
        is_not_kept(&dead, &when, &forged).await?;
    }
    let again = retry(0);
    heir.settle_held(&held, again).await?;
    is_not_kept(&heir, "after it was settled", &held).await?;
    let again = heir.take_work().await?;
    ensure_eq("the heartbeat", again.heartbeat, None)
}

async fn is_not_kept(node: &TestNode<'_>, when: &str, work: &ClaimedWork) -> CheckResult {
    let beat = node.heartbeat_work(work, "\"zombie\"").await?;
    let what = format!("a heartbeat of lost work {when}");
    ensure_eq(what, beat, HeartbeatOutcome::LeaseLost)
}
