//! Registering code: typed handles, strings, shared state, merged registries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use durable_runtime::{
    Activity, ActivityContext, DEFAULT_VERSION, Failure, Orchestration, OrchestrationContext,
    Registry, RegistryBuilder, RegistryError,
};

use crate::world::{World, stop};

const ADD: Activity<(u32, u32), u32> = Activity::new("add");
const SUM: Orchestration<Vec<u32>, u32> = Orchestration::new("sum");

async fn sum(ctx: OrchestrationContext, numbers: Vec<u32>) -> Result<u32, Failure> {
    let mut sum = 0;
    for number in numbers {
        sum = ctx.activity(ADD, &(sum, number)).await?;
    }
    Ok(sum)
}

async fn add(_: ActivityContext, (a, b): (u32, u32)) -> Result<u32, Failure> {
    Ok(a + b)
}

async fn identity(_: OrchestrationContext, n: u32) -> Result<u32, Failure> {
    Ok(n)
}

fn error(builder: RegistryBuilder) -> RegistryError {
    builder.build().unwrap_err()
}

#[test]
fn a_name_is_registered_once() {
    let twice = Registry::builder().activity(ADD, add).activity("add", add);
    assert_eq!(
        error(twice),
        RegistryError::DuplicateActivity { name: "add".into() }
    );
    let twice = Registry::builder()
        .orchestration("sum", sum)
        .orchestration(SUM.at(DEFAULT_VERSION), sum);
    let expected = RegistryError::DuplicateOrchestration {
        name: "sum".into(),
        version: DEFAULT_VERSION.into(),
    };
    assert_eq!(error(twice), expected);
    let both = Registry::builder()
        .orchestration(SUM.at("1.0.0"), sum)
        .orchestration(SUM.at("1.0.1"), sum);
    assert_eq!(
        both.build().unwrap().newest_version("sum").unwrap(),
        "1.0.1"
    );
}

#[test]
fn bad_names_and_versions_are_refused() {
    let unnamed = Registry::builder().activity("", add);
    assert!(matches!(error(unnamed), RegistryError::InvalidName(_)));
    let long = "x".repeat(5_000);
    let named = Registry::builder().orchestration::<u32, u32, _, _, _>(&*long, identity);
    assert!(matches!(error(named), RegistryError::InvalidName(_)));
    let versioned = Registry::builder().orchestration(SUM.at("one"), sum);
    assert!(matches!(
        error(versioned),
        RegistryError::InvalidVersion { .. }
    ));
}

#[test]
fn the_first_mistake_is_the_one_that_is_reported() {
    let builder = Registry::builder()
        .orchestration(SUM.at("one"), sum)
        .activity(ADD, add)
        .activity(ADD, add);
    assert!(matches!(
        error(builder),
        RegistryError::InvalidVersion { .. }
    ));
}

#[test]
fn registries_merge_and_what_both_have_is_an_error() {
    let adding = Registry::builder().activity(ADD, add).build().unwrap();
    let summing = Registry::builder().orchestration(SUM, sum).build().unwrap();
    let merged = Registry::builder()
        .merge(adding.clone())
        .merge(summing.clone());
    let merged = merged.build().unwrap();
    assert_eq!(merged.activity_names().count(), 1);
    assert_eq!(merged.orchestration_names().count(), 1);
    let twice = Registry::builder().merge(adding.clone()).merge(adding);
    assert!(matches!(
        error(twice),
        RegistryError::DuplicateActivity { .. }
    ));
    let twice = Registry::builder().merge(summing.clone()).merge(summing);
    assert!(matches!(
        error(twice),
        RegistryError::DuplicateOrchestration { .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn closures_share_state_and_handles_meet_strings() {
    let world = World::new();
    let calls = Arc::new(AtomicU32::new(0));
    let count = calls.clone();
    let adding = Registry::builder()
        .activity(ADD, move |ctx: ActivityContext, input| {
            count.fetch_add(1, Ordering::Relaxed);
            add(ctx, input)
        })
        .build()
        .unwrap();
    let registry = Registry::builder()
        .merge(adding)
        .orchestration(SUM, sum)
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let client = node.client();
    let typed = client.start(SUM, "typed", &vec![1, 2, 3]).await.unwrap();
    assert_eq!(typed.wait().await.unwrap(), 6);
    let named = client
        .start::<Vec<u32>, u32>("sum", "named", &vec![4, 5])
        .await
        .unwrap();
    assert_eq!(named.wait().await.unwrap(), 9);
    assert_eq!(calls.load(Ordering::Relaxed), 5);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_activity_can_be_replaced_whether_it_is_there_or_not() {
    let world = World::new();
    let production = Registry::builder()
        .orchestration(SUM, sum)
        .activity(ADD, |_: ActivityContext, _: (u32, u32)| async {
            Err::<u32, _>(Failure::application("real", "must not run").not_retryable())
        })
        .build()
        .unwrap();
    let registry = Registry::builder()
        .merge(production)
        .replace_activity(ADD, add)
        .replace_activity("other", add)
        .build()
        .unwrap();
    let names: Vec<_> = registry.activity_names().cloned().collect();
    assert_eq!(names, ["add", "other"]);
    let node = world.node(&registry).await;
    let sum = node.client().start(SUM, "sum-1", &vec![1, 2]).await;
    assert_eq!(sum.unwrap().wait().await.unwrap(), 3);
    stop(node).await;
    world.assert_done();
    let unnamed = Registry::builder().replace_activity("", add);
    assert!(matches!(error(unnamed), RegistryError::InvalidName(_)));
}
