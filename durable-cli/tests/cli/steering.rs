//! `start`, `raise`, `resolve`, `reject`, `cancel`, `suspend`, `resume`, `terminate`.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use durable_core::provider::StatusKind;
use serde_json::json;

use crate::support::{Place, QUICK, WAITS, command, shape};

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_is_started_and_a_node_runs_it() {
    let place = Place::new();
    let started = place.json(&["start", "quick", "q-1", "--input", "4", "--create"]);
    assert_eq!(
        started,
        json!({
            "instance": "q-1",
            "execution": 1,
            "status": "pending",
            "started": true,
            "begins_at_ms": null,
        })
    );
    let shown = place.durable(&["show", "q-1"]).done();
    assert!(
        shown.contains("waits for a node that runs its orchestration"),
        "{shown}"
    );
    let node = place.node().await;
    let quick = node.client().instance(QUICK, "q-1");
    assert_eq!(quick.wait().await.unwrap(), 8);
    let again = place.durable(&[
        "start",
        "quick",
        "q-1",
        "--reuse",
        "restart-ended",
        "-i",
        "5",
    ]);
    assert_eq!(again.done(), "q-1: execution 2 is pending\n");
    node.shutdown(Duration::from_secs(5)).await;
}

#[test]
fn a_start_brings_events_a_delay_and_a_deadline() {
    let place = Place::new();
    let event = "approved={\"by\": \"Ada\"}";
    let arguments = ["start", "quick", "q-1", "--create", "--with-event", event];
    let started = place.json(&[&arguments[..], &["--after", "1h", "--deadline", "2d"]].concat());
    let begins_at_ms = started["begins_at_ms"].as_u64().unwrap();
    assert_eq!(started["started"], true);
    let shown = place.json(&["show", "q-1"]);
    assert_eq!(shown["begins_at_ms"], begins_at_ms);
    let apart = shown["deadline_ms"].as_u64().unwrap() - begins_at_ms;
    let expected = 47 * 3_600_000;
    assert!(
        (expected - 60_000..expected + 60_000).contains(&apart),
        "{apart}"
    );
    let shown = place.durable(&["show", "q-1"]).done();
    assert!(shown.contains("begins at "), "{shown}");
    assert!(shown.contains("deadline "), "{shown}");
    let again = place.durable(&["start", "quick", "q-1", "--with-event", "more=[1]"]);
    let again = again.done();
    assert!(again.ends_with(", as it was\n"), "{again}");
    for bad in ["more", "more=[", "=1"] {
        let arguments = ["start", "quick", "q-2", "--with-event", bad];
        assert_ne!(place.durable(&arguments).code, 0, "{bad}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn input_comes_from_a_file_and_from_standard_input() {
    let place = Place::new();
    let file = place.path("input.json");
    std::fs::write(&file, "{\"a\": [1]}\n").unwrap();
    let from_file = format!("@{}", file.display());
    place
        .durable(&["start", "quick", "a", "--create", "-i", &from_file])
        .done();
    let path = place.file();
    let mut child = command(&[
        "-s",
        path.to_str().unwrap(),
        "start",
        "quick",
        "b",
        "-i",
        "-",
    ])
    .stdin(Stdio::piped())
    .stdout(Stdio::piped())
    .spawn()
    .unwrap();
    child.stdin.take().unwrap().write_all(b"[2]").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    let at = place.durable(&["start", "quick", "c", "--at", "9.0.0"]);
    assert_eq!(at.done(), "c: execution 1 is pending\n");
    assert_eq!(place.json(&["show", "c"])["version"], "9.0.0");
}

#[tokio::test(flavor = "multi_thread")]
async fn events_and_promises_reach_their_instances() {
    let place = Place::filled().await;
    let raised = place.json(&["raise", "child-1", "approved", "-d", "true"]);
    assert_eq!(
        raised,
        json!({ "instance": "child-1", "event": "approved" })
    );
    let twice = [
        "raise",
        "child-1",
        "approved",
        "-d",
        "false",
        "--message-id",
        "m-1",
    ];
    assert_eq!(
        place.durable(&twice).done(),
        "raised `approved` for child-1\n"
    );
    place.durable(&twice).done();
    let node = place.node().await;
    let child = node.client().instance(WAITS, "child-1");
    assert!(child.wait().await.unwrap());
    node.shutdown(Duration::from_secs(5)).await;

    let place = Place::filled().await;
    let token = "waits-1/1/Promise(0)";
    let resolved = place.json(&["resolve", token, "--value", "true"]);
    assert_eq!(resolved, json!({ "promise": token, "settled": "resolved" }));
    let node = place.node().await;
    let waits = node.client().instance(WAITS, "waits-1");
    assert!(waits.wait().await.unwrap());
    node.shutdown(Duration::from_secs(5)).await;

    let place = Place::filled().await;
    let rejected = place.durable(&["reject", token, "--kind", "no_money", "-r", "the card"]);
    assert_eq!(rejected.done(), format!("rejected {token}\n"));
    let node = place.node().await;
    let waits = node.client().instance(WAITS, "waits-1");
    let failure = waits.wait().await.unwrap_err().to_string();
    assert_eq!(failure, "instance `waits-1` failed: no_money: the card");
    node.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_are_suspended_and_resumed() {
    let place = Place::filled().await;
    let both = ["waits-1", "child-1"];
    let said = place.durable(&["suspend", both[0], both[1], "-r", "a bad deploy"]);
    assert_eq!(said.done(), "waits-1: suspended\nchild-1: suspended\n");
    let shown = place.durable(&["show", "waits-1"]).done();
    assert!(
        shown.contains("because       suspended: a bad deploy\n"),
        "{shown}"
    );
    assert!(
        shown.contains("waits to be resumed: `durable resume waits-1`"),
        "{shown}"
    );
    let resumed = place.json(&["resume", both[0], both[1]]);
    let expected = json!({ "instance": "text", "done": "bool", "error": "null" });
    assert_eq!(shape(&resumed), json!({ "instances": [expected] }));
    assert_eq!(place.json(&["show", "child-1"])["status"], "running");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_instances_are_meant_by_a_description() {
    let place = Place::filled().await;
    let suspended = place.durable(&["suspend", "--name", "waits"]).done();
    assert_eq!(suspended, "child-1: suspended\nwaits-1: suspended\n");
    let none = place.durable(&["suspend", "--name", "waits"]).done();
    assert_eq!(none, "no instances match\n");
    let resumed = place.json(&["resume", "--status", "suspended"]);
    assert_eq!(resumed["instances"].as_array().unwrap().len(), 2);
    let ended = place.json(&["terminate", "--status", "completed,failed"]);
    assert_eq!(ended, json!({ "instances": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_are_cancelled_and_terminated() {
    let place = Place::filled().await;
    assert_eq!(
        place.durable(&["cancel", "waits-1"]).done(),
        "waits-1: asked to stop\n"
    );
    let terminated = place.durable(&["terminate", "child-1", "-r", "not needed"]);
    let told = "child-1: to be terminated\nno node lives on this store: they end when one does\n";
    assert_eq!(terminated.done(), told);
    let node = place.node().await;
    for (id, status) in [
        ("waits-1", StatusKind::Failed),
        ("child-1", StatusKind::Terminated),
    ] {
        let handle = node.client().instance(WAITS, id);
        let record = handle
            .wait_until(|record| record.status.kind().is_ended())
            .await
            .unwrap();
        assert_eq!(record.status.kind(), status, "{id}");
    }
    node.shutdown(Duration::from_secs(5)).await;
    let shown = place.durable(&["show", "child-1"]).done();
    assert!(
        shown.contains("because       terminated: not needed\n"),
        "{shown}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_refuses_does_not_keep_the_others_from_it() {
    let place = Place::filled().await;
    let ran = place.durable(&["suspend", "absent-1", "waits-1", "quick-1"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "waits-1: suspended\n"));
    for part in [
        "there is no instance `absent-1`",
        "instance `quick-1` has ended",
        "error: 2 of 3 were refused",
    ] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
    let client = place.client();
    let record = client.instance(WAITS, "waits-1").record().await.unwrap();
    assert_eq!(record.status.kind(), StatusKind::Suspended);
}
