//! Bad input of every kind: a clear error, never a panic, nothing created.

use serde_json::{Value, json};

use crate::support::{Place, durable, durable_on};

/// Every command that takes an instance that is not there.
const ON_AN_INSTANCE: &[&[&str]] = &[
    &["show", "absent-1"],
    &["history", "absent-1"],
    &["timeline", "absent-1"],
    &["raise", "absent-1", "approved"],
    &["resolve", "absent-1/1/Promise(0)"],
    &["reject", "absent-1/1/Promise(0)"],
    &["cancel", "absent-1"],
    &["suspend", "absent-1"],
    &["resume", "absent-1"],
    &["terminate", "absent-1"],
    &["export", "absent-1"],
    &["watch", "absent-1"],
];

const OTHERS: &[&[&str]] = &[
    &["list"],
    &["start", "quick", "q-1"],
    &["import", "file.json"],
    &["purge", "--all"],
    &["prune", "--all"],
    &["check"],
    &["stats"],
    &["poisoned"],
    &["watch"],
];

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_is_not_there_is_named() {
    let place = Place::filled().await;
    for arguments in ON_AN_INSTANCE {
        let told = place.durable(arguments).refused();
        assert!(
            told.contains("there is no instance `absent-1`"),
            "{arguments:?}: {told}"
        );
        assert!(
            told.contains("hint: `durable list` shows the instances of the store"),
            "{told}"
        );
        let ran = place.durable(&[&["--json"], *arguments].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
        let error: Value = serde_json::from_str(&ran.stderr).unwrap();
        assert_eq!(error["error"]["kind"], "not_found", "{arguments:?}");
    }
}

#[test]
fn a_missing_store_is_an_error_and_is_not_created() {
    let place = Place::new();
    for arguments in ON_AN_INSTANCE.iter().chain(OTHERS) {
        let told = place.durable(arguments).refused();
        assert!(
            told.contains("nothing was created"),
            "{arguments:?}: {told}"
        );
        assert!(!place.file().exists(), "{arguments:?}");
    }
    let error = place.durable(&["--json", "list"]);
    let error: Value = serde_json::from_str(&error.stderr).unwrap();
    let expected = json!({ "error": {
        "kind": "store_missing",
        "message": format!("there is no store `{}`; nothing was created", place.file().display()),
        "hint": "check the path; `start` and `import` make a new store with `--create`",
    }});
    assert_eq!(error, expected);
}

#[test]
fn what_is_no_store_is_refused() {
    let place = Place::new();
    let directory = place.path("");
    let told = durable_on(&directory, &["list"]).refused();
    assert!(told.contains("it is a directory"), "{told}");
    std::fs::write(place.file(), "").unwrap();
    let told = place.durable(&["list"]).refused();
    assert!(told.contains("the file is empty"), "{told}");
    assert_eq!(std::fs::metadata(place.file()).unwrap().len(), 0);
    let letter = "this is a letter, not a database\n".repeat(400);
    std::fs::write(place.file(), &letter).unwrap();
    let told = place.durable(&["list"]).refused();
    assert!(told.contains("not a database"), "{told}");
    assert!(told.contains("name the file of a store"), "{told}");
    assert!(!told.contains("the file is damaged"), "{told}");
    assert_eq!(std::fs::read_to_string(place.file()).unwrap(), letter);
    let theirs = place.path("theirs.db");
    let raw = rusqlite::Connection::open(&theirs).unwrap();
    raw.execute_batch("CREATE TABLE theirs (a)").unwrap();
    let told = durable_on(&theirs, &["list"]).refused();
    assert!(told.contains("another application"), "{told}");
}

#[test]
fn a_store_must_be_named_and_be_of_a_kind_that_is_built_in() {
    let told = durable(&["list"]).refused();
    assert!(told.contains("no store was named"), "{told}");
    assert!(told.contains("DURABLE_STORE"), "{told}");
    let told = durable(&["-s", "redis+x://user:secret@localhost/0", "list"]).refused();
    assert!(told.contains("not built in"), "{told}");
    assert!(!told.contains("secret"), "{told}");
}

#[test]
fn arguments_that_cannot_be_understood_are_told_with_their_usage() {
    for (arguments, part) in [
        (&["lsit"][..], "list"),
        (&["show"], "<ID>"),
        (
            &["list", "--status", "sleeping"],
            "possible values: pending",
        ),
        (
            &["list", "--older-than", "7 weeks"],
            "500ms, 90s, 5m, 2h, 7d",
        ),
        (&["list", "--limit", "many"], "--limit"),
        (&["list", "--page", "AQAAAA"], "this is no page token"),
        (&["list", "id = a", "--page", "AQAAAA"], "--page"),
        (&["history", "a", "--after", "x"], "invalid digit"),
        (&["start", "quick", "q", "-i", "{"], "it is not JSON"),
        (&["start", "quick", "q", "-i", "Ada"], "'\"Ada\"'"),
        (
            &["raise", "a", "b", "-d", "@/nowhere.json"],
            "it cannot be read",
        ),
        (&["resolve", "orders-7"], "instance/execution/Promise(n)"),
        (
            &["start", "quick", "q", "--reuse", "always"],
            "restart-ended",
        ),
        (&["watch", "--every", "soon"], "500ms, 90s, 5m, 2h, 7d"),
        (&["import"], "<FILES>"),
        (&["completions", "cmd"], "possible values: bash"),
        (&["timeline", "a", "--width", "wide"], "--width"),
    ] {
        let ran = durable(&[&["-s", "x.db"], arguments].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains(part), "{arguments:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_instance_cannot_do_is_told() {
    let place = Place::filled().await;
    for (arguments, part, hint) in [
        (
            &["raise", "quick-1", "x"][..],
            "instance `quick-1` has ended",
            "durable show quick-1",
        ),
        (
            &["cancel", "fails-1"],
            "instance `fails-1` has ended",
            "durable show fails-1",
        ),
        (
            &["start", "waits", "waits-1"],
            "the id `waits-1` is taken",
            "--reuse use-running",
        ),
        (
            &["history", "quick-1", "--execution", "9"],
            "no execution 9",
            "the latest, 1",
        ),
        (&["cancel"], "no instance is named", "--status suspended"),
        (
            &["resume", "waits-1", "--prefix", "w"],
            "both named and selected by options",
            "name them",
        ),
        (&["start", "quick", ""], "is empty", ""),
        (&["start", "", "q-2"], "is empty", ""),
        (&["raise", "waits-1", ""], "is empty", ""),
    ] {
        let told = place.durable(arguments).refused();
        assert!(told.contains(part), "{arguments:?}: {told}");
        assert!(told.contains(hint), "{arguments:?}: {told}");
    }
    let long = "x".repeat(5_000);
    let told = place.durable(&["start", "quick", &long]).refused();
    assert!(told.contains("at most 1024 are allowed"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_export_is_refused() {
    let place = Place::filled().await;
    let file = place.path("bad.json");
    let path = file.to_str().unwrap();
    let told = place.durable(&["import", path]).refused();
    assert!(told.contains("cannot be read"), "{told}");
    let export = place.durable(&["export", "quick-1"]).done();
    for (text, part) in [
        ("not json".to_owned(), "is no export"),
        ("[]".to_owned(), "it has no history"),
        ("{\"instance\": 7}".to_owned(), "is no export"),
        (
            export.replace("\"source_event_id\": 2", "\"source_event_id\": 9"),
            "was not imported",
        ),
        (
            export.replace("\"execution_id\": 1", "\"execution_id\": 2"),
            "first execution is missing",
        ),
    ] {
        std::fs::write(&file, text).unwrap();
        let told = place.durable(&["import", path]).refused();
        assert!(told.contains(part), "{told}");
        assert!(told.contains("hint: "), "{told}");
    }
    assert_eq!(place.json(&["stats"])["instances"], 5);
}

#[test]
fn help_tells_of_every_command() {
    let help = durable(&["--help"]).done();
    for arguments in ON_AN_INSTANCE.iter().chain(OTHERS) {
        assert!(
            help.contains(&format!("  {} ", arguments[0])),
            "{arguments:?}"
        );
        let own = durable(&[arguments[0], "--help"]).done();
        assert!(own.contains("Usage: durable"), "{arguments:?}");
    }
}
