//! Moments: at which event something is to happen.

use std::fmt;

use durable_core::{Event, EventId, EventKind, HistoryEntry, InstanceId, Name};

/// A point in the life of an instance: the event at which it has come there.
///
/// ```
/// use durable_core::EventKind;
/// use durable_testkit::AtEvent;
///
/// let second_charge = AtEvent::of_kind(EventKind::ActivityCompleted).of("order-7").nth(2);
/// assert_eq!(second_charge.to_string(), "ActivityCompleted of `order-7`, number 2");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtEvent {
    instance: Option<InstanceId>,
    kind: Option<EventKind>,
    event_id: Option<EventId>,
    name: Option<Name>,
    nth: usize,
}

impl AtEvent {
    /// The first event of this kind, of whatever instance.
    pub fn of_kind(kind: EventKind) -> Self {
        Self {
            kind: Some(kind),
            ..Self::any()
        }
    }

    /// The event at this position.
    pub fn number(event_id: EventId) -> Self {
        Self {
            event_id: Some(event_id),
            ..Self::any()
        }
    }

    fn any() -> Self {
        Self {
            instance: None,
            kind: None,
            event_id: None,
            name: None,
            nth: 1,
        }
    }

    /// Only in this instance.
    #[must_use]
    pub fn of(mut self, instance: impl Into<InstanceId>) -> Self {
        self.instance = Some(instance.into());
        self
    }

    /// Only events of this name: of an activity, a child, an external event, a
    /// side effect or a promise.
    #[must_use]
    pub fn named(mut self, name: impl Into<Name>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Not the first such event but the n-th, counted from 1 and from when this
    /// moment was given to the environment.
    #[must_use]
    pub fn nth(mut self, nth: usize) -> Self {
        self.nth = nth.max(1);
        self
    }

    /// Whether it is one of the events that are meant.
    fn matches(&self, instance: &InstanceId, entry: &HistoryEntry) -> bool {
        let event = &entry.event;
        self.instance.as_ref().is_none_or(|id| id == instance)
            && self.kind.is_none_or(|kind| kind == event.kind())
            && self.event_id.is_none_or(|id| id == event.event_id())
            && (self.name.is_none() || self.name.as_ref() == name_of(event))
    }

    /// Counts down; whether the moment has come.
    pub(super) fn has_come(&mut self, instance: &InstanceId, entry: &HistoryEntry) -> bool {
        if !self.matches(instance, entry) {
            return false;
        }
        self.nth = self.nth.saturating_sub(1);
        self.nth == 0
    }
}

impl From<EventKind> for AtEvent {
    fn from(kind: EventKind) -> Self {
        Self::of_kind(kind)
    }
}

impl From<EventId> for AtEvent {
    fn from(event_id: EventId) -> Self {
        Self::number(event_id)
    }
}

impl fmt::Display for AtEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.event_id) {
            (Some(kind), _) => kind.fmt(f)?,
            (None, Some(event_id)) => write!(f, "event {event_id}")?,
            (None, None) => f.write_str("any event")?,
        }
        if let Some(name) = &self.name {
            write!(f, " `{name}`")?;
        }
        if let Some(instance) = &self.instance {
            write!(f, " of `{instance}`")?;
        }
        match self.nth {
            1 => Ok(()),
            nth => write!(f, ", number {nth}"),
        }
    }
}

fn name_of(event: &Event) -> Option<&Name> {
    match event {
        Event::OrchestrationStarted { name, .. }
        | Event::ActivityScheduled { name, .. }
        | Event::SubOrchestrationScheduled { name, .. }
        | Event::OrchestrationChained { name, .. }
        | Event::ExternalSubscribed { name, .. }
        | Event::ExternalEvent { name, .. }
        | Event::ExternalEventSent { name, .. }
        | Event::OperationCompleted { name, .. }
        | Event::PromiseCreated { name, .. } => Some(name),
        _ => None,
    }
}
