//! Promise 11: a session is given only what its node has the code for.

use durable_core::provider::{
    IdReuse, Message, MessageBody, ProviderError, SendOutcome, ServedCode, SessionOptions,
    SessionRecord, StartInstance, StartOutcome, WakeTopic, WorkBatch,
};
use durable_core::{Failure, FailureKind, Name, Version};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure, ensure_eq};
use super::super::node::{TestNode, instance_ids};
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(
        Code,
        an_instance_goes_to_a_session_that_has_its_orchestration
    ),
    check!(Code, an_instance_goes_to_a_session_that_has_its_version),
    check!(Code, a_running_instance_keeps_to_its_version),
    check!(Code, instances_of_other_code_do_not_hide_what_is_ready),
    check!(Code, what_became_ready_first_comes_first_across_codes),
    check!(Code, an_ended_instance_needs_no_code),
    check!(Code, an_instance_that_is_to_be_terminated_needs_no_code),
    check!(
        Code,
        a_terminated_instance_that_is_started_anew_needs_its_code
    ),
    check!(Code, a_delay_of_other_code_is_not_told_as_due),
    check!(Code, work_goes_to_a_session_that_has_its_activity),
    check!(Code, a_commit_claims_only_what_its_session_has),
    check!(Code, work_of_other_activities_does_not_hide_what_is_ready),
    check!(
        Code,
        work_that_became_ready_first_comes_first_across_activities
    ),
    check!(Code, a_session_is_woken_by_what_it_has_the_code_for),
    check!(Code, the_sessions_that_live_are_listed_with_their_code),
    check!(Code, a_session_with_a_name_that_is_too_long_is_refused),
];

/// A node with this code.
async fn node_with(env: &Env, code: ServedCode) -> CheckResult<TestNode<'_>> {
    env.node_of(SessionOptions::new("conformance").code(code))
        .await
}

/// The code of `fulfil` in this version, which the turns of checks run.
fn fulfil(version: &str) -> ServedCode {
    ServedCode::new().orchestration("fulfil", version)
}

async fn start(env: &Env, id: &str, name: &str, version: Option<&str>) -> CheckResult {
    let mut start = StartInstance::new(name.into(), "{}".into());
    start.version = version.map(Version::from);
    let id_of_start = format!("start-{}", env.fresh_number());
    let message = Message::new(id_of_start.into(), MessageBody::Start(start));
    let outcome = env.start_with(id, message, IdReuse::RestartEnded).await?;
    let is_started = matches!(outcome, StartOutcome::Started { .. });
    ensure(is_started, "a start", "it is started", outcome)
}

async fn terminate(env: &Env, id: &str) -> CheckResult {
    let failure = Failure::new(FailureKind::Terminated, "enough");
    let message = Message::new("end".into(), MessageBody::Terminate { failure });
    let outcome = env.send(id, message).await?;
    ensure_eq("a termination", outcome, SendOutcome::Accepted)
}

fn activity_names(batch: &WorkBatch) -> Vec<Name> {
    let work = batch.work.iter();
    work.map(|claimed| claimed.item.name.clone()).collect()
}

async fn an_instance_goes_to_a_session_that_has_its_orchestration(env: Env) -> CheckResult {
    let old = node_with(&env, ServedCode::new().orchestration("bill", "1.0.0")).await?;
    let empty = node_with(&env, ServedCode::new()).await?;
    start(&env, "a", "fulfil", None).await?;
    for node in [&old, &empty] {
        node.finds_no_instance("its node lacks `fulfil`").await?;
    }
    node_with(&env, fulfil("7.0.0")).await?.take("a").await?;
    Ok(())
}

async fn an_instance_goes_to_a_session_that_has_its_version(env: Env) -> CheckResult {
    let old = node_with(&env, fulfil("1.0.0")).await?;
    start(&env, "a", "fulfil", Some("2.0.0")).await?;
    old.finds_no_instance("its node lacks version 2.0.0")
        .await?;
    let both = fulfil("1.0.0").orchestration("fulfil", "2.0.0");
    node_with(&env, both).await?.take("a").await?;
    Ok(())
}

async fn a_running_instance_keeps_to_its_version(env: Env) -> CheckResult {
    let (one, two) = (
        node_with(&env, fulfil("1.0.0")).await?,
        node_with(&env, fulfil("2.0.0")).await?,
    );
    one.begin("a", |turn| turn).await?;
    env.raise("a", "m1").await?;
    two.finds_no_instance("`a` runs version 1.0.0").await?;
    let ready = one.take("a").await?;
    let mut turn = one
        .turn(&ready)
        .consuming(&ready.messages)
        .continued_as_new()
        .build();
    turn.update.running = Some(("fulfil".into(), "2.0.0".into()));
    one.commit_done(turn).await?;
    env.raise("a", "m2").await?;
    one.finds_no_instance("`a` went on in version 2.0.0")
        .await?;
    two.take("a").await?;
    Ok(())
}

async fn instances_of_other_code_do_not_hide_what_is_ready(env: Env) -> CheckResult {
    for number in 0..40 {
        start(&env, &format!("other-{number}"), "bill", None).await?;
    }
    env.time.tick().await;
    start(&env, "a", "fulfil", None).await?;
    let node = node_with(&env, fulfil("1.0.0")).await?;
    let batch = node.fetch_batch(1).await?;
    ensure_eq(
        "what is ready",
        instance_ids(&batch.instances),
        vec!["a".into()],
    )
}

async fn what_became_ready_first_comes_first_across_codes(env: Env) -> CheckResult {
    let names = [
        ("c", "fulfil"),
        ("a", "bill"),
        ("d", "fulfil"),
        ("b", "bill"),
    ];
    for (id, name) in names {
        start(&env, id, name, None).await?;
        env.time.tick().await;
    }
    let node = node_with(&env, fulfil("1.0.0").orchestration("bill", "1.0.0")).await?;
    let mut order = Vec::new();
    for max in [1, 2, 5] {
        order.extend(instance_ids(&node.fetch_batch(max).await?.instances));
    }
    let expected = ["c", "a", "d", "b"].map(Into::into);
    ensure_eq("the order", order, expected.to_vec())
}

async fn an_ended_instance_needs_no_code(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    env.raise("a", "late").await?;
    let turn = node.first_turn(&ready).completed("1").build();
    node.commit_done(turn).await?;
    let empty = node_with(&env, ServedCode::new()).await?;
    empty.take("a").await?;
    Ok(())
}

async fn an_instance_that_is_to_be_terminated_needs_no_code(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    start(&env, "b", "fulfil", None).await?;
    start(&env, "c", "fulfil", None).await?;
    let empty = node_with(&env, ServedCode::new()).await?;
    for id in ["a", "b"] {
        terminate(&env, id).await?;
    }
    empty.take_all(&["a", "b"]).await?;
    // Also while another session holds it, and when that session gives it back.
    let held = node.take("c").await?;
    terminate(&env, "c").await?;
    node.release(&held, None).await?;
    empty.take("c").await?;
    Ok(())
}

async fn a_terminated_instance_that_is_started_anew_needs_its_code(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    terminate(&env, "a").await?;
    let ready = node.take("a").await?;
    let turn = node.turn(&ready).consuming(&ready.messages);
    node.commit_done(turn.completed("1").build()).await?;
    start(&env, "a", "fulfil", Some("1.0.0")).await?;
    let empty = node_with(&env, ServedCode::new()).await?;
    empty.finds_no_instance("`a` was started anew").await?;
    node_with(&env, fulfil("1.0.0")).await?.take("a").await?;
    Ok(())
}

async fn a_delay_of_other_code_is_not_told_as_due(env: Env) -> CheckResult {
    let node = env.node().await?;
    start(&env, "a", "fulfil", None).await?;
    let ready = node.take("a").await?;
    let due_ms = env.far_ms();
    node.release(&ready, Some(due_ms)).await?;
    let has = node_with(&env, fulfil("1.0.0")).await?;
    let lacks = node_with(&env, ServedCode::new()).await?;
    let told = (
        has.fetch_batch(1).await?.next_due_ms,
        lacks.fetch_batch(1).await?.next_due_ms,
    );
    ensure_eq("when something is due", told, (Some(due_ms), None))
}

async fn work_goes_to_a_session_that_has_its_activity(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn.activity("charge")).await?;
    let other = node_with(&env, ServedCode::new().activity("ship")).await?;
    other.finds_no_work("its node lacks `charge`").await?;
    let right = node_with(&env, ServedCode::new().activity("charge")).await?;
    let claimed = right.take_work().await?;
    ensure_eq("the activity", claimed.item.name.as_str(), "charge")
}

async fn a_commit_claims_only_what_its_session_has(env: Env) -> CheckResult {
    let node = node_with(&env, fulfil("1.0.0").activity("charge")).await?;
    let begun = node.begin("a", |turn: TurnBuilder| {
        let turn = turn.activity("ship").activity("charge").activity("ship");
        turn.claiming(10).keeping_the_lease()
    });
    let (_, committed) = begun.await?;
    let claimed: Vec<&str> = committed
        .claimed
        .iter()
        .map(|claimed| claimed.item.name.as_str())
        .collect();
    ensure_eq("what the commit claims", claimed, vec!["charge"])?;
    node.finds_no_work("its node lacks `ship`").await?;
    let other = node_with(&env, ServedCode::new().activity("ship")).await?;
    let batch = other.fetch_work_from(&[None], 10).await?;
    let names = activity_names(&batch);
    ensure_eq("the rest", names, vec!["ship".into(), "ship".into()])
}

async fn work_of_other_activities_does_not_hide_what_is_ready(env: Env) -> CheckResult {
    let node = env.node().await?;
    let many = |turn: TurnBuilder| (0..40).fold(turn, |turn, _| turn.activity("ship"));
    node.begin("a", many).await?;
    env.time.tick().await;
    node.begin("b", |turn| turn.activity("charge")).await?;
    let right = node_with(&env, ServedCode::new().activity("charge")).await?;
    let batch = right.fetch_work_from(&[None], 1).await?;
    ensure_eq(
        "what is ready",
        activity_names(&batch),
        vec!["charge".into()],
    )
}

async fn work_that_became_ready_first_comes_first_across_activities(env: Env) -> CheckResult {
    let node = env.node().await?;
    for (id, name) in [("c", "ship"), ("a", "charge"), ("b", "ship")] {
        node.begin(id, |turn| turn.activity(name)).await?;
        env.time.tick().await;
    }
    let code = ServedCode::new().activity("charge").activity("ship");
    let both = node_with(&env, code).await?;
    let mut order = Vec::new();
    for max in [1, 1, 5] {
        order.extend(activity_names(&both.fetch_work_from(&[None], max).await?));
    }
    let expected = ["ship", "charge", "ship"].map(Name::from);
    ensure_eq("the order", order, expected.to_vec())
}

async fn a_session_is_woken_by_what_it_has_the_code_for(env: Env) -> CheckResult {
    let code = fulfil("1.0.0").activity("charge");
    let (node, helper) = (node_with(&env, code).await?, env.node().await?);
    let instances = node.fetch_batch(1).await?.seen;
    let work = node.fetch_work_from(&[None], 1).await?.seen;
    helper.begin("a", |turn| turn.activity("charge")).await?;
    let topic = WakeTopic::Work(vec![None]);
    let wait = node.provider.wait(Some(node.session), &topic, work);
    env.within_timeout("work of its activity", wait).await??;
    env.raise("a", "m1").await?;
    let topic = WakeTopic::Instances;
    let wait = node.provider.wait(Some(node.session), &topic, instances);
    env.within_timeout("an instance of its version", wait)
        .await??;
    node.take("a").await?;
    let seen = node.fetch_batch(1).await?.seen;
    start(&env, "b", "bill", None).await?;
    terminate(&env, "b").await?;
    let wait = node.provider.wait(Some(node.session), &topic, seen);
    env.within_timeout("an instance that needs no code", wait)
        .await??;
    node.take("b").await?;
    Ok(())
}

async fn the_sessions_that_live_are_listed_with_their_code(env: Env) -> CheckResult {
    let code = fulfil("1.0.0").activity("charge");
    let options = SessionOptions::new("worker-1")
        .code(code)
        .queues(vec![None, Some("gpu".into())]);
    let closed = env.node_of(options.clone()).await?;
    let worker = env.node_of(options).await?;
    let mortal = env.mortal_node().await?;
    closed.close().await?;
    let listed = env.provider().sessions().await?;
    let ids: Vec<_> = listed.iter().map(|record| record.session).collect();
    let mut expected = vec![worker.session, mortal.session];
    expected.sort();
    ensure_eq("the sessions that live", ids, expected)?;
    let of_worker = |record: &&SessionRecord| record.session == worker.session;
    let found = listed.iter().find(of_worker);
    let options = found.map(|record| record.options.clone());
    ensure_eq("what its node said", options, Some(worker.options.clone()))?;
    let is_later = |record: &SessionRecord| record.ends_at_ms > env.now_ms();
    ensure(listed.iter().all(is_later), "their ends", "later", &listed)?;
    env.time.pass_short().await;
    let listed = env.provider().sessions().await?;
    let ids: Vec<_> = listed.iter().map(|record| record.session).collect();
    ensure_eq("those that still live", ids, vec![worker.session])
}

async fn a_session_with_a_name_that_is_too_long_is_refused(env: Env) -> CheckResult {
    let long = "x".repeat(100_000);
    for code in [
        ServedCode::new().activity(long.clone()),
        ServedCode::new().orchestration(long, "1.0.0"),
        ServedCode::new().activity(""),
    ] {
        let options = SessionOptions::new("conformance").code(code);
        let answer = env.provider().open_session(options).await;
        let is_refused = matches!(answer, Err(ProviderError::Refused(_)));
        ensure(is_refused, "such a session", "it is refused", &answer)?;
    }
    let listed = env.provider().sessions().await?;
    ensure(listed.is_empty(), "the sessions", "none", &listed)
}
