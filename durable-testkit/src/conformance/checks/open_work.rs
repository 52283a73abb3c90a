//! Promises 6 and 10: what an instance waits for can be looked at, in pages, and is shown as
//! it is.

use durable_core::provider::{
    ClaimedWork, HeartbeatOutcome, OpenActivity, OpenTimer, TurnCommit, WorkItem, WorkResult,
    WorkState,
};
use durable_core::{Failure, Name};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure, ensure_eq};
use super::super::node::{TestNode, retry, work_items};
use super::work_settling::{claimed, done};
use crate::conformance::samples;
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Work, open_work_is_in_its_queue_or_held),
    check!(Work, open_work_says_why_its_last_attempt_failed),
    check!(Work, open_work_has_its_last_heartbeat_and_its_crashes),
    check!(
        Work,
        open_work_that_is_cancelled_says_so_until_it_is_settled
    ),
    check!(Work, open_work_of_an_ended_instance_is_what_sessions_hold),
    check!(
        Timers,
        open_timers_are_shown_until_they_fire_or_are_cancelled
    ),
    check!(Paging, open_work_and_timers_are_read_in_pages),
    check!(Durability, open_work_survives_a_crash, needs OpenAgain),
];

/// The only open activity call of `a`.
async fn open_call(env: &Env) -> CheckResult<OpenActivity> {
    let (mut open, timers) = env.open_in_pages("a", 9).await?;
    ensure_eq(
        "the open calls and timers",
        [open.len(), timers.len()],
        [1, 0],
    )?;
    Ok(open.remove(0))
}

async fn nothing_is_open(env: &Env) -> CheckResult {
    let open = env.open_in_pages("a", 9).await?;
    ensure_eq("what is open", open, (Vec::new(), Vec::new()))
}

/// What is held by the node, of these items.
fn held_by(node: &TestNode<'_>, items: Vec<WorkItem>) -> Vec<OpenActivity> {
    let session = node.session;
    let held = |item| OpenActivity::new(item, WorkState::Held { session });
    items.into_iter().map(held).collect()
}

/// An open call as the work that was claimed is, in this state.
fn open_as(work: &ClaimedWork, state: WorkState) -> OpenActivity {
    let mut open = OpenActivity::new(work.item.clone(), state);
    (open.attempt, open.crashes) = (work.attempt, work.crashes);
    open.heartbeat.clone_from(&work.heartbeat);
    open
}

async fn open_work_is_in_its_queue_or_held(env: Env) -> CheckResult {
    nothing_is_open(&env).await?;
    env.start("a").await?;
    nothing_is_open(&env).await?;
    let node = env.node().await?;
    let queue = samples::options().queue;
    let calls = |turn: TurnBuilder| turn.activity("charge").activity_on(queue, "pack", "[1]");
    let ready = node.take("a").await?;
    let turn = calls(node.first_turn(&ready))
        .keeping_the_lease()
        .claiming(5);
    let turn: TurnCommit = turn.build();
    let items = work_items(&turn);
    let claimed = node.commit_done(turn).await?.claimed;
    ensure_eq("how much was claimed", claimed.len(), 1)?;
    let (open, timers) = env.open_in_pages("a", 9).await?;
    ensure_eq("the timers", timers, Vec::new())?;
    let mut expected = held_by(&node, items);
    // The second is in a queue that the turn did not claim from; it is ready at once.
    if let (Some(queued), Some(found)) = (expected.get_mut(1), open.get(1)) {
        queued.state = found.state;
        ensure(
            matches!(found.state, WorkState::Queued { ready_at_ms } if !env.is_before(ready_at_ms)),
            "where the call is that no session claimed",
            "in its queue, ready by now",
            found.state,
        )?;
    }
    ensure_eq("the open calls", &open, &expected)?;
    // Claimed later, and by another node.
    let other = env.node().await?;
    let queues: [Option<Name>; 1] = [samples::options().queue];
    let work = other.fetch_work_from(&queues, 5).await?.work;
    ensure_eq("the work in the other queue", work.len(), 1)?;
    if let Some(queued) = expected.get_mut(1) {
        let session = other.session;
        queued.state = WorkState::Held { session };
    }
    let (open, _) = env.open_in_pages("a", 9).await?;
    ensure_eq("the open calls, both claimed", &open, &expected)?;
    for (node, work) in [(&node, &claimed), (&other, &work)] {
        for work in work {
            node.settle_held(work, done()).await?;
        }
    }
    nothing_is_open(&env).await
}

async fn open_work_says_why_its_last_attempt_failed(env: Env) -> CheckResult {
    let (node, work) = claimed(&env).await?;
    ensure_eq(
        "no attempt failed",
        open_call(&env).await?.last_failure,
        None,
    )?;
    let far_ms = env.far_ms();
    let failure = |message: &str| Failure::application("unreachable", message).with_details("7");
    let failed = |message: &str, not_before_ms: u64| WorkResult::Retry {
        not_before_ms,
        failure: failure(message),
    };
    node.settle_held(&work, failed("first", 0)).await?;
    let work = node.take_work().await?;
    let session = node.session;
    let mut expected = open_as(&work, WorkState::Held { session });
    expected.last_failure = Some(failure("first"));
    ensure_eq(
        "the second attempt",
        open_call(&env).await?,
        expected.clone(),
    )?;
    node.settle_held(&work, failed("second", 0)).await?;
    // An attempt that does not count leaves what is known of the others.
    let back = WorkResult::HandedBack {
        not_before_ms: Some(far_ms),
    };
    node.settle_held(&node.take_work().await?, back).await?;
    expected.attempt = 3;
    expected.last_failure = Some(failure("second"));
    expected.state = WorkState::Queued {
        ready_at_ms: far_ms,
    };
    ensure_eq("a call that is delayed", open_call(&env).await?, expected)
}

async fn open_work_has_its_last_heartbeat_and_its_crashes(env: Env) -> CheckResult {
    let dead = env.mortal_node().await?;
    dead.begin("a", |turn| turn.activity("charge")).await?;
    let work = dead.take_work().await?;
    let session = dead.session;
    let mut expected = open_as(&work, WorkState::Held { session });
    for details in ["10", "20"] {
        let kept = dead.heartbeat_work(&work, details).await?;
        ensure_eq("a heartbeat of held work", kept, HeartbeatOutcome::Kept)?;
        expected.heartbeat = Some(details.into());
        ensure_eq("a call that runs", open_call(&env).await?, expected.clone())?;
    }
    env.time.pass_short().await;
    let node = env.node().await?;
    let work = node.take_work().await?;
    let session = node.session;
    let again = open_as(&work, WorkState::Held { session });
    expected.crashes = 1;
    expected.state = again.state;
    ensure_eq("after a crash", open_call(&env).await?, expected)?;
    node.settle_held(&work, retry(0)).await?;
    let work = node.take_work().await?;
    ensure_eq(
        "the heartbeat",
        open_call(&env).await?.heartbeat,
        work.heartbeat,
    )
}

async fn open_work_that_is_cancelled_says_so_until_it_is_settled(env: Env) -> CheckResult {
    let node = env.node().await?;
    let two = |turn: TurnBuilder| turn.activity("charge").activity("pack");
    node.begin("a", two).await?;
    let work = node.fetch_work_from(&[None], 1).await?.work;
    let (open, _) = env.open_in_pages("a", 9).await?;
    ensure_eq("the open calls", open.len(), 2)?;
    env.raise("a", "m1").await?;
    let ready = node.take("a").await?;
    let mut turn = node.turn(&ready);
    for call in &open {
        turn = turn.cancelling_work(&call.item.key);
    }
    node.commit_done(turn.build()).await?;
    for work in work {
        let session = node.session;
        let mut expected = open_as(&work, WorkState::Held { session });
        expected.is_cancelled = true;
        ensure_eq("the call that is held", open_call(&env).await?, expected)?;
        node.settle_held(&work, done()).await?;
    }
    nothing_is_open(&env).await
}

async fn open_work_of_an_ended_instance_is_what_sessions_hold(env: Env) -> CheckResult {
    let node = env.node().await?;
    let far_ms = env.far_ms();
    let calls = |turn: TurnBuilder| turn.activity("charge").activity("pack").timer(far_ms);
    node.begin("a", calls).await?;
    let work = node.fetch_work_from(&[None], 1).await?.work;
    env.raise("a", "m1").await?;
    let ready = node.take("a").await?;
    node.commit_done(node.turn(&ready).completed("1").build())
        .await?;
    for work in work {
        let session = node.session;
        let mut expected = open_as(&work, WorkState::Held { session });
        expected.is_cancelled = true;
        ensure_eq("the call that is held", open_call(&env).await?, expected)?;
        node.settle_held(&work, done()).await?;
    }
    nothing_is_open(&env).await
}

async fn open_timers_are_shown_until_they_fire_or_are_cancelled(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (past_ms, far_ms) = (env.past_ms(), env.far_ms());
    let timers = |turn: TurnBuilder| turn.timer(past_ms).timer(far_ms).timer(far_ms + 1);
    let (turn, _) = node.begin("a", timers).await?;
    let mut expected: Vec<OpenTimer> = (turn.new_timers.iter())
        .zip([past_ms, far_ms, far_ms + 1])
        .map(|(source, due_ms)| OpenTimer::new(*source, due_ms))
        .collect();
    let (calls, timers) = env.open_in_pages("a", 9).await?;
    ensure_eq("the open calls", calls, Vec::new())?;
    ensure_eq("the open timers", &timers, &expected)?;
    ensure_eq("what fired", env.fire_timers(9).await?.fired, 1)?;
    expected.remove(0);
    let (_, timers) = env.open_in_pages("a", 9).await?;
    ensure_eq("the timers after one fired", &timers, &expected)?;
    let ready = node.take("a").await?;
    let cancelled = expected.remove(0).source.event_id;
    node.commit_done(node.turn(&ready).cancelling_timer(cancelled).build())
        .await?;
    let (_, timers) = env.open_in_pages("a", 9).await?;
    ensure_eq("the timers after one was cancelled", timers, expected)
}

async fn open_work_and_timers_are_read_in_pages(env: Env) -> CheckResult {
    let node = env.node().await?;
    let far_ms = env.far_ms();
    let other = |turn: TurnBuilder| turn.activity("other").timer(far_ms);
    for id in ["A", "aa", "b"] {
        node.begin(id, other).await?;
    }
    env.start("a").await?;
    let ready = node.take("a").await?;
    let mut options = samples::options();
    options.total_timeout_ms = Some(1_000_000);
    let mut turn = node.first_turn(&ready);
    for number in 0..6 {
        turn = turn.activity(format!("call-{number}")).timer(far_ms);
    }
    // A call with a timer of its own name.
    turn = turn.activity_with(options, "slow", "1").continued_as_new();
    turn = turn.activity("next").timer(far_ms);
    let turn = turn.keeping_the_lease().claiming(4).build();
    let (items, timers) = (work_items(&turn), turn.new_timers.clone());
    node.commit_done(turn).await?;
    let whole = env.open_in_pages("a", 1_000).await?;
    let found: Vec<&WorkItem> = whole.0.iter().map(|open| &open.item).collect();
    ensure_eq("the open calls", found, items.iter().collect())?;
    let found = whole.1.iter().map(|timer| timer.source).collect();
    ensure_eq("the open timers", found, timers)?;
    for page_size in [1, 2, 3, 5, 14, 15] {
        let paged = env.open_in_pages("a", page_size).await?;
        ensure_eq(format!("in pages of {page_size}"), &paged, &whole)?;
    }
    Ok(())
}

async fn open_work_survives_a_crash(env: Env) -> CheckResult {
    let node = env.node().await?;
    let far_ms = env.far_ms();
    let calls = |turn: TurnBuilder| turn.activity("charge").timer(far_ms);
    node.begin("a", calls).await?;
    let work = node.take_work().await?;
    let kept = node.heartbeat_work(&work, "50").await?;
    ensure_eq("a heartbeat of held work", kept, HeartbeatOutcome::Kept)?;
    node.settle_held(&work, retry(far_ms)).await?;
    let before = env.open_in_pages("a", 9).await?;
    ensure_eq("the timers", before.1.len(), 1)?;
    let env = env.crash().await;
    ensure_eq("after the crash", env.open_in_pages("a", 9).await?, before)
}
