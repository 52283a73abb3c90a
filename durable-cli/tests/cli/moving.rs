//! `export`, `import`, `purge`, `prune`, `completions`.

use std::time::Duration;

use durable_core::provider::InstanceRecord;
use serde_json::json;

use crate::support::{Place, QUICK, TIMED, WAITS, durable, durable_on, shape};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_exported_and_imported_is_the_same() {
    let place = Place::filled().await;
    let directory = place.path("exported");
    let out = directory.to_str().unwrap();
    let files = place.json(&["export", "--status", "completed,failed", "-o", out]);
    assert_eq!(shape(&files), json!({ "files": ["text"] }));
    let names = ["fails-1", "quick-1", "rounds-1"];
    let paths = names.map(|name| directory.join(format!("{name}.json")));
    assert_eq!(files["files"], json!(paths));

    let other = Place::new();
    let mut import = vec!["--json", "import", "--create"];
    import.extend(paths.iter().map(|path| path.to_str().unwrap()));
    let imported = other.durable(&import).done();
    let imported: serde_json::Value = serde_json::from_str(&imported).unwrap();
    let expected = json!({
        "file": "text", "instance": "text", "executions": "number", "events": "number",
        "status": "text",
    });
    assert_eq!(shape(&imported), json!({ "imported": [expected] }));
    assert_eq!(imported["imported"][2]["executions"], 3);
    for name in names {
        let exported = other.durable(&["export", name]).done();
        assert_eq!(exported, place.durable(&["export", name]).done(), "{name}");
        let (there, here) = (place.json(&["show", name]), other.json(&["show", name]));
        for field in [
            "status",
            "output",
            "failure",
            "version",
            "execution",
            "executions",
        ] {
            assert_eq!(here[field], there[field], "{name} {field}");
        }
    }
    assert_eq!(other.json(&["check"])["sound"], true);
    let again = other
        .durable(&["import", paths[1].to_str().unwrap()])
        .refused();
    assert!(
        again.contains("`quick-1` was not imported: it is in the store already"),
        "{again}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_is_taken_over_goes_on() {
    let place = Place::filled().await;
    let file = place.path("child.json");
    std::fs::write(&file, place.durable(&["export", "child-1"]).done()).unwrap();
    let file = file.to_str().unwrap();
    let other = Place::new();
    let node = other.node().await;
    let refused = other.durable(&["import", file]).refused();
    assert!(refused.contains("it has not ended"), "{refused}");
    assert!(refused.contains("--take-over"), "{refused}");
    let said = other.durable(&["import", "--take-over", file]).done();
    assert_eq!(said, "child-1: 6 events in 1 execution, running\n");
    other
        .durable(&["raise", "child-1", "approved", "-d", "true"])
        .done();
    let child = node.client().instance(WAITS, "child-1");
    assert!(child.wait().await.unwrap());
    node.shutdown(Duration::from_secs(5)).await;
    let events = other.json(&["history", "child-1"]);
    assert_eq!(events["events"].as_array().unwrap().len(), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_that_ends_in_an_input_is_answered_at_once() {
    let place = Place::filled().await;
    let exported = place.durable(&["export", "quick-1"]).done();
    let mut export: serde_json::Value = serde_json::from_str(&exported).unwrap();
    // The activity has completed, and the code has not run since.
    let entries = export[0]["entries"].as_array_mut().unwrap();
    assert_eq!(
        entries.pop().unwrap()["event"]["type"],
        "OrchestrationCompleted"
    );
    assert_eq!(
        entries.last().unwrap()["event"]["type"],
        "ActivityCompleted"
    );
    let file = place.path("quick.json");
    std::fs::write(&file, export.to_string()).unwrap();

    let other = Place::new();
    let import = ["import", "--create", "--take-over", file.to_str().unwrap()];
    let said = other.durable(&import).done();
    assert_eq!(said, "quick-1: 3 events in 1 execution, running\n");
    assert_eq!(other.json(&["show", "quick-1"])["status"], "running");
    let node = other.node().await;
    let quick = node.client().instance(QUICK, "quick-1");
    let output = quick.wait().timeout(Duration::from_secs(60)).await;
    assert_eq!(output, Ok(42));
    node.shutdown(Duration::from_secs(5)).await;
    assert_eq!(
        other.durable(&["export", "quick-1"]).done().lines().count(),
        exported.lines().count()
    );
    assert_eq!(other.json(&["check"])["sound"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_finds_its_instance_among_many_that_are_ready() {
    let place = Place::filled().await;
    let file = place.path("quick.json");
    std::fs::write(&file, place.durable(&["export", "quick-1"]).done()).unwrap();
    let other = Place::new();
    other
        .durable(&["start", "quick", "first", "--create"])
        .done();
    let client = other.client();
    for number in 0..150 {
        let id = format!("waiting-{number}");
        client.start(QUICK, id, &number).await.unwrap();
    }
    let said = other.durable(&["import", file.to_str().unwrap()]).done();
    assert_eq!(said, "quick-1: 4 events in 1 execution, completed\n");
    let node = other.node().await;
    let last = node.client().instance(QUICK, "waiting-149");
    assert_eq!(last.wait().await.unwrap(), 298);
    node.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn timers_and_work_are_taken_over_too() {
    let place = Place::filled().await;
    let file = place.path("waits.json");
    std::fs::write(&file, place.durable(&["export", "waits-1"]).done()).unwrap();
    let other = Place::new();
    let import = ["import", "--create", "--take-over", file.to_str().unwrap()];
    other.durable(&import).done();
    let raw = rusqlite::Connection::open(other.file()).unwrap();
    let timers = "SELECT event_id FROM timer";
    let timer: i64 = raw.query_row(timers, [], |row| row.get(0)).unwrap();
    assert_eq!(timer, 8);
    assert_eq!(
        other.json(&["show", "waits-1"])["waits_for"],
        place.json(&["show", "waits-1"])["waits_for"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_total_timeout_of_an_open_activity_is_taken_over_too() {
    let place = Place::new();
    let node = place.node().await;
    let timed = node.client().start(TIMED, "timed-1", &1).await.unwrap();
    let has_called = |record: &InstanceRecord| record.custom_status.is_some();
    timed.wait_until(has_called).await.unwrap();
    node.shutdown(Duration::from_secs(5)).await;
    let file = place.path("timed.json");
    std::fs::write(&file, place.durable(&["export", "timed-1"]).done()).unwrap();
    let other = Place::new();
    let import = ["import", "--create", "--take-over", file.to_str().unwrap()];
    other.durable(&import).done();
    let due = |place: &Place| -> (i64, i64) {
        let raw = rusqlite::Connection::open(place.file()).unwrap();
        let timers = "SELECT event_id, fire_at_ms FROM timer";
        let due = raw.query_row(timers, [], |row| Ok((row.get(0)?, row.get(1)?)));
        due.unwrap()
    };
    assert_eq!(due(&other), due(&place));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_has_ended_is_purged() {
    let place = Place::filled().await;
    let refused = place.durable(&["purge"]).refused();
    assert!(
        refused.contains("this would remove all ended instances"),
        "{refused}"
    );
    let dry = place.json(&["purge", "--all", "--dry-run"]);
    assert_eq!(dry, json!({ "meant": 3, "removed": 0 }));
    let named = place.durable(&["purge", "--name", "quick"]).done();
    assert_eq!(named, "removed 1 ended instance\n");
    let all = place.json(&["purge", "--all"]);
    assert_eq!(all, json!({ "meant": 2, "removed": 2 }));
    let left = place.json(&["list"]);
    assert_eq!(left["instances"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn past_executions_are_pruned_and_the_last_ones_stay() {
    let place = Place::filled().await;
    let refused = place.durable(&["prune"]).refused();
    assert!(
        refused.contains("this would remove past executions of all instances"),
        "{refused}"
    );
    let young = place.json(&["prune", "--all", "--ended-for", "1d"]);
    assert_eq!(young, json!({ "meant": 0, "removed": 0 }));
    let dry = place.json(&["prune", "--all", "--dry-run"]);
    assert_eq!(dry, json!({ "meant": 2, "removed": 0 }));
    let kept = place
        .durable(&["prune", "--name", "rounds", "--keep", "2"])
        .done();
    assert_eq!(kept, "removed 1 past execution\n");
    let all = place.json(&["prune", "--all"]);
    assert_eq!(all, json!({ "meant": 1, "removed": 1 }));
    let gone = place
        .durable(&["history", "rounds-1", "--execution", "1"])
        .refused();
    assert!(gone.contains("execution 1"), "{gone}");
    place.durable(&["history", "rounds-1"]).done();
    place.durable(&["check"]).done();
}

#[tokio::test(flavor = "multi_thread")]
async fn several_instances_need_a_directory() {
    let place = Place::filled().await;
    let refused = place.durable(&["export"]).refused();
    assert!(
        refused.contains("5 instances cannot be written to standard output"),
        "{refused}"
    );
    let hostile = durable_on(&place.file(), &["export", "../quick-1"]).refused();
    assert!(
        hostile.contains("there is no instance `../quick-1`"),
        "{hostile}"
    );
}

#[test]
fn every_shell_gets_its_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = durable(&["completions", shell]).done();
        assert!(script.contains("timeline"), "{shell}");
    }
}
