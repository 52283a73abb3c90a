//! `list`, `show`, `history`, `timeline`, `stats`, `check`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Place, WAITS, shape};

fn record_shape() -> Value {
    json!({
        "instance": "text", "orchestration": "text", "version": "text", "status": "text",
        "execution": "number", "last_event": "number", "created_at_ms": "number",
        "updated_at_ms": "number", "custom_status": "null", "output": "null",
        "failure": "null", "blocked": "null", "parent": "null", "attributes": {},
    })
}

fn ids(list: &Value) -> Vec<&str> {
    let instances = list["instances"].as_array().unwrap();
    let ids = instances.iter().map(|record| record["instance"].as_str());
    ids.map(Option::unwrap).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_are_listed_and_filtered() {
    let place = Place::filled().await;
    let all = ["child-1", "fails-1", "quick-1", "rounds-1", "waits-1"];
    assert_eq!(ids(&place.json(&["list", "--by-id"])), all);
    assert_eq!(
        ids(&place.json(&["list", "--by-id", "--name", "waits"])),
        ["child-1", "waits-1"]
    );
    let ended = ["list", "--by-id", "--status", "completed,failed"];
    assert_eq!(ids(&place.json(&ended)), ["fails-1", "quick-1", "rounds-1"]);
    assert_eq!(ids(&place.json(&["list", "--prefix", "q"])), ["quick-1"]);
    assert_eq!(ids(&place.json(&["list", "--older-than", "1d"])), [""; 0]);
    let at = ["list", "--by-id", "--at", "1.0.0"];
    assert_eq!(ids(&place.json(&at)), all);
    assert_eq!(ids(&place.json(&["list", "--at", "2.0.0"])), [""; 0]);
    let recent = ["list", "--by-id", "--newer-than", "1d"];
    assert_eq!(ids(&place.json(&recent)), all);
    assert_eq!(ids(&place.json(&["list", "--newer-than", "0s"])), [""; 0]);
    let first = place.json(&["list", "--by-id", "--limit", "2"]);
    assert_eq!(ids(&first), all[..2]);
    let rest = place.json(&["list", "--page", first["next"].as_str().unwrap()]);
    assert_eq!(
        (ids(&rest), &rest["next"]),
        (all[2..].to_vec(), &Value::Null)
    );

    let mut expected = record_shape();
    expected["failure"] = json!({
        "kind": "text", "message": "text", "details": "null", "retryable": "bool",
    });
    let failed = place.json(&["list", "--by-id", "--status", "failed"]);
    assert_eq!(
        shape(&failed),
        json!({ "instances": [&expected], "query": "text", "next": "null" })
    );
    let failed = place.json(&["list", "--status", "failed"]);
    assert_eq!(failed["query"], "status = failed order by changed desc");

    let text = place.durable(&["list", "--by-id"]).done();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 6);
    assert!(lines[0].starts_with("instance  orchestration  status     events"));
    assert!(lines[0].ends_with("  because"), "{text}");
    assert!(lines[2].ends_with("  no_luck: it was not to be"), "{text}");
    assert!(lines[3].starts_with("quick-1   quick 1.0.0    completed  4       "));
    assert!(!text.contains('\u{1b}'), "colours only on a terminal");
    let coloured = place.durable(&["--color", "always", "list"]).done();
    assert!(coloured.contains("\u{1b}[32m"));
    let none = place.durable(&["list", "--prefix", "none"]).done();
    assert_eq!(none, "no instances match\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_are_listed_by_a_filter_in_its_order() {
    let place = Place::filled().await;
    place.durable(&["suspend", "child-1"]).done();
    let times = |list: &Value, field: &str| -> Vec<u64> {
        let records = list["instances"].as_array().unwrap().iter();
        records
            .map(|record| record[field].as_u64().unwrap())
            .collect()
    };
    let newest_first = times(&place.json(&["list"]), "created_at_ms");
    assert_eq!(newest_first.len(), 5);
    assert!(
        newest_first.is_sorted_by(|one, next| one >= next),
        "{newest_first:?}"
    );
    let stopped = place.json(&["list", "status not in (pending, running)"]);
    assert_eq!(ids(&stopped)[0], "child-1");
    let changed = times(&stopped, "updated_at_ms");
    assert_eq!(changed.len(), 4);
    assert!(changed.is_sorted_by(|one, next| one >= next), "{changed:?}");

    let both = r#"(name = waits or status = failed) and changed > -1h order by id desc"#;
    assert_eq!(
        ids(&place.json(&["list", both])),
        ["waits-1", "fails-1", "child-1"]
    );
    let narrower = [
        "list",
        both,
        "--name",
        "waits",
        "--where",
        "status = suspended",
    ];
    assert_eq!(ids(&place.json(&narrower)), ["child-1"]);

    let text = place
        .durable(&["list", "order by id", "--limit", "1"])
        .done();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    let token = lines[2].strip_prefix("there are more: --page ").unwrap();
    let rest = place.json(&["list", "--page", token]);
    assert_eq!(ids(&rest), ["fails-1", "quick-1", "rounds-1", "waits-1"]);
    let none = place.durable(&["list", "statsu = failed"]).done();
    let told = "no instances match; `statsu` is read as an attribute: did you mean `status`?\n";
    assert_eq!(none, told);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_filter_is_shown_at_its_place() {
    let place = Place::filled().await;
    let told = place
        .durable(&["list", "status = faild and name = waits"])
        .refused();
    let expected = "`faild` is no status\n\n  status = faild and name = waits\n           ^^^^^\n\
                    hint: did you mean `failed`?";
    assert!(told.contains(expected), "{told}");
    let told = place.durable(&["purge", "--where", "status"]).refused();
    assert!(told.contains("and the filter ends here"), "{told}");
    let told = place
        .durable(&["terminate", "--where", "id = a order by id"])
        .refused();
    assert!(told.contains("an order has no place here"), "{told}");
    let error = place.durable(&["--json", "list", "status ="]);
    assert!(error.stderr.contains(r#""filter""#), "{}", error.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_says_what_it_waits_for() {
    let place = Place::filled().await;
    let shown = place.json(&["show", "waits-1"]);
    let waits = shown["waits_for"].as_array().unwrap();
    let commands: Vec<_> = waits.iter().map(|wait| &wait["command"]).collect();
    assert_eq!(
        commands,
        [
            "Promise(0)",
            "External(0)",
            "SubOrchestration(0)",
            "Timer(0)"
        ]
    );
    assert_eq!(waits[0]["target"], "waits-1/1/Promise(0)");
    assert_eq!(waits[2]["target"], "child-1");
    assert_eq!(shown["custom_status"], "waiting");
    assert_eq!(
        shown["executions"],
        json!([{ "execution_id": 1, "last_event_id": 8 }])
    );
    let mut expected = record_shape();
    expected["custom_status"] = "text".into();
    // No node lives on the store.
    expected["blocked"] = json!({
        "kind": "text", "message": "text", "details": "null", "retryable": "bool",
    });
    expected["waits_for"] = json!([{
        "event": "number", "command": "text", "name": "text", "begun_at_ms": "number",
        "due_at_ms": "null", "target": "text", "end": "null", "certain": "bool",
        "earlier_attempts": { "failed": "number", "crashed": "number" },
    }]);
    expected["executions"] = json!([{ "execution_id": "number", "last_event_id": "number" }]);
    expected["activities"] = json!([]);
    expected["suspended_children"] = json!([]);
    expected["views"] = json!([{
        "name": "text", "value": "text", "execution": "number", "event": "number",
        "changed_at_ms": "number",
    }]);
    expected["requests"] = json!([]);
    assert_eq!(shape(&shown), expected);

    let text = place.durable(&["show", "waits-1"]).done();
    for part in [
        "waits-1  running\n",
        "orchestration waits 1.0.0\n",
        "execution     1, 8 events\n",
        "says          \"waiting\"\n",
        "   4 promise `paid`, token waits-1/1/Promise(0), since ",
        "   6 event `approved`, since ",
        "   7 child `child-1` of `waits`, since ",
        "   8 timer, due ",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    let child = place.durable(&["show", "child-1"]).done();
    assert!(child.contains("parent        waits-1, execution 1, event 7\n"));
    let failed = place.durable(&["show", "fails-1"]).done();
    assert!(failed.contains("because       no_luck: it was not to be\n"));
    assert!(!failed.contains("waits for"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_says_which_suspended_children_it_waits_for() {
    let place = Place::filled().await;
    place
        .durable(&["suspend", "child-1", "--reason", "lunch"])
        .done();
    let shown = place.json(&["show", "waits-1"]);
    let failure =
        json!({ "kind": "suspended", "message": "lunch", "details": null, "retryable": false });
    let parent = json!({ "instance": "waits-1", "execution_id": 1, "event_id": 7 });
    assert_eq!(
        shown["suspended_children"],
        json!([{ "instance": "child-1", "parent": parent, "failure": failure }])
    );
    let text = place.durable(&["show", "waits-1"]).done();
    let last = text.lines().last().unwrap();
    assert_eq!(
        last,
        "  child `child-1` is suspended: suspended: lunch; `durable resume child-1` lets it go on"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_says_which_code_it_lacks() {
    let place = Place::filled().await;
    let node = place.node().await;
    place
        .durable(&["start", "waits", "new-1", "--at", "9.0.0"])
        .done();
    let text = place.durable(&["show", "new-1"]).done();
    let blocked = "  blocked       not registered: no node that lives has the orchestration \
                   `waits` 9.0.0: start one that does\n";
    assert!(text.contains(blocked), "{text}");
    let listed = place.durable(&["list", "--prefix", "new"]).done();
    assert!(listed.contains("pending, blocked"), "{listed}");
    node.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_has_times_and_links() {
    let place = Place::filled().await;
    let text = place.durable(&["history", "quick-1", "--payloads"]).done();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip(2)
        .map(|line| line.split("  ").filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[1][0].trim(), "2");
    assert_eq!(
        rows[1][3..],
        ["Activity(0)", "ActivityScheduled `double`", "21"].map(str::trim)
    );
    assert_eq!(
        rows[2][3..]
            .iter()
            .map(|cell| cell.trim())
            .collect::<Vec<_>>(),
        ["← 2", "ActivityCompleted `double`", "42"]
    );

    let after = place.json(&["history", "quick-1", "--after", "2", "--limit", "1"]);
    let event = json!({
        "event": "number", "recorded_at_ms": "number", "kind": "text", "command": "null",
        "source_event": "number",
        "details": {
            "type": "text", "event_id": "number", "source_event_id": "number", "result": "text",
        },
    });
    let expected = json!({ "instance": "text", "execution": "number", "events": [event] });
    assert_eq!(shape(&after), expected);
    assert_eq!(after["events"].as_array().unwrap().len(), 1);
    assert_eq!(after["events"][0]["event"], 3);

    let waits = place.durable(&["history", "waits-1"]).done();
    assert!(
        waits.contains("Timer(0)             TimerCreated 1 d, due "),
        "{waits}"
    );

    let latest = place.json(&["history", "rounds-1"]);
    assert_eq!(latest["execution"], 3);
    let first = place.json(&["history", "rounds-1", "--execution", "1"]);
    assert_eq!(first["events"][3]["kind"], "OrchestrationContinuedAsNew");
    let nothing = place.json(&["history", "quick-1", "--after", "99"]);
    assert_eq!(nothing["events"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeline_is_drawn_as_text_and_as_svg() {
    let place = Place::filled().await;
    let text = place
        .durable(&["timeline", "waits-1", "--width", "90"])
        .done();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 7, "{text}");
    assert!(lines[0].starts_with("waits-1 · waits 1.0.0 · execution 1 · running for "));
    for (line, begin) in lines[2..].iter().zip([
        "2 double",
        "4 promise paid",
        "6 event approved",
        "7 child waits",
        "8 timer 1 d",
    ]) {
        assert!(line.starts_with(begin), "{line:?}");
        assert!(line.chars().count() <= 90, "{line:?}");
    }
    assert!(lines[6].contains("──▶"), "{text}");

    let file = place.path("picture.svg");
    let said = place.durable(&["timeline", "waits-1", "--svg", file.to_str().unwrap()]);
    assert_eq!(said.done(), format!("wrote {}\n", file.display()));
    let svg = std::fs::read_to_string(&file).unwrap();
    assert!(svg.starts_with("<svg xmlns="), "{svg}");
    assert!(svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<rect class=\"listens open\"").count(), 2);
    let shown = place.durable(&["timeline", "quick-1", "--svg", "-"]).done();
    assert!(shown.contains("activity succeeded"));

    let json = place.json(&["timeline", "quick-1"]);
    let end = json!({ "event": "number", "at_ms": "number", "outcome": "text", "failure": "null" });
    let operation = json!({
        "event": "number", "command": "text", "name": "text", "begun_at_ms": "number",
        "due_at_ms": "null", "target": "null", "end": end, "certain": "bool",
        "earlier_attempts": { "failed": "number", "crashed": "number" },
    });
    let expected = json!({
        "instance": "text", "execution": "number", "begun_at_ms": "number",
        "ended_at_ms": "number", "operations": [operation], "svg": "null",
    });
    assert_eq!(shape(&json), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_is_counted() {
    let place = Place::filled().await;
    let stats = place.json(&["stats"]);
    assert_eq!(stats["instances"], 5);
    assert_eq!(stats["orchestrations"]["waits"]["statuses"]["running"], 2);
    assert_eq!(stats["orchestrations"]["fails"]["statuses"]["failed"], 1);
    let statuses = json!({
        "pending": "number", "running": "number", "suspended": "number",
        "completed": "number", "failed": "number", "terminated": "number",
    });
    let counts = json!({
        "statuses": statuses, "blocked": "number", "events": "number",
        "oldest_open_at_ms": "null",
    });
    assert_eq!(shape(&stats["orchestrations"]["quick"]), counts);
    assert!(stats["bytes"].as_u64().unwrap() > 0);
    let text = place.durable(&["stats"]).done();
    assert!(text.contains(": 5 instances, "), "{text}");
    assert_eq!(text.lines().count(), 7);
    assert!(
        text.contains("orchestration  running  completed  failed  blocked"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_finds_a_flipped_bit() {
    let place = Place::filled().await;
    let sound = place.json(&["check"]);
    let expected = json!({
        "sound": "bool", "records": "number", "instances": "number", "events": "number",
        "findings": [],
    });
    assert_eq!(shape(&sound), expected);
    assert_eq!(
        (&sound["sound"], &sound["instances"]),
        (&json!(true), &json!(5))
    );

    let raw = rusqlite::Connection::open(place.file()).unwrap();
    let flip = "UPDATE history SET entry = CAST(substr(entry, 1, 20) || x'ff' || substr(entry, 22) AS BLOB)
                WHERE event_id = 3 AND instance_key = (SELECT key FROM record WHERE id = 'quick-1')";
    assert_eq!(raw.execute(flip, []).unwrap(), 1);
    let ran = place.durable(&["check"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stdout.contains("`quick-1`, execution 1, event 3"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stderr.contains("the store is damaged"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
    let told = place.durable(&["history", "quick-1"]).refused();
    assert!(told.contains("quick-1"), "{told}");
    assert!(told.contains("`durable check` shows what else"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_is_read_while_a_node_uses_it() {
    let place = Place::filled().await;
    let node = place.node().await;
    assert_eq!(ids(&place.json(&["list"])).len(), 5);
    place
        .durable(&["raise", "waits-1", "approved", "--data", "true"])
        .done();
    let waits = node.client().instance(WAITS, "waits-1");
    assert!(waits.wait().await.unwrap());
    assert_eq!(place.json(&["check"])["sound"], true);
    node.shutdown(Duration::from_secs(5)).await;
}

/// Every row of the store, but for the histories.
fn rows(place: &Place) -> Vec<String> {
    let raw = rusqlite::Connection::open(place.file()).unwrap();
    let mut rows = Vec::new();
    for table in [
        "meta", "session", "instance", "record", "inbox", "work", "timer",
    ] {
        let mut statement = raw.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = statement.column_count();
        let read = |row: &rusqlite::Row<'_>| {
            let cells = (0..columns).map(|column| format!("{:?}", row.get_ref(column)));
            Ok(format!("{table}: {}", cells.collect::<Vec<_>>().join(" ")))
        };
        let read = statement.query_map([], read).unwrap();
        rows.extend(read.map(Result::unwrap));
    }
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_changes_nothing() {
    let place = Place::filled().await;
    let before = rows(&place);
    assert!(before.len() > 10);
    for arguments in [
        &["list"][..],
        &["show", "waits-1"],
        &["history", "waits-1"],
        &["timeline", "waits-1"],
        &["export", "waits-1"],
        &["stats"],
        &["poisoned"],
        &["check"],
        &["watch", "quick-1"],
    ] {
        place.durable(arguments).done();
        assert_eq!(rows(&place), before, "{arguments:?}");
    }
}
