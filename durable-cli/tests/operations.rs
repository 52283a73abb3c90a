//! What an execution did and what it waits for, out of its history.
#![cfg(test)]

use std::time::Duration;

use durable_cli::{Operation, OperationOutcome, operations};
use durable_core::{Failure, History};
use durable_testkit::HistoryBuilder;

/// Command, end and outcome of each operation.
fn told(history: &History) -> Vec<(String, Option<u64>, &'static str)> {
    let told = |operation: &Operation| {
        let (end, outcome) = match &operation.end {
            None if operation.is_certain => (None, "open"),
            None => (None, "perhaps open"),
            Some(end) => {
                let outcome = match end.outcome {
                    OperationOutcome::Succeeded => "succeeded",
                    OperationOutcome::Failed(_) => "failed",
                    _ => "given up",
                };
                (Some(end.event_id.get()), outcome)
            }
        };
        (operation.command.to_string(), end, outcome)
    };
    operations(history).iter().map(told).collect()
}

fn row(
    command: &str,
    end: Option<u64>,
    outcome: &'static str,
) -> (String, Option<u64>, &'static str) {
    (command.to_owned(), end, outcome)
}

fn started() -> HistoryBuilder {
    HistoryBuilder::new("order-7")
        .at_ms(1_000)
        .started("order", &7)
}

#[test]
fn completions_end_what_they_name() {
    let history = started()
        .activity("a", &1) // 2
        .activity("b", &2) // 3
        .timer(Duration::from_secs(5)) // 4
        .later(Duration::from_secs(1))
        .completed(3, &2) // 5
        .failed(2, Failure::application("no", "luck")) // 6
        .cancelled(4) // 7
        .build()
        .unwrap();
    let expected = [
        row("Activity(0)", Some(6), "failed"),
        row("Activity(1)", Some(5), "succeeded"),
        row("Timer(0)", Some(7), "given up"),
    ];
    assert_eq!(told(&history), expected);
    let operations = operations(&history);
    assert_eq!(operations[0].begun_at_ms, 1_000);
    assert_eq!(operations[0].end.as_ref().unwrap().at_ms, 2_000);
    assert_eq!(operations[2].due_at_ms, Some(6_000));
}

#[test]
fn events_go_to_the_oldest_listener_or_wait_for_one() {
    let history = started()
        .awaiting("news") // 2
        .awaiting("news") // 3
        .raised("news", &1) // 4
        .raised("other", &2) // 5
        .awaiting("other") // 6
        .build()
        .unwrap();
    let expected = [
        row("External(0)", Some(4), "succeeded"),
        row("External(1)", None, "perhaps open"),
        row("External(2)", Some(5), "succeeded"),
    ];
    assert_eq!(told(&history), expected);
}

#[test]
fn a_listener_is_certain_until_something_happens() {
    let waiting = started()
        .awaiting("news")
        .promise("paid")
        .timer(Duration::from_secs(1));
    let before = waiting.clone().build().unwrap();
    let expected = [
        row("External(0)", None, "open"),
        row("Promise(0)", None, "open"),
        row("Timer(0)", None, "open"),
    ];
    assert_eq!(told(&before), expected);
    let after = waiting
        .later(Duration::from_secs(1))
        .fired(4)
        .build()
        .unwrap();
    let expected = [
        row("External(0)", None, "perhaps open"),
        row("Promise(0)", None, "perhaps open"),
        row("Timer(0)", Some(5), "succeeded"),
    ];
    assert_eq!(told(&after), expected);
    let tokens: Vec<_> = operations(&after)
        .into_iter()
        .filter_map(|o| o.target)
        .collect();
    assert_eq!(tokens, ["order-7/1/Promise(0)"]);
}

#[test]
fn nothing_is_open_after_the_end() {
    let history = started()
        .child_as("order-7/ship", "ship", &7)
        .awaiting("news")
        .returned(&7)
        .build()
        .unwrap();
    let expected = [
        row("SubOrchestration(0)", Some(4), "given up"),
        row("External(0)", Some(4), "given up"),
    ];
    assert_eq!(told(&history), expected);
}
