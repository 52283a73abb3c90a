//! Attributes of instances.

use durable_core::provider::{IdReuse, Message, MessageBody, StartInstance, StatusKind};
use durable_core::{AttributeValue, Attributes};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure, ensure_eq};
use super::super::samples;
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Lifecycle, attributes_come_with_a_start),
    check!(Lifecycle, attributes_come_with_the_start_of_a_child),
    check!(Lifecycle, an_attribute_keeps_its_type),
    check!(
        Lifecycle,
        attributes_are_those_of_the_latest_turn_that_changed_them
    ),
    check!(Lifecycle, attributes_stay_when_an_instance_ends),
    check!(Lifecycle, a_start_anew_has_attributes_of_its_own),
    check!(Limits, attributes_that_break_the_limits_are_refused),
];

fn start_with(message_id: &str, attributes: Attributes) -> Message {
    let start = StartInstance::new("fulfil".into(), "{}".into()).attributes(attributes);
    Message::new(message_id.into(), MessageBody::Start(start))
}

fn named(name: &str, value: impl Into<AttributeValue>) -> Attributes {
    let mut attributes = Attributes::new();
    attributes.set(name, value);
    attributes
}

async fn attributes_come_with_a_start(env: Env) -> CheckResult {
    let message = start_with("s", samples::attributes());
    let _ = env.start_with("a", message, IdReuse::Refuse).await?;
    let record = env.record("a").await?;
    ensure_eq("the attributes", record.attributes, samples::attributes())?;
    env.start("b").await?;
    let record = env.record("b").await?;
    ensure_eq("of another", record.attributes, Attributes::new())
}

async fn attributes_come_with_the_start_of_a_child(env: Env) -> CheckResult {
    let node = env.node().await?;
    let message = start_with("child", samples::attributes());
    node.begin("a", |turn| turn.message("child", message))
        .await?;
    node.take("child").await?;
    let record = env.record("child").await?;
    ensure_eq("the attributes", record.attributes, samples::attributes())
}

async fn an_attribute_keeps_its_type(env: Env) -> CheckResult {
    let node = env.node().await?;
    let values = [
        AttributeValue::Text("1".into()),
        AttributeValue::Integer(1),
        AttributeValue::Time(1),
        AttributeValue::Bool(true),
        AttributeValue::Bool(false),
        AttributeValue::Integer(i64::MAX),
        AttributeValue::Time(i64::MIN),
        AttributeValue::Text("\u{0}\u{1}ü".into()),
    ];
    let (mut turn, _) = node.begin("a", TurnBuilder::keeping_the_lease).await?;
    for value in values {
        let next = TurnBuilder::after(&turn, env.now_ms())
            .attributes(named("x", value.clone()))
            .keeping_the_lease()
            .build();
        node.commit_done(next.clone()).await?;
        turn = next;
        let record = env.record("a").await?;
        ensure_eq("the attributes", record.attributes, named("x", value))?;
    }
    Ok(())
}

async fn attributes_are_those_of_the_latest_turn_that_changed_them(env: Env) -> CheckResult {
    let node = env.node().await?;
    let message = start_with("s", named("first", true));
    let _ = env.start_with("a", message, IdReuse::Refuse).await?;
    let ready = node.take("a").await?;
    let mut turn = node.first_turn(&ready).keeping_the_lease().build();
    node.commit_done(turn.clone()).await?;
    let mut more = named("first", true);
    more.set("second", 2_i64);
    let steps = [
        (None, named("first", true)),
        (Some(more.clone()), more),
        (Some(named("second", 2_i64)), named("second", 2_i64)),
        (None, named("second", 2_i64)),
        (Some(Attributes::new()), Attributes::new()),
        (None, Attributes::new()),
        (Some(named("first", "text")), named("first", "text")),
    ];
    for (change, expected) in steps {
        let next = TurnBuilder::after(&turn, env.now_ms()).keeping_the_lease();
        let next = match change {
            Some(attributes) => next.attributes(attributes),
            None => next.custom_status("1"),
        };
        turn = next.build();
        node.commit_done(turn.clone()).await?;
        let record = env.record("a").await?;
        ensure_eq("the attributes", record.attributes, expected)?;
    }
    let next = TurnBuilder::after(&turn, env.now_ms()).continued_as_new();
    node.commit_done(next.build()).await?;
    let record = env.record("a").await?;
    let what = "the attributes in the next execution";
    ensure_eq(what, record.attributes, named("first", "text"))
}

async fn attributes_stay_when_an_instance_ends(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| {
        turn.attributes(samples::attributes()).completed("1")
    })
    .await?;
    let record = env.record("a").await?;
    ensure_eq("the status", record.status.kind(), StatusKind::Completed)?;
    ensure_eq("the attributes", record.attributes, samples::attributes())
}

async fn a_start_anew_has_attributes_of_its_own(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| {
        turn.attributes(samples::attributes()).completed("1")
    })
    .await?;
    for (id, attributes) in [("s2", named("again", 1_i64)), ("s3", Attributes::new())] {
        let again = env.start_with(
            "a",
            start_with(id, attributes.clone()),
            IdReuse::RestartEnded,
        );
        let _ = again.await?;
        let record = env.record("a").await?;
        ensure_eq("the attributes", record.attributes, attributes)?;
        let ready = node.take("a").await?;
        let turn = node.first_turn(&ready).completed("1");
        node.commit_done(turn.build()).await?;
    }
    Ok(())
}

async fn attributes_that_break_the_limits_are_refused(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let many = (0..=Attributes::MAX)
        .map(|number| (format!("a{number}").into(), AttributeValue::Bool(true)))
        .collect();
    let long = "x".repeat(Attributes::MAX_TEXT_BYTES + 1);
    for bad in [many, named("status", "x"), named("x", long)] {
        let message = start_with("s", bad.clone());
        let started = env
            .provider()
            .start(&"b".into(), message, IdReuse::Refuse)
            .await;
        ensure(started.is_err(), "a start", "an error", "a start")?;
        let turn = node.first_turn(&ready).attributes(bad).build();
        let committed = env.provider().commit(turn.into()).await;
        ensure(committed.is_err(), "a turn", "an error", "a commit")?;
    }
    let record = env.provider().instance(&"b".into()).await?;
    ensure_eq("the instance", record, None)?;
    let record = env.record("a").await?;
    ensure_eq("the attributes", record.attributes, Attributes::new())
}
