//! Drives one cursor the way a runtime does, and asserts at every call that
//! nothing else happened.
//!
//! A test is the orchestration: it opens and drops operations, takes what is
//! granted, and says what comes in. The same test runs live and over a recorded
//! history, because [`Driver::input`] takes the recorded input as long as there
//! is one and delivers a new one after that; [`everywhere`] does both, from every
//! point of the history.

use durable_core::{
    ActivityOptions, Advance, Command, Corruption, Cursor, CursorError, Delivery, Difference,
    DropReason, Ending, Event, EventId, ExecutionId, Failure, HistoryEntry, HistoryFault, LeftOpen,
    OneWayCommand, OpKey, OpPoll, Outcome, Payload, PromiseToken, Violation,
};

use super::events::{INSTANCE, at, started};
use super::ledger::EventLedger;
use super::past::{Past, history};
use super::shown::{json, polled};

/// A cursor, what is stored of its history, and a clock.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) cursor: Cursor,
    stored: Vec<HistoryEntry>,
    /// How many of `stored` lay before the driver.
    recorded: usize,
    fed: usize,
    page: usize,
    now_ms: u64,
    /// The lengths of `stored` at which a commit can have ended.
    commits: Vec<usize>,
}

impl Driver {
    /// A new execution that has just been started.
    pub(crate) fn live() -> Self {
        Self::over(Past::empty().entries())
    }

    /// An execution over these entries, polled for the first time.
    pub(crate) fn over(entries: Vec<HistoryEntry>) -> Self {
        Self::in_pages(entries, usize::MAX)
    }

    /// An execution over what is recorded there.
    pub(crate) fn after(past: Past) -> Self {
        Self::over(past.entries())
    }

    /// An execution whose history is fed so many entries at a time.
    pub(crate) fn in_pages(entries: Vec<HistoryEntry>, page: usize) -> Self {
        let mut driver = Self::unstarted(entries, page);
        driver.start(started());
        driver
    }

    /// A cursor before the first event of these entries.
    pub(crate) fn unstarted(entries: Vec<HistoryEntry>, page: usize) -> Self {
        Self {
            cursor: Cursor::new(INSTANCE.into(), ExecutionId::FIRST),
            recorded: entries.len(),
            stored: entries,
            fed: 0,
            page,
            now_ms: 1_000,
            commits: vec![0],
        }
    }

    /// Starts the execution with this event, or with the recorded one.
    pub(crate) fn start(&mut self, event: Event) {
        match self.advance() {
            Ok(Advance::Started(recorded)) => assert_eq!(json(&recorded), json(&at(1, &event))),
            Ok(Advance::Live) => self.deliver(event),
            other => panic!("the execution should start, not {other:?}"),
        }
    }

    /// The next recorded input, fed as far as is needed.
    pub(crate) fn advance(&mut self) -> Result<Advance, CursorError> {
        loop {
            match self.cursor.advance() {
                Ok(Advance::NeedsHistory) => self.feed_page()?,
                other => return other,
            }
        }
    }

    fn feed_page(&mut self) -> Result<(), CursorError> {
        let page = self.stored[self.fed..self.recorded].iter().take(self.page);
        let mut fed = 0;
        for entry in page {
            self.cursor.feed(entry.clone())?;
            fed += 1;
        }
        if fed == 0 {
            self.cursor.end_of_history();
        }
        self.fed += fed;
        Ok(())
    }

    // What the code does.

    pub(crate) fn activity(&mut self, name: &str, input: &str) -> OpKey {
        self.cursor.open(Command::Activity {
            name: name.into(),
            input: input.into(),
            options: ActivityOptions::default(),
        })
    }

    /// Calls an activity with a total timeout.
    pub(crate) fn activity_within(&mut self, name: &str, total_timeout_ms: u64) -> OpKey {
        let mut options = ActivityOptions::default();
        options.total_timeout_ms = Some(total_timeout_ms);
        self.cursor.open(Command::Activity {
            name: name.into(),
            input: "1".into(),
            options,
        })
    }

    pub(crate) fn timer(&mut self, fire_at_ms: u64) -> OpKey {
        self.cursor.open(Command::Timer { fire_at_ms })
    }

    pub(crate) fn send_with_receipt(&mut self, target: &str, name: &str, data: &str) -> OpKey {
        self.cursor.open(Command::SendEvent {
            target: target.into(),
            name: name.into(),
            data: data.into(),
        })
    }

    pub(crate) fn external(&mut self, name: &str) -> OpKey {
        self.cursor.open(Command::External { name: name.into() })
    }

    pub(crate) fn look(&mut self, name: &str) -> OpKey {
        let name = name.into();
        self.cursor.open(Command::TryExternal { name })
    }

    pub(crate) fn reader(&mut self, name: &str) -> OpKey {
        let name = name.into();
        self.cursor.open(Command::ExternalEvents { name })
    }

    pub(crate) fn child(&mut self, name: &str, instance: Option<&str>, input: &str) -> OpKey {
        self.cursor.open(Command::SubOrchestration {
            name: name.into(),
            version: None,
            instance: instance.map(Into::into),
            input: input.into(),
        })
    }

    pub(crate) fn run(&mut self, name: &str) -> OpKey {
        self.cursor.open(Command::Run { name: name.into() })
    }

    pub(crate) fn patch(&mut self, patch_id: &str) -> OpKey {
        let patch_id = patch_id.into();
        self.cursor.open(Command::Patch { patch_id })
    }

    pub(crate) fn promise(&mut self, name: &str) -> (OpKey, PromiseToken) {
        self.cursor.create_promise(name.into())
    }

    pub(crate) fn set(&mut self, key: &str, value: &str) {
        self.cursor.emit(OneWayCommand::SetState {
            key: key.into(),
            value: value.into(),
        });
    }

    pub(crate) fn clear(&mut self, key: &str) {
        self.cursor
            .emit(OneWayCommand::ClearState { key: key.into() });
    }

    pub(crate) fn status(&mut self, status: &str) {
        let status = status.into();
        self.cursor.emit(OneWayCommand::SetCustomStatus { status });
    }

    pub(crate) fn attribute(&mut self, name: &str, value: &str) {
        self.cursor.emit(OneWayCommand::SetAttribute {
            name: name.into(),
            value: value.into(),
        });
    }

    pub(crate) fn no_attribute(&mut self, name: &str) {
        let name = name.into();
        self.cursor.emit(OneWayCommand::ClearAttribute { name });
    }

    pub(crate) fn start_detached(&mut self, name: &str, instance: Option<&str>, input: &str) {
        self.cursor.emit(OneWayCommand::StartDetached {
            name: name.into(),
            version: None,
            instance: instance.map(Into::into),
            input: input.into(),
            options: None,
        });
    }

    pub(crate) fn send(&mut self, target: &str, name: &str, data: &str) {
        self.cursor.emit(OneWayCommand::SendEvent {
            target: target.into(),
            name: name.into(),
            data: data.into(),
        });
    }

    pub(crate) fn resolve(&mut self, token: &str, resolution: Result<Payload, Failure>) {
        self.cursor.emit(OneWayCommand::ResolvePromise {
            target: token.parse().unwrap(),
            resolution,
        });
    }

    /// Drops the future of an operation.
    pub(crate) fn drop(&mut self, operation: OpKey) {
        self.cursor.close(operation);
    }

    /// Polls a future that has nothing to take.
    pub(crate) fn polls(&mut self, operation: OpKey) {
        assert_eq!(polled(&self.cursor.poll(operation)), "Pending");
    }

    /// The code returns.
    pub(crate) fn returns(&mut self, output: &str) {
        self.cursor.finish(Ending::Completed {
            output: output.into(),
        });
    }

    // What the runtime does.

    /// Ends a poll.
    pub(crate) fn flush(&mut self) {
        self.cursor.flush().unwrap();
        self.store();
    }

    /// This operation, and no other, is granted; it takes this.
    pub(crate) fn takes(&mut self, operation: OpKey, outcome: Outcome) {
        self.is_granted(operation, false);
        let expected = polled(&OpPoll::Ready(outcome));
        assert_eq!(polled(&self.cursor.poll(operation)), expected);
    }

    /// This reader, and no other operation, is granted; it gives this and stays.
    pub(crate) fn reads(&mut self, reader: OpKey, item: &str) {
        self.is_granted(reader, false);
        let expected = polled(&OpPoll::Item(item.into()));
        assert_eq!(polled(&self.cursor.poll(reader)), expected);
    }

    /// This run is granted; it is executed and returns this, or takes it from the
    /// history.
    pub(crate) fn executes(&mut self, run: OpKey, result: Result<Payload, Failure>) {
        let is_live = !self.cursor.is_replaying();
        self.is_granted(run, is_live);
        if is_live {
            assert_eq!(polled(&self.cursor.poll(run)), "Execute");
            assert!(self.cursor.is_running());
            self.cursor.complete_run(run, result);
        } else {
            let expected = polled(&OpPoll::Ready(result.into()));
            assert_eq!(polled(&self.cursor.poll(run)), expected);
        }
        assert!(!self.cursor.is_running());
    }

    /// This operation is granted, and its future is not polled.
    pub(crate) fn lapses(&mut self, operation: OpKey) {
        self.is_granted(operation, false);
        self.flush();
    }

    /// This run is granted, and its future is not polled.
    pub(crate) fn run_lapses(&mut self, run: OpKey) {
        let is_live = !self.cursor.is_replaying();
        self.is_granted(run, is_live);
        self.flush();
    }

    fn is_granted(&mut self, key: OpKey, executes: bool) {
        let grant = self.cursor.grant().unwrap().unwrap();
        assert_eq!((grant.key, grant.executes), (key, executes));
    }

    /// Nothing can go on before the next input.
    pub(crate) fn rests(&mut self) {
        assert_eq!(self.cursor.grant(), Ok(None));
        assert_eq!(json(&self.appended()), "[]");
    }

    /// The step is over and this comes in: it is recorded next, or it is new.
    pub(crate) fn input(&mut self, event: Event) {
        self.rests();
        self.now_ms += 10;
        match self.advance() {
            Ok(Advance::Input) => {
                // A cancellation is followed by outputs at once.
                let mut behind = self.stored[..self.position()].iter();
                let recorded = behind.rfind(|entry| entry.event.is_input()).unwrap();
                let expected = at(recorded.event_id().get(), &event);
                assert_eq!(json(&recorded.event), json(&expected));
            }
            Ok(Advance::Live) => self.deliver(event),
            other => panic!("{event} should come in, not {other:?}"),
        }
    }

    fn deliver(&mut self, event: Event) {
        let delivery = self.cursor.deliver(event, self.now_ms);
        assert_eq!(delivery, Ok(Delivery::Accepted));
        self.store();
    }

    /// The step is over and this comes in, but says nothing to the execution. It
    /// is no part of the history, so it does not come in again in replay.
    pub(crate) fn ignores(&mut self, event: Event, reason: DropReason) {
        self.rests();
        if self.cursor.is_replaying() {
            return;
        }
        let delivery = self.cursor.deliver(event, self.now_ms);
        assert_eq!(delivery, Ok(Delivery::Dropped(reason)));
        self.rests();
    }

    /// The execution is ended from outside.
    pub(crate) fn is_terminated(&mut self, event: Event) {
        match self.advance() {
            Ok(Advance::Ended) => {}
            Ok(Advance::Live) => self.deliver(event),
            other => panic!("the execution should end, not {other:?}"),
        }
        assert!(self.cursor.has_ended());
    }

    // What is checked.

    /// The events that the cursor went over, from this position on.
    pub(crate) fn events_from(&self, position: usize) -> Vec<Event> {
        let behind = &self.stored[position - 1..self.position().max(position - 1)];
        behind.iter().map(|entry| entry.event.clone()).collect()
    }

    fn position(&self) -> usize {
        usize::try_from(self.cursor.last_event_id().get()).unwrap()
    }

    /// Exactly these events stand after the start.
    pub(crate) fn has_stored(&self, events: impl IntoIterator<Item = Event>) {
        let expected: Vec<Event> = (2..).zip(events).map(|(id, e)| at(id, &e)).collect();
        assert_eq!(json(&self.events_from(2)), json(&expected));
    }

    /// Nothing is left to do, recorded or not. Answers with what is stored.
    pub(crate) fn done(mut self) -> Vec<HistoryEntry> {
        self.is_done();
        self.stored
    }

    fn is_done(&mut self) {
        self.rests();
        let end = match self.cursor.has_ended() {
            true => Advance::Ended,
            false => Advance::Live,
        };
        assert_eq!(self.advance(), Ok(end));
        assert!(!self.cursor.is_replaying());
        self.rests();
    }

    /// The code parts from the history at this event; the poll that did so ends.
    pub(crate) fn is_refused_at(&mut self, event_id: u64, difference: Difference) -> Violation {
        let error = self.cursor.flush().unwrap_err();
        self.fails_for_good(&error);
        violation(error, event_id, difference)
    }

    /// The code did less than the history has, up to this event.
    pub(crate) fn misses(&mut self, event_id: u64) -> Violation {
        self.rests();
        let error = self.advance().unwrap_err();
        self.fails_for_good(&error);
        violation(error, event_id, Difference::CommandMissing)
    }

    /// The history is corrupt at the next input, which is this event.
    pub(crate) fn is_corrupt_at(&mut self, event_id: u64, fault: &HistoryFault) -> Corruption {
        self.rests();
        let error = self.advance().unwrap_err();
        self.fails_for_good(&error);
        let CursorError::Corrupt(corruption) = error else {
            panic!("{error}");
        };
        assert_eq!(corruption.event_id, EventId::new(event_id));
        assert_eq!(corruption.fault, *fault);
        *corruption
    }

    /// A failed cursor answers the same to every call and records nothing.
    fn fails_for_good(&mut self, error: &CursorError) {
        let late = self.activity("late", "0");
        self.polls(late);
        assert_eq!(self.cursor.flush().as_ref(), Err(error));
        assert_eq!(self.cursor.grant().as_ref(), Err(error));
        assert_eq!(self.cursor.advance().as_ref(), Err(error));
        assert_eq!(self.cursor.deliver(started(), 0).as_ref(), Err(error));
        let entry = self.stored[0].clone();
        assert_eq!(self.cursor.feed(entry).as_ref(), Err(error));
        assert_eq!(json(&self.appended()), "[]");
    }

    /// What was appended, after what the cursor says of it was checked.
    pub(crate) fn appended(&mut self) -> Vec<HistoryEntry> {
        let appended = self.cursor.take_appended();
        let mut ledger = EventLedger::of(&self.stored);
        appended.iter().for_each(|appended| ledger.check(appended));
        let entries = appended.into_iter().map(|appended| appended.entry);
        entries.collect()
    }

    /// Exactly this was open when the execution ended.
    pub(crate) fn left_open(&mut self, expected: impl IntoIterator<Item = LeftOpen>) {
        let expected: Vec<LeftOpen> = expected.into_iter().collect();
        assert_eq!(self.cursor.take_left_open(), expected);
    }

    /// Keeps what was appended, as a provider would.
    fn store(&mut self) {
        let appended = self.appended();
        assert!(appended.is_empty() || !self.cursor.is_replaying());
        for entry in appended {
            assert_eq!(entry.event_id().get(), self.stored.len() as u64 + 1);
            self.stored.push(entry);
        }
        self.commits
            .push(self.cursor.last_event_id().get() as usize);
    }
}

fn violation(error: CursorError, event_id: u64, difference: Difference) -> Violation {
    let CursorError::Violation(violation) = error else {
        panic!("{error}");
    };
    assert_eq!(violation.event_id, EventId::new(event_id), "{violation}");
    assert_eq!(violation.history.event_id(), violation.event_id);
    assert_eq!(violation.difference, difference, "{violation}");
    *violation
}

/// Runs the code live, and then again over every prefix of its history that a
/// commit can have left, fed at once and in small pages: it must do the same
/// each time, and go on to write the same history.
pub(crate) fn everywhere(code: impl Fn(&mut Driver)) -> Vec<HistoryEntry> {
    let mut live = Driver::live();
    code(&mut live);
    live.is_done();
    let entries = live.stored;
    assert_eq!(history(entries.clone()).validate(), Ok(()));
    for commit in live.commits {
        for page in [usize::MAX, 1, 2, 3] {
            let mut again = Driver::in_pages(entries[..commit].to_vec(), page);
            code(&mut again);
            assert_eq!(
                json(&again.done()),
                json(&entries),
                "after event {commit} in pages of {page}"
            );
        }
    }
    entries
}
