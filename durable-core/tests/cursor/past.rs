//! Histories written by hand: positions and times follow by themselves unless a
//! test says otherwise.

use std::borrow::Borrow;

use durable_core::{Event, ExecutionId, History, HistoryEntry};

use super::events::{INSTANCE, at, started};

/// The time of every entry for which no time was said.
pub(crate) const THEN_MS: u64 = 1_000;

/// A recorded history.
#[derive(Debug, Clone)]
pub(crate) struct Past {
    entries: Vec<HistoryEntry>,
    now_ms: u64,
}

impl Past {
    /// A history without an entry.
    pub(crate) fn empty() -> Self {
        Self {
            entries: Vec::new(),
            now_ms: THEN_MS,
        }
    }

    /// A history that begins as it must.
    pub(crate) fn started() -> Self {
        Self::empty().and(started())
    }

    /// A history that begins as it must and goes on with these events.
    pub(crate) fn of(events: impl IntoIterator<Item = Event>) -> Self {
        events.into_iter().fold(Self::started(), Self::and)
    }

    /// Adds the next event.
    pub(crate) fn and(self, event: impl Borrow<Event>) -> Self {
        let position = self.entries.len() as u64 + 1;
        self.and_at(position, event.borrow())
    }

    /// Adds an event at this position, right or wrong.
    pub(crate) fn and_at(mut self, position: u64, event: &Event) -> Self {
        self.entries
            .push(HistoryEntry::new(self.now_ms, at(position, event)));
        self
    }

    /// What follows is recorded at this time.
    pub(crate) fn at_ms(mut self, now_ms: u64) -> Self {
        self.now_ms = now_ms;
        self
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn entries(self) -> Vec<HistoryEntry> {
        self.entries
    }

    /// The whole history, as tools hold it.
    pub(crate) fn history(self) -> History {
        history(self.entries)
    }
}

/// These entries as the history of the one instance that tests are about.
pub(crate) fn history(entries: Vec<HistoryEntry>) -> History {
    History::new(INSTANCE.into(), ExecutionId::FIRST, entries)
}
