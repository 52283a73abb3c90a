//! The part of the history that the cursor has not reached yet.
//!
//! Entries are checked as they are fed: positions without gaps, times that never
//! fall, one start, nothing after the end. What they mean for the code is not
//! decided here.

use alloc::collections::VecDeque;

use crate::corruption::HistoryFault;
use crate::event::{Event, EventKind};
use crate::history::HistoryEntry;
use crate::id::EventId;

/// Recorded entries ahead of the cursor.
#[derive(Debug, Default)]
pub(super) struct Tape {
    ahead: VecDeque<HistoryEntry>,
    /// How many of `ahead` end a step: inputs and terminals.
    step_ends_ahead: usize,
    /// Whether the history has no entries beyond `ahead`.
    complete: bool,
    order: EntryOrder,
}

impl Tape {
    /// Whether this can be the next recorded entry.
    pub(super) fn check(&mut self, entry: &HistoryEntry) -> Result<(), HistoryFault> {
        self.order.check(entry)
    }

    /// Adds an entry that was checked.
    #[inline]
    pub(super) fn push(&mut self, entry: HistoryEntry) {
        self.step_ends_ahead += usize::from(!entry.event.is_output());
        self.ahead.push_back(entry);
    }

    /// Says that nothing more will be fed.
    pub(super) fn complete(&mut self) {
        self.complete = true;
    }

    /// Whether nothing more will be fed.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether the cursor stands at the end of the history.
    pub(super) fn is_at_end(&self) -> bool {
        self.complete && self.ahead.is_empty()
    }

    /// Whether the next input and every output of its step have been fed.
    pub(super) fn holds_a_whole_step(&self) -> bool {
        self.complete || self.step_ends_ahead >= 2
    }

    /// The next entry.
    pub(super) fn front(&self) -> Option<&HistoryEntry> {
        self.ahead.front()
    }

    /// The entry at this distance from the cursor.
    pub(super) fn get(&self, distance: usize) -> Option<&HistoryEntry> {
        self.ahead.get(distance)
    }

    /// The event at this distance, if the code emitted it.
    pub(super) fn output(&self, distance: usize) -> Option<&Event> {
        let event = &self.ahead.get(distance)?.event;
        is_emitted(event).then_some(event)
    }

    /// What the code emitted next, up to the next thing that came from outside.
    pub(super) fn outputs(&self) -> impl Iterator<Item = &Event> {
        self.ahead
            .iter()
            .map(|entry| &entry.event)
            .take_while(|event| is_emitted(event))
    }

    /// Moves the cursor over the next entry.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<HistoryEntry> {
        let popped = self.ahead.pop_front();
        if let Some(entry) = &popped {
            self.step_ends_ahead -= usize::from(!entry.event.is_output());
            self.give_memory_back();
        }
        popped
    }

    /// A step with very many outputs needs room that the steps after it do not,
    /// and a small ring of entries stays in the cache of the processor.
    fn give_memory_back(&mut self) {
        const SMALL: usize = 2_048;
        let (len, capacity) = (self.ahead.len(), self.ahead.capacity());
        if capacity > SMALL && len < capacity / 16 {
            self.ahead.shrink_to(len * 2);
        }
    }
}

fn is_emitted(event: &Event) -> bool {
    !event.is_input() && !event.is_forced()
}

/// Checks that entries follow one another as they must.
#[derive(Debug, Default)]
pub(crate) struct EntryOrder {
    last: Option<(EventId, EventKind, u64)>,
}

impl EntryOrder {
    /// Checks the next entry against the ones before it.
    pub(crate) fn check(&mut self, entry: &HistoryEntry) -> Result<(), HistoryFault> {
        let kind = entry.event.kind();
        let recorded_at_ms = entry.recorded_at_ms;
        let expected = self.last.map_or(EventId::FIRST, |(id, ..)| id.next());
        if let Some((_, terminal, _)) = self.last
            && terminal.is_terminal()
        {
            return Err(HistoryFault::AfterTerminal { terminal });
        }
        if entry.event_id() != expected {
            return Err(HistoryFault::WrongPosition { expected });
        }
        match (kind, expected) {
            (EventKind::OrchestrationStarted, EventId::FIRST) => {}
            (EventKind::OrchestrationStarted, _) => return Err(HistoryFault::StartedAgain),
            (_, EventId::FIRST) => return Err(HistoryFault::NotStarted),
            _ => {}
        }
        if let Some((_, _, previous_ms)) = self.last
            && recorded_at_ms < previous_ms
        {
            return Err(HistoryFault::TimeWentBack {
                recorded_at_ms,
                previous_ms,
            });
        }
        if let Event::TimerFired { fire_at_ms, .. } = entry.event
            && recorded_at_ms < fire_at_ms
        {
            return Err(HistoryFault::FiredEarly {
                recorded_at_ms,
                fire_at_ms,
            });
        }
        self.last = Some((expected, kind, recorded_at_ms));
        Ok(())
    }
}
