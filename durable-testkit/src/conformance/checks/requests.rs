//! Requests of clients: how they are admitted, and how their answers are kept.

use durable_core::filter::Filter;
use durable_core::provider::{
    IdReuse, InboxSeq, KEPT_ANSWERS, PurgeRequest, RequestAnswer, SendOutcome, WakeSeq, WakeTopic,
};
use durable_core::{Failure, FailureKind, InstanceId, MessageId, Payload};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckFailure, CheckResult, ensure, ensure_eq};
use super::super::samples::AWKWARD_NAMES;
use super::super::waiting::{begin_wait_of, is_told};
use crate::message::{event_message, request_message, start_message};
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Requests, an_answer_comes_with_its_commit),
    check!(Requests, the_first_answer_is_kept),
    check!(Requests, answers_are_kept_up_to_a_number),
    check!(Requests, answers_of_awkward_requests_are_kept_apart),
    check!(Requests, a_request_with_an_answer_is_not_queued_again),
    check!(Requests, a_suspended_instance_takes_no_request),
    check!(Requests, answers_outlive_the_end_and_a_start_anew),
    check!(Requests, answers_go_with_a_purge),
    check!(Requests, an_answer_ends_a_wait_for_it),
    check!(Requests, a_stop_ends_a_wait_for_an_answer),
    check!(Requests, another_handle_is_told_of_an_answer, needs OpenAgain),
    check!(Limits, an_answer_that_breaks_the_limits_is_refused),
];

type Answered = Result<Payload, Failure>;

fn rejected() -> Failure {
    Failure::new(FailureKind::Rejected, "the cart is full").with_details("{\"most\":3}")
}

async fn has_answer(env: &Env, id: &str, request: &str, expected: Option<Answered>) -> CheckResult {
    let request = MessageId::from(request);
    let answer = env.provider().answer(&id.into(), &request).await?;
    let expected = expected.map(|result| RequestAnswer::new(request.clone(), result));
    ensure_eq(format!("the answer to `{request}`"), answer, expected)
}

async fn request(env: &Env, id: &str, request: &str) -> CheckResult<SendOutcome> {
    Ok(env.send(id, request_message(request)).await?)
}

async fn inbox_len(env: &Env, id: &str) -> CheckResult<usize> {
    let id = InstanceId::from(id);
    let inbox = env.provider().inbox(&id, InboxSeq::default(), 100);
    Ok(inbox.await?.messages.len())
}

async fn an_answer_comes_with_its_commit(env: Env) -> CheckResult {
    let node = env.node().await?;
    has_answer(&env, "a", "r1", None).await?;
    let (turn, _) = node.begin("a", TurnBuilder::keeping_the_lease).await?;
    let outcome = request(&env, "a", "r1").await?;
    ensure_eq("the request", outcome, SendOutcome::Accepted)?;
    has_answer(&env, "a", "r1", None).await?;
    let next = TurnBuilder::after(&turn, env.now_ms())
        .answering("r1", Ok("{\"items\":3}".into()))
        .answering("r2", Err(rejected()));
    let mut stale = next.clone().build();
    stale.expected_last_event_id = stale.expected_last_event_id.next();
    stale.events.clear();
    let _ = env.provider().commit(stale.into()).await?;
    has_answer(&env, "a", "r1", None).await?;
    node.commit_done(next.build()).await?;
    has_answer(&env, "a", "r1", Some(Ok("{\"items\":3}".into()))).await?;
    has_answer(&env, "a", "r2", Some(Err(rejected()))).await?;
    has_answer(&env, "a", "r3", None).await?;
    has_answer(&env, "b", "r1", None).await
}

async fn the_first_answer_is_kept(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (turn, _) = node
        .begin("a", |turn| {
            let turn = turn.answering("r1", Ok("1".into()));
            turn.answering("r1", Ok("2".into())).keeping_the_lease()
        })
        .await?;
    has_answer(&env, "a", "r1", Some(Ok("1".into()))).await?;
    let next = TurnBuilder::after(&turn, env.now_ms()).answering("r1", Err(rejected()));
    node.commit_done(next.build()).await?;
    has_answer(&env, "a", "r1", Some(Ok("1".into()))).await
}

async fn answers_are_kept_up_to_a_number(env: Env) -> CheckResult {
    let node = env.node().await?;
    let answering = |turn: TurnBuilder, numbers: std::ops::Range<usize>| {
        numbers.fold(turn, |turn, number| {
            turn.answering(format!("r{number}"), Ok(number.to_string().into()))
        })
    };
    let (turn, _) = node
        .begin("a", |turn| {
            answering(turn, 0..KEPT_ANSWERS).keeping_the_lease()
        })
        .await?;
    has_answer(&env, "a", "r0", Some(Ok("0".into()))).await?;
    // One that is answered again is no newer for it.
    let more = KEPT_ANSWERS..KEPT_ANSWERS + 2;
    let next = TurnBuilder::after(&turn, env.now_ms()).answering("r0", Ok("again".into()));
    node.commit_done(answering(next, more).build()).await?;
    for forgotten in ["r0", "r1"] {
        has_answer(&env, "a", forgotten, None).await?;
    }
    for number in [2, 3, KEPT_ANSWERS, KEPT_ANSWERS + 1] {
        let kept = Some(Ok(number.to_string().into()));
        has_answer(&env, "a", &format!("r{number}"), kept).await?;
    }
    Ok(())
}

async fn answers_of_awkward_requests_are_kept_apart(env: Env) -> CheckResult {
    let node = env.node().await?;
    for instance in AWKWARD_NAMES.iter().take(8) {
        node.begin(instance, |turn| {
            let names = AWKWARD_NAMES.iter().zip(0..);
            names.fold(turn, |turn, (name, number)| {
                turn.answering(*name, Ok(number.to_string().into()))
            })
        })
        .await?;
        for (name, number) in AWKWARD_NAMES.iter().zip(0..) {
            let expected = Some(Ok(number.to_string().into()));
            has_answer(&env, instance, name, expected).await?;
        }
    }
    Ok(())
}

async fn a_request_with_an_answer_is_not_queued_again(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (turn, _) = node
        .begin("a", |turn| {
            turn.answering("r1", Ok("1".into())).keeping_the_lease()
        })
        .await?;
    for (id, queued) in [("r1", 0), ("r2", 1), ("r2", 1), ("r1", 1)] {
        let outcome = request(&env, "a", id).await?;
        ensure_eq("the request", outcome, SendOutcome::Accepted)?;
        ensure_eq("the inbox", inbox_len(&env, "a").await?, queued)?;
    }
    let ready = node.take("a").await?;
    let last = TurnBuilder::after(&turn, env.now_ms()).consuming(&ready.messages);
    node.commit_done(last.completed("1").build()).await?;
    let outcomes = [
        ("r1", SendOutcome::Accepted),
        ("r2", SendOutcome::InstanceEnded),
    ];
    for (id, expected) in outcomes {
        let outcome = request(&env, "a", id).await?;
        ensure_eq("the request of an ended instance", outcome, expected)?;
        ensure_eq("the inbox", inbox_len(&env, "a").await?, 0)?;
    }
    let outcome = request(&env, "unknown", "r1").await?;
    let expected = SendOutcome::UnknownInstance;
    ensure_eq("the request of no instance", outcome, expected)
}

async fn a_suspended_instance_takes_no_request(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn.answering("r1", Ok("1".into())))
        .await?;
    let outcome = request(&env, "a", "r2").await?;
    ensure_eq("the request", outcome, SendOutcome::Accepted)?;
    env.suspend("a").await?;
    let outcomes = [
        ("r1", SendOutcome::Accepted),
        ("r2", SendOutcome::InstanceSuspended),
        ("r3", SendOutcome::InstanceSuspended),
    ];
    for (id, expected) in outcomes {
        let outcome = request(&env, "a", id).await?;
        ensure_eq("the request of a suspended instance", outcome, expected)?;
    }
    ensure_eq("the inbox", inbox_len(&env, "a").await?, 1)?;
    // Other messages come in.
    let outcome = env.send("a", event_message("m1")).await?;
    ensure_eq("an event", outcome, SendOutcome::Accepted)?;
    ensure_eq("the inbox", inbox_len(&env, "a").await?, 2)?;
    env.resume("a").await?;
    let outcome = request(&env, "a", "r3").await?;
    ensure_eq("the request", outcome, SendOutcome::Accepted)
}

async fn answers_outlive_the_end_and_a_start_anew(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| {
        turn.answering("r1", Ok("1".into())).completed("1")
    })
    .await?;
    has_answer(&env, "a", "r1", Some(Ok("1".into()))).await?;
    let again = env.start_with("a", start_message("s2"), IdReuse::RestartEnded);
    let _ = again.await?;
    let ready = node.take("a").await?;
    let turn = node.first_turn(&ready).continued_as_new();
    node.commit_done(turn.build()).await?;
    has_answer(&env, "a", "r1", Some(Ok("1".into()))).await
}

async fn answers_go_with_a_purge(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| {
        turn.answering("r1", Ok("1".into())).completed("1")
    })
    .await?;
    let purge = PurgeRequest::new(Filter::all(), 10);
    let report = env.provider().purge(&purge).await?;
    ensure_eq("purged instances", report.instances, 1)?;
    has_answer(&env, "a", "r1", None).await?;
    let (_, _) = node.begin("a", TurnBuilder::keeping_the_lease).await?;
    has_answer(&env, "a", "r1", None).await?;
    let outcome = request(&env, "a", "r1").await?;
    ensure_eq("the request", outcome, SendOutcome::Accepted)?;
    ensure_eq("the inbox", inbox_len(&env, "a").await?, 1)
}

async fn an_answer_ends_a_wait_for_it(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (turn, _) = node.begin("a", TurnBuilder::keeping_the_lease).await?;
    let topic = WakeTopic::Answer("a".into(), "r1".into());
    let waiting = begin_wait_of(env.provider(), None, topic.clone(), WakeSeq::default()).await;
    let next = TurnBuilder::after(&turn, env.now_ms()).answering("r1", Ok("1".into()));
    node.commit_done(next.build()).await?;
    is_told(&env, "a client that waits for an answer", waiting).await?;
    let late = env.provider().wait(None, &topic, WakeSeq::default());
    let what = "a client that waits for an answer that has come";
    env.within_timeout(what, late).await??;
    Ok(())
}

async fn a_stop_ends_a_wait_for_an_answer(env: Env) -> CheckResult {
    let node = env.node().await?;
    for how in ["suspended", "completed"] {
        let id = InstanceId::from(how);
        let (turn, _) = node.begin(how, TurnBuilder::keeping_the_lease).await?;
        let topic = WakeTopic::Answer(id.clone(), "r1".into());
        let waiting = begin_wait_of(env.provider(), None, topic, WakeSeq::default()).await;
        match how {
            "suspended" => env.suspend(how).await?,
            _ => {
                let last = TurnBuilder::after(&turn, env.now_ms()).completed("1");
                node.commit_done(last.build()).await?;
            }
        }
        let what = format!("a client that waits for an answer of an instance that is {how}");
        is_told(&env, &what, waiting).await?;
    }
    Ok(())
}

async fn another_handle_is_told_of_an_answer(env: Env) -> CheckResult {
    let here = env.node().await?;
    let there = env.second_handle().await;
    let (turn, _) = here.begin("a", TurnBuilder::keeping_the_lease).await?;
    let next = TurnBuilder::after(&turn, env.now_ms()).answering("r1", Ok("1".into()));
    let watching = tokio::spawn(async move {
        let (id, request) = (InstanceId::from("a"), MessageId::from("r1"));
        let topic = WakeTopic::Answer(id.clone(), request.clone());
        let mut seen = WakeSeq::default();
        loop {
            if there.answer(&id, &request).await?.is_some() {
                return CheckResult::Ok(());
            }
            seen = there.wait(None, &topic, seen).await?;
        }
    });
    here.commit_done(next.build()).await?;
    let what = "a client on another handle, of an answer";
    let watched = env.within_timeout(what, watching).await?;
    watched.map_err(|error| CheckFailure::new(what, "an answer", error.to_string()))?
}

async fn an_answer_that_breaks_the_limits_is_refused(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let large = "x".repeat(durable_core::Limits::default().max_payload_bytes + 1);
    let bad: [(&str, Answered); 3] = [
        ("", Ok("1".into())),
        ("r1", Ok(large.clone().into())),
        ("r1", Err(Failure::new(FailureKind::Rejected, large))),
    ];
    for (id, result) in bad {
        let turn = node.first_turn(&ready).answering(id, result).build();
        let committed = env.provider().commit(turn.into()).await;
        ensure(committed.is_err(), "a turn", "an error", "a commit")?;
    }
    has_answer(&env, "a", "r1", None).await
}
