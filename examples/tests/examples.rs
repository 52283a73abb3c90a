//! Every example runs, says what it is to say, and ends by itself.
#![cfg(test)]

use std::process::Command;

/// What an example printed; it must succeed and complain about nothing.
#[track_caller]
fn run(program: &str, arguments: &[&str]) -> Vec<String> {
    let output = Command::new(program).args(arguments).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{stdout}{stderr}");
    assert_eq!(stderr, "");
    stdout.lines().map(String::from).collect()
}

/// The lines after their time and process.
fn said(lines: &[String]) -> Vec<&str> {
    let said = |line: &String| line.get(..8)?.ends_with(" s ").then_some(());
    lines
        .iter()
        .filter(|line| said(line).is_some())
        .filter_map(|line| line.split_once("process ")?.1.split_once("  "))
        .map(|(_, said)| said)
        .collect()
}

#[test]
fn fulfilment_survives_its_death() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("orders.db");
    let lines = run(env!("CARGO_BIN_EXE_fulfilment"), &[file.to_str().unwrap()]);
    let told = said(&lines);
    let mut reserved = told[1..4].to_vec();
    reserved.sort_unstable();
    assert_eq!(
        reserved,
        ["reserved cups", "reserved tea", "reserved teapot"]
    );
    assert_eq!(told[0], "a node opens the file and starts the order");
    assert_eq!(told[4], "the money has moved, nothing is recorded yet");
    assert!(told[5].starts_with("kill -9 "), "{told:#?}");
    assert!(told[5].ends_with("signal: 9 (SIGKILL)"), "{told:#?}");
    assert_eq!(
        told[6..12],
        [
            "another node opens the file: 8 events are there, it goes on",
            "charge runs again; its key is known: no second charge",
            "a client raises the event `approval`",
            "the carrier refuses order-1 (attempt 1)",
            "the carrier refuses order-1 (attempt 2)",
            "compensation: refund receipt of order-1/1/8",
        ]
    );
    assert_eq!(
        told[15..],
        ["the order ends: undone, because carrier: the parcel is too fragile"]
    );
    let ledger = std::fs::read_to_string(file.with_extension("ledger")).unwrap();
    assert_eq!(ledger.lines().count(), 8, "{ledger}");
    assert_eq!(ledger.matches(" charge ").count(), 1, "{ledger}");
    let picture = lines.join("\n");
    for part in ["event approval", "timer 1 s", "┊", "kill -9", "✗"] {
        assert!(picture.contains(part), "{part} in {picture}");
    }
    let again = Command::new(env!("CARGO_BIN_EXE_fulfilment"))
        .arg(&file)
        .output()
        .unwrap();
    assert!(!again.status.success());
}

#[test]
fn trace_shows_an_order_in_the_trace_of_its_request() {
    assert_eq!(
        run(env!("CARGO_BIN_EXE_trace"), &[]),
        [
            "activity of charge below request",
            "activity of pack below request",
            "call the bank below activity of charge",
            "request",
            "turn of order-7 below request",
            "turn of order-7/1/4 below request",
        ]
    );
}

#[test]
fn hello_greets() {
    assert_eq!(run(env!("CARGO_BIN_EXE_hello"), &[]), ["Hello, Ada!"]);
}

#[test]
fn fan_out_counts() {
    let lines = run(env!("CARGO_BIN_EXE_fan_out"), &[]);
    assert_eq!(lines, ["10 texts have 55 words"]);
}

#[test]
fn saga_undoes_the_last_one_first() {
    let expected = [
        "booked flight",
        "booked hotel",
        "cancelled hotel",
        "cancelled flight",
        "no trip: sold_out: no seat left",
    ];
    assert_eq!(run(env!("CARGO_BIN_EXE_saga"), &[]), expected);
}

#[test]
fn approval_has_a_timeout() {
    let expected = ["Grace said yes", "no answer in time"];
    assert_eq!(run(env!("CARGO_BIN_EXE_approval"), &[]), expected);
}

#[test]
fn polling_keeps_histories_short() {
    let expected = [
        "4 rounds, last seen at 100 %",
        "execution 1: 8 events",
        "execution 2: 8 events",
        "execution 3: 8 events",
        "execution 4: 6 events",
    ];
    assert_eq!(run(env!("CARGO_BIN_EXE_polling"), &[]), expected);
}

#[test]
fn children_answer_their_parents() {
    let lines = run(env!("CARGO_BIN_EXE_children"), &[]);
    assert_eq!(lines[..2], ["14 bytes", "root answers no parent"]);
    assert_eq!(lines.len(), 5);
    let below_root = lines[2..]
        .iter()
        .filter(|line| line.ends_with(" answers root"));
    assert_eq!(below_root.count(), 2);
}

#[test]
fn webhook_keeps_a_promise() {
    let expected = [
        "the token is checkout-1/1/Promise(0)",
        "the webhook answers 204 No Content",
        "Ada paid 4990 cents",
        "an unknown token gets 404 Not Found",
    ];
    assert_eq!(run(env!("CARGO_BIN_EXE_webhook"), &[]), expected);
}

#[test]
fn versions_and_patches_leave_running_instances_alone() {
    let expected = [
        "a deploy: ship 2.0.0 beside 1.0.0, pack patched",
        "ship-old on 1.0.0: by post",
        "ship-new on 2.0.0: by drone",
        "pack-old on 1.0.0: packed",
        "pack-new on 1.0.0: weighed and packed",
    ];
    assert_eq!(run(env!("CARGO_BIN_EXE_versions"), &[]), expected);
}

#[test]
fn idempotency_charges_once() {
    let expected = [
        "attempt 1 of pay-1/1/2: charged",
        "attempt 2 of pay-1/1/2: known",
        "attempt 1 of pay-1/1/4: charged",
        "attempt 2 of pay-1/1/4: known",
        "the orchestration saw 200 cents",
        "the bank moved 200 cents",
    ];
    assert_eq!(run(env!("CARGO_BIN_EXE_idempotency"), &[]), expected);
}

#[test]
fn virtual_time_flies() {
    let expected = [
        "paid late: 500 of 500 cents came",
        "never paid: instance `unpaid` failed: unpaid: three reminders, no money",
        "30 days went by, 1 node died",
    ];
    assert_eq!(run(env!("CARGO_BIN_EXE_virtual_time"), &[]), expected);
}

#[test]
fn replay_tests_find_the_careless_change() {
    let lines = run(env!("CARGO_BIN_EXE_replay_test"), &[]);
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0], "the same code: replays");
    assert_eq!(lines[1], "a careless change: breaks");
    assert!(
        lines[2].contains("at event 2, Activity(0): the history has"),
        "{}",
        lines[2]
    );
    assert_eq!(lines[3], "a patched change: replays");
}

#[test]
fn embedded_stops_in_good_order() {
    let expected = [
        "POST /uploads/cat: 202 Accepted",
        "POST /uploads/cat: 202 Accepted",
        "made cat.png-small",
        "GET /uploads/cat: 200 OK {\"id\":\"cat\",\"status\":\"completed\"}",
        "GET /uploads/dog: 404 Not Found",
        "the routes have stopped",
        "the node has stopped",
    ];
    assert_eq!(run(env!("CARGO_BIN_EXE_embedded"), &[]), expected);
}

#[test]
fn nodes_take_over_from_one_that_is_killed() {
    let lines = run(env!("CARGO_BIN_EXE_nodes"), &[]);
    let [started, killed, done] = lines.as_slice() else {
        panic!("{lines:#?}");
    };
    assert!(started.starts_with("1000 orders are started after "));
    assert!(killed.starts_with("300 are done after "));
    assert!(killed.ends_with("; one node of three is killed"));
    assert!(done.starts_with("all are done after "));
    assert!(done.ends_with(" after the kill; a lease is 3s"));
}

#[test]
fn the_program_of_the_readme_is_one_that_runs() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let readme = std::fs::read_to_string(format!("{root}/README.md")).unwrap();
    let source = include_str!("../src/bin/readme.rs");
    let (_, program) = source.split_once("\n\n").unwrap();
    let shown = readme.split("```rust\n").nth(1).unwrap();
    let shown = shown.split("```").next().unwrap();
    assert_eq!(shown, program);
    assert!(program.lines().count() <= 40);

    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let output = Command::new(env!("CARGO_BIN_EXE_readme"))
            .current_dir(&folder)
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            "receipt of 4990 cents\n"
        );
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
        assert!(output.status.success());
    }
}

#[test]
fn every_page_of_the_guide_is_compiled_and_listed() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");
    let index = std::fs::read_to_string(format!("{docs}/README.md")).unwrap();
    let modules = include_str!("../src/guide.rs");
    let mut pages = 0;
    for entry in std::fs::read_dir(docs).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".md") || name == "README.md" {
            continue;
        }
        pages += 1;
        assert!(index.contains(&format!("]({name})")), "{name}");
        assert!(modules.contains(&format!("docs/{name}\"")), "{name}");
    }
    assert_eq!(pages, 12);
}

#[test]
fn links_between_pages_lead_somewhere() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages = vec![root.join("README.md")];
    let docs = std::fs::read_dir(root.join("docs")).unwrap();
    pages.extend(docs.map(|entry| entry.unwrap().path()));
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1) {
            let link = link.split([')', '#']).next().unwrap();
            if !link.starts_with("http") {
                let target = page.parent().unwrap().join(link);
                assert!(target.exists(), "{link} in {}", page.display());
            }
        }
    }
}
