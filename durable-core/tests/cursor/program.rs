//! Random orchestrations: a script says what the code does in each poll, and a
//! small machine does it, live or over a history.
//!
//! Every future has a label that does not depend on the order in which a poll
//! makes its calls, so that a poll can be shuffled.

use std::collections::BTreeMap;
use std::fmt;

use durable_core::{
    ActivityOptions, Advance, Carried, Command, Cursor, CursorError, Ending, Event, ExecutionId,
    Grant, HistoryEntry, OneWayCommand, OpKey, OpPoll, Outcome, Payload,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::events::{INSTANCE, failure, ok};

/// After so many polls the script does nothing more, so that every step ends.
const MOST_POLLS: usize = 120;

/// What the code does, poll by poll; it begins again when it is through.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    polls: Vec<Script>,
    /// Whether commands of one kind are all alike, or each is different.
    alike: bool,
}

/// One poll.
#[derive(Debug, Clone)]
struct Script {
    /// Whether the future that was granted is polled.
    takes: bool,
    /// Whether the root wakes itself.
    wakes: bool,
    actions: Vec<Action>,
}

#[derive(Debug, Clone, Copy)]
enum Action {
    Open(What),
    OpenAndDrop(What),
    /// Drop the n-th future.
    Drop(usize),
    /// Poll the n-th future.
    Poll(usize),
    Tell(usize),
    Finish(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Activity,
    Timer,
    External(usize),
    Look(usize),
    Reader(usize),
    Child,
    ChildWithId,
    Run,
    Patch(usize),
    Promise,
    Send,
}

/// Any program; its commands are all alike or all different.
pub(crate) fn any_program(alike: bool) -> impl Strategy<Value = Program> {
    let what = prop_oneof![
        4 => Just(What::Activity),
        2 => Just(What::Timer),
        3 => (0_usize..3).prop_map(What::External),
        3 => (0_usize..3).prop_map(What::Look),
        3 => (0_usize..3).prop_map(What::Reader),
        1 => Just(What::Child),
        1 => Just(What::ChildWithId),
        3 => Just(What::Run),
        1 => (0_usize..3).prop_map(What::Patch),
        2 => Just(What::Promise),
        1 => Just(What::Send),
    ];
    let action = prop_oneof![
        60 => what.clone().prop_map(Action::Open),
        6 => what.prop_map(Action::OpenAndDrop),
        20 => (0_usize..8).prop_map(Action::Drop),
        20 => (0_usize..8).prop_map(Action::Poll),
        15 => (0_usize..12).prop_map(Action::Tell),
        3 => (0_usize..3).prop_map(Action::Finish),
    ];
    let script = (
        proptest::bool::weighted(0.85),
        proptest::bool::weighted(0.1),
        vec(action, 0..5),
    );
    let script = script.prop_map(|(takes, wakes, actions)| Script {
        takes,
        wakes,
        actions,
    });
    vec(script, 1..12).prop_map(move |mut polls| {
        // Something to wait for, or nothing would ever happen.
        let first = [What::Activity, What::External(0)].map(Action::Open);
        polls[0].actions.extend(first);
        Program { polls, alike }
    })
}

/// Names a future: the poll and the action that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Label(usize, usize);

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}a{}", self.0, self.1)
    }
}

/// What a machine saw: it must see the same whenever it runs again.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen {
    Granted(Label),
    Took(Label, Outcome),
    Read(Label, Payload),
    Flushed {
        last_event_id: u64,
        open: usize,
        futures: usize,
        state: Vec<Option<String>>,
        status: Option<String>,
        now_ms: u64,
    },
    Carried(Box<Carried>),
}

/// Runs a program on a cursor.
#[derive(Debug)]
pub(crate) struct Machine<'a> {
    pub(crate) cursor: Cursor,
    pub(crate) seen: Vec<Seen>,
    /// What was appended.
    pub(crate) appended: Vec<HistoryEntry>,
    program: &'a Program,
    futures: BTreeMap<Label, OpKey>,
    polls: usize,
    shuffle: Option<Shuffle>,
}

/// One thing that happens in a poll, with its future named.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Take(Label),
    Open(Label, What),
    OpenAndDrop(Label, What),
    Drop(Label),
    Poll(Label),
    Tell(Label, usize),
}

impl Deed {
    fn makes_a_promise(&self) -> bool {
        matches!(
            self,
            Self::Open(_, What::Promise) | Self::OpenAndDrop(_, What::Promise)
        )
    }
}

impl<'a> Machine<'a> {
    pub(crate) fn new(program: &'a Program) -> Self {
        Self {
            cursor: Cursor::new(INSTANCE.into(), ExecutionId::FIRST),
            seen: Vec::new(),
            appended: Vec::new(),
            program,
            futures: BTreeMap::new(),
            polls: 0,
            shuffle: None,
        }
    }

    /// Does what it does within each poll in another order.
    pub(crate) fn shuffled(mut self, seed: u64) -> Self {
        self.shuffle = Some(Shuffle(seed | 1));
        self
    }

    /// Replays these entries, fed in pages, up to their end.
    pub(crate) fn replay(
        &mut self,
        entries: &[HistoryEntry],
        page: usize,
    ) -> Result<(), CursorError> {
        let mut pages = entries.chunks(page);
        loop {
            match self.cursor.advance()? {
                Advance::Started(_) => self.step(true)?,
                Advance::Input => self.step(false)?,
                Advance::NeedsHistory => match pages.next() {
                    Some(page) => page
                        .iter()
                        .try_for_each(|entry| self.cursor.feed(entry.clone()))?,
                    None => self.cursor.end_of_history(),
                },
                Advance::Live | Advance::Ended => return Ok(()),
            }
        }
    }

    /// Runs a step to its end.
    pub(crate) fn step(&mut self, is_start: bool) -> Result<(), CursorError> {
        self.keep_appended();
        if is_start {
            self.poll(None)?;
        }
        while let Some(grant) = self.cursor.grant()? {
            self.poll(Some(grant))?;
        }
        Ok(())
    }

    fn poll(&mut self, grant: Option<Grant>) -> Result<(), CursorError> {
        let script = &self.program.polls[self.polls % self.program.polls.len()];
        let is_tired = self.polls >= MOST_POLLS;
        let granted = grant.map(|grant| self.label_of(grant.key));
        self.seen.extend(granted.map(Seen::Granted));
        let mut deeds = self.plan(granted, is_tired);
        if let Some(shuffle) = &mut self.shuffle {
            shuffle.deeds(&mut deeds);
        }
        for deed in deeds {
            self.act(deed, grant);
        }
        if let Some(ending) = self.ending(script).filter(|_| !is_tired) {
            self.cursor.finish(ending);
        }
        self.polls += 1;
        self.cursor.flush()?;
        self.keep_appended();
        self.seen.push(self.flushed());
        self.seen
            .extend(self.cursor.take_carried().map(Seen::Carried));
        if script.wakes && !is_tired && !self.cursor.has_ended() {
            self.poll(None)?;
        }
        Ok(())
    }

    /// What the script means at this moment. Nothing of it depends on the order.
    fn plan(&self, granted: Option<Label>, is_tired: bool) -> Vec<Deed> {
        let script = &self.program.polls[self.polls % self.program.polls.len()];
        let taken = granted.filter(|_| script.takes || is_tired);
        let mut deeds: Vec<Deed> = taken.map(Deed::Take).into_iter().collect();
        if is_tired {
            return deeds;
        }
        let nth = |n: usize| {
            let label = self.futures.keys().nth(n % self.futures.len().max(1));
            label.copied().filter(|label| Some(*label) != taken)
        };
        let mut opened: Vec<What> = Vec::new();
        for (index, action) in script.actions.iter().enumerate() {
            let label = Label(self.polls, index);
            if let Action::Open(
                what @ (What::External(_) | What::Look(_) | What::Reader(_) | What::Patch(_)),
            ) = action
            {
                if !self.program.alike && opened.contains(what) {
                    continue;
                }
                opened.push(*what);
            }
            deeds.extend(match *action {
                Action::Open(what) => Some(Deed::Open(label, what)),
                Action::OpenAndDrop(what) => Some(Deed::OpenAndDrop(label, what)),
                Action::Drop(n) => nth(n).map(Deed::Drop),
                // To poll the one that is granted is to take it.
                Action::Poll(n) => nth(n)
                    .filter(|label| Some(*label) != granted)
                    .map(Deed::Poll),
                Action::Tell(n) => Some(Deed::Tell(label, n)),
                Action::Finish(_) => None,
            });
        }
        deeds
    }

    fn act(&mut self, deed: Deed, grant: Option<Grant>) {
        match deed {
            Deed::Take(label) => self.take(label, grant.is_some_and(|grant| grant.executes)),
            Deed::Open(label, what) => {
                let key = self.open(label, what);
                self.futures.insert(label, key);
            }
            Deed::OpenAndDrop(label, what) => {
                let key = self.open(label, what);
                self.cursor.close(key);
            }
            Deed::Drop(label) => {
                if let Some(key) = self.futures.remove(&label) {
                    self.cursor.close(key);
                }
            }
            Deed::Poll(label) => {
                if let Some(key) = self.futures.get(&label) {
                    assert_eq!(self.cursor.poll(*key), OpPoll::Pending);
                }
            }
            Deed::Tell(label, what) => self.tell(label, what),
        }
    }

    fn take(&mut self, label: Label, executes: bool) {
        let key = self.futures[&label];
        match self.cursor.poll(key) {
            OpPoll::Ready(outcome) => self.took(label, outcome),
            // It stays, and asks for the next one only when it is polled again.
            OpPoll::Item(item) => self.seen.push(Seen::Read(label, item)),
            OpPoll::Execute => {
                assert!(executes);
                self.execute(label, key);
            }
            // A cursor that failed in this very poll.
            OpPoll::Pending => {}
        }
    }

    fn execute(&mut self, label: Label, key: OpKey) {
        assert!(!self.cursor.is_replaying() && self.cursor.is_running());
        assert_eq!(self.cursor.poll(key), OpPoll::Execute);
        let result = match label.0 % 5 {
            0 => Err(failure(&label.to_string())),
            _ => ok(&format!("\"{label}\"")),
        };
        self.cursor.complete_run(key, result.clone());
        self.took(label, result.into());
    }

    fn took(&mut self, label: Label, outcome: Outcome) {
        self.futures.remove(&label);
        self.seen.push(Seen::Took(label, outcome));
    }

    fn open(&mut self, label: Label, what: What) -> OpKey {
        let alike = self.program.alike;
        let name = if alike {
            "same".into()
        } else {
            label.to_string()
        };
        let input = if alike {
            "1".into()
        } else {
            format!("\"{label}\"")
        };
        let request = match what {
            What::Activity => Command::Activity {
                name: name.into(),
                input: input.into(),
                options: ActivityOptions::default(),
            },
            What::Timer if alike => Command::Timer { fire_at_ms: 2_000 },
            What::Timer => Command::Timer {
                fire_at_ms: (2_000 + 10 * label.0 + label.1) as u64,
            },
            What::External(n) => Command::External {
                name: channel(n).into(),
            },
            What::Look(n) => Command::TryExternal {
                name: channel(n).into(),
            },
            What::Reader(n) => Command::ExternalEvents {
                name: channel(n).into(),
            },
            What::Child | What::ChildWithId => Command::SubOrchestration {
                name: name.into(),
                version: None,
                instance: (what == What::ChildWithId).then(|| label.to_string().into()),
                input: input.into(),
            },
            What::Run => Command::Run { name: name.into() },
            What::Patch(n) => Command::Patch {
                patch_id: format!("patch-{n}").into(),
            },
            What::Send => Command::SendEvent {
                target: "other".into(),
                name: name.into(),
                data: input.into(),
            },
            What::Promise => return self.cursor.create_promise(name.into()).0,
        };
        self.cursor.open(request)
    }

    fn tell(&mut self, label: Label, what: usize) {
        let text = label.to_string();
        let value = format!("\"{label}\"");
        let key = format!("k{}", what % 2).into();
        self.cursor.emit(match what {
            0..4 => OneWayCommand::SetState {
                key,
                value: value.into(),
            },
            4 | 5 => OneWayCommand::ClearState { key },
            6 | 7 => OneWayCommand::SetCustomStatus {
                status: value.into(),
            },
            8 | 9 => OneWayCommand::StartDetached {
                name: text.as_str().into(),
                version: None,
                instance: (what == 9).then(|| text.as_str().into()),
                input: value.into(),
                options: None,
            },
            10 => OneWayCommand::SendEvent {
                target: "other".into(),
                name: text.into(),
                data: value.into(),
            },
            _ => OneWayCommand::ResolvePromise {
                target: format!("{label}/1/Promise(0)").parse().unwrap(),
                resolution: ok(&value),
            },
        });
    }

    fn ending(&self, script: &Script) -> Option<Ending> {
        let how = script.actions.iter().find_map(|action| match action {
            Action::Finish(how) => Some(*how),
            _ => None,
        });
        // Not at once, or most programs would be short.
        let how = how.filter(|_| self.polls > 4)?;
        Some(match how {
            0 => Ending::Completed { output: "1".into() },
            1 => Ending::Failed {
                failure: failure("no"),
            },
            _ => Ending::ContinuedAsNew {
                input: "8".into(),
                version: None,
            },
        })
    }

    fn label_of(&self, key: OpKey) -> Label {
        let found = self.futures.iter().find(|(_, future)| **future == key);
        *found.unwrap().0
    }

    fn flushed(&self) -> Seen {
        let state = |key| self.cursor.state(key).map(ToString::to_string);
        Seen::Flushed {
            last_event_id: self.cursor.last_event_id().get(),
            open: self.cursor.open_operations(),
            futures: self.futures.len(),
            state: vec![state("k0"), state("k1")],
            status: self.cursor.custom_status().map(ToString::to_string),
            now_ms: self.cursor.now_ms(),
        }
    }

    fn keep_appended(&mut self) {
        let appended = self.cursor.take_appended();
        let entries = appended.into_iter().map(|appended| appended.entry);
        self.appended.extend(entries);
    }
}

/// The name of an external event.
pub(crate) fn channel(number: usize) -> String {
    format!("e{number}")
}

/// Whether an event is one that something outside answers.
pub(crate) fn can_be_completed(event: &Event) -> bool {
    matches!(
        event,
        Event::ActivityScheduled { .. }
            | Event::TimerCreated { .. }
            | Event::SubOrchestrationScheduled { .. }
            | Event::PromiseCreated { .. }
            | Event::ExternalEventSent {
                awaits_receipt: true,
                ..
            }
    )
}

/// A source of orders that is the same for the same seed.
#[derive(Debug)]
struct Shuffle(u64);

impl Shuffle {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    /// Any order, but promises are numbered, so they keep theirs.
    fn deeds(&mut self, deeds: &mut [Deed]) {
        let promises: Vec<Deed> = deeds
            .iter()
            .filter(|deed| deed.makes_a_promise())
            .copied()
            .collect();
        for last in (1..deeds.len()).rev() {
            deeds.swap(last, self.below(last + 1));
        }
        let places = deeds.iter_mut().filter(|deed| deed.makes_a_promise());
        for (place, promise) in places.zip(promises) {
            *place = promise;
        }
    }
}
