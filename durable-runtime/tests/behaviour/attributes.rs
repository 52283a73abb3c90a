//! Attributes: set at the start and by code, kept, cleared, and refused.

use std::time::{Duration, SystemTime};

use durable_core::provider::IdReuse;
use durable_core::{AttributeValue, Attributes};
use durable_runtime::{
    Attribute, ClientError, Failure, FailureKind, Orchestration, OrchestrationContext, Registry,
};

use crate::world::{World, settle, stop};

const ORDER: Orchestration<u32, Option<String>> = Orchestration::new("order");
const CUSTOMER: Attribute<String> = Attribute::new("customer");
const AMOUNT: Attribute<i64> = Attribute::new("amount");
const DUE: Attribute<SystemTime> = Attribute::new("due");
const PAID: Attribute<bool> = Attribute::new("paid");

fn due() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(1_763_000_000_123)
}

/// Counts its executions in an attribute, and ends with its customer.
async fn order(ctx: OrchestrationContext, round: u32) -> Result<Option<String>, Failure> {
    ctx.set_attribute(AMOUNT, i64::from(round))?;
    assert_eq!(ctx.attribute(AMOUNT)?, Some(i64::from(round)));
    match round {
        0 => {
            assert_eq!(ctx.attribute(DUE)?, None);
            ctx.set_attribute(DUE, due())?;
            ctx.set_attribute(PAID, false)?;
            ctx.sleep(Duration::from_secs(1)).await?;
            ctx.continue_as_new(&1).await
        }
        1 => {
            assert_eq!(ctx.attribute(DUE)?, Some(due()));
            assert_eq!(ctx.attribute(PAID)?, Some(false));
            ctx.clear_attribute(PAID)?;
            ctx.sleep(Duration::from_secs(1)).await?;
            ctx.continue_as_new(&2).await
        }
        _ => {
            assert_eq!(ctx.attribute(PAID)?, None);
            ctx.attribute(CUSTOMER)
        }
    }
}

fn registry() -> Registry {
    Registry::builder()
        .orchestration(ORDER, order)
        .build()
        .unwrap()
}

fn attributes<const N: usize>(expected: [(&str, AttributeValue); N]) -> Attributes {
    let expected = expected.into_iter();
    expected.map(|(name, value)| (name.into(), value)).collect()
}

#[tokio::test(start_paused = true)]
async fn attributes_are_set_read_cleared_and_go_along_with_continue_as_new() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let instance = node
        .client()
        .start(ORDER, "o", &0)
        .attribute(CUSTOMER, "c-17")
        .await
        .unwrap();
    settle().await;
    let first = attributes([
        ("customer", "c-17".into()),
        ("amount", 0.into()),
        ("due", AttributeValue::Time(1_763_000_000_123)),
        ("paid", false.into()),
    ]);
    assert_eq!(instance.record().await.unwrap().attributes, first);
    assert_eq!(instance.attribute(DUE).await.unwrap(), Some(due()));
    assert_eq!(instance.wait().await.unwrap().as_deref(), Some("c-17"));
    let last = attributes([
        ("customer", "c-17".into()),
        ("amount", 2.into()),
        ("due", AttributeValue::Time(1_763_000_000_123)),
    ]);
    assert_eq!(instance.record().await.unwrap().attributes, last);
    assert_eq!(instance.attribute(PAID).await.unwrap(), None);
    stop(node).await;
    assert_eq!(
        world.kinds("o", 2).await,
        [
            "OrchestrationStarted",
            "AttributeSet",
            "AttributeCleared",
            "TimerCreated",
            "TimerFired",
            "OrchestrationContinuedAsNew",
        ]
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_is_started_anew_has_the_attributes_of_that_start() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    let start = client.start(ORDER, "o", &9).attribute(CUSTOMER, "first");
    assert_eq!(start.await.unwrap().wait().await.unwrap().unwrap(), "first");
    let again = client.start(ORDER, "o", &9).reuse(IdReuse::RestartEnded);
    let again = again.await.unwrap();
    assert_eq!(again.wait().await.unwrap(), None);
    let record = again.record().await.unwrap();
    assert_eq!(record.attributes, attributes([("amount", 9.into())]));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_value_of_another_type_is_an_error_to_those_who_read_it() {
    const AMOUNT_AS_TEXT: Attribute<String> = Attribute::new("amount");
    let world = World::new();
    let instance = world
        .client()
        .start(ORDER, "o", &0)
        .attribute(AMOUNT, 7)
        .await
        .unwrap();
    let Err(ClientError::InvalidPayload(failure)) = instance.attribute(AMOUNT_AS_TEXT).await else {
        panic!("it was read");
    };
    assert_eq!(
        failure.message,
        "the attribute `amount` is of type integer and was read as another"
    );
}

#[tokio::test(start_paused = true)]
async fn what_breaks_the_limits_is_refused_before_anything_is_stored() {
    const MANY: Orchestration<(), String> = Orchestration::new("many");
    const NAMES: [&str; 17] = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q",
    ];
    let world = World::new();
    let long = "x".repeat(Attributes::MAX_TEXT_BYTES + 1);
    let refused = world
        .client()
        .start(ORDER, "o", &0)
        .attribute(CUSTOMER, &long)
        .await;
    let Err(ClientError::Refused(failure)) = refused else {
        panic!("it was started");
    };
    assert_eq!(failure.kind, FailureKind::LimitExceeded);
    assert_eq!(
        failure.message,
        "attribute `customer`: the text of the attribute has 257 bytes; at most 256 are allowed"
    );
    let registry = Registry::builder()
        .orchestration(MANY, |ctx: OrchestrationContext, ()| async move {
            for name in NAMES {
                if let Err(failure) = ctx.set_attribute(Attribute::<i64>::new(name), 1) {
                    return Ok::<_, Failure>(failure.message);
                }
            }
            Ok("all of them".into())
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let many = node.client().start(MANY, "m", &()).await.unwrap();
    assert_eq!(
        many.wait().await.unwrap(),
        "attribute `q`: an instance has at most 16 attributes"
    );
    assert_eq!(many.record().await.unwrap().attributes.len(), 16);
    stop(node).await;
    world.assert_done();
}
