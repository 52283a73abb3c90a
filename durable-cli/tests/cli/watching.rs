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
        seen[8].contains("child-1  waits 1.0.0  completed  8 events"),
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
async fn what_does_not_change_is_not_shown() {
    let place = Place::filled().await;
    let text = place.durable(&["watch", "--for", "1ms"]).done();
    assert_eq!(text, "watching 5 instances\n");
    let json = place.durable(&["--json", "watch", "--for", "1ms"]).done();
    assert_eq!(json, "{\"watching\":5}\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_instances_are_watched_from_now_on_in_the_order_of_their_changes() {
    let place = Place::filled().await;
    let file = place.file();
    let mut watch = command(&["-s", file.to_str().unwrap(), "watch"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert_eq!(next(), "watching 5 instances");
    // The one with the higher id changes first.
    place.durable(&["suspend", "waits-1", "-r", "lunch"]).done();
    let suspended = next();
    assert!(
        suspended.contains("  waits-1  waits 1.0.0  suspended  8 events  suspended: lunch"),
        "{suspended}"
    );
    place.durable(&["suspend", "child-1", "-r", "tea"]).done();
    let suspended = next();
    assert!(
        suspended.contains("  child-1  waits 1.0.0  suspended  6 events  suspended: tea"),
        "{suspended}"
    );
    watch.kill().unwrap();
    watch.wait().unwrap();
}
