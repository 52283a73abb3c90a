//! Views: published by code, read and followed by clients, kept, and refused.

use std::time::Duration;

use durable_core::Limits;
use durable_core::filter::Filter;
use durable_core::provider::{Provider, PurgeRequest};
use durable_runtime::{
    CUSTOM_STATUS_VIEW, ClientError, EventName, Failure, FailureKind, InstanceHandle,
    Orchestration, OrchestrationContext, Registry, RuntimeOptions, View,
};
use futures::{FutureExt, StreamExt, TryStreamExt};

use crate::world::{World, settle, stop};

const SHOP: Orchestration<u32, Vec<String>> = Orchestration::new("shop");
const CART: View<Vec<String>> = View::new("cart");
const ROUND: View<u32> = View::new("round");
const ADD: EventName<Vec<String>> = EventName::new("add");

/// Fills a cart with what the events bring, an execution for each; an event with nothing ends it.
async fn shop(ctx: OrchestrationContext, round: u32) -> Result<Vec<String>, Failure> {
    ctx.publish(ROUND, &round)?;
    let mut cart = ctx.view(CART)?.unwrap_or_default();
    let items = ctx.external_event(ADD).await?;
    if items.is_empty() {
        ctx.clear_view(ROUND)?;
        assert_eq!(ctx.view(ROUND)?, None);
        return Ok(cart);
    }
    for item in items {
        cart.push(item);
        ctx.publish(CART, &cart)?;
    }
    assert_eq!(ctx.view(CART)?, Some(cart));
    ctx.sleep(Duration::from_secs(1)).await?;
    ctx.continue_as_new(&(round + 1)).await
}

fn registry() -> Registry {
    Registry::builder()
        .orchestration(SHOP, shop)
        .build()
        .unwrap()
}

async fn add(shop: &InstanceHandle<Vec<String>>, items: &[&str]) {
    let items = items.iter().map(|item| (*item).to_owned()).collect();
    shop.raise(ADD, &items).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
}

fn cart(items: &[&str]) -> Option<Vec<String>> {
    Some(items.iter().map(|item| (*item).to_owned()).collect())
}

#[tokio::test(start_paused = true)]
async fn a_view_is_read_while_the_instance_runs_without_a_node_and_after_the_end() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let shop = world.client().start(SHOP, "s", &0).await.unwrap();
    settle().await;
    assert_eq!(shop.view(CART).await, Ok(None));
    assert_eq!(shop.view(ROUND).await, Ok(Some(0)));
    add(&shop, &["tea", "milk"]).await;
    assert_eq!(shop.view(CART).await, Ok(cart(&["tea", "milk"])));
    stop(node).await;
    // The next execution is told by another node, which knows the history alone.
    shop.raise(ADD, &vec!["salt".to_owned()]).await.unwrap();
    assert_eq!(shop.view(CART).await, Ok(cart(&["tea", "milk"])));
    let node = world.node(&registry()).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    add(&shop, &[]).await;
    assert_eq!(
        shop.wait().await,
        Ok(cart(&["tea", "milk", "salt"]).unwrap())
    );
    stop(node).await;
    assert_eq!(shop.view(CART).await, Ok(cart(&["tea", "milk", "salt"])));
    assert_eq!(shop.view(ROUND).await, Ok(None));
    let views = shop.views().await.unwrap();
    let [view] = views.as_slice() else {
        panic!("{views:?}");
    };
    assert_eq!(
        (view.name.as_str(), &*view.value),
        ("cart", r#"["tea","milk","salt"]"#)
    );
    let (execution, event) = (view.source.execution_id.get(), view.source.event_id.get());
    assert_eq!((execution, event), (2, 5), "the event that published it");
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn the_history_says_what_was_published() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let shop = world.client().start(SHOP, "s", &0).await.unwrap();
    add(&shop, &["tea", "milk"]).await;
    assert_eq!(
        world.kinds("s", 1).await,
        [
            "OrchestrationStarted",
            "ViewPublished",
            "ExternalSubscribed",
            "ExternalEvent",
            "ViewPublished",
            "ViewPublished",
            "TimerCreated",
            "TimerFired",
            "OrchestrationContinuedAsNew",
        ]
    );
    add(&shop, &[]).await;
    shop.wait().await.unwrap();
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_follower_gets_the_value_and_every_newer_one_until_the_end() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let shop = world.client().start(SHOP, "s", &0).await.unwrap();
    let mut changes = shop.view_changes(CART);
    // Nothing was published yet.
    assert!(changes.next().now_or_never().is_none());
    add(&shop, &["tea"]).await;
    assert_eq!(changes.try_next().await, Ok(cart(&["tea"])));
    assert!(changes.next().now_or_never().is_none());
    // Another view changes, and the execution.
    add(&shop, &["milk"]).await;
    add(&shop, &["salt", "rice"]).await;
    // The latest wins; a follower that comes now begins with it.
    let mut late = shop.view_changes(CART);
    for follower in [&mut changes, &mut late] {
        let latest = cart(&["tea", "milk", "salt", "rice"]);
        assert_eq!(follower.try_next().await, Ok(latest));
        assert!(follower.next().now_or_never().is_none());
    }
    add(&shop, &[]).await;
    stop(node).await;
    let after = shop.view_changes(CART).try_collect::<Vec<_>>().await;
    assert_eq!(after.unwrap().len(), 1, "the last value, and then the end");
    for follower in [changes, late] {
        assert_eq!(follower.try_collect::<Vec<_>>().await, Ok(Vec::new()));
    }
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_follower_does_not_poll() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let shop = world.client().start(SHOP, "s", &0).await.unwrap();
    settle().await;
    let counted = world.counted();
    let store = std::sync::Arc::new(counted);
    let client = world.client_on(store.clone());
    let follower = client.instance::<u32, Vec<String>>("shop", "s");
    let mut changes = follower.view_changes(ROUND);
    assert_eq!(changes.try_next().await, Ok(Some(0)));
    let waiting = tokio::spawn(async move { changes.try_next().await });
    settle().await;
    let before = store.calls("view");
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(store.calls("view"), before, "an hour without a look");
    add(&shop, &["tea"]).await;
    assert_eq!(waiting.await.unwrap(), Ok(Some(1)));
    add(&shop, &[]).await;
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn the_custom_status_can_be_followed_like_a_view() {
    const TALK: Orchestration<u32, ()> = Orchestration::new("talk");
    let registry = Registry::builder()
        .orchestration(TALK, |ctx: OrchestrationContext, count: u32| async move {
            for number in 0..count {
                ctx.set_custom_status(&number)?;
                ctx.sleep(Duration::from_secs(1)).await?;
            }
            ctx.clear_custom_status()
        })
        .build()
        .unwrap();
    let world = World::new();
    let node = world.node(&registry).await;
    let talk = world.client().start(TALK, "t", &3).await.unwrap();
    let status = View::<u32>::new(CUSTOM_STATUS_VIEW);
    let said: Result<Vec<u32>, _> = talk.view_changes(status).try_collect().await;
    assert_eq!(said, Ok(vec![0, 1, 2]));
    assert_eq!(talk.views().await, Ok(Vec::new()));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn views_of_no_instance_are_a_typed_error() {
    let world = World::new();
    let nothing = world.client().instance::<u32, ()>("shop", "none");
    let not_found = ClientError::NotFound {
        instance: "none".into(),
    };
    assert_eq!(nothing.view(CART).await, Err(not_found.clone()));
    assert_eq!(nothing.views().await, Err(not_found.clone()));
    let mut changes = nothing.view_changes(CART);
    assert_eq!(changes.try_next().await, Err(not_found));
    assert_eq!(changes.try_next().await, Ok(None));
}

#[tokio::test(start_paused = true)]
async fn a_value_of_another_type_is_an_error_and_the_follower_goes_on() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let shop = world.client().start(SHOP, "s", &0).await.unwrap();
    add(&shop, &["tea"]).await;
    let wrong: View<u32> = View::new("cart");
    let refused = shop.view(wrong).await.unwrap_err();
    let ClientError::InvalidPayload(failure) = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!(failure.kind, FailureKind::InvalidPayload);
    let mut changes = shop.view_changes(wrong);
    assert_eq!(changes.try_next().await, Err(refused));
    add(&shop, &[]).await;
    assert_eq!(changes.try_next().await, Ok(None));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn views_go_with_their_instance() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let shop = world.client().start(SHOP, "s", &0).await.unwrap();
    add(&shop, &["tea"]).await;
    let mut changes = shop.view_changes(CART);
    assert_eq!(changes.try_next().await, Ok(cart(&["tea"])));
    add(&shop, &[]).await;
    let purge = PurgeRequest::new(Filter::all(), 10);
    world.store.purge(&purge).await.unwrap();
    assert_eq!(
        changes.try_next().await,
        Ok(None),
        "it was removed meanwhile"
    );
    let view = world.store.view(&"s".into(), &"cart".into()).await;
    assert_eq!(view, Ok(None));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn names_and_numbers_of_views_are_limited() {
    const MANY: Orchestration<(), Vec<String>> = Orchestration::new("many");
    let registry = Registry::builder()
        .orchestration(MANY, |ctx: OrchestrationContext, ()| async move {
            let mut refused = Vec::new();
            let mut says = |result: Result<(), Failure>| {
                let failure = result.unwrap_err();
                assert_eq!(failure.kind, FailureKind::LimitExceeded);
                refused.push(failure.message);
            };
            says(ctx.publish(CUSTOM_STATUS_VIEW, &1));
            says(ctx.clear_view::<u32>("durable.other"));
            says(ctx.view::<u32>(CUSTOM_STATUS_VIEW).map(drop));
            says(ctx.publish("", &1));
            says(ctx.publish(&*"n".repeat(81), &1));
            ctx.publish("a", &1)?;
            ctx.publish("b", &1)?;
            ctx.set_custom_status(&"not counted")?;
            ctx.publish("b", &2)?;
            says(ctx.publish("c", &1));
            ctx.clear_view::<u32>("a")?;
            ctx.publish("c", &1)?;
            says(ctx.publish("c", &"x".repeat(1_000)));
            Ok::<_, Failure>(refused)
        })
        .build()
        .unwrap();
    let limits = Limits::new()
        .max_views(2)
        .max_name_bytes(80)
        .max_payload_bytes(1_000);
    let world = World::new();
    let options = RuntimeOptions::default().limits(limits);
    let node = world.node_with(&registry, options).await;
    let many = world.client().start(MANY, "m", &()).await.unwrap();
    let refused = many.wait().await.unwrap();
    let reserved = "names of views that begin with `durable.` are reserved";
    let expected = [
        format!("view `{CUSTOM_STATUS_VIEW}`: {reserved}"),
        format!("view `durable.other`: {reserved}"),
        format!("view `{CUSTOM_STATUS_VIEW}`: {reserved}"),
        "view ``: the name of the view is empty".into(),
    ];
    assert_eq!(refused[..4], expected);
    assert!(
        refused[4].contains("the name of the view has 81 bytes"),
        "{}",
        refused[4]
    );
    let many_views =
        "view `c`: an instance has at most 2 views: clear one first, or raise the limit";
    assert_eq!(refused[5], many_views);
    assert!(
        refused[6].contains("at most 1000 are allowed"),
        "{}",
        refused[6]
    );
    assert_eq!(refused.len(), 7);
    let views = many.views().await.unwrap();
    let names: Vec<&str> = views.iter().map(|view| view.name.as_str()).collect();
    assert_eq!(names, ["b", "c", CUSTOM_STATUS_VIEW]);
    stop(node).await;
    world.assert_done();
}
