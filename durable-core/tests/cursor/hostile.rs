//! Histories that no cursor wrote and drivers that call in any order: a typed
//! error or nothing, never a panic.

use durable_core::{CursorError, Event, HistoryEntry, OpKey};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::driver::Driver;
use super::events::{at, ok, started};
use super::past::{Past, history};
use super::program::{Machine, Program, any_program};
use super::support::strategy::{any_entry, any_event};
use super::world::{any_happenings, run};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_entries_in_any_order_are_read_without_a_panic(
        program in any_program(true),
        entries in vec(any_entry(), 0..20),
    ) {
        read(&program, &entries);
    }

    #[test]
    fn any_events_at_the_right_positions_are_read_without_a_panic(
        program in any_program(true),
        events in vec((any_event(), 0_u64..12), 0..20),
    ) {
        let past = events.into_iter().fold(Past::started(), |past, (event, source)| {
            past.and(near(&event, source))
        });
        read(&program, &past.entries());
    }

    #[test]
    fn a_history_that_was_tampered_with_is_read_without_a_panic(
        program in any_program(true),
        happenings in any_happenings(),
        tampering in vec(any_tampering(), 1..4),
    ) {
        let mut entries = run(&program, &happenings).entries;
        for (how, from, to) in tampering {
            tamper(&mut entries, how, &from, &to);
        }
        read(&program, &entries);
        // The same with positions and times that are in order again.
        let renumbered = entries.iter().zip(1..).map(|(entry, position)| HistoryEntry::new(10_000, at(position, &entry.event)));
        read(&program, &renumbered.collect::<Vec<_>>());
    }

    #[test]
    fn calls_in_any_order_do_not_panic(
        calls in vec(any_call(), 0..80),
        entries in any_happenings().prop_flat_map(|happenings| {
            any_program(true).prop_map(move |program| run(&program, &happenings).entries)
        }),
        is_live in any::<bool>(),
    ) {
        let mut caller = Caller::new(if is_live { Vec::new() } else { entries });
        for call in calls {
            caller.call(call);
        }
        let appended = caller.driver.cursor.take_appended();
        let entries: Vec<_> = appended.iter().map(|appended| &appended.entry).collect();
        for (before, after) in entries.iter().zip(entries.iter().skip(1)) {
            prop_assert_eq!(before.event_id().next(), after.event_id());
            prop_assert!(before.recorded_at_ms <= after.recorded_at_ms);
        }
    }
}

/// Reads entries with a program that may have written them or not, at once and
/// in pages; both must come to the same.
fn read(program: &Program, entries: &[HistoryEntry]) {
    let valid = history(entries.to_vec()).validate();
    let mut machine = Machine::new(program);
    let answer = machine.replay(entries, usize::MAX);
    if valid.is_ok() {
        let mut in_pages = Machine::new(program);
        let in_pages_answer = in_pages.replay(entries, 2).map_err(without_look_ahead);
        assert_eq!(in_pages_answer, answer.clone().map_err(without_look_ahead));
        assert_eq!(in_pages.seen, machine.seen);
    }
    if let Err(error) = answer {
        assert_eq!(machine.cursor.grant(), Err(error.clone()));
        assert_eq!(machine.cursor.advance(), Err(error));
    }
}

/// How far a violation looks ahead depends on what was read.
fn without_look_ahead(mut error: CursorError) -> CursorError {
    if let CursorError::Violation(violation) = &mut error {
        violation.found_later = None;
    }
    error
}

/// The same event, naming a source that may exist, at a time that may be.
fn near(event: &Event, source: u64) -> Event {
    let mut json = serde_json::to_value(event).unwrap();
    for (field, value) in [("source_event_id", source), ("fire_at_ms", source)] {
        if let Some(found) = json.get_mut(field) {
            *found = value.into();
        }
    }
    serde_json::from_value(json).unwrap()
}

#[derive(Debug, Clone, Copy)]
enum Tampering {
    Remove,
    Repeat,
    Swap,
    Move,
    Overwrite,
}

fn any_tampering() -> impl Strategy<Value = (Tampering, Index, Index)> {
    let how = prop_oneof![
        Just(Tampering::Remove),
        Just(Tampering::Repeat),
        Just(Tampering::Swap),
        Just(Tampering::Move),
        Just(Tampering::Overwrite),
    ];
    (how, any::<Index>(), any::<Index>())
}

fn tamper(entries: &mut Vec<HistoryEntry>, how: Tampering, from: &Index, to: &Index) {
    if entries.is_empty() {
        return;
    }
    let (from, to) = (from.index(entries.len()), to.index(entries.len()));
    match how {
        Tampering::Remove => drop(entries.remove(from)),
        Tampering::Repeat => entries.insert(to, entries[from].clone()),
        Tampering::Swap => entries.swap(from, to),
        Tampering::Move => {
            let entry = entries.remove(from);
            entries.insert(to, entry);
        }
        Tampering::Overwrite => entries[to] = entries[from].clone(),
    }
}

/// A call of the cursor; the numbers choose the operation.
#[derive(Debug, Clone)]
enum Call {
    Open(usize),
    Poll(Index),
    Close(Index),
    CompleteRun(Index),
    Emit,
    AnswerRequest,
    Finish,
    Flush,
    Grant,
    Advance,
    Deliver(Box<Event>, u64),
    Feed(Index),
    EndOfHistory,
}

fn any_call() -> impl Strategy<Value = Call> {
    prop_oneof![
        8 => (0_usize..11).prop_map(Call::Open),
        4 => any::<Index>().prop_map(Call::Poll),
        2 => any::<Index>().prop_map(Call::Close),
        1 => any::<Index>().prop_map(Call::CompleteRun),
        1 => Just(Call::Emit),
        1 => Just(Call::AnswerRequest),
        1 => Just(Call::Finish),
        6 => Just(Call::Flush),
        6 => Just(Call::Grant),
        3 => Just(Call::Advance),
        4 => (any_event(), 0_u64..12).prop_map(|(event, source)| Call::Deliver(Box::new(near(&event, source)), source)),
        1 => any::<Index>().prop_map(Call::Feed),
        1 => Just(Call::EndOfHistory),
    ]
}

/// Calls a cursor without any order.
struct Caller {
    driver: Driver,
    entries: Vec<HistoryEntry>,
    keys: Vec<OpKey>,
}

impl Caller {
    fn new(entries: Vec<HistoryEntry>) -> Self {
        let mut driver = Driver::unstarted(Vec::new(), 1);
        let cursor = &mut driver.cursor;
        if entries.is_empty() {
            cursor.end_of_history();
            let _ = cursor.deliver(started(), 1);
        }
        for entry in &entries {
            cursor.feed(entry.clone()).unwrap();
        }
        Self {
            driver,
            entries,
            keys: Vec::new(),
        }
    }

    fn call(&mut self, call: Call) {
        let cursor = &mut self.driver.cursor;
        match call {
            Call::Open(what) => self.open(what),
            Call::Poll(index) => with_key(&self.keys, &index, |key| drop(cursor.poll(key))),
            Call::Close(index) => with_key(&self.keys, &index, |key| cursor.close(key)),
            Call::CompleteRun(index) => with_key(&self.keys, &index, |key| {
                cursor.complete_run(key, ok("1"));
            }),
            Call::Emit => self.driver.set("k", "1"),
            Call::AnswerRequest => self.driver.answer("r1", ok("1")),
            Call::Finish => self.driver.returns("1"),
            Call::Flush => drop(cursor.flush()),
            Call::Grant => drop(cursor.grant()),
            Call::Advance => drop(cursor.advance()),
            Call::Deliver(event, now_ms) => drop(cursor.deliver(*event, now_ms)),
            Call::Feed(index) => {
                if !self.entries.is_empty() {
                    drop(cursor.feed(index.get(&self.entries).clone()));
                }
            }
            Call::EndOfHistory => cursor.end_of_history(),
        }
    }

    fn open(&mut self, what: usize) {
        let driver = &mut self.driver;
        self.keys.push(match what {
            0 => driver.activity("same", "1"),
            1 => driver.timer(2_000),
            2 => driver.external("e0"),
            3 => driver.child("same", None, "1"),
            4 => driver.run("same"),
            5 => driver.patch("patch-0"),
            6 => driver.promise("same").0,
            7 => driver.run("other"),
            8 => driver.request("e0"),
            9 => driver.try_request("e0"),
            _ => driver.request_of("same", "e0", "1"),
        });
    }
}

fn with_key(keys: &[OpKey], index: &Index, call: impl FnOnce(OpKey)) {
    if !keys.is_empty() {
        call(*index.get(keys));
    }
}
