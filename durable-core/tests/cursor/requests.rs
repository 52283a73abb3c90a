//! Requests: matched by name with waits that leave no trace, taken in the order of arrival,
//! answered once.

use durable_core::{
    Carried, DropReason, Effect, Ending, EventId, ExecutionId, HistoryFault, LeftOpen, MessageId,
    Requester, UnreadRequest,
};

use super::driver::{Driver, everywhere};
use super::events::{
    answered, cancel_requested, cancelled, completed, failure, failure_of, ok, request_completed,
    request_failed, request_sent, requested, requested_by, scheduled, started_with, terminated,
    value,
};
use super::past::{Past, history};
use super::shown::json;

fn left(brought_by: u64, id: &str, is_taken: bool) -> LeftOpen {
    LeftOpen::Request {
        event_id: EventId::new(brought_by),
        message_id: id.into(),
        requester: None,
        is_taken,
    }
}

fn continues(code: &mut Driver) -> Box<Carried> {
    code.cursor.finish(Ending::ContinuedAsNew {
        input: "8".into(),
        version: None,
    });
    code.flush();
    code.cursor.take_carried().unwrap()
}

#[test]
fn a_request_is_two_events_and_the_wait_for_it_is_none() {
    everywhere(|code| {
        let add = code.request("add");
        code.flush();
        assert_eq!(code.cursor.open_operations(), 1);
        code.has_stored([]);
        code.input(requested("add", "1", "r1"));
        code.takes_request(add, 2, "r1");
        code.answer("r1", ok("7"));
        code.flush();
        assert_eq!(code.cursor.open_operations(), 0);
        code.has_stored([requested("add", "1", "r1"), answered(2, "r1", ok("7"))]);
    });
}

#[test]
fn a_request_that_came_before_the_wait_waits_for_it() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        code.flush();
        code.input(requested("add", "1", "r1"));
        code.rests();
        code.input(completed(2, "1"));
        code.takes(a, value("1"));
        let add = code.request("add");
        code.flush();
        code.takes_request(add, 3, "r1");
        code.answer("r1", Err(failure("no")));
        code.flush();
    });
}

#[test]
fn requests_of_one_name_go_to_waits_oldest_first_and_others_to_none() {
    everywhere(|code| {
        let first = code.request("add");
        let second = code.request("add");
        code.flush();
        let third = code.request("add");
        code.flush();
        code.input(requested("pay", "1", "r0"));
        code.rests();
        for (wait, event, id) in [(first, 3, "r1"), (second, 4, "r2"), (third, 5, "r3")] {
            code.input(requested("add", "1", id));
            code.takes_request(wait, event, id);
            code.flush();
        }
        code.input(requested("add", "1", "r4"));
        code.rests();
    });
}

/// The order of the waits of one poll is by name, whatever was opened first.
#[test]
fn waits_of_one_poll_that_find_requests_go_on_in_the_order_of_their_names() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        code.flush();
        code.input(requested("b", "1", "rb"));
        code.input(requested("a", "1", "ra"));
        code.input(completed(2, "1"));
        code.takes(a, value("1"));
        let second = code.request("b");
        let first = code.request("a");
        code.flush();
        code.takes_request(first, 4, "ra");
        code.flush();
        code.takes_request(second, 3, "rb");
        code.flush();
    });
}

#[test]
fn a_wait_that_is_dropped_gets_no_request() {
    everywhere(|code| {
        let first = code.request("add");
        let second = code.request("add");
        code.flush();
        code.drop(first);
        code.flush();
        code.input(requested("add", "1", "r1"));
        code.takes_request(second, 2, "r1");
        code.flush();
    });
}

#[test]
fn a_wait_that_is_dropped_in_the_poll_that_opened_it_never_was() {
    everywhere(|code| {
        let never = code.request("add");
        code.drop(never);
        let add = code.request("add");
        code.flush();
        assert_eq!(code.cursor.open_operations(), 1);
        code.input(requested("add", "1", "r1"));
        code.takes_request(add, 2, "r1");
        code.flush();
    });
}

#[test]
fn a_request_whose_wait_is_dropped_before_it_was_taken_goes_back_to_its_place() {
    everywhere(|code| {
        let first = code.request("add");
        code.flush();
        code.input(requested("add", "1", "r1"));
        code.lapses(first);
        code.input(requested("add", "2", "r2"));
        code.drop(first);
        code.flush();
        for (event, id) in [(2, "r1"), (3, "r2")] {
            let add = code.request("add");
            code.flush();
            code.takes_request(add, event, id);
            code.flush();
        }
    });
}

#[test]
fn a_request_that_is_given_back_goes_to_a_wait_of_the_same_poll_or_of_an_earlier_one() {
    everywhere(|code| {
        let first = code.request("add");
        code.flush();
        code.input(requested("add", "1", "r1"));
        assert_eq!(code.cursor.grant().unwrap().unwrap().key, first);
        code.drop(first);
        let second = code.request("add");
        code.flush();
        code.takes_request(second, 2, "r1");
        code.flush();
        let (third, fourth) = (code.request("add"), code.request("add"));
        code.flush();
        code.input(requested("add", "1", "r2"));
        assert_eq!(code.cursor.grant().unwrap().unwrap().key, third);
        code.drop(third);
        code.flush();
        code.takes_request(fourth, 3, "r2");
        code.flush();
    });
}

#[test]
fn a_question_for_a_request_is_answered_at_once_and_through_a_grant() {
    everywhere(|code| {
        let none = code.try_request("add");
        code.flush();
        code.polls(none);
        code.finds_no_request(none);
        let a = code.activity("a", "1");
        code.flush();
        code.input(requested("add", "1", "r1"));
        code.input(completed(2, "1"));
        code.takes(a, value("1"));
        let found = code.try_request("add");
        let other = code.try_request("pay");
        code.flush();
        code.takes_request(found, 3, "r1");
        code.flush();
        code.finds_no_request(other);
        let gone = code.try_request("add");
        code.flush();
        code.finds_no_request(gone);
        code.answer("r1", ok("1"));
        code.flush();
    });
}

#[test]
fn a_question_that_is_dropped_gives_its_request_back() {
    everywhere(|code| {
        let a = code.activity("a", "1");
        code.flush();
        code.input(requested("add", "1", "r1"));
        code.input(completed(2, "1"));
        code.takes(a, value("1"));
        let question = code.try_request("add");
        code.flush();
        code.lapses(question);
        code.drop(question);
        code.flush();
        let add = code.request("add");
        code.flush();
        code.takes_request(add, 3, "r1");
        code.flush();
    });
}

#[test]
fn an_answer_counts_once_and_only_for_a_request_that_was_taken() {
    everywhere(|code| {
        code.input(requested("add", "1", "r1"));
        code.answer("r1", ok("0"));
        code.answer("unknown", ok("0"));
        let add = code.request("add");
        code.flush();
        code.takes_request(add, 2, "r1");
        code.answer("r1", ok("1"));
        code.answer("r1", ok("2"));
        code.flush();
        code.has_stored([requested("add", "1", "r1"), answered(2, "r1", ok("1"))]);
    });
}

#[test]
fn an_answer_says_to_whom_it_goes() {
    let requester = Requester::new("asker".into(), ExecutionId::new(3), EventId::new(4));
    let mut code = Driver::live();
    let (first, second) = (code.request("add"), code.request("add"));
    code.flush();
    code.input(requested_by("add", "asker/3/4", requester.clone()));
    code.takes_request(first, 2, "asker/3/4");
    code.flush();
    code.input(requested("add", "1", "r1"));
    code.takes_request(second, 3, "r1");
    code.answer("r1", ok("1"));
    code.answer("asker/3/4", ok("2"));
    code.cursor.flush().unwrap();
    let appended = code.cursor.take_appended();
    let effects: Vec<Effect<'_>> = appended.iter().map(|appended| appended.effect()).collect();
    let expected = [
        Effect::AnswerRequest {
            event_id: EventId::new(3),
            message_id: &"r1".into(),
            requester: None,
            result: &ok("1"),
        },
        Effect::AnswerRequest {
            event_id: EventId::new(2),
            message_id: &"asker/3/4".into(),
            requester: Some(&requester),
            result: &ok("2"),
        },
    ];
    assert_eq!(effects, expected);
}

#[test]
fn a_request_that_is_sent_again_is_recognised_before_and_after_its_answer() {
    everywhere(|code| {
        let add = code.request("add");
        code.flush();
        code.input(requested("add", "1", "r1"));
        code.takes_request(add, 2, "r1");
        code.flush();
        code.ignores(requested("add", "9", "r1"), DropReason::DuplicateMessage);
        let next = code.request("add");
        code.answer("r1", ok("1"));
        code.flush();
        code.ignores(requested("add", "1", "r1"), DropReason::AnsweredBefore);
        // Another message of that id is another thing.
        code.input(super::events::raised("add", "1", "r1"));
        code.rests();
        code.drop(next);
        code.flush();
    });
}

#[test]
fn the_ids_of_the_latest_requests_are_remembered() {
    let mut code = Driver::live();
    code.flush();
    for number in 0..1_025 {
        let id = format!("r{number}");
        code.input(requested("add", "1", &id));
        let add = code.request("add");
        code.flush();
        code.takes_request(add, 2 + 2 * number, &id);
        code.answer(&id, ok("1"));
        code.flush();
    }
    code.ignores(requested("add", "1", "r1"), DropReason::AnsweredBefore);
    code.input(requested("add", "1", "r0"));
    // However many there are, one that has no answer is known.
    for number in 0..1_025 {
        code.input(requested("pay", "1", &format!("p{number}")));
    }
    code.ignores(requested("add", "1", "r0"), DropReason::DuplicateMessage);
}

#[test]
fn cancellation_ends_every_wait_and_later_ones_go_on() {
    everywhere(|code| {
        let (b, a) = (code.request("b"), code.request("a"));
        code.flush();
        let c = code.request("a");
        let activity = code.activity("x", "1");
        code.flush();
        code.input(cancel_requested("enough"));
        for operation in [activity, a, b, c] {
            code.takes(operation, cancelled("enough"));
            code.flush();
        }
        assert_eq!(code.cursor.open_operations(), 0);
        let later = code.request("a");
        code.flush();
        code.input(requested("a", "1", "r1"));
        code.takes_request(later, 5, "r1");
        code.flush();
    });
}

#[test]
fn the_end_leaves_open_every_request_without_an_answer() {
    everywhere(|code| {
        let (first, second) = (code.request("add"), code.request("add"));
        code.flush();
        code.input(requested("add", "1", "r1"));
        code.takes_request(first, 2, "r1");
        code.flush();
        code.input(requested("add", "1", "r2"));
        code.takes_request(second, 3, "r2");
        code.answer("r2", ok("1"));
        let held = code.request("pay");
        code.flush();
        code.input(requested("pay", "1", "r3"));
        code.lapses(held);
        code.input(requested("else", "1", "r4"));
        let wake = code.activity("a", "1");
        code.flush();
        code.input(completed(7, "1"));
        code.takes(wake, value("1"));
        code.returns("1");
        code.flush();
        let open = [
            left(2, "r1", true),
            left(5, "r3", false),
            left(6, "r4", false),
        ];
        code.left_open(open);
    });
}

#[test]
fn unread_requests_go_along_with_continue_as_new_and_taken_ones_do_not() {
    everywhere(|code| {
        let add = code.request("add");
        code.flush();
        code.input(requested("add", "1", "r1"));
        code.takes_request(add, 2, "r1");
        let second = code.request("add");
        code.flush();
        code.input(requested("add", "2", "r2"));
        code.takes_request(second, 3, "r2");
        code.answer("r2", ok("1"));
        let held = code.request("add");
        code.flush();
        code.input(requested("add", "3", "r3"));
        code.lapses(held);
        code.input(requested("pay", "4", "r4"));
        code.polls(held);
        let carried = continues(code);
        let unread = [
            UnreadRequest::new("add".into(), "3".into(), "r3".into()),
            UnreadRequest::new("pay".into(), "4".into(), "r4".into()),
        ];
        assert_eq!(json(&carried.unread_requests), json(&unread));
        let answered_ids: [MessageId; 2] = ["r1".into(), "r2".into()];
        assert_eq!(carried.answered_request_ids, answered_ids);
        code.left_open([left(2, "r1", true)]);
    });
}

#[test]
fn the_next_execution_answers_what_came_before_it() {
    let requester = Requester::new("asker".into(), ExecutionId::new(3), EventId::new(4));
    let mut carried = Carried::default();
    carried.unread_requests = vec![
        UnreadRequest::new("add".into(), "1".into(), "r1".into()),
        UnreadRequest::new("add".into(), "2".into(), "asker/3/4".into()).requester(requester),
        UnreadRequest::new("pay".into(), "3".into(), "r3".into()),
    ];
    carried.answered_request_ids = vec!["r0".into()];
    let mut code = Driver::unstarted(Past::empty().entries(), usize::MAX);
    code.start(started_with(carried));
    let (first, second) = (code.request("add"), code.request("add"));
    code.flush();
    code.takes_request(first, 1, "r1");
    code.flush();
    code.takes_request(second, 1, "asker/3/4");
    code.answer("asker/3/4", ok("2"));
    code.answer("r1", ok("1"));
    code.flush();
    let answers = [
        answered(1, "asker/3/4", ok("2")),
        answered(1, "r1", ok("1")),
    ];
    code.has_stored(answers);
    code.ignores(requested("add", "1", "r0"), DropReason::AnsweredBefore);
    code.ignores(requested("add", "1", "r1"), DropReason::AnsweredBefore);
    code.ignores(requested("add", "1", "r3"), DropReason::DuplicateMessage);
    let again = continues(&mut code);
    assert_eq!(again.unread_requests.len(), 1);
    let stored = code.done();
    assert_eq!(history(stored).validate(), Ok(()));
}

#[test]
fn an_end_from_outside_leaves_open_what_was_answered_in_the_same_poll() {
    let past = Past::of([
        requested("add", "1", "r1"),
        requested("add", "1", "r2"),
        terminated(),
    ]);
    let mut code = Driver::after(past);
    let (first, second) = (code.request("add"), code.request("add"));
    code.flush();
    code.input(requested("add", "1", "r1"));
    code.takes_request(first, 2, "r1");
    code.flush();
    code.input(requested("add", "1", "r2"));
    let _ = second;
    // It was ended before the poll that answers was recorded.
    code.answer("r1", ok("1"));
    code.flush();
    code.is_terminated(terminated());
    code.left_open([left(2, "r1", true), left(3, "r2", false)]);
    code.done();
}

#[test]
fn a_request_of_another_instance_is_an_operation() {
    everywhere(|code| {
        let first = code.request_of("cart", "add", "1");
        let second = code.request_of("cart", "add", "2");
        let third = code.request_of("cart", "add", "3");
        code.flush();
        code.input(request_failed(3, "full"));
        code.takes(second, failure_of("full"));
        code.flush();
        code.input(request_completed(2, "7"));
        code.takes(first, value("7"));
        code.drop(third);
        code.flush();
        code.ignores(request_completed(4, "8"), DropReason::NotOpen);
        code.has_stored([
            request_sent("cart", "add", "1"),
            request_sent("cart", "add", "2"),
            request_sent("cart", "add", "3"),
            request_failed(3, "full"),
            request_completed(2, "7"),
        ]);
    });
}

#[test]
fn an_answer_to_a_request_that_was_given_up_may_stand_in_the_history() {
    let past = Past::of([
        request_sent("cart", "add", "1"),
        scheduled("a", "1"),
        completed(3, "1"),
        request_completed(2, "7"),
    ]);
    let mut code = Driver::after(past);
    let (request, activity) = (code.request_of("cart", "add", "1"), code.activity("a", "1"));
    code.flush();
    code.input(completed(3, "1"));
    code.takes(activity, value("1"));
    code.drop(request);
    code.flush();
    code.input(request_completed(2, "7"));
    code.done();
}

#[test]
fn a_request_with_the_id_of_one_that_waits_is_no_history() {
    let past = Past::of([requested("add", "1", "r1"), requested("add", "1", "r1")]);
    let fault = HistoryFault::RepeatedRequest;
    let corruption = history(past.clone().entries()).validate().unwrap_err();
    assert_eq!(corruption.fault, fault);
    let mut code = Driver::after(past);
    code.flush();
    code.input(requested("add", "1", "r1"));
    code.is_corrupt_at(3, &fault);
}

#[test]
fn an_answer_without_its_request_is_no_history() {
    for (source, id) in [(2, "r2"), (1, "r1")] {
        let past = Past::of([requested("add", "1", "r1"), answered(source, id, ok("1"))]);
        let corruption = history(past.entries()).validate().unwrap_err();
        assert_eq!(corruption.fault, HistoryFault::NoSuchRequest);
    }
}
