//! Promise 1, refusals: a turn that contradicts itself is `Invalid`, for the same reasons
//! in every store, and changes nothing.

use durable_core::EventId;
use durable_core::provider::{CommitOutcome, ProviderError, SourceEvent};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure, ensure_eq};
use super::super::node::work_keys;
use super::super::turn_flaw::TurnFlaw;
use super::commit_atomicity::{nothing_was_applied, rich_turn};
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(AtomicCommit, an_invalid_turn_is_refused_and_changes_nothing),
    check!(
        AtomicCommit,
        a_turn_that_removes_what_it_schedules_is_invalid
    ),
    check!(
        AtomicCommit,
        a_turn_is_checked_before_its_lease_and_its_commit_id
    ),
];

fn is_invalid(
    what: impl Into<String>,
    answer: Result<CommitOutcome, ProviderError>,
) -> CheckResult {
    let is_invalid = matches!(answer, Err(ProviderError::Invalid { .. }));
    ensure(is_invalid, what, "Invalid", answer)
}

async fn an_invalid_turn_is_refused_and_changes_nothing(env: Env) -> CheckResult {
    env.start("a").await?;
    for flaw in TurnFlaw::ALL {
        let node = env.node().await?;
        let ready = node.take("a").await?;
        let turn = flaw.spoil(rich_turn(&node, &ready, env.past_ms()));
        is_invalid(format!("a turn with {flaw:?}"), node.commit(turn).await)?;
        node.release(&ready, None).await?;
        let found = nothing_was_applied(&env).await;
        found.map_err(|failure| failure.after(format!("a turn with {flaw:?}")))?;
    }
    let node = env.node().await?;
    let ready = node.take("a").await?;
    let turn = rich_turn(&node, &ready, env.past_ms()).build();
    node.commit_done(turn).await?;
    Ok(())
}

async fn a_turn_that_removes_what_it_schedules_is_invalid(env: Env) -> CheckResult {
    let node = env.node().await?;
    let due_ms = env.far_ms();
    let begun = node.begin("a", |turn| {
        turn.activity("charge")
            .activity("ship")
            .timer(due_ms)
            .keeping_the_lease()
    });
    let (first, _) = begun.await?;
    let own = |event_id| SourceEvent::new(first.execution_id, EventId::new(event_id));
    let next = || {
        let next = TurnBuilder::after(&first, env.now_ms()).keeping_the_lease();
        next.activity("pack").timer(due_ms).build()
    };
    let (mut finishing, mut cancelling, mut stopping) = (next(), next(), next());
    finishing.finished_work.push(own(5));
    cancelling.cancelled_work.push(own(5));
    stopping.cancelled_timers.push(own(6));
    for (what, turn) in [
        ("a turn that finishes its own work", finishing),
        ("a turn that cancels its own work", cancelling),
        ("a turn that cancels its own timer", stopping),
    ] {
        is_invalid(what, node.commit(turn).await)?;
    }
    ensure_eq("the work so far", node.fetch_work().await?.len(), 2)?;
    let tail = env.record("a").await?.last_event_id;
    ensure_eq("the tail so far", tail, EventId::new(4))?;

    // What an earlier turn scheduled may go in the turn that schedules more.
    let keys = work_keys(&first);
    let turn = TurnBuilder::after(&first, env.now_ms())
        .finishing_work(&keys[0], "1")
        .cancelling_work(&keys[1])
        .cancelling_timer(EventId::new(4))
        .activity("pack");
    node.commit_done(turn.build()).await?;
    ensure_eq("the work then", node.fetch_work().await?.len(), 1)?;
    let timers = env.fire_timers(1).await?.next_due_ms;
    ensure_eq("the timers then", timers, None)
}

async fn a_turn_is_checked_before_its_lease_and_its_commit_id(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (turn, _) = node.begin("a", |turn| turn.activity("charge")).await?;
    let mut again = turn.clone();
    again.events.remove(0);
    let what = "an invalid turn with the id of the last commit";
    is_invalid(what, node.commit(again).await)?;
    let lost = TurnBuilder::after(&turn, env.now_ms());
    let lost = TurnFlaw::EventIsMissing.spoil(lost);
    let what = "an invalid turn without the lease";
    is_invalid(what, node.commit(lost.clone()).await)?;
    let mut unknown = lost;
    unknown.lease.instance = "unknown".into();
    let what = "an invalid turn of an unknown instance";
    is_invalid(what, node.commit(unknown).await)?;
    let history = env.history("a", turn.execution_id).await?;
    ensure_eq("the history", history, turn.events)
}
