//! Promise 6, handing out: work is in one session's hands only, oldest first.

use std::slice;
use std::sync::Arc;

use durable_core::provider::{ClaimedWork, WorkKey, WorkResult};
use durable_core::{EventId, Name};
use tokio::task::JoinSet;

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckFailure, CheckResult, ensure, ensure_each_taken_once, ensure_eq};
use super::super::node::{work_items, work_keys};
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Work, new_work_is_handed_out_as_it_was_scheduled),
    check!(Work, work_is_in_one_sessions_hands),
    check!(Work, the_oldest_work_comes_first),
    check!(Work, a_fetch_of_work_is_bounded),
    check!(Work, queues_are_separate),
    check!(Work, every_hand_out_of_work_has_a_higher_token),
    check!(
        Work,
        a_commit_claims_the_oldest_work_of_all_instances,
        needs OnePartition
    ),
    check!(Work, a_commit_claims_from_its_queues_only),
    check!(Work, work_that_a_commit_claimed_is_held),
    check!(Work, a_dead_sessions_work_is_ready_with_the_crash_counted),
    check!(Work, a_closed_sessions_work_is_ready_without_a_crash),
    check!(Work, unclaimed_work_that_is_cancelled_goes),
    check!(
        Work,
        claimed_work_that_is_cancelled_is_reported_until_it_is_settled
    ),
    check!(Work, cancelled_work_of_a_dead_session_does_not_come_back),
    check!(Work, an_ended_instance_loses_its_work),
    check!(Work, finished_work_goes_with_its_commit),
    check!(Work, concurrent_fetches_never_share_work),
];

fn names(work: &[ClaimedWork]) -> Vec<&str> {
    work.iter()
        .map(|claimed| claimed.item.name.as_str())
        .collect()
}

async fn new_work_is_handed_out_as_it_was_scheduled(env: Env) -> CheckResult {
    let node = env.node().await?;
    let begun = node.begin("a", |turn| {
        turn.activity_on(None, "charge", "{\"amount\":12}")
    });
    let (turn, _) = begun.await?;
    let work = node.take_work().await?;
    ensure_eq("the work item", &work.item, &work_items(&turn)[0])?;
    ensure_eq("its lease", &work.lease.key, &work_keys(&turn)[0])?;
    ensure_eq("its holder", work.lease.session, node.session)?;
    ensure_eq(
        "its attempt and crashes",
        (work.attempt, work.crashes),
        (1, 0),
    )?;
    ensure_eq("its heartbeat", work.heartbeat, None)
}

async fn work_is_in_one_sessions_hands(env: Env) -> CheckResult {
    let (node, other) = (env.node().await?, env.node().await?);
    node.begin("a", |turn| turn.activity("charge")).await?;
    node.take_work().await?;
    other
        .finds_no_work("the work is held by another session")
        .await?;
    node.finds_no_work("the work is held by this session").await
}

async fn the_oldest_work_comes_first(env: Env) -> CheckResult {
    let node = env.node().await?;
    for (id, name) in [("c", "first"), ("a", "second"), ("b", "third")] {
        node.begin(id, |turn| turn.activity(name)).await?;
        env.time.tick().await;
    }
    let work = node.fetch_work().await?;
    ensure_eq("the work", names(&work), vec!["first", "second", "third"])
}

async fn a_fetch_of_work_is_bounded(env: Env) -> CheckResult {
    let node = env.node().await?;
    for (id, name) in [("c", "first"), ("a", "second"), ("b", "third")] {
        node.begin(id, |turn| turn.activity(name)).await?;
        env.time.tick().await;
    }
    let work = node.fetch_work_from(&[None], 2).await?.work;
    ensure_eq("the first two", names(&work), vec!["first", "second"])?;
    let work = node.fetch_work_from(&[None], 2).await?.work;
    ensure_eq("the rest", names(&work), vec!["third"])
}

async fn queues_are_separate(env: Env) -> CheckResult {
    let node = env.node().await?;
    let queues: [Option<Name>; 5] = [
        None,
        Some("gpu".into()),
        Some("GPU".into()),
        Some("default".into()),
        Some("None".into()),
    ];
    let on_each = |turn: TurnBuilder| {
        queues.iter().zip(0..).fold(turn, |turn, (queue, number)| {
            turn.activity_on(queue.clone(), format!("activity-{number}"), "{}")
        })
    };
    node.begin("a", on_each).await?;
    for (queue, number) in queues.iter().zip(0..) {
        let asked = [queue.clone(), Some("another".into()), queue.clone()];
        let work = node.fetch_work_from(&asked, 10).await?.work;
        let what = format!("the work of queue {queue:?}");
        let expected = format!("activity-{number}");
        ensure_eq(what, names(&work), vec![expected.as_str()])?;
    }
    Ok(())
}

async fn every_hand_out_of_work_has_a_higher_token(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn.activity("charge")).await?;
    let mut tokens = Vec::new();
    for _ in 0..3 {
        let work = node.take_work().await?;
        tokens.push(work.lease.token);
        let back = WorkResult::HandedBack {
            not_before_ms: None,
        };
        node.settle_held(&work, back).await?;
    }
    let closing = env.node().await?;
    tokens.push(closing.take_work().await?.lease.token);
    closing.close().await?;
    tokens.push(node.take_work().await?.lease.token);
    let rises = tokens.windows(2).all(|pair| pair[0] < pair[1]);
    ensure(
        rises,
        "the tokens of five hand-outs",
        "each above the last",
        tokens,
    )
}

async fn a_commit_claims_the_oldest_work_of_all_instances(env: Env) -> CheckResult {
    let node = env.node().await?;
    for (id, name) in [("b", "oldest"), ("c", "older")] {
        node.begin(id, |turn| turn.activity(name)).await?;
        env.time.tick().await;
    }
    let begun = node.begin("a", |turn| turn.activity("new").claiming(2));
    let (_, committed) = begun.await?;
    let mut claimed = names(&committed.claimed);
    claimed.sort_unstable();
    ensure_eq("the claims", claimed, vec!["older", "oldest"])?;
    let left = node.fetch_work().await?;
    ensure_eq("what is left", names(&left), vec!["new"])
}

async fn a_commit_claims_from_its_queues_only(env: Env) -> CheckResult {
    let node = env.node().await?;
    let gpu = Some(Name::from("gpu"));
    let claiming = |turn: TurnBuilder| {
        turn.activity("default")
            .activity_on(gpu.clone(), "on gpu", "{}")
            .claiming_from(slice::from_ref(&gpu), 5)
    };
    let (_, committed) = node.begin("a", claiming).await?;
    ensure_eq("the claims", names(&committed.claimed), vec!["on gpu"])?;
    let left = node.fetch_work().await?;
    ensure_eq("what is left", names(&left), vec!["default"])?;
    let none = |turn: TurnBuilder| turn.activity("more").claiming_from(&[], 5);
    let (_, committed) = node.begin("b", none).await?;
    ensure(
        committed.claimed.is_empty(),
        "claims of no queue",
        "none",
        committed,
    )
}

async fn work_that_a_commit_claimed_is_held(env: Env) -> CheckResult {
    let (node, other) = (env.node().await?, env.node().await?);
    let begun = node.begin("a", |turn| turn.activity("charge").claiming(1));
    let (turn, committed) = begun.await?;
    let [work] = committed.claimed.as_slice() else {
        let found = format!("{:?}", committed.claimed);
        return Err(CheckFailure::new("the claims", "one", found));
    };
    ensure_eq("the claimed item", &work.item, &work_items(&turn)[0])?;
    ensure_eq("its holder", work.lease.session, node.session)?;
    other.finds_no_work("the commit claimed it").await?;
    let done = WorkResult::Finished(Ok("1".into()));
    node.settle_held(work, done).await?;
    node.take("a").await?;
    Ok(())
}

async fn a_dead_sessions_work_is_ready_with_the_crash_counted(env: Env) -> CheckResult {
    let (dead, heir) = (env.mortal_node().await?, env.node().await?);
    heir.begin("a", |turn| turn.activity("charge")).await?;
    let lost = dead.take_work().await?;
    env.time.pass_short().await;
    let work = heir.take_work().await?;
    ensure_eq("the item", &work.item, &lost.item)?;
    ensure_eq(
        "its attempt and crashes",
        (work.attempt, work.crashes),
        (1, 1),
    )
}

async fn a_closed_sessions_work_is_ready_without_a_crash(env: Env) -> CheckResult {
    let (closing, node) = (env.node().await?, env.node().await?);
    node.begin("a", |turn| turn.activity("charge")).await?;
    closing.take_work().await?;
    closing.close().await?;
    let work = node.take_work().await?;
    ensure_eq(
        "its attempt and crashes",
        (work.attempt, work.crashes),
        (1, 0),
    )
}

async fn unclaimed_work_that_is_cancelled_goes(env: Env) -> CheckResult {
    let node = env.node().await?;
    let begun = node.begin("a", |turn| {
        turn.activity("charge").activity("ship").keeping_the_lease()
    });
    let (turn, _) = begun.await?;
    let next = TurnBuilder::after(&turn, env.now_ms());
    let next = next.cancelling_work(&work_keys(&turn)[0]);
    node.commit_done(next.build()).await?;
    let left = node.fetch_work().await?;
    ensure_eq("what is left", names(&left), vec!["ship"])?;
    let reported = node.cancelled_work().await?;
    ensure(
        reported.is_empty(),
        "cancelled work in hand",
        "none",
        reported,
    )
}

async fn claimed_work_that_is_cancelled_is_reported_until_it_is_settled(env: Env) -> CheckResult {
    let (node, worker) = (env.node().await?, env.node().await?);
    let begun = node.begin("a", |turn| turn.activity("charge").keeping_the_lease());
    let (turn, _) = begun.await?;
    let work = worker.take_work().await?;
    let reported = worker.cancelled_work().await?;
    ensure(
        reported.is_empty(),
        "cancelled work before",
        "none",
        reported,
    )?;
    let key = &work_keys(&turn)[0];
    let next = TurnBuilder::after(&turn, env.now_ms()).cancelling_work(key);
    node.commit_done(next.build()).await?;
    for _ in 0..2 {
        let reported = worker.cancelled_work().await?;
        ensure_eq("what the worker is told", reported, vec![key.clone()])?;
    }
    let reported = node.cancelled_work().await?;
    ensure(
        reported.is_empty(),
        "what another session is told",
        "nothing",
        reported,
    )?;
    let done = WorkResult::Finished(Ok("1".into()));
    worker.settle_held(&work, done).await?;
    let reported = worker.cancelled_work().await?;
    ensure(
        reported.is_empty(),
        "cancelled work after",
        "none",
        reported,
    )?;
    worker.finds_no_work("it was cancelled and settled").await?;
    node.finds_no_instance("the result of cancelled work is dropped")
        .await
}

async fn cancelled_work_of_a_dead_session_does_not_come_back(env: Env) -> CheckResult {
    let (node, dead) = (env.node().await?, env.mortal_node().await?);
    let begun = node.begin("a", |turn| turn.activity("charge").keeping_the_lease());
    let (turn, _) = begun.await?;
    dead.take_work().await?;
    let next = TurnBuilder::after(&turn, env.now_ms());
    let next = next.cancelling_work(&work_keys(&turn)[0]);
    node.commit_done(next.build()).await?;
    env.time.pass_short().await;
    node.finds_no_work("it was cancelled").await
}

async fn an_ended_instance_loses_its_work(env: Env) -> CheckResult {
    let (node, worker) = (env.node().await?, env.node().await?);
    let begun = node.begin("a", |turn| turn.activity("charge").keeping_the_lease());
    let (turn, _) = begun.await?;
    let work = worker.take_work().await?;
    let last = TurnBuilder::after(&turn, env.now_ms()).activity("ship");
    node.commit_done(last.completed("1").build()).await?;
    worker.finds_no_work("its instance has ended").await?;
    let reported = worker.cancelled_work().await?;
    ensure_eq(
        "what the worker is told",
        reported,
        vec![work.item.key.clone()],
    )?;
    let done = WorkResult::Finished(Ok("1".into()));
    worker.settle_held(&work, done).await?;
    node.finds_no_instance("the result of cancelled work is dropped")
        .await
}

async fn finished_work_goes_with_its_commit(env: Env) -> CheckResult {
    let node = env.node().await?;
    let begun = node.begin("a", |turn| {
        turn.activity("charge").keeping_the_lease().claiming(1)
    });
    let (turn, committed) = begun.await?;
    let key = work_keys(&turn)[0].clone();
    let gone = WorkKey {
        event_id: EventId::new(77),
        ..key.clone()
    };
    let next = TurnBuilder::after(&turn, env.now_ms())
        .finishing_work(&key, "1")
        .finishing_work(&gone, "1");
    node.commit_done(next.build()).await?;
    for work in &committed.claimed {
        let done = WorkResult::Finished(Ok("1".into()));
        node.settle_lost("settling finished work", work, done)
            .await?;
    }
    node.close().await?;
    let other = env.node().await?;
    other
        .finds_no_work("its result stands in the history")
        .await?;
    other
        .finds_no_instance("its result stands in the history")
        .await
}

async fn concurrent_fetches_never_share_work(env: Env) -> CheckResult {
    const ITEMS: usize = 40;
    let node = env.node().await?;
    let scheduling = |turn: TurnBuilder| {
        (0..ITEMS).fold(turn, |turn, number| {
            turn.activity(format!("activity-{number}"))
        })
    };
    node.begin("a", scheduling).await?;
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let session = env.node().await?.session;
        let provider = Arc::clone(env.provider());
        tasks.spawn(async move {
            let mut taken = Vec::new();
            loop {
                let batch = provider.fetch_work(session, &[None], 3).await?;
                if batch.work.is_empty() {
                    return Ok::<_, CheckFailure>(taken);
                }
                taken.extend(batch.work.into_iter().map(|work| work.item.key));
                tokio::task::yield_now().await;
            }
        });
    }
    ensure_each_taken_once("items", tasks.join_all().await, ITEMS)
}
