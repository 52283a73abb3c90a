//! A line about each event, in the order of a history: an answer is called by the name
//! of what it answers, a timer by its time.

use std::collections::BTreeMap;

use durable_core::{CommandId, CommandNumbering, Event, EventId, HistoryEntry, Name};

use crate::table::harmless;
use crate::time::{clock, span};

/// Remembers what was asked for while a history is walked.
#[derive(Debug, Default)]
pub(super) struct Describer {
    numbering: CommandNumbering,
    names: BTreeMap<EventId, Name>,
}

/// An event for people.
pub(super) struct Described {
    /// Which command of its kind it is, if it is one.
    pub(super) command: Option<CommandId>,
    /// What happened.
    pub(super) what: String,
}

impl Describer {
    /// Describes the next event.
    pub(super) fn next(&mut self, entry: &HistoryEntry) -> Described {
        let event = &entry.event;
        if let Event::ActivityScheduled { name, .. }
        | Event::SubOrchestrationScheduled { name, .. }
        | Event::PromiseCreated { name, .. }
        | Event::ExternalEventSent { name, .. } = event
        {
            self.names.insert(event.event_id(), name.clone());
        }
        let what = match (event, event.source_event_id()) {
            (Event::TimerCreated { fire_at_ms, .. }, _) => {
                let wait = span(fire_at_ms.saturating_sub(entry.recorded_at_ms));
                format!("{} {wait}, due {}", event.kind(), clock(*fire_at_ms))
            }
            (_, Some(source)) => match (self.names.get(&source), failure(event)) {
                (Some(name), Some(kind)) => format!("{} `{name}` ({kind})", event.kind()),
                (Some(name), None) => format!("{} `{name}`", event.kind()),
                (None, _) => event.kind().to_string(),
            },
            (_, None) => event.to_string(),
        };
        Described {
            command: self.numbering.number(event),
            what: harmless(&what),
        }
    }
}

fn failure(event: &Event) -> Option<String> {
    match event {
        Event::ActivityFailed { failure, .. }
        | Event::SubOrchestrationFailed { failure, .. }
        | Event::PromiseRejected { failure, .. }
        | Event::ExternalEventUndeliverable { failure, .. } => Some(failure.kind.to_string()),
        _ => None,
    }
}
