//! Views of instances, as they change and as they are read.

use alloc::vec::Vec;

use super::work::SourceEvent;
use crate::text::{Name, Payload};

/// Which event of a turn changes a view: a `ViewPublished` or a `ViewCleared` of this name, or an
/// `OrchestrationStarted` that brings the view along. The event has the value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ViewUpdate {
    /// The view.
    pub name: Name,
    /// The event. Of several of a turn it is the last one.
    pub source: SourceEvent,
}

/// What becomes of a view; see [`TurnCommit::view_change`](super::TurnCommit::view_change).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ViewChange<'a> {
    /// Its new value; `None` if it is cleared.
    pub value: Option<&'a Payload>,
    /// The recorded time of the event.
    pub changed_at_ms: u64,
}

/// A view as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ViewRecord {
    /// Its name.
    pub name: Name,
    /// Its latest value.
    pub value: Payload,
    /// The event that published it. It is later after every change, also across executions and
    /// after a purge, so it tells a value from an earlier one that is equal.
    pub source: SourceEvent,
    /// The recorded time of that event.
    pub changed_at_ms: u64,
}

impl ViewRecord {
    /// The value that this event published at this time.
    pub const fn new(name: Name, value: Payload, source: SourceEvent, changed_at_ms: u64) -> Self {
        Self {
            name,
            value,
            source,
            changed_at_ms,
        }
    }
}

/// A part of the views of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ViewPage {
    /// The views, by name.
    pub views: Vec<ViewRecord>,
    /// The name to go on after, if there is more.
    pub next: Option<Name>,
}

impl ViewPage {
    /// The first `max` of what comes after `after`: all that there is, or more than `max`, by
    /// name.
    pub fn first(mut views: Vec<ViewRecord>, after: Option<&Name>, max: usize) -> Self {
        let has_more = views.len() > max;
        views.truncate(max);
        let last = views.last().map(|view| &view.name).or(after);
        Self {
            next: last.filter(|_| has_more).cloned(),
            views,
        }
    }
}
