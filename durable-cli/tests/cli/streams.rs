//! `stream`.

use std::time::Duration;

use durable_provider_sqlite::SqliteProvider;
use durable_runtime::{
    Activity, ActivityContext, EventStream, Failure, Orchestration, OrchestrationContext, Registry,
    Runtime,
};
use serde_json::{Value, json};

use crate::support::Place;

const SPEAK: Orchestration<u64, u64> = Orchestration::new("speak");
const COUNT: Activity<u64, u64> = Activity::new("count");
const NUMBERS: EventStream<u64> = EventStream::new("numbers");

/// A store in which `speaker-1` has said 100 and 0 to 2 and has ended.
async fn filled() -> Place {
    let place = Place::new();
    let registry = Registry::builder()
        .orchestration(SPEAK, |ctx: OrchestrationContext, count: u64| async move {
            ctx.stream(NUMBERS).push(&100)?;
            ctx.activity(COUNT, &count).await
        })
        .activity(COUNT, |ctx: ActivityContext, count: u64| async move {
            for number in 0..count {
                ctx.emit(NUMBERS, &number).await?;
            }
            Ok::<_, Failure>(count)
        })
        .build();
    let store = SqliteProvider::open(place.file()).unwrap();
    let node = Runtime::builder(store, registry.unwrap()).start();
    let node = node.await.unwrap();
    let speaker = node.client().start(SPEAK, "speaker-1", &3).await.unwrap();
    assert_eq!(speaker.wait().await.unwrap(), 3);
    node.shutdown(Duration::from_secs(5)).await;
    place
}

fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_shown_from_an_offset_and_followed_to_the_end() {
    let place = filled().await;
    let text = place.durable(&["stream", "speaker-1", "numbers"]).done();
    let shown: Vec<&str> = text.lines().collect();
    assert_eq!(shown.len(), 4, "{text}");
    assert!(shown[0].ends_with("  100"), "{text}");
    assert!(shown[3].ends_with("  2  activity 2, attempt 1"), "{text}");

    let json = ["--json", "stream", "speaker-1", "numbers", "--from", "2"];
    for follow in [&[][..], &["--follow"]] {
        let text = place.durable(&[&json, follow].concat()).done();
        let mut items = lines(&text);
        for item in &mut items {
            let at_ms = item.as_object_mut().unwrap().remove("added_at_ms");
            assert!(at_ms.unwrap().as_u64().unwrap() > 0);
        }
        let item = |offset: u64, value: u64| {
            json!({
                "offset": offset, "value": value, "execution": 1, "event": 2, "attempt": 1,
                "number": value,
            })
        };
        assert_eq!(items, [item(2, 1), item(3, 2)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_listed() {
    let place = filled().await;
    let listed = place.json(&["stream", "speaker-1"]);
    let expected = json!({
        "instance": "speaker-1",
        "streams": [{ "name": "numbers", "first": 0, "end": 4, "bytes": 6 }],
    });
    assert_eq!(listed, expected);
    let text = place.durable(&["stream", "speaker-1"]).done();
    assert!(
        text.lines().nth(1).unwrap().starts_with("numbers"),
        "{text}"
    );
    let refused = place.durable(&["stream", "none", "numbers"]).refused();
    assert!(refused.contains("there is no instance `none`"), "{refused}");
    let nothing = place.durable(&["stream", "speaker-1", "unknown"]).done();
    assert_eq!(nothing, "");
}
