//! `view`, and the views in `show`, after an export and an import too.

use std::time::Duration;

use durable_provider_sqlite::SqliteProvider;
use durable_runtime::{
    EventName, Failure, Orchestration, OrchestrationContext, Registry, Runtime, View,
};
use serde_json::{Value, json};

use crate::support::{Place, shape};

const SHOP: Orchestration<(), usize> = Orchestration::new("shop");
const ADD: EventName<String> = EventName::new("add");
const CART: View<Vec<String>> = View::new("cart");
const HINT: View<String> = View::new("hint");

/// Adds what the events bring, an execution for each; an empty text ends it.
async fn shop(ctx: OrchestrationContext, _: ()) -> Result<usize, Failure> {
    let mut cart = ctx.view(CART)?.unwrap_or_default();
    ctx.set_custom_status("open")?;
    let item = ctx.external_event(ADD).await?;
    if item.is_empty() {
        ctx.clear_view(HINT)?;
        return Ok(cart.len());
    }
    cart.push(item);
    ctx.publish(CART, &cart)?;
    ctx.publish(HINT, &"there is more".to_owned())?;
    ctx.continue_as_new(&()).await
}

async fn node(place: &Place) -> Runtime {
    let registry = Registry::builder().orchestration(SHOP, shop).build();
    let store = SqliteProvider::open(place.file()).unwrap();
    let node = Runtime::builder(store, registry.unwrap()).start();
    node.await.unwrap()
}

/// A store in which `visit-1` has tea and milk in its cart and waits.
async fn filled() -> Place {
    let place = Place::new();
    let node = node(&place).await;
    let visit = node.client().start(SHOP, "visit-1", &()).await.unwrap();
    for (item, execution) in [("tea", 2), ("milk", 3)] {
        visit.raise(ADD, &item.to_owned()).await.unwrap();
        visit
            .wait_until(|record| record.execution_id.get() == execution)
            .await
            .unwrap();
    }
    visit
        .wait_until(|record| record.last_event_id.get() == 3)
        .await
        .unwrap();
    node.shutdown(Duration::from_secs(5)).await;
    place
}

fn published(name: &str, value: &Value, event: u64, execution: u64) -> Value {
    json!({ "name": name, "value": value, "event": event, "execution": execution })
}

fn without_times(mut view: Value) -> Value {
    let at_ms = view.as_object_mut().unwrap().remove("changed_at_ms");
    assert!(at_ms.unwrap().as_u64().unwrap() > 0);
    view
}

#[tokio::test(flavor = "multi_thread")]
async fn views_are_shown_one_or_all_of_them() {
    let place = filled().await;
    assert_eq!(
        place.durable(&["view", "visit-1", "cart"]).done(),
        "[\"tea\",\"milk\"]\n"
    );
    let one = place.json(&["view", "visit-1", "cart"]);
    let expected = published("cart", &json!(["tea", "milk"]), 5, 2);
    assert_eq!(without_times(one), expected);

    let all = place.json(&["view", "visit-1"]);
    assert_eq!(all["instance"], "visit-1");
    let views = all["views"].as_array().unwrap().iter().cloned();
    let expected = [
        published("cart", &json!(["tea", "milk"]), 5, 2),
        published("durable.status", &json!("open"), 2, 3),
        published("hint", &json!("there is more"), 6, 2),
    ];
    assert_eq!(views.map(without_times).collect::<Vec<_>>(), expected);

    let text = place.durable(&["view", "visit-1"]).done();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[0].starts_with("view"), "{text}");
    assert!(
        lines[1].starts_with("cart") && lines[1].ends_with("[\"tea\",\"milk\"]"),
        "{text}"
    );

    let shown = place.json(&["show", "visit-1"]);
    assert_eq!(shape(&shown["views"]), shape(&all["views"]));
    let text = place.durable(&["show", "visit-1"]).done();
    assert!(
        text.contains("  view          cart [\"tea\",\"milk\"]\n"),
        "{text}"
    );
    assert!(!text.contains("durable.status"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_is_followed_to_the_end_of_its_instance() {
    let place = filled().await;
    let node = node(&place).await;
    let visit = node.client().instance(SHOP, "visit-1");
    visit.raise(ADD, &"salt".to_owned()).await.unwrap();
    visit.raise(ADD, &String::new()).await.unwrap();
    let text = place
        .durable(&["view", "visit-1", "cart", "--follow"])
        .done();
    node.shutdown(Duration::from_secs(5)).await;
    assert_eq!(text.lines().last(), Some("[\"tea\",\"milk\",\"salt\"]"));
    let json = place
        .durable(&["--json", "view", "visit-1", "cart", "-f"])
        .done();
    let last: Value = serde_json::from_str(json.trim()).unwrap();
    assert_eq!(last["value"], json!(["tea", "milk", "salt"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_that_is_not_there_is_refused() {
    let place = filled().await;
    let refused = place.durable(&["view", "visit-1", "wish list"]).refused();
    assert!(
        refused.contains("instance `visit-1` has no view `wish list`"),
        "{refused}"
    );
    assert!(
        refused.contains("`durable view visit-1` shows"),
        "{refused}"
    );
    let refused = place.durable(&["view", "none"]).refused();
    assert!(refused.contains("there is no instance `none`"), "{refused}");
    let misused = place.durable(&["view", "visit-1", "--follow"]);
    assert_eq!(misused.code, 2, "{}", misused.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn views_go_along_with_an_import() {
    let place = filled().await;
    let file = place.path("visit-1.json");
    let exported = place.durable(&["export", "visit-1"]).done();
    std::fs::write(&file, exported).unwrap();
    let other = Place::new();
    let imported = ["import", file.to_str().unwrap(), "--create", "--take-over"];
    other.durable(&imported).done();
    let before = place.json(&["view", "visit-1"]);
    assert_eq!(other.json(&["view", "visit-1"]), before);
    let node = node(&other).await;
    let visit = node.client().instance(SHOP, "visit-1");
    visit.raise(ADD, &String::new()).await.unwrap();
    assert_eq!(visit.wait().await.unwrap(), 2);
    node.shutdown(Duration::from_secs(5)).await;
}
