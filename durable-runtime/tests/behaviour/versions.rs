//! Versions: who runs what during an upgrade.

use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::{InstanceStatus, Provider, StatusKind};
use durable_runtime::{
    ActivityContext, ClientError, EventName, Failure, Orchestration, OrchestrationContext,
    Registry, RegistryBuilder, RuntimeOptions,
};

use crate::world::{World, settle, stop};

const FLOW: Orchestration<u32, String> = Orchestration::new("flow");
const GO: EventName<()> = EventName::new("go");

/// A version of `flow`: it says which one it is when it is told to go.
fn version(builder: RegistryBuilder, version: &'static str) -> RegistryBuilder {
    builder.orchestration(
        FLOW.at(version),
        |ctx: OrchestrationContext, _| async move {
            ctx.external_event(GO).await?;
            Ok::<_, Failure>(ctx.version().to_string())
        },
    )
}

fn having(versions: &[&'static str]) -> Registry {
    let builder = versions.iter().copied().fold(Registry::builder(), version);
    builder.build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_start_takes_the_newest_version_by_semver_unless_one_is_named() {
    let world = World::new();
    let registry = having(&["1.9.0", "1.10.0", "1.2.0", "2.0.0-beta"]);
    let node = world.node(&registry).await;
    let client = node.client();
    let newest = client.start(FLOW, "newest", &0).await.unwrap();
    let named = client.start(FLOW.at("1.9.0"), "named", &0).await.unwrap();
    settle().await;
    for instance in [&newest, &named] {
        instance.raise(GO, &()).await.unwrap();
    }
    assert_eq!(newest.wait().await.unwrap(), "2.0.0-beta");
    assert_eq!(named.wait().await.unwrap(), "1.9.0");
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn in_a_rolling_upgrade_running_instances_stay_and_new_ones_take_the_newest() {
    let world = World::new();
    let (old, new) = (having(&["1.0.0"]), having(&["1.0.0", "2.0.0"]));
    let first = world.node(&old).await;
    let second = world.node(&old).await;
    let client = world.client();
    let mut before = Vec::new();
    for number in 0..10 {
        before.push(
            client
                .start(FLOW, format!("before-{number}"), &0)
                .await
                .unwrap(),
        );
    }
    settle().await;
    // One node after the other is replaced.
    stop(first).await;
    let first = world.node(&new).await;
    stop(second).await;
    let second = world.node(&new).await;
    let mut after = Vec::new();
    for number in 0..10 {
        after.push(
            client
                .start(FLOW, format!("after-{number}"), &0)
                .await
                .unwrap(),
        );
    }
    settle().await;
    for instance in before.iter().chain(&after) {
        instance.raise(GO, &()).await.unwrap();
    }
    for instance in before {
        assert_eq!(instance.wait().await.unwrap(), "1.0.0");
    }
    for instance in after {
        assert_eq!(instance.wait().await.unwrap(), "2.0.0");
    }
    stop(first).await;
    stop(second).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_start_that_no_node_can_run_waits_and_says_what_is_missing() {
    let world = World::new();
    let store = world.counted();
    let node = world
        .node_on(
            Arc::new(store.clone()),
            &having(&["1.0.0"]),
            Default::default(),
        )
        .await;
    let client = node.client();
    let named = client.start(FLOW.at("3.0.0"), "named", &0).await.unwrap();
    let unknown = client
        .start::<u32, String>("unknown", "unknown", &0)
        .await
        .unwrap();
    settle().await;
    let blocked = world.blocked("named").await.unwrap();
    let missing = "not registered: no node that lives has the orchestration `flow` 3.0.0: \
                   start one that does";
    assert_eq!(blocked, missing);
    let blocked = world.blocked("unknown").await.unwrap();
    assert!(blocked.contains("`unknown`"), "{blocked}");
    assert_eq!(world.status("named").await.kind(), StatusKind::Pending);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!((store.calls("commit"), store.calls("release")), (0, 0));
    assert_eq!(world.store.snapshot().instances["named"].inbox.len(), 1);

    let newer = world.node(&having(&["3.0.0"])).await;
    named.raise(GO, &()).await.unwrap();
    assert_eq!(named.wait().await.unwrap(), "3.0.0");
    assert_eq!(world.blocked("named").await, None);
    unknown.terminate("a typo").await.unwrap();
    assert!(matches!(
        unknown.wait().await,
        Err(ClientError::Failed { .. })
    ));
    stop(node).await;
    stop(newer).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_running_instance_is_picked_up_by_the_node_that_has_its_version() {
    let world = World::new();
    let old = world.node(&having(&["1.0.0"])).await;
    let client = world.client();
    let mut instances = Vec::new();
    for number in 0..20 {
        instances.push(client.start(FLOW, format!("f-{number}"), &0).await.unwrap());
    }
    settle().await;
    stop(old).await;
    let lacking = world.node(&having(&["2.0.0"])).await;
    let having = world.node(&having(&["1.0.0"])).await;
    for instance in &instances {
        instance.raise(GO, &()).await.unwrap();
    }
    for instance in instances {
        assert_eq!(instance.wait().await.unwrap(), "1.0.0");
    }
    // A node that cannot run them does not take them twice from one that can.
    assert!(
        world.elapsed() <= Duration::from_millis(500),
        "{:?}",
        world.elapsed()
    );
    stop(lacking).await;
    stop(having).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_resumed_instance_is_not_lost_to_a_node_that_lacks_its_version() {
    let world = World::new();
    let node = world.node(&having(&["1.0.0"])).await;
    let instance = node.client().start(FLOW, "f", &0).await.unwrap();
    settle().await;
    stop(node).await;
    instance.suspend("upgrade").await.unwrap();
    instance.raise(GO, &()).await.unwrap();
    let idle = world
        .client()
        .start(FLOW.at("1.0.0"), "idle", &0)
        .await
        .unwrap();
    let lacking = world.node(&having(&["2.0.0"])).await;
    instance.resume().await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    let having = world.node(&having(&["1.0.0"])).await;
    assert_eq!(instance.wait().await.unwrap(), "1.0.0");
    idle.raise(GO, &()).await.unwrap();
    assert_eq!(idle.wait().await.unwrap(), "1.0.0");
    stop(lacking).await;
    stop(having).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_resumed_instance_that_no_node_can_run_says_which_version_is_missing() {
    let world = World::new();
    let node = world.node(&having(&["1.0.0"])).await;
    let instance = node.client().start(FLOW, "f", &0).await.unwrap();
    settle().await;
    stop(node).await;
    instance.suspend("upgrade").await.unwrap();
    instance.resume().await.unwrap();
    let snapshot = world.store.snapshot();
    assert!(snapshot.instances["f"].inbox.is_empty());
    let lacking = world.node(&having(&["2.0.0"])).await;
    let missing = "not registered: no node that lives has the orchestration `flow` 1.0.0: \
                   start one that does";
    settle().await;
    assert_eq!(world.blocked("f").await.as_deref(), Some(missing));
    assert_eq!(world.status("f").await, InstanceStatus::Running);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(world.blocked("f").await.as_deref(), Some(missing));
    let having = world.node(&having(&["1.0.0"])).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.blocked("f").await, None, "a node that has it took it");
    instance.raise(GO, &()).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), "1.0.0");
    stop(lacking).await;
    stop(having).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_crashed_in_a_side_effect_is_not_lost_to_a_node_that_lacks_its_version() {
    let world = World::new();
    let registry = |is_stuck: bool| {
        Registry::builder()
            .orchestration(FLOW, move |ctx: OrchestrationContext, _| async move {
                let effect = async move {
                    if is_stuck {
                        std::future::pending::<()>().await;
                    }
                    Ok::<_, Failure>("done".to_string())
                };
                ctx.run("effect", effect).await
            })
            .build()
            .unwrap()
    };
    let node = world.node(&registry(true)).await;
    let instance = node.client().start(FLOW, "f", &0).await.unwrap();
    settle().await;
    drop(node);
    let lacking = world.node(&having(&["2.0.0"])).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(matches!(world.status("f").await, InstanceStatus::Running));
    let able = world.node(&registry(false)).await;
    assert_eq!(instance.wait().await.unwrap(), "done");
    stop(lacking).await;
    stop(able).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn stopping_in_the_middle_of_a_side_effect_loses_nothing() {
    let world = World::new();
    let registry = |is_stuck: bool| {
        Registry::builder()
            .orchestration(FLOW, move |ctx: OrchestrationContext, _| async move {
                let effect = async move {
                    if is_stuck {
                        std::future::pending::<()>().await;
                    }
                    Ok::<_, Failure>("done".to_string())
                };
                ctx.run("effect", effect).await
            })
            .build()
            .unwrap()
    };
    let node = world.node(&registry(true)).await;
    let instance = node.client().start(FLOW, "f", &0).await.unwrap();
    settle().await;
    node.shutdown(Duration::from_secs(1)).await;
    let node = world.node(&registry(false)).await;
    let bound = RuntimeOptions::default().session_timeout + Duration::from_secs(5);
    let done = tokio::time::timeout(bound, instance.wait()).await;
    assert_eq!(done.expect("in time").unwrap(), "done");
    stop(node).await;
    world.assert_done();
    let record = world.store.instance(&"f".into()).await.unwrap().unwrap();
    assert_eq!(record.status.kind(), StatusKind::Completed);
}

/// Forty timers of 5 ms one after the other, then an activity that only some nodes have.
fn ticking() -> RegistryBuilder {
    Registry::builder().orchestration("ticking", |ctx: OrchestrationContext, ()| async move {
        for _ in 0..40 {
            ctx.sleep(Duration::from_millis(5)).await?;
        }
        ctx.activity::<(), u32>("elsewhere", &()).await
    })
}

#[tokio::test(start_paused = true)]
async fn nodes_that_lack_the_code_delay_nothing() {
    let world = World::new();
    let mut old = Vec::new();
    for _ in 0..3 {
        old.push(world.node(&having(&["1.0.0"])).await);
    }
    let turns = world.node(&ticking().build().unwrap()).await;
    let elsewhere = |_: ActivityContext, ()| async { Ok::<_, Failure>(7) };
    let worker = Registry::builder().activity("elsewhere", elsewhere).build();
    let worker = world.node(&worker.unwrap()).await;
    let began = world.elapsed();
    let start = world.client().start::<(), u32>("ticking", "t", &());
    assert_eq!(start.await.unwrap().wait().await, Ok(7));
    assert_eq!(world.elapsed() - began, Duration::from_millis(200));
    for node in old.into_iter().chain([turns, worker]) {
        stop(node).await;
    }
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_instance_whose_code_no_node_has_is_terminated_at_once() {
    let world = World::new();
    let turns = world.node(&ticking().build().unwrap()).await;
    let ticking = world.client().start::<(), u32>("ticking", "t", &());
    let ticking = ticking.await.unwrap();
    settle().await;
    stop(turns).await;
    let wrong = world.node(&having(&["1.0.0"])).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let began = world.elapsed();
    ticking.terminate("a mistake").await.unwrap();
    let error = ticking.wait().await.unwrap_err();
    assert!(matches!(error, ClientError::Failed { .. }), "{error}");
    assert_eq!(world.elapsed(), began);
    stop(wrong).await;
    world.assert_done();
}
