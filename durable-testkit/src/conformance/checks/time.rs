//! The store's clock: it is the one that the store was given, it never goes back, and
//! what a record says about when it changed agrees with it and with the history.

use std::sync::Arc;

use durable_core::provider::{Clock, IdReuse, InstanceRecord, NextExecution, Release};
use durable_core::{EventId, Failure, FailureKind};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure, ensure_eq};
use crate::clock::ManualClock;
use crate::message::start_message;
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Time, the_stores_time_follows_its_clock),
    check!(Time, the_stores_time_never_goes_back, needs VirtualClock),
    check!(Time, a_clock_that_is_set_back_ends_no_session, needs VirtualClock),
    check!(Time, a_clock_that_is_set_back_fires_nothing_early, needs VirtualClock),
    check!(
        Time,
        a_clock_that_was_set_back_does_not_take_the_store_back_after_a_crash,
        needs OpenAgain and VirtualClock
    ),
    check!(
        Time,
        a_handle_whose_clock_is_behind_goes_by_the_stores_time,
        needs OpenAgain and VirtualClock
    ),
    check!(Time, a_record_changes_when_the_stores_clock_says),
    check!(Time, a_record_is_never_older_than_its_entries),
];

const HOUR_MS: u64 = 3_600_000;

#[track_caller]
fn is_not_before(what: impl Into<String>, found_ms: u64, earliest_ms: u64) -> CheckResult {
    let expected = format!("{earliest_ms} or later");
    ensure(found_ms >= earliest_ms, what, expected, found_ms)
}

async fn the_stores_time_follows_its_clock(env: Env) -> CheckResult {
    let is_virtual = env.time.clock.is_virtual();
    for passed_ms in [0, 1, env.time.short_ms()] {
        let before_ms = env.now_ms();
        env.time.advance(passed_ms).await;
        let now_ms = env.now_ms();
        let least_ms = (before_ms + passed_ms).saturating_sub(env.time.skew_ms());
        is_not_before(format!("the time after {passed_ms} ms"), now_ms, least_ms)?;
        if is_virtual {
            ensure_eq("the store's time", now_ms, env.time.manual.now_ms())?;
        }
        env.fire_timers(0).await?;
        let after_ms = env.now_ms();
        is_not_before("the time after a call", after_ms, now_ms)?;
        if is_virtual {
            ensure_eq("the store's time after a call", after_ms, now_ms)?;
        }
    }
    Ok(())
}

async fn the_stores_time_never_goes_back(env: Env) -> CheckResult {
    let clock = &env.time.manual;
    let started_ms = env.now_ms();
    let mut latest_ms = started_ms;
    for back_ms in [1, HOUR_MS, started_ms] {
        clock.set(started_ms - back_ms);
        for call in ["before", "after"] {
            let now_ms = env.now_ms();
            let what = format!("the time {call} a call, with a clock {back_ms} ms behind");
            is_not_before(what, now_ms, latest_ms)?;
            latest_ms = now_ms;
            env.start(format!("{call}-{back_ms}")).await?;
            let record = env.record(&format!("{call}-{back_ms}")).await?;
            let what = format!("a start with a clock {back_ms} ms behind");
            is_not_before(what, record.created_at_ms, latest_ms)?;
        }
    }
    clock.set(latest_ms + HOUR_MS);
    ensure_eq(
        "the time when the clock is ahead again",
        env.now_ms(),
        latest_ms + HOUR_MS,
    )
}

async fn a_clock_that_is_set_back_ends_no_session(env: Env) -> CheckResult {
    let (node, other) = (env.mortal_node().await?, env.node().await?);
    env.start("a").await?;
    let ready = node.take("a").await?;
    let now_ms = env.now_ms();
    for back_ms in [1, HOUR_MS, now_ms] {
        env.time.manual.set(now_ms - back_ms);
        let what = format!("`a` is held by a living session, {back_ms} ms ago");
        other.finds_no_instance(&what).await?;
        node.heartbeat().await?;
    }
    env.time.manual.set(now_ms);
    node.commit_done(node.first_turn(&ready).build()).await?;
    Ok(())
}

async fn a_clock_that_is_set_back_fires_nothing_early(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (now_ms, due_ms) = (env.now_ms(), env.soon_ms());
    node.begin("a", |turn| turn.timer(due_ms)).await?;
    env.time.manual.set(due_ms - 1);
    ensure_eq("timers before they are due", fired(&env).await?, 0)?;
    for back_ms in [0, HOUR_MS, now_ms] {
        env.time.manual.set(now_ms - back_ms);
        let what = format!("timers with a clock {back_ms} ms behind");
        ensure_eq(what, fired(&env).await?, 0)?;
    }
    env.time.manual.set(due_ms);
    ensure_eq("timers when they are due", fired(&env).await?, 1)
}

async fn fired(env: &Env) -> CheckResult<usize> {
    Ok(env.fire_timers(10).await?.fired)
}

async fn a_clock_that_was_set_back_does_not_take_the_store_back_after_a_crash(
    env: Env,
) -> CheckResult {
    env.node().await?.begin("a", |turn| turn).await?;
    let before_ms = env.record("a").await?.updated_at_ms;
    env.time.manual.set(before_ms - HOUR_MS);
    let env = env.crash().await;
    env.suspend("a").await?;
    let changed_ms = env.record("a").await?.updated_at_ms;
    is_not_before("a change after the crash", changed_ms, before_ms)?;
    is_not_before("the time then", env.now_ms(), before_ms)
}

async fn a_handle_whose_clock_is_behind_goes_by_the_stores_time(env: Env) -> CheckResult {
    let here = env.node().await?;
    env.start("a").await?;
    let started_ms = env.now_ms();
    let slow = ManualClock::starting_at(started_ms - HOUR_MS);
    let there = env.second_handle_with(Arc::new(slow.clone())).await;
    let pass = |ms| {
        env.time.manual.advance(ms);
        slow.advance(ms);
    };
    let _ = there
        .start(&"b".into(), start_message("s1"), IdReuse::Refuse)
        .await?;
    let created_ms = env.record("b").await?.created_at_ms;
    is_not_before("a start there", created_ms, started_ms)?;
    is_not_before("the time there", there.now_ms(), started_ms)?;

    let node = env.mortal_node_on(there).await?;
    let taken = node.take_all(&["a", "b"]).await?;
    here.finds_no_instance("both are held by a living session there")
        .await?;
    for _ in 0..3 {
        pass(env.time.short_ms() / 2 + 1);
        node.heartbeat().await?;
        here.finds_no_instance("the session there has a heartbeat")
            .await?;
    }
    node.commit_done(node.first_turn(&taken[0]).build()).await?;
    let changed_ms = env.record("a").await?.updated_at_ms;
    is_not_before("a commit there", changed_ms, started_ms)?;
    pass(env.time.short_ms() + 1);
    let ready = here.take("b").await?;
    ensure_eq("crashes of what the session held", ready.crashes, 1)
}

/// Demands that `a` changed between these two times.
async fn changed_since(env: &Env, what: &str, earliest_ms: u64) -> CheckResult<InstanceRecord> {
    let latest_ms = env.now_ms() + env.time.skew_ms();
    let record = env.record("a").await?;
    let is_now = (earliest_ms..=latest_ms).contains(&record.updated_at_ms);
    let expected = format!("from {earliest_ms} to {latest_ms}");
    ensure(is_now, what, expected, record.updated_at_ms)?;
    Ok(record)
}

async fn a_record_changes_when_the_stores_clock_says(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let turn = node.first_turn(&ready).keeping_the_lease().build();
    pass(&env).await;
    let earliest_ms = env.past_ms();
    node.commit_done(turn.clone()).await?;
    let record = changed_since(&env, "a commit of older entries", earliest_ms).await?;

    let empty = TurnBuilder::after(&turn, env.now_ms()).keeping_the_lease();
    pass(&env).await;
    let earliest_ms = env.past_ms();
    node.commit_done(empty.build()).await?;
    changed_since(&env, "a commit without entries", earliest_ms).await?;

    pass(&env).await;
    let earliest_ms = env.past_ms();
    let missing = Failure::new(FailureKind::NotRegistered, "no node has version 9");
    node.give_back(Release::new(ready.lease).blocked(missing))
        .await?;
    changed_since(&env, "a release that says what blocks", earliest_ms).await?;

    pass(&env).await;
    let earliest_ms = env.past_ms();
    env.suspend("a").await?;
    changed_since(&env, "a suspension", earliest_ms).await?;

    pass(&env).await;
    let earliest_ms = env.past_ms();
    env.resume("a").await?;
    let resumed = changed_since(&env, "a resumption", earliest_ms).await?;
    let created = (record.created_at_ms, resumed.created_at_ms);
    ensure_eq("when it was created", created.1, created.0)
}

/// Lets more time pass than a handle may be off.
async fn pass(env: &Env) {
    env.time.advance(2 * env.time.skew_ms() + 7).await;
}

/// Demands that `a` changed at this time or later.
async fn is_not_older(env: &Env, what: &str, earliest_ms: u64) -> CheckResult {
    let changed_ms = env.record("a").await?.updated_at_ms;
    is_not_before(what, changed_ms, earliest_ms)
}

async fn a_record_is_never_older_than_its_entries(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let ahead_ms = env.now_ms() + HOUR_MS;

    let turn = TurnBuilder::new(&ready, ahead_ms).consuming(&ready.messages);
    let turn = turn.started().keeping_the_lease().build();
    node.commit_done(turn.clone()).await?;
    is_not_older(&env, "a commit of later entries", ahead_ms).await?;

    let empty = TurnBuilder::after(&turn, env.now_ms()).keeping_the_lease();
    let empty = empty.build();
    node.commit_done(empty.clone()).await?;
    let what = "a commit without entries after it";
    is_not_older(&env, what, ahead_ms).await?;

    let next_ms = ahead_ms + 5;
    let mut last = TurnBuilder::after(&empty, ahead_ms)
        .continued_as_new()
        .build();
    if let Some(NextExecution { events, .. }) = &mut last.next_execution {
        events[0].recorded_at_ms = next_ms;
    }
    node.commit_done(last).await?;
    let what = "a commit whose next execution begins later";
    is_not_older(&env, what, next_ms).await?;

    env.suspend("a").await?;
    is_not_older(&env, "a suspension", next_ms).await?;
    env.resume("a").await?;
    is_not_older(&env, "a resumption", next_ms).await?;
    let ready = node.take("a").await?;
    ensure_eq("the tail", ready.last_event_id, EventId::FIRST)?;
    let missing = Failure::new(FailureKind::NotRegistered, "no node has version 9");
    node.give_back(Release::new(ready.lease).blocked(missing))
        .await?;
    let what = "a release that says what blocks";
    is_not_older(&env, what, next_ms).await
}
