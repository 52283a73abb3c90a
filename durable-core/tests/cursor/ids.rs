//! Every command gets its own position, however alike two commands are, and a
//! completion finds the command that it names.

use durable_core::{Event, OpKey, Outcome};

use super::driver::{Driver, everywhere};
use super::events::{
    child_completed, child_failed, completed, failed, failure_of, fired, rejected, resolved,
    scheduled, value,
};

#[test]
fn identical_calls_of_one_poll_get_distinct_ids() {
    everywhere(|code| {
        let first = code.activity("charge", "1");
        let second = code.activity("charge", "1");
        code.flush();
        code.input(completed(3, "\"second\""));
        code.takes(second, value("\"second\""));
        code.flush();
        code.input(completed(2, "\"first\""));
        code.takes(first, value("\"first\""));
        code.flush();
        code.has_stored([
            scheduled("charge", "1"),
            scheduled("charge", "1"),
            completed(3, "\"second\""),
            completed(2, "\"first\""),
        ]);
    });
}

#[test]
fn identical_calls_of_two_polls_of_one_step_get_distinct_ids() {
    everywhere(|code| {
        let first = code.activity("charge", "1");
        code.flush();
        let second = code.activity("charge", "1");
        code.flush();
        code.input(completed(2, "\"first\""));
        code.takes(first, value("\"first\""));
        code.flush();
        code.input(completed(3, "\"second\""));
        code.takes(second, value("\"second\""));
        code.flush();
    });
}

#[test]
fn identical_calls_of_two_steps_get_distinct_ids() {
    everywhere(|code| {
        let first = code.activity("charge", "1");
        code.flush();
        code.input(completed(2, "\"first\""));
        code.takes(first, value("\"first\""));
        let second = code.activity("charge", "1");
        code.flush();
        code.input(completed(4, "\"second\""));
        code.takes(second, value("\"second\""));
        code.flush();
        code.has_stored([
            scheduled("charge", "1"),
            completed(2, "\"first\""),
            scheduled("charge", "1"),
            completed(4, "\"second\""),
        ]);
    });
}

#[test]
fn a_loop_over_one_activity_finds_each_of_its_calls_again() {
    everywhere(|code| {
        for round in 0..3 {
            let call = code.activity("process", &round.to_string());
            code.flush();
            code.input(completed(2 + 2 * round, &round.to_string()));
            code.takes(call, value(&round.to_string()));
        }
        code.returns("\"done\"");
        code.flush();
    });
}

#[test]
fn parallel_calls_may_complete_in_any_order() {
    for order in permutations() {
        everywhere(|code| {
            let calls = charge_four(code);
            for number in order {
                code.input(completed(2 + number as u64, &number.to_string()));
                code.takes(calls[number], value(&number.to_string()));
                code.flush();
            }
            code.returns("null");
            code.flush();
        });
    }
}

#[test]
fn results_that_came_in_together_are_taken_one_per_poll_in_that_order() {
    for order in permutations() {
        everywhere(|code| {
            let calls = charge_four(code);
            // None is polled again before all are there.
            for number in order {
                code.input(completed(2 + number as u64, &number.to_string()));
                code.lapses(calls[number]);
            }
            calls.iter().for_each(|call| code.polls(*call));
            code.flush();
            for number in order {
                code.takes(calls[number], value(&number.to_string()));
                code.flush();
            }
        });
    }
}

#[test]
fn each_completion_brings_what_it_says() {
    let completions: [(Event, Outcome); 7] = [
        (completed(2, "1"), value("1")),
        (failed(3, "no"), failure_of("no")),
        (fired(4, 1_005), Outcome::Fired),
        (child_completed(5, "2"), value("2")),
        (child_failed(6, "never"), failure_of("never")),
        (resolved(7, "3"), value("3")),
        (rejected(8, "not now"), failure_of("not now")),
    ];
    everywhere(|code| {
        let operations = [
            code.activity("a", "1"),
            code.activity("a", "1"),
            code.timer(1_005),
            code.child("c", None, "1"),
            code.child("c", None, "1"),
            code.promise("p").0,
            code.promise("p").0,
        ];
        operations.iter().for_each(|key| code.polls(*key));
        code.flush();
        for (key, (input, outcome)) in operations.into_iter().zip(completions.clone()) {
            code.input(input);
            code.takes(key, outcome);
            code.flush();
        }
        assert_eq!(code.cursor.open_operations(), 0);
    });
}

fn charge_four(code: &mut Driver) -> [OpKey; 4] {
    let calls = ["0", "1", "2", "3"].map(|input| code.activity("charge", input));
    code.flush();
    calls
}

/// All orders of four things.
fn permutations() -> impl Iterator<Item = [usize; 4]> {
    (0..256)
        .map(|n| [n / 64, n / 16 % 4, n / 4 % 4, n % 4])
        .filter(|order| (0..4).all(|item| order.contains(&item)))
}
