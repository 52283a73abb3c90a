//! The total timeouts of activities: the cursor knows which open call has one, and says when
//! it is to go.

use durable_core::{Command, EventId, LeftOpen};

use super::driver::{Driver, everywhere};
use super::events::{cancel_requested, completed, failed, failure_of, value};

fn open(event_id: u64, has_deadline: bool) -> LeftOpen {
    LeftOpen::Activity {
        event_id: EventId::new(event_id),
        has_deadline,
    }
}

/// The name and the timeout of the open call that this event scheduled.
fn deadline(code: &Driver, event_id: u64) -> Option<(&str, u64)> {
    let deadline = code.cursor.activity_deadline(EventId::new(event_id))?;
    Some((&deadline.name, deadline.total_timeout_ms))
}

#[test]
fn an_open_call_has_its_deadline_until_it_ends() {
    everywhere(|code| {
        let timed = code.activity_within("a", 250);
        let late = code.activity_within("b", 300);
        code.activity("c", "1");
        code.timer(5_000);
        assert_eq!(deadline(code, 2), None, "it is not recorded");
        code.flush();
        assert_eq!(deadline(code, 2), Some(("a", 250)));
        assert_eq!(deadline(code, 3), Some(("b", 300)));
        assert_eq!((deadline(code, 4), deadline(code, 5)), (None, None));
        // The driver checks that each of them takes its deadline along.
        code.input(completed(2, "1"));
        assert_eq!(deadline(code, 2), None);
        code.takes(timed, value("1"));
        code.flush();
        code.input(failed(3, "late"));
        assert_eq!(deadline(code, 3), None);
        code.takes(late, failure_of("late"));
        code.flush();
    });
}

#[test]
fn a_call_that_is_given_up_takes_its_deadline_along() {
    everywhere(|code| {
        let timed = code.activity_within("a", 250);
        code.activity_within("b", 250);
        code.flush();
        code.drop(timed);
        code.flush();
        assert_eq!(deadline(code, 2), None);
        code.input(cancel_requested("enough"));
        assert_eq!(deadline(code, 3), None);
        code.returns("1");
        code.flush();
        code.left_open([]);
    });
}

#[test]
fn an_end_says_which_open_calls_have_deadlines() {
    everywhere(|code| {
        code.activity_within("a", 250);
        code.activity("b", "1");
        code.flush();
        code.returns("1");
        code.flush();
        code.left_open([open(2, true), open(3, false)]);
    });
}

#[test]
fn the_recorded_timeout_counts_and_not_the_one_that_the_code_has_now() {
    let mut before = Driver::live();
    before.activity_within("a", 250);
    before.flush();
    let mut after = Driver::over(before.done());
    after.cursor.open(Command::Activity {
        name: "a".into(),
        input: "1".into(),
        options: Default::default(),
    });
    after.flush();
    assert_eq!(deadline(&after, 2), Some(("a", 250)));
}
