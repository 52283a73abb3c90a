//! Promise 5: a message for a held instance wakes its holder, and a released
//! instance with a message in its inbox is ready.

use durable_core::provider::{WakeTopic, WorkResult};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure_eq};
use super::super::node::message_ids;
use super::super::waiting::{begin_wait, is_told, seen_no_instance};
use crate::message::event_message;
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(WakeUps, a_released_instance_with_a_message_is_ready),
    check!(WakeUps, a_message_wakes_the_holder),
    check!(WakeUps, a_message_of_a_commit_wakes_the_holder),
    check!(WakeUps, a_work_result_wakes_the_holder),
    check!(WakeUps, a_fired_timer_wakes_the_holder),
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
