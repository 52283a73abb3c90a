//! The cursor keeps the only book of what is open: it numbers commands, names the
//! children that are given up, and says at the end what nothing will wait for any more.

use std::collections::BTreeMap;

use durable_core::{
    AppendedEntry, CommandNumbering, Effect, Ending, Event, EventId, HistoryEntry, InstanceId,
    LeftOpen, MessageId, Outcome, Requester,
};
use proptest::prelude::*;

use super::driver::{Driver, everywhere};
use super::events::{
    INSTANCE, cancel_requested, child_completed, child_scheduled, completed, fired, ok, raised,
    scheduled, terminated, timer_cancelled, timer_created, value,
};
use super::past::Past;
use super::program::{Machine, Seen, any_program};
use super::world::{any_happenings, run};

/// The same book, kept from the events alone.
#[derive(Debug, Default)]
pub(crate) struct EventLedger {
    numbering: CommandNumbering,
    open: BTreeMap<EventId, LeftOpen>,
    /// Requests without an answer, in order of arrival.
    requests: Vec<(EventId, MessageId, Option<Requester>)>,
}

impl EventLedger {
    pub(crate) fn of<'a>(entries: impl IntoIterator<Item = &'a HistoryEntry>) -> Self {
        let mut ledger = Self::default();
        for entry in entries {
            ledger.note(&entry.event);
        }
        ledger
    }

    fn note(&mut self, event: &Event) {
        let _ = self.numbering.number(event);
        let event_id = event.event_id();
        let opened = match event {
            Event::ActivityScheduled { options, .. } => LeftOpen::Activity {
                event_id,
                has_deadline: options.total_timeout_ms.is_some(),
            },
            Event::TimerCreated { .. } => LeftOpen::Timer { event_id },
            Event::SubOrchestrationScheduled { instance, .. } => LeftOpen::Child {
                event_id,
                instance: instance.clone(),
            },
            Event::OrchestrationStarted { carried, .. } => {
                let carried = carried.iter();
                for unread in carried.flat_map(|carried| &carried.unread_requests) {
                    let (id, requester) = (unread.message_id.clone(), unread.requester.clone());
                    self.requests.push((event_id, id, requester));
                }
                return;
            }
            Event::RequestReceived {
                message_id,
                requester,
                ..
            } => {
                let request = (event_id, message_id.clone(), requester.clone());
                return self.requests.push(request);
            }
            Event::RequestAnswered { message_id, .. } => {
                return self.requests.retain(|(_, id, _)| id != message_id);
            }
            other => {
                if let Some(source) = other.source_event_id() {
                    self.open.remove(&source);
                }
                return;
            }
        };
        self.open.insert(event_id, opened);
    }

    /// Checks what the cursor says of the next entry that it appended.
    pub(crate) fn check(&mut self, appended: &AppendedEntry) {
        let event = &appended.entry.event;
        let number = self.numbering.clone().number(event);
        assert_eq!(appended.command_id, number, "{event}");
        if let Effect::CancelChild { event_id, instance } = appended.effect() {
            let expected = LeftOpen::Child {
                event_id,
                instance: instance.clone(),
            };
            assert_eq!(self.open.get(&event_id), Some(&expected), "{event}");
        }
        let deadline = match appended.effect() {
            Effect::CancelActivity {
                event_id,
                has_deadline,
            } => has_deadline.then_some(event_id),
            Effect::RemoveDeadline { event_id } => Some(event_id),
            _ => None,
        };
        assert_eq!(deadline, self.deadline_that_goes_with(event), "{event}");
        if let Effect::AnswerRequest {
            event_id,
            message_id,
            requester,
            ..
        } = appended.effect()
        {
            let answered = (event_id, message_id.clone(), requester.cloned());
            assert!(self.requests.contains(&answered), "{event}");
        }
        let is_cancellation = event.is_output() && event.source_event_id().is_some();
        assert!(!is_cancellation || appended.effect() != Effect::None);
        self.note(event);
    }

    /// The open activity with a total timeout that an event ends.
    fn deadline_that_goes_with(&self, event: &Event) -> Option<EventId> {
        let source = event.source_event_id()?;
        let has_deadline = matches!(
            self.open.get(&source),
            Some(LeftOpen::Activity {
                has_deadline: true,
                ..
            })
        );
        has_deadline.then_some(source)
    }

    pub(crate) fn open(&self) -> Vec<LeftOpen> {
        self.open.values().cloned().collect()
    }

    /// The ids of the requests without an answer, in order of arrival.
    fn unanswered(&self) -> Vec<&MessageId> {
        self.requests.iter().map(|(_, id, _)| id).collect()
    }
}

fn activity(event_id: u64) -> LeftOpen {
    LeftOpen::Activity {
        event_id: EventId::new(event_id),
        has_deadline: false,
    }
}

fn timer(event_id: u64) -> LeftOpen {
    LeftOpen::Timer {
        event_id: EventId::new(event_id),
    }
}

fn child(event_id: u64, instance: &str) -> LeftOpen {
    LeftOpen::Child {
        event_id: EventId::new(event_id),
        instance: InstanceId::from(instance),
    }
}

/// Opens one of everything: events 2 to 8, of which three have answers.
fn open_everything(code: &mut Driver) {
    let done = code.activity("a", "1");
    code.timer(5_000);
    code.child("c", None, "1");
    let answered = code.child("c", Some("named"), "1");
    code.external("e");
    code.promise("p");
    code.activity("b", "1");
    let due = code.timer(6_000);
    code.flush();
    code.input(completed(2, "1"));
    code.takes(done, value("1"));
    code.flush();
    code.input(child_completed(5, "2"));
    code.takes(answered, value("2"));
    code.flush();
    code.input(fired(9, 6_000));
    code.takes(due, Outcome::Fired);
    code.flush();
}

#[test]
fn a_return_leaves_open_what_has_no_answer() {
    everywhere(|code| {
        open_everything(code);
        code.returns("1");
        code.flush();
        let derived = format!("{INSTANCE}/1/4");
        code.left_open([timer(3), child(4, &derived), activity(8)]);
    });
}

#[test]
fn what_was_given_up_before_is_not_left_open() {
    everywhere(|code| {
        let first = code.activity("a", "1");
        let second = code.child("c", Some("x"), "1");
        code.child("c", Some("y"), "1");
        code.flush();
        code.drop(first);
        code.drop(second);
        code.flush();
        code.cursor.finish(Ending::ContinuedAsNew {
            input: "2".into(),
            version: None,
        });
        code.flush();
        code.left_open([child(4, "y")]);
        assert!(code.cursor.take_carried().is_some());
    });
}

#[test]
fn a_future_that_is_dropped_in_the_poll_that_returns_is_given_up_by_an_event() {
    everywhere(|code| {
        let dropped = code.child("c", Some("x"), "1");
        code.timer(5_000);
        code.flush();
        code.drop(dropped);
        code.returns("1");
        code.flush();
        code.left_open([timer(3)]);
    });
}

#[test]
fn cancellation_gives_up_everything_that_is_open() {
    everywhere(|code| {
        code.activity("a", "1");
        code.child("c", None, "1");
        code.flush();
        code.input(cancel_requested("enough"));
        code.returns("1");
        code.flush();
        code.left_open([]);
    });
}

#[test]
fn a_value_that_was_not_taken_has_arrived() {
    everywhere(|code| {
        let first = code.activity("a", "1");
        let second = code.activity("b", "1");
        code.flush();
        code.input(completed(3, "1"));
        code.lapses(second);
        code.input(completed(2, "1"));
        code.takes(first, value("1"));
        code.returns("1");
        code.flush();
        code.left_open([]);
    });
}

#[test]
fn an_end_from_outside_leaves_open_what_was_to_be_given_up_in_the_same_poll() {
    let mut live = Driver::live();
    let call = live.activity("a", "1");
    let run = live.run("now");
    live.child("c", Some("x"), "1");
    live.flush();
    assert!(live.cursor.grant().unwrap().unwrap().executes);
    let _ = live.cursor.poll(run);
    live.drop(call);
    // It panicked before the end of the poll, so the cancellation is not recorded.
    let _ = live.cursor.deliver(terminated(), 2_000).unwrap();
    live.left_open([activity(2), child(3, "x")]);
}

#[test]
fn in_replay_an_end_from_outside_leaves_open_what_it_left_open_then() {
    let past = Past::of([
        scheduled("a", "1"),
        timer_created(5_000),
        child_scheduled("c", "x", "1"),
        raised("e", "1", "m"),
        timer_cancelled(3),
        terminated(),
    ]);
    let mut code = Driver::after(past);
    let call = code.activity("a", "1");
    let due = code.timer(5_000);
    let started = code.child("c", Some("x"), "1");
    code.flush();
    code.input(raised("e", "1", "m"));
    // The poll gave up three, of which one was recorded before the end.
    for future in [call, due, started] {
        code.drop(future);
    }
    code.flush();
    code.is_terminated(terminated());
    code.left_open([activity(2), child(4, "x")]);
    code.done();
}

#[test]
fn a_poll_of_which_nothing_was_recorded_leaves_everything_open() {
    let past = Past::of([
        scheduled("a", "1"),
        child_scheduled("c", "x", "1"),
        raised("e", "1", "m"),
        terminated(),
    ]);
    let mut code = Driver::after(past);
    let call = code.activity("a", "1");
    let started = code.child("c", Some("x"), "1");
    code.flush();
    code.input(raised("e", "1", "m"));
    for future in [started, call] {
        code.drop(future);
    }
    code.flush();
    code.is_terminated(terminated());
    code.left_open([activity(2), child(3, "x")]);
    code.done();
}

#[test]
fn a_run_and_a_patch_are_never_open() {
    everywhere(|code| {
        let run = code.run("now");
        code.patch("new");
        code.flush();
        code.executes(run, ok("1"));
        code.flush();
        code.returns("1");
        code.flush();
        code.left_open([]);
    });
}

#[test]
fn nothing_is_left_open_before_the_end() {
    let mut code = Driver::live();
    open_everything(&mut code);
    code.left_open([]);
    code.done();
}

fn request_id(open: &LeftOpen) -> Option<&MessageId> {
    match open {
        LeftOpen::Request { message_id, .. } => Some(message_id),
        _ => None,
    }
}

fn without_requests(open: Vec<LeftOpen>) -> Vec<LeftOpen> {
    let others = open.into_iter();
    others.filter(|open| request_id(open).is_none()).collect()
}

proptest! {
    #[test]
    fn any_execution_leaves_open_what_its_events_say(
        program in prop_oneof![any_program(true), any_program(false)],
        happenings in any_happenings(),
        page in 1_usize..40,
        seed in any::<u64>(),
    ) {
        let live = run(&program, &happenings);
        let carried = live.seen.iter().find_map(|seen| match seen {
            Seen::Carried(carried) => Some(&**carried),
            _ => None,
        });
        let ended = live.entries.last().is_some_and(|entry| entry.event.is_terminal());
        let ledger = EventLedger::of(&live.entries);
        let expected = match ended {
            true => ledger.open(),
            false => Vec::new(),
        };
        let (requests, others): (Vec<_>, Vec<_>) = live
            .left_open
            .iter()
            .cloned()
            .partition(|open| matches!(open, LeftOpen::Request { .. }));
        prop_assert_eq!(&others, &expected);
        if ended {
            // A request without an answer is left open, or goes on to the next execution.
            let mut left: Vec<&MessageId> = requests.iter().filter_map(request_id).collect();
            if let Some(carried) = carried {
                let unread = carried.unread_requests.iter();
                left.extend(unread.map(|request| &request.message_id));
            }
            left.sort();
            let mut unanswered = ledger.unanswered();
            unanswered.sort();
            prop_assert_eq!(left, unanswered);
        }
        let expected = live.left_open.clone();
        let mut again = Machine::new(&program);
        prop_assert!(again.replay(&live.entries, page).is_ok());
        prop_assert_eq!(&again.cursor.take_left_open(), &expected);
        let mut shuffled = Machine::new(&program).shuffled(seed);
        if shuffled.replay(&live.entries, page).is_ok() {
            // Which of several equal waits took a request depends on their order.
            let left_open = without_requests(shuffled.cursor.take_left_open());
            prop_assert_eq!(left_open, without_requests(expected));
        }
    }
}
