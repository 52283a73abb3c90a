//! `nodes`.

use std::time::Duration;

use durable_core::EventId;
use durable_provider_sqlite::SqliteProvider;
use durable_runtime::{Runtime, RuntimeOptions};
use serde_json::json;

use crate::support::{Place, QUICK, registry};

#[tokio::test(flavor = "multi_thread")]
async fn the_nodes_that_live_are_listed_with_their_code() {
    let place = Place::filled().await;
    let none = place.durable(&["nodes"]).done();
    assert_eq!(none, "no node lives on this store\n");
    assert_eq!(place.json(&["nodes"]), json!({ "nodes": [] }));

    let options = RuntimeOptions::default()
        .node("worker-1")
        .max_turns(0)
        .queues([None, Some("gpu")]);
    let store = SqliteProvider::open(place.file()).unwrap();
    let node = Runtime::builder(store, registry()).options(options);
    let node = node.start().await.unwrap();
    let listed = place.json(&["nodes"]);
    let [worker] = &listed["nodes"].as_array().unwrap()[..] else {
        panic!("{listed}");
    };
    assert_eq!(worker["node"], "worker-1");
    assert_eq!(worker["orchestrations"], json!({}));
    assert_eq!(worker["queues"], json!([null, "gpu"]));
    let activities = worker["activities"].as_array().unwrap();
    assert!(activities.contains(&json!("double")), "{worker}");
    assert!(worker["session"].is_u64() && worker["ends_at_ms"].is_u64());
    assert_eq!(worker.as_object().unwrap().len(), 6, "{worker}");
    let text = place.durable(&["nodes"]).done();
    let [head, line] = text.lines().collect::<Vec<_>>()[..] else {
        panic!("{text}");
    };
    assert!(head.starts_with("node "), "{head}");
    assert!(
        line.starts_with("worker-1") && line.contains("(default), gpu"),
        "{line}"
    );

    node.shutdown(Duration::from_secs(5)).await;
    assert_eq!(place.json(&["nodes"]), json!({ "nodes": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_activity_that_no_node_has_is_named() {
    let place = Place::filled().await;
    let options = RuntimeOptions::default().max_activities(0);
    let store = SqliteProvider::open(place.file()).unwrap();
    let node = Runtime::builder(store, registry()).options(options);
    let node = node.start().await.unwrap();
    let stuck = node.client().start(QUICK, "stuck-1", &21).await.unwrap();
    stuck
        .wait_until(|record| record.last_event_id == EventId::new(2))
        .await
        .unwrap();
    let text = place.durable(&["show", "stuck-1"]).done();
    let missing = "not registered: no node that lives has the activity `double`: start one that \
                   does\n";
    assert!(
        text.contains(&format!("  blocked       {missing}")),
        "{text}"
    );
    assert!(text.ends_with(&format!("         {missing}")), "{text}");
    assert!(
        text.contains("         attempt 1: waits for a node since "),
        "{text}"
    );
    let shown = place.json(&["show", "stuck-1"]);
    let [activity] = &shown["activities"].as_array().unwrap()[..] else {
        panic!("{shown}");
    };
    assert_eq!(activity["name"], "double");
    assert_eq!(
        (&activity["attempt"], &activity["crashes"]),
        (&json!(1), &json!(0))
    );
    assert!(activity["ready_at_ms"].is_u64() && activity["session"].is_null());
    assert_eq!(activity["blocked"]["kind"], "not registered");
    assert_eq!(activity.as_object().unwrap().len(), 12, "{activity}");
    node.shutdown(Duration::from_secs(5)).await;
    let text = place.durable(&["terminate", "stuck-1"]).done();
    let waits = "no node lives on this store: they end when one does\n";
    assert!(text.contains(waits), "{text}");
}
