//! Promise 9: what is ready is found without polling. A wait never misses what
//! came after its `seen`.

use durable_core::Name;
use durable_core::provider::{ProviderError, WakeSeq, WakeTopic, WorkResult};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckFailure, CheckResult, ensure_eq};
use super::super::node::retry;
use super::super::waiting::{begin_wait, is_told, seen_no_instance};
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Finding, a_message_for_a_free_instance_ends_a_wait),
    check!(Finding, a_start_ends_a_wait),
    check!(Finding, a_released_instance_ends_a_wait),
    check!(Finding, a_resumed_instance_ends_a_wait),
    check!(Finding, the_holdings_of_a_dead_session_end_waits),
    check!(
        Finding,
        what_came_between_fetch_and_wait_ends_the_wait_at_once
    ),
    check!(Finding, new_work_ends_a_wait_for_its_queue),
    check!(Finding, handed_back_work_ends_a_wait),
    check!(Finding, a_delayed_retry_is_learnt_by_those_who_wait),
    check!(Finding, a_delayed_release_is_learnt_by_those_who_wait),
    check!(Finding, an_earlier_timer_ends_a_wait),
    check!(Finding, a_wait_goes_on_from_what_it_returned),
    check!(Finding, a_wait_that_was_dropped_misses_nothing),
    check!(Finding, every_waiting_session_is_told),
    check!(Finding, a_session_that_ends_ends_its_waits),
    check!(Finding, another_handle_is_told_of_messages, needs OpenAgain),
    check!(Finding, another_handle_is_told_of_work, needs OpenAgain),
];

async fn a_message_for_a_free_instance_ends_a_wait(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    let seen = seen_no_instance(&node).await?;
    let waiting = begin_wait(&node, WakeTopic::Instances, seen).await;
    env.raise("a", "m1").await?;
    is_told(&env, "a session that waits for instances", waiting).await?;
    node.take("a").await?;
    Ok(())
}

async fn a_start_ends_a_wait(env: Env) -> CheckResult {
    let node = env.node().await?;
    let seen = seen_no_instance(&node).await?;
    let waiting = begin_wait(&node, WakeTopic::Instances, seen).await;
    env.start("a").await?;
    is_told(&env, "a session that waits for instances", waiting).await?;
    node.take("a").await?;
    Ok(())
}

async fn a_released_instance_ends_a_wait(env: Env) -> CheckResult {
    let (holder, node) = (env.node().await?, env.node().await?);
    env.start("a").await?;
    let ready = holder.take("a").await?;
    let seen = seen_no_instance(&node).await?;
    let waiting = begin_wait(&node, WakeTopic::Instances, seen).await;
    holder.release(&ready, None).await?;
    is_told(&env, "a session that waits for instances", waiting).await?;
    node.take("a").await?;
    Ok(())
}

async fn a_resumed_instance_ends_a_wait(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    env.suspend("a").await?;
    let seen = seen_no_instance(&node).await?;
    let waiting = begin_wait(&node, WakeTopic::Instances, seen).await;
    env.resume("a").await?;
    is_told(&env, "a session that waits for instances", waiting).await?;
    node.take("a").await?;
    Ok(())
}

async fn the_holdings_of_a_dead_session_end_waits(env: Env) -> CheckResult {
    let (dead, heir) = (env.mortal_node().await?, env.node().await?);
    dead.begin("a", |turn| {
        turn.activity("charge").keeping_the_lease().claiming(1)
    })
    .await?;
    let seen = seen_no_instance(&heir).await?;
    let for_instances = begin_wait(&heir, WakeTopic::Instances, seen).await;
    let seen = heir.fetch_work_from(&[None], 1).await?.seen;
    let for_work = begin_wait(&heir, WakeTopic::Work(vec![None]), seen).await;
    env.time.pass_short().await;
    heir.heartbeat().await?;
    is_told(&env, "a session that waits for instances", for_instances).await?;
    is_told(&env, "a session that waits for work", for_work).await?;
    heir.take("a").await?;
    heir.take_work().await?;
    Ok(())
}

async fn what_came_between_fetch_and_wait_ends_the_wait_at_once(env: Env) -> CheckResult {
    let node = env.node().await?;
    let far_ms = env.far_ms();
    let instances = seen_no_instance(&node).await?;
    let work = node.fetch_work_from(&[None], 1).await?.seen;
    let timers = env.fire_timers(1).await?.seen;
    let worker = env.node().await?;
    worker
        .begin("a", |turn| turn.activity("charge").timer(far_ms))
        .await?;
    env.raise("a", "m1").await?;
    for (topic, seen) in [
        (WakeTopic::Instances, instances),
        (WakeTopic::Work(vec![None]), work),
        (WakeTopic::Timers, timers),
        (WakeTopic::Instance("a".into()), WakeSeq::default()),
    ] {
        let what = format!("a wait for {topic:?}");
        let wait = env.provider().wait(Some(node.session), &topic, seen);
        env.within_timeout(&what, wait).await??;
    }
    Ok(())
}

async fn new_work_ends_a_wait_for_its_queue(env: Env) -> CheckResult {
    let (worker, node) = (env.node().await?, env.node().await?);
    let queues = vec![None, Some(Name::from("gpu")), Some("other".into())];
    for queue in &queues[..2] {
        let seen = worker.fetch_work_from(&queues, 1).await?.seen;
        let waiting = begin_wait(&worker, WakeTopic::Work(queues.clone()), seen).await;
        let id = format!("instance of {queue:?}");
        node.begin(&id, |turn| turn.activity_on(queue.clone(), "charge", "{}"))
            .await?;
        let what = format!("a session that waits for {queue:?} among others");
        is_told(&env, &what, waiting).await?;
        let found = worker.fetch_work_from(&queues, 9).await?.work.len();
        ensure_eq("work that is ready", found, 1)?;
    }
    Ok(())
}

async fn handed_back_work_ends_a_wait(env: Env) -> CheckResult {
    let (first, second) = (env.node().await?, env.node().await?);
    first.begin("a", |turn| turn.activity("charge")).await?;
    let work = first.take_work().await?;
    let seen = second.fetch_work_from(&[None], 1).await?.seen;
    let waiting = begin_wait(&second, WakeTopic::Work(vec![None]), seen).await;
    let back = WorkResult::HandedBack {
        not_before_ms: None,
    };
    first.settle_held(&work, back).await?;
    is_told(&env, "a session that waits for work", waiting).await?;
    second.take_work().await?;
    Ok(())
}

async fn a_delayed_retry_is_learnt_by_those_who_wait(env: Env) -> CheckResult {
    let (first, second) = (env.node().await?, env.node().await?);
    first.begin("a", |turn| turn.activity("charge")).await?;
    let work = first.take_work().await?;
    let seen = second.fetch_work_from(&[None], 1).await?.seen;
    let waiting = begin_wait(&second, WakeTopic::Work(vec![None]), seen).await;
    let not_before_ms = env.far_ms();
    first.settle_held(&work, retry(not_before_ms)).await?;
    is_told(
        &env,
        "a session that waits for work, of a new due time",
        waiting,
    )
    .await?;
    let due = second.fetch_work_from(&[None], 1).await?.next_due_ms;
    ensure_eq("when the retry is due", due, Some(not_before_ms))
}

async fn a_delayed_release_is_learnt_by_those_who_wait(env: Env) -> CheckResult {
    let (holder, node) = (env.node().await?, env.node().await?);
    env.start("a").await?;
    let ready = holder.take("a").await?;
    let seen = seen_no_instance(&node).await?;
    let waiting = begin_wait(&node, WakeTopic::Instances, seen).await;
    let not_before_ms = env.soon_ms();
    holder.release(&ready, Some(not_before_ms)).await?;
    let what = "a session that waits for instances, of a new due time";
    is_told(&env, what, waiting).await?;
    let due = node.fetch_batch(1).await?.next_due_ms;
    ensure_eq("when the instance is due", due, Some(not_before_ms))
}

async fn an_earlier_timer_ends_a_wait(env: Env) -> CheckResult {
    let node = env.node().await?;
    let far_ms = env.far_ms();
    node.begin("a", |turn| turn.timer(far_ms)).await?;
    let fired = env.fire_timers(1).await?;
    ensure_eq("the next timer", fired.next_due_ms, Some(far_ms))?;
    let waiting = begin_wait(&node, WakeTopic::Timers, fired.seen).await;
    node.begin("b", |turn| turn.timer(far_ms - 1)).await?;
    is_told(&env, "a session that waits for timers", waiting).await?;
    let fired = env.fire_timers(1).await?;
    ensure_eq("the next timer", fired.next_due_ms, Some(far_ms - 1))
}

async fn a_wait_goes_on_from_what_it_returned(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", TurnBuilder::keeping_the_lease).await?;
    let mut seen = seen_no_instance(&node).await?;
    for number in 0..5 {
        env.raise("a", &format!("m{number}")).await?;
        let wait = node
            .provider
            .wait(Some(node.session), &WakeTopic::Instances, seen);
        seen = env.within_timeout("the end of a wait", wait).await??;
    }
    let waiting = begin_wait(&node, WakeTopic::Instances, seen).await;
    env.raise("a", "last").await?;
    is_told(&env, "the holder of an instance with a message", waiting).await?;
    ensure_eq("messages", node.take("a").await?.messages.len(), 6)
}

async fn a_wait_that_was_dropped_misses_nothing(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    let seen = seen_no_instance(&node).await?;
    let dropped = begin_wait(&node, WakeTopic::Instances, seen).await;
    dropped.abort();
    let cancelled = dropped.await.is_err_and(|error| error.is_cancelled());
    env.raise("a", "m1").await?;
    if !cancelled {
        return Ok(());
    }
    let wait = node
        .provider
        .wait(Some(node.session), &WakeTopic::Instances, seen);
    env.within_timeout("the end of a second wait", wait)
        .await??;
    Ok(())
}

async fn every_waiting_session_is_told(env: Env) -> CheckResult {
    let mut waits = Vec::new();
    for _ in 0..5 {
        let node = env.node().await?;
        let seen = seen_no_instance(&node).await?;
        waits.push(begin_wait(&node, WakeTopic::Instances, seen).await);
    }
    env.start("a").await?;
    for waiting in waits {
        is_told(&env, "one of five sessions that wait", waiting).await?;
    }
    Ok(())
}

async fn a_session_that_ends_ends_its_waits(env: Env) -> CheckResult {
    let node = env.node().await?;
    let seen = seen_no_instance(&node).await?;
    let waiting = begin_wait(&node, WakeTopic::Instances, seen).await;
    node.close().await?;
    let what = "a wait of a session that was closed";
    let ended = env.within_timeout(what, waiting).await?;
    let answer = ended.map_err(|error| CheckFailure::new(what, "an end", error.to_string()))?;
    match answer {
        // It may return for nothing; the next call tells.
        Ok(_) => node.is_lost().await,
        Err(error) => {
            let session = node.session;
            ensure_eq(what, error, ProviderError::SessionLost { session })
        }
    }
}

async fn another_handle_is_told_of_messages(env: Env) -> CheckResult {
    let there = env.node_on(env.second_handle().await).await?;
    there.begin("a", TurnBuilder::keeping_the_lease).await?;
    let seen = seen_no_instance(&there).await?;
    let waiting = begin_wait(&there, WakeTopic::Instances, seen).await;
    env.raise("a", "m1").await?;
    is_told(&env, "the holder on another handle", waiting).await?;
    there.take("a").await?;
    Ok(())
}

async fn another_handle_is_told_of_work(env: Env) -> CheckResult {
    let here = env.node().await?;
    let there = env.node_on(env.second_handle().await).await?;
    let seen = there.fetch_work_from(&[None], 1).await?.seen;
    let waiting = begin_wait(&there, WakeTopic::Work(vec![None]), seen).await;
    here.begin("a", |turn| turn.activity("charge")).await?;
    is_told(&env, "a worker on another handle", waiting).await?;
    there.take_work().await?;
    Ok(())
}
