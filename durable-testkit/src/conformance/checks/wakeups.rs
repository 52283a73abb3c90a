//! Promise 5: a message for a held instance wakes its holder, and a released
//! instance with a message in its inbox is ready.

use durable_core::provider::{WakeTopic, WorkResult};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure_eq};
use super::super::node::{TestNode, message_ids};
use super::super::waiting::{begin_wait, is_told, seen_no_instance};
use crate::message::event_message;
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(WakeUps, a_released_instance_with_a_message_is_ready),
    check!(WakeUps, a_message_wakes_the_holder),
    check!(WakeUps, a_message_of_a_commit_wakes_the_holder),
    check!(WakeUps, a_work_result_wakes_the_holder),
    check!(WakeUps, a_fired_timer_wakes_the_holder),
    check!(WakeUps, a_cancellation_wakes_the_holder_of_the_work),
    check!(
        WakeUps,
        the_end_of_an_instance_wakes_the_holders_of_its_work
    ),
    check!(WakeUps, another_handle_is_told_of_a_cancellation, needs OpenAgain),
];

async fn a_released_instance_with_a_message_is_ready(env: Env) -> CheckResult {
    let (holder, other) = (env.node().await?, env.node().await?);
    let (turn, _) = holder.begin("a", TurnBuilder::keeping_the_lease).await?;
    env.raise("a", "m1").await?;
    let last = TurnBuilder::after(&turn, env.now_ms()).build();
    holder.commit_done(last).await?;
    let ready = other.take("a").await?;
    ensure_eq("the messages", message_ids(&ready), vec!["m1"])
}

async fn a_message_wakes_the_holder(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", TurnBuilder::keeping_the_lease).await?;
    let seen = seen_no_instance(&node).await?;
    let waiting = begin_wait(&node, WakeTopic::Instances, seen).await;
    env.raise("a", "m1").await?;
    is_told(&env, "the holder of an instance with a message", waiting).await?;
    ensure_eq(
        "the messages",
        message_ids(&node.take("a").await?),
        vec!["m1"],
    )
}

async fn a_message_of_a_commit_wakes_the_holder(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", TurnBuilder::keeping_the_lease).await?;
    env.start("b").await?;
    let sender = env.node().await?;
    let ready = sender.take("b").await?;
    let seen = seen_no_instance(&node).await?;
    let waiting = begin_wait(&node, WakeTopic::Instances, seen).await;
    let turn = sender.first_turn(&ready).message("a", event_message("m1"));
    sender.commit_done(turn.build()).await?;
    is_told(&env, "the holder of an instance with a message", waiting).await?;
    ensure_eq(
        "the messages",
        message_ids(&node.take("a").await?),
        vec!["m1"],
    )
}

async fn a_work_result_wakes_the_holder(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn.activity("charge").keeping_the_lease())
        .await?;
    let worker = env.node().await?;
    let work = worker.take_work().await?;
    let seen = seen_no_instance(&node).await?;
    let waiting = begin_wait(&node, WakeTopic::Instances, seen).await;
    let done = WorkResult::Finished(Ok("1".into()));
    worker.settle_held(&work, done).await?;
    is_told(&env, "the holder of an instance with a result", waiting).await?;
    ensure_eq("messages", node.take("a").await?.messages.len(), 1)
}

async fn a_fired_timer_wakes_the_holder(env: Env) -> CheckResult {
    let node = env.node().await?;
    let due_ms = env.past_ms();
    node.begin("a", |turn| turn.timer(due_ms).keeping_the_lease())
        .await?;
    let seen = seen_no_instance(&node).await?;
    let waiting = begin_wait(&node, WakeTopic::Instances, seen).await;
    let fired = env.fire_timers(1).await?.fired;
    ensure_eq("fired timers", fired, 1)?;
    is_told(&env, "the holder of an instance with a timer", waiting).await?;
    ensure_eq("messages", node.take("a").await?.messages.len(), 1)
}

/// How the work of a worker is cancelled.
#[derive(Debug, Clone, Copy)]
enum Cancelling {
    TheCall,
    TheInstance,
}

/// Has a worker wait for the cancellation of the work that it holds.
async fn is_told_of_its_cancellation(worker: &TestNode<'_>, cancelling: Cancelling) -> CheckResult {
    let env = worker.env;
    let node = env.node().await?;
    let begun = node.begin("a", |turn| turn.activity("charge").keeping_the_lease());
    let (turn, _) = begun.await?;
    let work = worker.take_work().await?;
    let key = work.item.key.clone();
    let before = worker.provider.cancelled_work(worker.session).await?;
    ensure_eq("cancelled work before", before.keys, vec![])?;
    let waiting = begin_wait(worker, WakeTopic::Cancellations, before.seen).await;
    let next = TurnBuilder::after(&turn, env.now_ms());
    let next = match cancelling {
        Cancelling::TheCall => next.cancelling_work(&key),
        Cancelling::TheInstance => next.completed("1"),
    };
    node.commit_done(next.build()).await?;
    is_told(env, "the holder of work that was cancelled", waiting).await?;
    let reported = worker.cancelled_work().await?;
    ensure_eq("cancelled work", reported, vec![key])
}

async fn a_cancellation_wakes_the_holder_of_the_work(env: Env) -> CheckResult {
    let worker = env.node().await?;
    is_told_of_its_cancellation(&worker, Cancelling::TheCall).await
}

async fn the_end_of_an_instance_wakes_the_holders_of_its_work(env: Env) -> CheckResult {
    let worker = env.node().await?;
    is_told_of_its_cancellation(&worker, Cancelling::TheInstance).await
}

async fn another_handle_is_told_of_a_cancellation(env: Env) -> CheckResult {
    let there = env.second_handle().await;
    let worker = env.node_on(there).await?;
    is_told_of_its_cancellation(&worker, Cancelling::TheCall).await
}
