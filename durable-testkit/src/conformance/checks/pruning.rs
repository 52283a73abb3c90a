//! Removing past executions: from the oldest on, and nothing else.

use durable_core::filter::Filter;
use durable_core::provider::{
    ExecutionRecord, IdReuse, PruneRequest, StartOutcome, TurnCommit, WorkResult,
};
use durable_core::{ExecutionId, InstanceId};

use super::super::check::{Check, check};
use super::super::env::{Env, suspension};
use super::super::failure::{CheckResult, ensure, ensure_eq};
use super::super::node::TestNode;
use crate::message::start_message;
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Lifecycle, a_prune_removes_past_executions_and_nothing_else),
    check!(Lifecycle, the_start_of_a_pruned_execution_is_known),
    check!(Lifecycle, a_prune_is_bounded_and_says_if_there_is_more),
    check!(
        Lifecycle,
        a_prune_never_removes_the_current_or_last_execution
    ),
    check!(Lifecycle, a_prune_goes_by_the_end_of_executions),
    check!(Lifecycle, an_execution_with_work_is_not_pruned),
    check!(Lifecycle, a_prune_of_an_execution_removes_its_dead_letters),
    check!(Lifecycle, a_purge_after_a_prune_removes_the_rest),
];

fn prune() -> PruneRequest {
    PruneRequest::new(Filter::all(), 100)
}

/// Begins an instance and continues it as new until it has so many executions; the node keeps
/// its lease. Each execution ends ten milliseconds after the one before it.
async fn continued(node: &TestNode<'_>, id: &str, executions: u64) -> CheckResult<TurnCommit> {
    let (mut last, _) = node.begin(id, TurnBuilder::keeping_the_lease).await?;
    let mut now_ms = node.env.now_ms();
    for _ in 1..executions {
        let turn = TurnBuilder::after(&last, now_ms)
            .continued_as_new()
            .keeping_the_lease()
            .build();
        node.commit_done(turn.clone()).await?;
        last = turn;
        now_ms += 10;
    }
    Ok(last)
}

/// The executions of an instance that are stored, and whether each has a history.
async fn stored(env: &Env, id: &str) -> CheckResult<Vec<(u64, bool)>> {
    let executions = env.provider().executions(&InstanceId::from(id)).await?;
    let mut stored = Vec::new();
    for ExecutionRecord { execution_id, .. } in executions {
        let history = env.history(id, execution_id).await?;
        stored.push((execution_id.get(), !history.is_empty()));
    }
    Ok(stored)
}

/// Demands that a prune removes so many, and says whether there are more.
async fn removes(env: &Env, prune: &PruneRequest, expected: (usize, bool)) -> CheckResult {
    let report = env.provider().prune(prune).await?;
    let found = (report.executions, report.has_more);
    ensure_eq("pruned, and whether there is more", found, expected)
}

async fn a_prune_removes_past_executions_and_nothing_else(env: Env) -> CheckResult {
    let node = env.node().await?;
    let last = continued(&node, "a", 4).await?;
    continued(&node, "b", 2).await?;
    env.raise("a", "m1").await?;
    let before = env.record("a").await?;
    removes(&env, &prune().keep(2), (2, false)).await?;
    let left = stored(&env, "a").await?;
    ensure_eq("the executions of `a`", left, vec![(3, true), (4, true)])?;
    let left = stored(&env, "b").await?;
    ensure_eq("the executions of `b`", left, vec![(1, true), (2, true)])?;
    for gone in [1, 2] {
        let history = env.history("a", ExecutionId::new(gone)).await?;
        ensure(history.is_empty(), "a pruned history", "empty", history)?;
    }
    ensure_eq("the record", env.record("a").await?, before)?;
    let next = TurnBuilder::after(&last, env.now_ms()).keeping_the_lease();
    let committed = node.commit_done(next.custom_status("1").build()).await?;
    ensure(committed.has_messages, "its inbox", "a message", committed)
}

async fn the_start_of_a_pruned_execution_is_known(env: Env) -> CheckResult {
    let node = env.node().await?;
    let start = || env.start_with("a", start_message("start-a"), IdReuse::Refuse);
    let _ = start().await?;
    let ready = node.take("a").await?;
    let turn = node.first_turn(&ready).continued_as_new();
    node.commit_done(turn.build()).await?;
    removes(&env, &prune(), (1, false)).await?;
    let known = StartOutcome::Started {
        execution_id: ExecutionId::FIRST,
        seen: None,
    };
    ensure_eq("its start, sent again", start().await?, known)
}

async fn a_prune_is_bounded_and_says_if_there_is_more(env: Env) -> CheckResult {
    let node = env.node().await?;
    for id in ["a", "b"] {
        continued(&node, id, 4).await?;
    }
    let mut two = prune();
    two.max = 2;
    let mut none = prune();
    none.max = 0;
    removes(&env, &none, (0, true)).await?;
    for expected in [(2, true), (2, true), (2, false), (0, false)] {
        removes(&env, &two, expected).await?;
    }
    for id in ["a", "b"] {
        ensure_eq("what is left", stored(&env, id).await?, vec![(4, true)])?;
    }
    Ok(())
}

async fn a_prune_never_removes_the_current_or_last_execution(env: Env) -> CheckResult {
    let node = env.node().await?;
    continued(&node, "running", 2).await?;
    let last = continued(&node, "ended", 2).await?;
    let end = TurnBuilder::after(&last, env.now_ms()).completed("1");
    node.commit_done(end.build()).await?;
    env.start("pending").await?;
    removes(&env, &prune().keep(0), (2, false)).await?;
    for id in ["running", "ended"] {
        ensure_eq("what is left", stored(&env, id).await?, vec![(2, true)])?;
    }
    let pending = stored(&env, "pending").await?;
    ensure_eq("one that has not begun", pending, vec![(1, false)])
}

async fn a_prune_goes_by_the_end_of_executions(env: Env) -> CheckResult {
    let node = env.node().await?;
    continued(&node, "a", 4).await?;
    let mut ends = Vec::new();
    for execution in 1..=3 {
        let history = env.history("a", ExecutionId::new(execution)).await?;
        ends.extend(history.last().map(|entry| entry.recorded_at_ms));
    }
    let [first, _, third] = ends[..] else {
        return ensure(false, "the ends of three executions", "three", ends);
    };
    removes(&env, &prune().ended_before_ms(first), (0, false)).await?;
    removes(&env, &prune().ended_before_ms(third), (2, false)).await?;
    let left = stored(&env, "a").await?;
    ensure_eq("what is left", left, vec![(3, true), (4, true)])
}

async fn an_execution_with_work_is_not_pruned(env: Env) -> CheckResult {
    let (node, worker) = (env.node().await?, env.node().await?);
    let begun = node.begin("a", |turn| {
        turn.activity("charge")
            .continued_as_new()
            .keeping_the_lease()
    });
    let (turn, _) = begun.await?;
    let next = TurnBuilder::after(&turn, env.now_ms()).continued_as_new();
    node.commit_done(next.build()).await?;
    removes(&env, &prune(), (0, false)).await?;
    let work = worker.take_work().await?;
    removes(&env, &prune(), (0, false)).await?;
    let done = WorkResult::Finished(Ok("1".into()));
    worker.settle_held(&work, done).await?;
    removes(&env, &prune(), (2, false)).await?;
    ensure_eq("what is left", stored(&env, "a").await?, vec![(3, true)])
}

async fn a_prune_of_an_execution_removes_its_dead_letters(env: Env) -> CheckResult {
    let node = env.node().await?;
    let begun = node.begin("a", |turn| {
        turn.activity("charge").keeping_the_lease().claiming(1)
    });
    let (turn, committed) = begun.await?;
    let Some(work) = committed.claimed.first() else {
        return ensure(false, "claimed work", "the new work", &committed);
    };
    let poisoned = WorkResult::Poisoned(suspension());
    node.settle_held(work, poisoned).await?;
    let next = TurnBuilder::after(&turn, env.now_ms()).continued_as_new();
    node.commit_done(next.build()).await?;
    let before = env.provider().poisoned(None, 10).await?;
    ensure_eq("dead letters before", before.work.len(), 1)?;
    removes(&env, &prune(), (1, false)).await?;
    let after = env.provider().poisoned(None, 10).await?;
    ensure_eq("dead letters after", after.work, vec![])
}

async fn a_purge_after_a_prune_removes_the_rest(env: Env) -> CheckResult {
    let node = env.node().await?;
    let last = continued(&node, "a", 3).await?;
    let end = TurnBuilder::after(&last, env.now_ms()).completed("1");
    node.commit_done(end.build()).await?;
    removes(&env, &prune().keep(2), (1, false)).await?;
    env.purge(10).await?;
    ensure_eq("what is left", stored(&env, "a").await?, vec![])?;
    env.start("a").await?;
    ensure_eq("the next", stored(&env, "a").await?, vec![(4, false)])
}
