//! What a start may bring: events, a delay, a deadline.

use durable_core::provider::{
    IdReuse, Message, MessageBody, OpenTimer, SendOutcome, ServedCode, SessionOptions, SourceEvent,
    StartInstance, StartOutcome, StatusKind,
};
use durable_core::{EventId, ExecutionId, Failure, FailureKind, UnreadEvent};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure, ensure_eq};
use super::super::node::message_ids;
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Lifecycle, a_running_instance_gets_the_events_of_a_start),
    check!(Lifecycle, the_events_of_a_repeated_start_come_once),
    check!(Lifecycle, a_refused_start_brings_no_event),
    check!(
        Lifecycle,
        an_instance_that_is_started_has_the_events_of_its_start
    ),
    check!(
        Lifecycle,
        a_delayed_start_is_given_out_when_its_time_has_come
    ),
    check!(Lifecycle, an_event_does_not_end_a_delay),
    check!(Lifecycle, a_cancellation_and_a_termination_end_a_delay),
    check!(Lifecycle, a_restart_has_a_delay_of_its_own),
    check!(Lifecycle, a_commit_starts_an_ended_instance_anew_if_it_may),
    check!(
        Lifecycle,
        an_instance_that_runs_gets_the_events_of_a_start_by_a_commit
    ),
    check!(Timers, a_deadline_fires_when_it_is_due),
    check!(Timers, an_instance_whose_deadline_has_passed_needs_no_code),
    check!(Timers, a_deadline_stays_through_continue_as_new),
    check!(Timers, a_deadline_goes_with_the_end_of_its_instance),
    check!(Timers, a_deadline_passes_while_an_instance_is_suspended),
    check!(Timers, a_deadline_passes_while_a_start_is_delayed),
];

fn plain() -> StartInstance {
    StartInstance::new("fulfil".into(), "{}".into())
}

fn with_events(message_id: &str, events: &[&str]) -> Message {
    let event = |id: &&str| UnreadEvent::new("news".into(), "1".into(), (*id).into());
    let mut start = plain();
    start.events = events.iter().map(event).collect();
    message(message_id, start)
}

fn message(message_id: &str, start: StartInstance) -> Message {
    Message::new(message_id.into(), MessageBody::Start(start))
}

async fn starts(env: &Env, id: &str, start: StartInstance) -> CheckResult {
    let message = message(&format!("start-{}", env.fresh_number()), start);
    let outcome = env.start_with(id, message, IdReuse::RestartEnded).await?;
    let is_started = matches!(outcome, StartOutcome::Started { .. });
    ensure(is_started, "a start", "it is started", outcome)
}

async fn a_running_instance_gets_the_events_of_a_start(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    for (reuse, events) in [
        (IdReuse::UseRunning, ["m1", "m2"]),
        (IdReuse::RestartEnded, ["m3", "m4"]),
    ] {
        let start = with_events(events[0], &events);
        let outcome = env.start_with("a", start, reuse).await?;
        let execution_id = ExecutionId::FIRST;
        let running = StartOutcome::AlreadyRunning { execution_id };
        ensure_eq("the answer", outcome, running)?;
        let ready = node.take("a").await?;
        ensure_eq("the messages", message_ids(&ready), events.to_vec())?;
        let body = &ready.messages[0].message.body;
        let expected = MessageBody::ExternalRaised {
            name: "news".into(),
            data: "1".into(),
        };
        ensure_eq("the first message", body, &expected)?;
        let turn = node.turn(&ready).consuming(&ready.messages);
        node.commit_done(turn.build()).await?;
    }
    Ok(())
}

async fn the_events_of_a_repeated_start_come_once(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    for _ in 0..3 {
        let start = with_events("s", &["m1"]);
        let _ = env.start_with("a", start, IdReuse::UseRunning).await?;
    }
    let ready = node.take("a").await?;
    ensure_eq("the messages", message_ids(&ready), vec!["m1"])
}

async fn a_refused_start_brings_no_event(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("running", |turn| turn).await?;
    node.begin("ended", |turn| turn.completed("1")).await?;
    for (id, reuse) in [
        ("running", IdReuse::Refuse),
        ("ended", IdReuse::Refuse),
        ("ended", IdReuse::UseRunning),
    ] {
        let outcome = env.start_with(id, with_events("s", &["m"]), reuse).await?;
        let is_taken = matches!(outcome, StartOutcome::Taken { .. });
        ensure(is_taken, "the answer", "that the id is taken", outcome)?;
        let inbox = env.inbox_in_pages(id, 10).await?;
        ensure_eq("the messages", inbox, Vec::new())?;
    }
    node.finds_no_instance("nothing was started or sent").await
}

async fn an_instance_that_is_started_has_the_events_of_its_start(env: Env) -> CheckResult {
    let node = env.node().await?;
    let start = with_events("s1", &["m1", "m2"]);
    let _ = env
        .start_with("a", start.clone(), IdReuse::UseRunning)
        .await?;
    let ready = node.take("a").await?;
    let given: Vec<_> = ready.messages.iter().map(|it| it.message.clone()).collect();
    ensure_eq("the messages", given, vec![start])?;
    node.commit_done(node.first_turn(&ready).completed("1").build())
        .await?;
    let anew = with_events("s2", &["m3"]);
    let _ = env
        .start_with("a", anew.clone(), IdReuse::RestartEnded)
        .await?;
    let ready = node.take("a").await?;
    let given: Vec<_> = ready.messages.into_iter().map(|it| it.message).collect();
    ensure_eq("the messages of the restart", given, vec![anew])
}

async fn a_delayed_start_is_given_out_when_its_time_has_come(env: Env) -> CheckResult {
    let node = env.node().await?;
    let begins_at_ms = env.soon_ms();
    starts(&env, "a", plain().begins_at_ms(begins_at_ms)).await?;
    let record = env.record("a").await?;
    ensure_eq("the status", record.status.kind(), StatusKind::Pending)?;
    ensure_eq("the begin", record.begins_at_ms, Some(begins_at_ms))?;
    let batch = node.fetch_batch(10).await?;
    if env.is_before(begins_at_ms) {
        ensure_eq("what is ready", batch.instances.len(), 0)?;
        ensure_eq("when it is due", batch.next_due_ms, Some(begins_at_ms))?;
    }
    env.time.pass_short().await;
    let ready = node.take("a").await?;
    node.commit_done(node.first_turn(&ready).build()).await?;
    let record = env.record("a").await?;
    ensure_eq("the begin of one that runs", record.begins_at_ms, None)
}

async fn an_event_does_not_end_a_delay(env: Env) -> CheckResult {
    let node = env.node().await?;
    starts(&env, "a", plain().begins_at_ms(env.far_ms())).await?;
    env.raise("a", "m").await?;
    env.suspend("a").await?;
    env.resume("a").await?;
    node.finds_no_instance("its time has not come").await
}

async fn a_cancellation_and_a_termination_end_a_delay(env: Env) -> CheckResult {
    let node = env.node().await?;
    let reason = "enough".into();
    let failure = Failure::new(FailureKind::Terminated, "enough");
    for (id, body) in [
        ("a", MessageBody::Cancel { reason }),
        ("b", MessageBody::Terminate { failure }),
    ] {
        starts(&env, id, plain().begins_at_ms(env.far_ms())).await?;
        node.finds_no_instance("its time has not come").await?;
        let outcome = env.send(id, Message::new("stop".into(), body)).await?;
        ensure_eq("the answer", outcome, SendOutcome::Accepted)?;
        let ready = node.take(id).await?;
        let last = message_ids(&ready).last().copied();
        ensure_eq(
            "the messages",
            (ready.messages.len(), last),
            (2, Some("stop")),
        )?;
    }
    Ok(())
}

async fn a_restart_has_a_delay_of_its_own(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn.completed("1")).await?;
    let begins_at_ms = env.far_ms();
    starts(&env, "a", plain().begins_at_ms(begins_at_ms)).await?;
    node.finds_no_instance("its time has not come").await?;
    let record = env.record("a").await?;
    ensure_eq("the begin", record.begins_at_ms, Some(begins_at_ms))?;
    let failure = Failure::new(FailureKind::Terminated, "enough");
    let end = Message::new("end".into(), MessageBody::Terminate { failure });
    let _ = env.send("a", end).await?;
    let ready = node.take("a").await?;
    node.commit_done(node.first_turn(&ready).completed("1").build())
        .await?;
    starts(&env, "a", plain()).await?;
    let record = env.record("a").await?;
    ensure_eq(
        "the begin of a start without delay",
        record.begins_at_ms,
        None,
    )?;
    node.take("a").await.map(drop)
}

async fn a_commit_starts_an_ended_instance_anew_if_it_may(env: Env) -> CheckResult {
    let node = env.node().await?;
    for (sender, target, reuse) in [
        ("a", "refused", IdReuse::Refuse),
        ("b", "taken", IdReuse::UseRunning),
        ("c", "anew", IdReuse::RestartEnded),
    ] {
        node.begin(target, |turn| turn.completed("1")).await?;
        let start = with_events("s", &["m"]);
        node.begin(sender, |turn| turn.starting(target, start.clone(), reuse))
            .await?;
        let ready = node.take(target).await?;
        let anew = reuse == IdReuse::RestartEnded;
        let execution_id = ExecutionId::new(1 + u64::from(anew));
        ensure_eq("the execution", ready.execution_id, execution_id)?;
        let given: Vec<_> = ready.messages.iter().map(|it| it.message.clone()).collect();
        ensure_eq("the messages", given, vec![start])?;
        let status = env.record(target).await?.status.kind();
        let expected = match anew {
            true => StatusKind::Pending,
            false => StatusKind::Completed,
        };
        ensure_eq("the status", status, expected)?;
    }
    Ok(())
}

async fn an_instance_that_runs_gets_the_events_of_a_start_by_a_commit(env: Env) -> CheckResult {
    let node = env.node().await?;
    for (sender, target, reuse, expected) in [
        ("a", "refused", IdReuse::Refuse, vec!["s"]),
        ("b", "taken", IdReuse::UseRunning, vec!["m1", "m2"]),
        ("c", "also-taken", IdReuse::RestartEnded, vec!["m1", "m2"]),
    ] {
        node.begin(target, |turn| turn).await?;
        let start = with_events("s", &["m1", "m2"]);
        node.begin(sender, |turn| turn.starting(target, start, reuse))
            .await?;
        let ready = node.take(target).await?;
        ensure_eq("the messages", message_ids(&ready), expected)?;
    }
    let new = with_events("s", &["m"]);
    node.begin("d", |turn| {
        turn.starting("new", new.clone(), IdReuse::UseRunning)
    })
    .await?;
    let ready = node.take("new").await?;
    let given: Vec<_> = ready.messages.into_iter().map(|it| it.message).collect();
    ensure_eq("the messages of a new instance", given, vec![new])
}

/// The deadline of an instance that begins with its first execution.
fn deadline(deadline_ms: u64) -> OpenTimer {
    let first = SourceEvent::new(ExecutionId::FIRST, EventId::FIRST);
    OpenTimer::new(first, deadline_ms)
}

async fn a_deadline_fires_when_it_is_due(env: Env) -> CheckResult {
    let node = env.node().await?;
    let deadline_ms = env.soon_ms();
    starts(&env, "a", plain().deadline_ms(deadline_ms)).await?;
    let (_, timers) = env.open_in_pages("a", 10).await?;
    ensure_eq("the timers", timers, vec![deadline(deadline_ms)])?;
    let ready = node.take("a").await?;
    let turn = node.first_turn(&ready).consuming(&ready.messages);
    node.commit_done(turn.build()).await?;
    let fired = env.fire_timers(10).await?;
    if env.is_before(deadline_ms) {
        ensure_eq("timers before they are due", fired.fired, 0)?;
        ensure_eq("when the next is due", fired.next_due_ms, Some(deadline_ms))?;
    }
    env.time.pass_short().await;
    ensure_eq("fired timers", env.fire_timers(10).await?.fired, 1)?;
    ensure_eq("fired again", env.fire_timers(10).await?.fired, 0)?;
    let ready = node.take("a").await?;
    let bodies = ready.messages.into_iter().map(|given| given.message.body);
    let expected = vec![MessageBody::DeadlinePassed { deadline_ms }];
    ensure_eq("the messages", bodies.collect::<Vec<_>>(), expected)
}

async fn an_instance_whose_deadline_has_passed_needs_no_code(env: Env) -> CheckResult {
    let other = ServedCode::new().orchestration("bill", "1.0.0");
    let other = SessionOptions::new("conformance").code(other);
    let node = env.node_of(other).await?;
    starts(&env, "a", plain().deadline_ms(env.past_ms())).await?;
    node.finds_no_instance("the node lacks the code").await?;
    ensure_eq("fired timers", env.fire_timers(10).await?.fired, 1)?;
    node.take("a").await.map(drop)
}

async fn a_deadline_stays_through_continue_as_new(env: Env) -> CheckResult {
    let node = env.node().await?;
    let deadline_ms = env.soon_ms();
    starts(&env, "a", plain().deadline_ms(deadline_ms)).await?;
    let ready = node.take("a").await?;
    let turn = node.first_turn(&ready).consuming(&ready.messages);
    node.commit_done(turn.continued_as_new().build()).await?;
    let (_, timers) = env.open_in_pages("a", 10).await?;
    ensure_eq("the timers", timers, vec![deadline(deadline_ms)])?;
    env.time.pass_short().await;
    ensure_eq("fired timers", env.fire_timers(10).await?.fired, 1)?;
    node.take("a").await.map(drop)
}

async fn a_deadline_goes_with_the_end_of_its_instance(env: Env) -> CheckResult {
    let node = env.node().await?;
    starts(&env, "a", plain().deadline_ms(env.past_ms())).await?;
    let ready = node.take("a").await?;
    let turn = node.first_turn(&ready).consuming(&ready.messages);
    node.commit_done(turn.completed("1").build()).await?;
    starts(&env, "a", plain()).await?;
    ensure_eq("fired timers", env.fire_timers(10).await?.fired, 0)?;
    let (_, timers) = env.open_in_pages("a", 10).await?;
    ensure_eq("the timers of the restart", timers, Vec::new())
}

async fn a_deadline_passes_while_an_instance_is_suspended(env: Env) -> CheckResult {
    let node = env.node().await?;
    starts(&env, "a", plain().deadline_ms(env.past_ms())).await?;
    let ready = node.take("a").await?;
    let turn = node.first_turn(&ready).consuming(&ready.messages);
    node.commit_done(turn.build()).await?;
    env.suspend("a").await?;
    node.finds_no_instance("it is suspended").await?;
    ensure_eq("fired timers", env.fire_timers(10).await?.fired, 1)?;
    let record = env.record("a").await?;
    ensure_eq("the status", record.status.kind(), StatusKind::Running)?;
    let ready = node.take("a").await?;
    ensure_eq("the messages", message_ids(&ready), vec!["timer/1/1"])
}

async fn a_deadline_passes_while_a_start_is_delayed(env: Env) -> CheckResult {
    let node = env.node().await?;
    let start = plain().begins_at_ms(env.far_ms());
    starts(&env, "a", start.deadline_ms(env.past_ms())).await?;
    node.finds_no_instance("its time has not come").await?;
    ensure_eq("fired timers", env.fire_timers(10).await?.fired, 1)?;
    let ready = node.take("a").await?;
    let last = message_ids(&ready).last().copied();
    ensure_eq("the last message", last, Some("timer/1/1"))?;
    let turn = node.first_turn(&ready).consuming(&ready.messages);
    node.commit_done(TurnBuilder::completed(turn, "1").build())
        .await
        .map(drop)
}
