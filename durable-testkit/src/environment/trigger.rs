//! Triggers: at which event something is to happen.

use std::fmt;

use durable_core::provider::WorkKey;
use durable_core::{Event, EventId, EventKind, InstanceId, Name};

use super::observed_store::Recorded;

/// A trigger: the event of an instance at which something is to happen.
///
/// ```
/// use durable_core::EventKind;
/// use durable_testkit::AtEvent;
///
/// let second_charge = AtEvent::of_kind(EventKind::ActivityCompleted)
///     .named("charge")
///     .of("order-7")
///     .nth(2);
/// assert_eq!(
///     second_charge.to_string(),
///     "ActivityCompleted `charge` of `order-7`, number 2"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtEvent {
    instance: Option<InstanceId>,
    kind: Option<EventKind>,
    event_id: Option<EventId>,
    /// The call that it is the result of.
    call: Option<WorkKey>,
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

    /// The result of this activity call.
    pub(super) fn result_of(call: &WorkKey) -> Self {
        Self {
            instance: Some(call.instance.clone()),
            call: Some(call.clone()),
            ..Self::any()
        }
    }

    /// Whether the result of this very activity call is meant.
    pub(super) fn is_result_of(&self, call: &WorkKey) -> bool {
        self.call.as_ref() == Some(call)
    }

    fn any() -> Self {
        Self {
            instance: None,
            kind: None,
            event_id: None,
            call: None,
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
    /// side effect or a promise. What completes, fails or cancels something has the
    /// name of what it completes.
    #[must_use]
    pub fn named(mut self, name: impl Into<Name>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Not the first such event but the n-th, counted from 1 and from when this
    /// trigger was given to the environment.
    #[must_use]
    pub fn nth(mut self, nth: usize) -> Self {
        self.nth = nth.max(1);
        self
    }

    /// Whether it is one of the events that are meant; `named` says which name an event
    /// goes by.
    fn matches<'a>(
        &self,
        recorded: &'a Recorded,
        named: impl FnOnce(&'a Recorded) -> Option<&'a Name>,
    ) -> bool {
        let event = &recorded.entry.event;
        let is_result = |call: &WorkKey| {
            call.execution_id == recorded.execution_id
                && event.source_event_id() == Some(call.event_id)
        };
        self.instance
            .as_ref()
            .is_none_or(|id| *id == recorded.instance)
            && self.kind.is_none_or(|kind| kind == event.kind())
            && self.event_id.is_none_or(|id| id == event.event_id())
            && self.call.as_ref().is_none_or(is_result)
            && (self.name.is_none() || self.name.as_ref() == named(recorded))
    }

    /// Counts down; whether the trigger fires.
    pub(super) fn fires<'a>(
        &mut self,
        recorded: &'a Recorded,
        named: impl FnOnce(&'a Recorded) -> Option<&'a Name>,
    ) -> bool {
        if !self.matches(recorded, named) {
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
        match (self.kind, self.event_id, &self.call) {
            (Some(kind), ..) => kind.fmt(f)?,
            (None, Some(event_id), _) => write!(f, "event {event_id}")?,
            (None, None, Some(call)) => write!(f, "the result of event {}", call.event_id)?,
            (None, None, None) => f.write_str("any event")?,
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

/// The name that an event goes by: its own, or that of the earlier event that it is
/// about.
pub(super) fn name_of<'a>(
    recorded: &'a Recorded,
    earlier: &mut dyn DoubleEndedIterator<Item = &'a Recorded>,
) -> Option<&'a Name> {
    let Some(source) = recorded.entry.event.source_event_id() else {
        return own_name(&recorded.entry.event);
    };
    let is_source = |candidate: &&Recorded| {
        candidate.instance == recorded.instance
            && candidate.execution_id == recorded.execution_id
            && candidate.entry.event_id() == source
    };
    own_name(&earlier.rev().find(is_source)?.entry.event)
}

fn own_name(event: &Event) -> Option<&Name> {
    match event {
        Event::OrchestrationStarted { name, .. }
        | Event::ActivityScheduled { name, .. }
        | Event::SubOrchestrationScheduled { name, .. }
        | Event::OrchestrationChained { name, .. }
        | Event::ExternalSubscribed { name, .. }
        | Event::ExternalEventsSubscribed { name, .. }
        | Event::ExternalEvent { name, .. }
        | Event::ExternalEventSent { name, .. }
        | Event::OperationCompleted { name, .. }
        | Event::PromiseCreated { name, .. } => Some(name),
        _ => None,
    }
}
