//! Promise 7: no timer fires early by the store's clock; each fires once, by due
//! time and then in the order in which they were set.

use std::time::Duration;

use durable_core::provider::{MessageBody, SourceEvent};
use durable_core::{ActivityOptions, EventId};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure, ensure_eq};
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Timers, no_timer_fires_before_it_is_due),
    check!(Timers, a_timer_fires_once_and_says_when_it_was_due),
    check!(Timers, timers_fire_by_due_time),
    check!(Timers, timers_of_the_same_millisecond_fire_as_they_were_set),
    check!(Timers, timers_of_many_instances_fire_as_they_were_set),
    check!(Timers, firing_is_bounded_and_says_what_is_next),
    check!(Timers, a_cancelled_timer_does_not_fire),
    check!(Timers, a_timer_that_is_gone_can_be_cancelled),
    check!(Timers, an_ended_instance_loses_its_timers),
    check!(Timers, timers_of_a_suspended_instance_wait_for_it),
    check!(Timers, a_timer_of_an_earlier_execution_says_so),
    check!(Timers, the_deadline_of_an_activity_is_a_timer),
    check!(Timers, a_removed_deadline_does_not_fire),
    check!(Timers, an_ended_instance_loses_its_deadlines),
];

/// The timers that were given to `a`: their source events, in order.
async fn fired_sources(env: &Env) -> CheckResult<Vec<u64>> {
    let ready = env.node().await?.take("a").await?;
    let sources = ready
        .messages
        .iter()
        .map(|queued| match &queued.message.body {
            MessageBody::TimerFired {
                source_event_id, ..
            } => source_event_id.get(),
            _ => 0,
        });
    Ok(sources.collect())
}

async fn no_timer_fires_before_it_is_due(env: Env) -> CheckResult {
    let node = env.node().await?;
    let due_ms = env.soon_ms();
    node.begin("a", |turn| turn.timer(due_ms)).await?;
    let half_ms = env.time.short_ms() / 2;
    for wait_ms in [0, half_ms, half_ms.saturating_sub(1)] {
        env.time.advance(wait_ms).await;
        let fired = env.fire_timers(10).await?;
        if !env.is_before(due_ms) {
            return Ok(());
        }
        ensure_eq("timers before they are due", fired.fired, 0)?;
        ensure_eq("when the next is due", fired.next_due_ms, Some(due_ms))?;
        node.finds_no_instance("the timer is not due").await?;
    }
    env.time.pass_short().await;
    ensure_eq(
        "timers when they are due",
        env.fire_timers(10).await?.fired,
        1,
    )
}

async fn a_timer_fires_once_and_says_when_it_was_due(env: Env) -> CheckResult {
    let node = env.node().await?;
    let due_ms = env.soon_ms();
    let (turn, _) = node.begin("a", |turn| turn.timer(due_ms)).await?;
    env.time.pass_short().await;
    let fired = env.fire_timers(10).await?;
    ensure_eq(
        "fired, and next",
        (fired.fired, fired.next_due_ms),
        (1, None),
    )?;
    ensure_eq("fired again", env.fire_timers(10).await?.fired, 0)?;
    let ready = node.take("a").await?;
    let bodies: Vec<_> = ready.messages.iter().map(|it| &it.message.body).collect();
    let expected = MessageBody::TimerFired {
        execution_id: turn.execution_id,
        source_event_id: EventId::new(2),
        fire_at_ms: due_ms,
    };
    ensure_eq("the messages", bodies, vec![&expected])
}

async fn timers_fire_by_due_time(env: Env) -> CheckResult {
    let node = env.node().await?;
    let now_ms = env.past_ms();
    let setting = |turn: TurnBuilder| {
        let dues = [now_ms - 1, now_ms - 3, now_ms - 2];
        dues.into_iter().fold(turn, TurnBuilder::timer)
    };
    node.begin("a", setting).await?;
    ensure_eq("fired timers", env.fire_timers(10).await?.fired, 3)?;
    ensure_eq("their order", fired_sources(&env).await?, vec![3, 4, 2])
}

async fn timers_of_the_same_millisecond_fire_as_they_were_set(env: Env) -> CheckResult {
    const TIMERS: u64 = 12;
    let node = env.node().await?;
    let due_ms = env.past_ms();
    let setting = |turn: TurnBuilder| (0..TIMERS).fold(turn, |turn, _| turn.timer(due_ms));
    let begun = node.begin("a", |turn| setting(turn).keeping_the_lease());
    let (turn, _) = begun.await?;
    let more = setting(TurnBuilder::after(&turn, env.now_ms()));
    node.commit_done(more.build()).await?;
    for _ in 0..TIMERS {
        env.fire_timers(5).await?;
    }
    let expected: Vec<u64> = (2..2 + 2 * TIMERS).collect();
    ensure_eq("their order", fired_sources(&env).await?, expected)
}

async fn timers_of_many_instances_fire_as_they_were_set(env: Env) -> CheckResult {
    let node = env.node().await?;
    let due_ms = env.past_ms();
    let ids = ["c", "a", "d", "b"];
    for id in ids {
        node.begin(id, |turn| turn.timer(due_ms)).await?;
        env.time.tick().await;
    }
    for id in ids {
        ensure_eq("fired timers", env.fire_timers(1).await?.fired, 1)?;
        node.take(id).await?;
    }
    Ok(())
}

async fn firing_is_bounded_and_says_what_is_next(env: Env) -> CheckResult {
    let node = env.node().await?;
    let now_ms = env.past_ms();
    let far_ms = env.far_ms();
    node.begin("a", |turn| {
        turn.timer(now_ms - 2).timer(now_ms - 1).timer(far_ms)
    })
    .await?;
    for (fired, next_due_ms) in [(1, now_ms - 1), (1, far_ms), (0, far_ms)] {
        let found = env.fire_timers(1).await?;
        let found = (found.fired, found.next_due_ms);
        ensure_eq("fired, and next", found, (fired, Some(next_due_ms)))?;
    }
    Ok(())
}

async fn a_cancelled_timer_does_not_fire(env: Env) -> CheckResult {
    let node = env.node().await?;
    let due_ms = env.past_ms();
    let begun = node.begin("a", |turn| {
        turn.timer(due_ms).timer(due_ms).keeping_the_lease()
    });
    let (turn, _) = begun.await?;
    let next = TurnBuilder::after(&turn, env.now_ms());
    let next = next.cancelling_timer(EventId::new(2));
    node.commit_done(next.build()).await?;
    ensure_eq("fired timers", env.fire_timers(10).await?.fired, 1)?;
    ensure_eq("which", fired_sources(&env).await?, vec![3])
}

async fn a_timer_that_is_gone_can_be_cancelled(env: Env) -> CheckResult {
    let node = env.node().await?;
    let due_ms = env.past_ms();
    let begun = node.begin("a", |turn| turn.timer(due_ms).keeping_the_lease());
    let (turn, _) = begun.await?;
    ensure_eq("fired timers", env.fire_timers(10).await?.fired, 1)?;
    let next = TurnBuilder::after(&turn, env.now_ms())
        .cancelling_timer(EventId::new(2))
        .cancelling_timer(EventId::new(77));
    node.commit_done(next.build()).await?;
    ensure_eq("the fired timer stays", fired_sources(&env).await?, vec![2])
}

async fn an_ended_instance_loses_its_timers(env: Env) -> CheckResult {
    let node = env.node().await?;
    let due_ms = env.past_ms();
    node.begin("a", |turn| turn.timer(due_ms).completed("1"))
        .await?;
    let fired = env.fire_timers(10).await?;
    ensure_eq(
        "fired, and next",
        (fired.fired, fired.next_due_ms),
        (0, None),
    )?;
    node.finds_no_instance("it has ended").await
}

async fn timers_of_a_suspended_instance_wait_for_it(env: Env) -> CheckResult {
    let node = env.node().await?;
    let due_ms = env.soon_ms();
    node.begin("a", |turn| turn.timer(due_ms)).await?;
    env.suspend("a").await?;
    env.time.pass_short().await;
    env.fire_timers(10).await?;
    node.finds_no_instance("`a` is suspended").await?;
    env.resume("a").await?;
    env.fire_timers(10).await?;
    ensure_eq("the timers", fired_sources(&env).await?, vec![2])
}

async fn a_timer_of_an_earlier_execution_says_so(env: Env) -> CheckResult {
    let node = env.node().await?;
    let due_ms = env.past_ms();
    node.begin("a", |turn| turn.timer(due_ms).continued_as_new())
        .await?;
    env.fire_timers(10).await?;
    for ready in node.fetch().await? {
        for queued in &ready.messages {
            let names_first = matches!(
                &queued.message.body,
                MessageBody::TimerFired { execution_id, .. } if execution_id.get() == 1
            );
            let what = "a timer of the first execution";
            ensure(names_first, what, "its execution", &queued.message)?;
        }
    }
    Ok(())
}

/// Calls an activity that has so long to end.
fn activity_within(turn: TurnBuilder, timeout_ms: u64) -> TurnBuilder {
    let options = ActivityOptions::default().total_timeout(Duration::from_millis(timeout_ms));
    turn.activity_with(options, "charge", "{}")
}

async fn the_deadline_of_an_activity_is_a_timer(env: Env) -> CheckResult {
    let node = env.node().await?;
    let timeout_ms = env.time.short_ms();
    let (turn, _) = node
        .begin("a", |turn| activity_within(turn, timeout_ms))
        .await?;
    let source = SourceEvent::new(turn.execution_id, EventId::new(2));
    let due_ms = turn.timer_due_ms(source);
    let early = env.fire_timers(10).await?;
    if due_ms.is_some_and(|due_ms| env.is_before(due_ms)) {
        let found = (early.fired, early.next_due_ms);
        ensure_eq("fired before it is due, and next", found, (0, due_ms))?;
        node.finds_no_instance("the deadline has not passed")
            .await?;
    }
    env.time.pass_short().await;
    let late = env.fire_timers(10).await?;
    let fired = (early.fired + late.fired, late.next_due_ms);
    ensure_eq("fired when it is due, and next", fired, (1, None))?;
    let ready = node.take("a").await?;
    let bodies: Vec<_> = ready.messages.iter().map(|it| &it.message.body).collect();
    let expected = MessageBody::TimerFired {
        execution_id: source.execution_id,
        source_event_id: source.event_id,
        fire_at_ms: due_ms.unwrap_or_default(),
    };
    ensure_eq("the messages", bodies, vec![&expected])?;
    let work = node.fetch_work().await?;
    ensure_eq("work that is left until a turn removes it", work.len(), 1)
}

async fn a_removed_deadline_does_not_fire(env: Env) -> CheckResult {
    let node = env.node().await?;
    let begun = node.begin("a", |turn| {
        let turn = activity_within(turn, 1);
        activity_within(turn, 1).keeping_the_lease().claiming(10)
    });
    let (turn, committed) = begun.await?;
    let Some(first) = committed.claimed.first() else {
        return ensure(false, "claimed work", "the new work", &committed);
    };
    let mut next = TurnBuilder::after(&turn, env.now_ms())
        .finishing_work(&first.lease.key, "1")
        .build();
    next.cancelled_timers.push(first.lease.key.source());
    node.commit_done(next).await?;
    env.time.pass_short().await;
    ensure_eq("fired timers", env.fire_timers(10).await?.fired, 1)?;
    ensure_eq("which", fired_sources(&env).await?, vec![3])
}

async fn an_ended_instance_loses_its_deadlines(env: Env) -> CheckResult {
    let node = env.node().await?;
    let begun = node.begin("a", |turn| activity_within(turn, 1).keeping_the_lease());
    let (turn, _) = begun.await?;
    let next = TurnBuilder::after(&turn, env.now_ms()).completed("1");
    node.commit_done(next.build()).await?;
    env.time.pass_short().await;
    let fired = env.fire_timers(10).await?;
    let found = (fired.fired, fired.next_due_ms);
    ensure_eq("fired, and next", found, (0, None))
}
