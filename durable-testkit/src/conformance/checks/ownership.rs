//! Promise 2, the instance's side: two sessions never hold an instance at once,
//! and a commit with a lost lease or a wrong tail changes nothing and says which.

use std::sync::Arc;

use durable_core::provider::{CommitOutcome, Lease};
use durable_core::{EventId, ExecutionId};
use tokio::task::JoinSet;

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckFailure, CheckResult, ensure, ensure_each_taken_once, ensure_eq};
use super::super::node::{instance_ids, message_ids};
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(OneOwner, a_held_instance_is_not_handed_to_another_session),
    check!(OneOwner, every_new_lease_has_a_higher_token),
    check!(OneOwner, the_holder_gets_its_instance_with_the_lease_it_has),
    check!(OneOwner, a_kept_lease_goes_on),
    check!(OneOwner, a_commit_after_the_release_is_fenced),
    check!(OneOwner, a_commit_with_a_forged_lease_is_fenced),
    check!(OneOwner, a_commit_for_an_unknown_instance_is_fenced),
    check!(OneOwner, the_lease_is_checked_before_the_tail),
    check!(OneOwner, a_wrong_tail_is_a_conflict_that_names_the_tail),
    check!(OneOwner, a_wrong_execution_is_a_conflict),
    check!(OneOwner, a_zombie_release_is_ignored),
    check!(OneOwner, a_fetch_is_bounded_and_oldest_first),
    check!(OneOwner, concurrent_fetches_never_share_an_instance),
    check!(OneOwner, concurrent_commits_from_one_tail_apply_one),
];

async fn a_held_instance_is_not_handed_to_another_session(env: Env) -> CheckResult {
    let (holder, other) = (env.node().await?, env.node().await?);
    env.start("a").await?;
    holder.take("a").await?;
    other.finds_no_instance("`a` is held").await?;
    env.raise("a", "m1").await?;
    other
        .finds_no_instance("`a` is held, also when a message comes")
        .await
}

async fn every_new_lease_has_a_higher_token(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let mut tokens = Vec::new();
    for _ in 0..3 {
        let ready = node.take("a").await?;
        tokens.push(ready.lease.token);
        node.release(&ready, None).await?;
    }
    let closing = env.node().await?;
    tokens.push(closing.take("a").await?.lease.token);
    closing.close().await?;
    tokens.push(node.take("a").await?.lease.token);
    env.suspend("a").await?;
    env.resume("a").await?;
    tokens.push(node.take("a").await?.lease.token);
    let rises = tokens.windows(2).all(|pair| pair[0] < pair[1]);
    ensure(
        rises,
        "the tokens of six hand-outs",
        "each above the last",
        tokens,
    )
}

async fn the_holder_gets_its_instance_with_the_lease_it_has(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let first = node.take("a").await?;
    env.raise("a", "m1").await?;
    let again = node.take("a").await?;
    ensure_eq("the lease", &again.lease, &first.lease)?;
    ensure_eq("the messages", message_ids(&again), vec!["m1"])
}

async fn a_kept_lease_goes_on(env: Env) -> CheckResult {
    let (node, other) = (env.node().await?, env.node().await?);
    let (mut turn, _) = node.begin("a", TurnBuilder::keeping_the_lease).await?;
    for _ in 0..3 {
        let next = TurnBuilder::after(&turn, env.now_ms()).activity("charge");
        turn = next.keeping_the_lease().build();
        node.commit_done(turn.clone()).await?;
    }
    env.raise("a", "m1").await?;
    other.finds_no_instance("`a` is kept").await?;
    ensure_eq("the lease", node.take("a").await?.lease, turn.lease)
}

async fn a_commit_after_the_release_is_fenced(env: Env) -> CheckResult {
    let (old, new) = (env.node().await?, env.node().await?);
    env.start("a").await?;
    let ready = old.take("a").await?;
    old.release(&ready, None).await?;
    let turn = old.first_turn(&ready).build();
    let outcome = old.commit(turn.clone()).await?;
    ensure_eq(
        "a commit of a free instance",
        outcome,
        CommitOutcome::Fenced,
    )?;
    let taken = new.take("a").await?;
    let outcome = old.commit(turn).await?;
    ensure_eq(
        "a commit beside the new owner",
        outcome,
        CommitOutcome::Fenced,
    )?;
    new.commit_done(new.first_turn(&taken).build()).await?;
    Ok(())
}

async fn a_commit_with_a_forged_lease_is_fenced(env: Env) -> CheckResult {
    let (holder, other) = (env.node().await?, env.node().await?);
    env.start("a").await?;
    let ready = holder.take("a").await?;
    let lease = &ready.lease;
    let with_token = |token: u64| Lease {
        token,
        ..lease.clone()
    };
    let of_another = Lease {
        session: other.session,
        ..lease.clone()
    };
    let older = lease.token.checked_sub(1).map(with_token);
    let forged = [of_another, with_token(lease.token + 1)];
    let forged = forged.into_iter().chain(older);
    for lease in forged {
        let mut turn = holder.first_turn(&ready).build();
        let what = format!("a commit under {lease:?}");
        turn.lease = lease;
        ensure_eq(what, holder.commit(turn).await?, CommitOutcome::Fenced)?;
    }
    holder
        .commit_done(holder.first_turn(&ready).build())
        .await?;
    Ok(())
}

async fn a_commit_for_an_unknown_instance_is_fenced(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let mut turn = node.first_turn(&ready).build();
    turn.lease.instance = "unknown".into();
    ensure_eq(
        "the outcome",
        node.commit(turn).await?,
        CommitOutcome::Fenced,
    )?;
    let unknown = env.provider().instance(&"unknown".into()).await?;
    ensure(unknown.is_none(), "the unknown instance", "none", unknown)
}

async fn the_lease_is_checked_before_the_tail(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let mut ready = node.take("a").await?;
    node.release(&ready, None).await?;
    ready.last_event_id = EventId::new(7);
    let turn = node.turn(&ready).activity("charge").build();
    ensure_eq(
        "a commit with a lost lease and a wrong tail",
        node.commit(turn).await?,
        CommitOutcome::Fenced,
    )
}

async fn a_wrong_tail_is_a_conflict_that_names_the_tail(env: Env) -> CheckResult {
    let node = env.node().await?;
    let begun = node.begin("a", |turn| turn.activity("charge").keeping_the_lease());
    let (turn, _) = begun.await?;
    for tail in [0, 1, 3] {
        let mut wrong = TurnBuilder::after(&turn, env.now_ms()).build();
        wrong.expected_last_event_id = EventId::new(tail);
        let expected = CommitOutcome::Conflict {
            execution_id: turn.execution_id,
            last_event_id: EventId::new(2),
        };
        let what = format!("an empty turn from tail {tail}");
        ensure_eq(what, node.commit(wrong).await?, expected)?;
    }
    let right = TurnBuilder::after(&turn, env.now_ms()).activity("ship");
    node.commit_done(right.build()).await?;
    Ok(())
}

async fn a_wrong_execution_is_a_conflict(env: Env) -> CheckResult {
    let node = env.node().await?;
    let begun = node.begin("a", |turn| turn.continued_as_new().keeping_the_lease());
    let (turn, _) = begun.await?;
    let mut old = TurnBuilder::after(&turn, env.now_ms()).build();
    old.execution_id = ExecutionId::FIRST;
    old.expected_last_event_id = EventId::FIRST;
    let expected = CommitOutcome::Conflict {
        execution_id: ExecutionId::new(2),
        last_event_id: EventId::FIRST,
    };
    ensure_eq(
        "a commit to the first execution",
        node.commit(old).await?,
        expected,
    )?;
    let next = TurnBuilder::after(&turn, env.now_ms()).activity("charge");
    node.commit_done(next.build()).await?;
    Ok(())
}

async fn a_zombie_release_is_ignored(env: Env) -> CheckResult {
    let (old, new, third) = (env.node().await?, env.node().await?, env.node().await?);
    env.start("a").await?;
    let lost = old.take("a").await?;
    old.release(&lost, None).await?;
    let held = new.take("a").await?;
    old.release(&lost, None).await?;
    third
        .finds_no_instance("`a` is held under a newer lease")
        .await?;
    new.commit_done(new.first_turn(&held).build()).await?;
    Ok(())
}

async fn a_fetch_is_bounded_and_oldest_first(env: Env) -> CheckResult {
    let node = env.node().await?;
    let ids = ["d", "b", "a", "c"];
    for id in ids {
        env.start(id).await?;
        env.time.tick().await;
    }
    let first = instance_ids(&node.fetch_batch(3).await?.instances);
    ensure_eq(
        "the first three",
        first,
        ids[..3].iter().map(|id| (*id).into()).collect(),
    )?;
    let rest = instance_ids(&node.fetch_batch(3).await?.instances);
    ensure_eq("the rest", rest, vec![ids[3].into()])
}

async fn concurrent_fetches_never_share_an_instance(env: Env) -> CheckResult {
    const INSTANCES: usize = 40;
    for number in 0..INSTANCES {
        env.start(format!("instance-{number}")).await?;
    }
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let session = env.node().await?.session;
        let provider = Arc::clone(env.provider());
        tasks.spawn(async move {
            let mut taken = Vec::new();
            loop {
                let batch = provider.fetch_instances(session, 3).await?;
                if batch.instances.is_empty() {
                    return Ok::<_, CheckFailure>(taken);
                }
                taken.extend(instance_ids(&batch.instances));
                tokio::task::yield_now().await;
            }
        });
    }
    ensure_each_taken_once("instances", tasks.join_all().await, INSTANCES)
}

async fn concurrent_commits_from_one_tail_apply_one(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let mut tasks = JoinSet::new();
    for number in 0..8 {
        let turn = node
            .first_turn(&ready)
            .activity(format!("activity-{number}"));
        let turn = turn.keeping_the_lease().build();
        let provider = Arc::clone(env.provider());
        tasks.spawn(async move {
            let answer = provider.commit(Arc::new(turn.clone())).await;
            (turn, answer)
        });
    }
    let outcomes = tasks.join_all().await;
    let applied: Vec<_> = outcomes
        .iter()
        .filter(|(_, answer)| matches!(answer, Ok(CommitOutcome::Done(_))))
        .collect();
    let [(turn, _)] = applied.as_slice() else {
        let answers: Vec<_> = outcomes.iter().map(|(_, answer)| answer).collect();
        let found = format!("{answers:?}");
        return Err(CheckFailure::new(
            "eight commits from one tail",
            "one Done",
            found,
        ));
    };
    let history = env.history("a", turn.execution_id).await?;
    ensure_eq("the history", &history, &turn.events)
}
