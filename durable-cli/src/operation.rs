//! What an execution did and what it waits for, derived from its history.
//!
//! A history names the end of activities, timers and children. It does not say when
//! the code stopped listening for an event or a promise: such an operation counts as
//! open until its value comes or the execution ends, and is marked as uncertain once
//! something else has happened since.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use durable_core::{
    CommandId, CommandKind, CommandNumbering, Event, EventId, FailureKind, History, HistoryEntry,
    Name, PromiseToken,
};

/// Something that an execution asked for and waited for, or still does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operation {
    /// The event that asked for it.
    pub event_id: EventId,
    /// Which of its kind it is.
    pub command: CommandId,
    /// Its name: of the activity, the event, the promise, the child's orchestration;
    /// a timer has none.
    pub name: Option<Name>,
    /// When it was asked for.
    pub begun_at_ms: u64,
    /// When a timer is due.
    pub due_at_ms: Option<u64>,
    /// The child's instance, or the token of the promise.
    pub target: Option<String>,
    /// How it ended; `None` while it is open.
    pub end: Option<OperationEnd>,
    /// Whether the history can tell that it is open: it cannot for events and
    /// promises that the code may have stopped listening for.
    pub is_certain: bool,
}

/// The end of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationEnd {
    /// The event that ended it.
    pub event_id: EventId,
    /// When.
    pub at_ms: u64,
    /// How.
    pub outcome: OperationOutcome,
}

/// How an operation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperationOutcome {
    /// It gave a value, or the timer fired.
    Succeeded,
    /// It failed.
    Failed(FailureKind),
    /// The code gave it up, or ended without it.
    GivenUp,
}

impl Operation {
    /// Whether it has not ended.
    pub const fn is_open(&self) -> bool {
        self.end.is_none()
    }
}

/// The operations of a history, in the order in which they were asked for.
///
/// ```
/// use durable_cli::operations;
/// use durable_core::{Event, EventId, ExecutionId, History, HistoryEntry};
///
/// let timer = Event::TimerCreated {
///     event_id: EventId::new(2),
///     fire_at_ms: 9_000,
///     execution_id: ExecutionId::FIRST,
/// };
/// let entries = vec![HistoryEntry::new(4_000, timer)];
/// let history = History::new("order-7".into(), ExecutionId::FIRST, entries);
/// let operations = operations(&history);
/// assert_eq!(operations[0].command.to_string(), "Timer(0)");
/// assert_eq!(operations[0].due_at_ms, Some(9_000));
/// assert!(operations[0].is_open());
/// ```
pub fn operations(history: &History) -> Vec<Operation> {
    let mut walk = Walk::new(history);
    for entry in &history.entries {
        walk.step(entry);
    }
    walk.operations
}

/// A walk over a history.
struct Walk<'a> {
    history: &'a History,
    numbering: CommandNumbering,
    operations: Vec<Operation>,
    by_event: BTreeMap<EventId, usize>,
    /// Subscriptions that wait, by the name of the event.
    waiting: BTreeMap<Name, VecDeque<usize>>,
    /// Names of which a stream takes what no other future takes: it stays open.
    streams: BTreeSet<Name>,
    /// Events that came before the code listened, by name.
    unread: BTreeMap<Name, VecDeque<EventId>>,
}

impl<'a> Walk<'a> {
    fn new(history: &'a History) -> Self {
        Self {
            history,
            numbering: CommandNumbering::default(),
            operations: Vec::new(),
            by_event: BTreeMap::new(),
            waiting: BTreeMap::new(),
            streams: BTreeSet::new(),
            unread: BTreeMap::new(),
        }
    }

    fn step(&mut self, entry: &HistoryEntry) {
        let event = &entry.event;
        if event.is_input() {
            self.doubt_listeners();
        }
        let command = self.numbering.number(event);
        if let Some(operation) = command.and_then(|command| self.begun(entry, command)) {
            self.by_event
                .insert(operation.event_id, self.operations.len());
            self.operations.push(operation);
        }
        match event {
            Event::OrchestrationStarted { carried, .. } => {
                let unread_events = carried.iter().flat_map(|carried| &carried.unread_events);
                for unread in unread_events {
                    self.keep(unread.name.clone(), event.event_id());
                }
            }
            Event::ExternalSubscribed { name, .. } => self.listen(entry, name),
            Event::ExternalEventsSubscribed { name, .. } => {
                self.unread.remove(name);
                self.streams.insert(name.clone());
            }
            Event::ExternalEvent { name, .. } => self.tell(entry, name),
            _ => {}
        }
        if let Some(index) = event
            .source_event_id()
            .and_then(|source| self.by_event.get(&source).copied())
        {
            self.end(index, entry, outcome(event));
        }
        if event.is_terminal() {
            for index in 0..self.operations.len() {
                self.end(index, entry, OperationOutcome::GivenUp);
            }
        }
    }

    fn begun(&self, entry: &HistoryEntry, command: CommandId) -> Option<Operation> {
        let (name, due_at_ms, target) = match &entry.event {
            Event::ActivityScheduled { name, .. }
            | Event::ExternalSubscribed { name, .. }
            | Event::ExternalEventsSubscribed { name, .. } => (Some(name.clone()), None, None),
            Event::TimerCreated { fire_at_ms, .. } => (None, Some(*fire_at_ms), None),
            Event::SubOrchestrationScheduled { name, instance, .. } => {
                (Some(name.clone()), None, Some(instance.to_string()))
            }
            Event::ExternalEventSent {
                name,
                target,
                awaits_receipt: true,
                ..
            } => (Some(name.clone()), None, Some(target.to_string())),
            Event::PromiseCreated { name, number, .. } => {
                let token = PromiseToken::new(
                    self.history.instance.clone(),
                    self.history.execution_id,
                    *number,
                );
                (Some(name.clone()), None, Some(token.to_string()))
            }
            _ => return None,
        };
        Some(Operation {
            event_id: entry.event_id(),
            command,
            name,
            begun_at_ms: entry.recorded_at_ms,
            due_at_ms,
            target,
            end: None,
            is_certain: true,
        })
    }

    /// Something came in: the code may have given up listening since.
    fn doubt_listeners(&mut self) {
        for operation in &mut self.operations {
            if operation.is_open()
                && matches!(
                    operation.command.kind,
                    CommandKind::External | CommandKind::Promise | CommandKind::Message
                )
            {
                operation.is_certain = false;
            }
        }
    }

    fn keep(&mut self, name: Name, event_id: EventId) {
        self.unread.entry(name).or_default().push_back(event_id);
    }

    fn listen(&mut self, entry: &HistoryEntry, name: &Name) {
        let Some(index) = self.by_event.get(&entry.event_id()).copied() else {
            return;
        };
        let unread = self.unread.get_mut(name).and_then(VecDeque::pop_front);
        match unread {
            Some(event_id) => {
                self.operations[index].end = Some(OperationEnd {
                    event_id,
                    at_ms: entry.recorded_at_ms,
                    outcome: OperationOutcome::Succeeded,
                });
            }
            None => self
                .waiting
                .entry(name.clone())
                .or_default()
                .push_back(index),
        }
    }

    fn tell(&mut self, entry: &HistoryEntry, name: &Name) {
        match self.waiting.get_mut(name).and_then(VecDeque::pop_front) {
            Some(index) => self.end(index, entry, OperationOutcome::Succeeded),
            None if self.streams.contains(name) => {}
            None => self.keep(name.clone(), entry.event_id()),
        }
    }

    fn end(&mut self, index: usize, entry: &HistoryEntry, outcome: OperationOutcome) {
        let operation = &mut self.operations[index];
        if operation.is_open() {
            operation.is_certain = true;
            operation.end = Some(OperationEnd {
                event_id: entry.event_id(),
                at_ms: entry.recorded_at_ms,
                outcome,
            });
        }
    }
}

fn outcome(event: &Event) -> OperationOutcome {
    match event {
        Event::ActivityFailed { failure, .. }
        | Event::SubOrchestrationFailed { failure, .. }
        | Event::PromiseRejected { failure, .. }
        | Event::ExternalEventUndeliverable { failure, .. } => {
            OperationOutcome::Failed(failure.kind.clone())
        }
        Event::ActivityCancelRequested { .. }
        | Event::TimerCancelled { .. }
        | Event::SubOrchestrationCancelRequested { .. } => OperationOutcome::GivenUp,
        _ => OperationOutcome::Succeeded,
    }
}
