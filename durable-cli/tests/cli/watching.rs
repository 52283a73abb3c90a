//! `watch`.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Place, command};

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_is_followed_to_its_end() {
    let place = Place::filled().await;
    let node = place.node().await;
    let file = place.file();
    let mut watch = command(&["-s", file.to_str().unwrap(), "watch", "child-1"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut seen = Vec::new();
    for line in lines {
        let line = line.unwrap();
        let is_subscribed = line.contains("ExternalSubscribed");
        seen.push(line);
        if is_subscribed {
            place
                .durable(&["raise", "child-1", "approved", "-d", "true"])
                .done();
        }
    }
    assert!(watch.wait().unwrap().success());
    node.shutdown(Duration::from_secs(5)).await;
    assert_eq!(seen.len(), 9, "{seen:#?}");
    assert!(
        seen[6].contains(" 1.7    ExternalEvent `approved`"),
        "{}",
        seen[6]
    );
    assert!(
        seen[8].contains("child-1  completed  8 events"),
        "{}",
        seen[8]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_instance_is_shown_once_with_all_of_its_events() {
    let place = Place::filled().await;
    let text = place.durable(&["--json", "watch", "rounds-1"]).done();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[3]["kind"], "OrchestrationCompleted");
    assert_eq!(lines[4]["status"], "completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_instances_are_watched_for_a_while() {
    let place = Place::filled().await;
    let text = place.durable(&["watch", "--for", "1ms"]).done();
    assert_eq!(text.lines().count(), 5, "{text}");
    assert!(text.contains("quick-1  completed  4 events"), "{text}");
}
