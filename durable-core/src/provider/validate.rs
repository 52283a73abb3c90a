//! What a turn must satisfy, whatever the store: checked once, here, before a provider
//! writes anything.

use alloc::format;
use alloc::string::String;

use super::commit::TurnCommit;
use super::error::ProviderError;
use super::query::InstanceStatus;
use super::work::SourceEvent;
use crate::event::Event;
use crate::history::HistoryEntry;
use crate::id::EventId;
use crate::limits::Limits;

impl TurnCommit {
    /// Checks that the turn does not contradict itself and keeps the limits.
    ///
    /// Every provider calls it before it looks at the store, so that a turn is refused
    /// for the same reason everywhere.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Invalid`] if
    /// - the events are not contiguous from the expected tail,
    /// - `next_execution` is not the execution after this one, or does not begin with
    ///   event 1 and go on without a gap,
    /// - new work is not named by an `ActivityScheduled` of this turn, or a new timer not
    ///   by a `TimerCreated` or by an `ActivityScheduled` with a total timeout, or they are
    ///   not named in the order of their events, each once,
    /// - it finishes or cancels work, or cancels a timer, that an event of this very turn
    ///   scheduled: a turn leaves out what it would take back,
    /// - it asks for a receipt that is not named by an event of this turn,
    /// - the status says that the instance is pending.
    ///
    /// [`ProviderError::Refused`] if a name is empty or too long, or a payload too large.
    ///
    /// ```
    /// use durable_core::provider::{CommitId, Lease, NewWork, ProviderError, SessionId};
    /// use durable_core::provider::{SourceEvent, TurnCommit};
    /// use durable_core::{EventId, ExecutionId, Limits};
    ///
    /// let lease = Lease { instance: "order-7".into(), session: SessionId(1), token: 1 };
    /// let mut turn = TurnCommit::new(CommitId(1), lease, ExecutionId::FIRST, EventId::new(4));
    /// assert_eq!(turn.validate(&Limits::default()), Ok(()));
    ///
    /// let nothing = SourceEvent::new(ExecutionId::FIRST, EventId::new(5));
    /// turn.new_work.push(NewWork::new(nothing, 0));
    /// let refused = turn.validate(&Limits::default());
    /// assert!(matches!(refused, Err(ProviderError::Invalid { .. })));
    /// ```
    pub fn validate(&self, limits: &Limits) -> Result<(), ProviderError> {
        check_contiguous("events", self.expected_last_event_id, &self.events)?;
        self.check_next_execution()?;
        self.check_work()?;
        self.check_timers()?;
        self.check_receipts()?;
        if self.update.status == Some(InstanceStatus::Pending) {
            return invalid("an instance with a committed turn is not pending".into());
        }
        Ok(limits.check_turn(self)?)
    }

    fn check_next_execution(&self) -> Result<(), ProviderError> {
        let Some(next) = &self.next_execution else {
            return Ok(());
        };
        if next.execution_id != self.execution_id.next() {
            return invalid(format!(
                "the next execution is {}, after execution {}",
                next.execution_id, self.execution_id
            ));
        }
        if next.events.is_empty() {
            return invalid("the next execution has no events".into());
        }
        check_contiguous("next execution", EventId::UNASSIGNED, &next.events)
    }

    fn check_work(&self) -> Result<(), ProviderError> {
        for work in &self.new_work {
            let entry = self.entry(work.source).map(|entry| &entry.event);
            if !matches!(entry, Some(Event::ActivityScheduled { .. })) {
                return invalid(format!(
                    "new work names {}, which is no activity of this turn",
                    work.source
                ));
            }
        }
        check_rising("new work", self.new_work.iter().map(|work| work.source))?;
        let removed = self.finished_work.iter().chain(&self.cancelled_work);
        self.check_older("work", removed)
    }

    fn check_timers(&self) -> Result<(), ProviderError> {
        for timer in &self.new_timers {
            if self.timer_due_ms(*timer).is_none() {
                return invalid(format!(
                    "a new timer names {timer}, which is no timer and no deadline of this turn"
                ));
            }
        }
        check_rising("a new timer", self.new_timers.iter().copied())?;
        self.check_older("a timer", self.cancelled_timers.iter())
    }

    fn check_receipts(&self) -> Result<(), ProviderError> {
        let receipts = self.new_messages.iter().filter_map(|sent| sent.receipt);
        for source in receipts.map(|receipt| receipt.source) {
            if self.entry(source).is_none() {
                return invalid(format!(
                    "a receipt names {source}, which is no event of this turn"
                ));
            }
        }
        Ok(())
    }

    /// What a turn removes is older than the turn: it does not add what it removes.
    fn check_older<'a>(
        &self,
        what: &str,
        mut removed: impl Iterator<Item = &'a SourceEvent>,
    ) -> Result<(), ProviderError> {
        match removed.find(|source| self.entry(**source).is_some()) {
            Some(source) => invalid(format!("{what} of {source} is removed by its own turn")),
            None => Ok(()),
        }
    }
}

fn check_rising(
    what: &str,
    sources: impl Iterator<Item = SourceEvent>,
) -> Result<(), ProviderError> {
    let mut last = None;
    for source in sources {
        if last.is_some_and(|last| last >= source) {
            return invalid(format!("{what} names {source} again or out of order"));
        }
        last = Some(source);
    }
    Ok(())
}

fn check_contiguous(
    what: &str,
    tail: EventId,
    entries: &[HistoryEntry],
) -> Result<(), ProviderError> {
    let mut expected = tail.next();
    for entry in entries {
        let found = entry.event_id();
        if found != expected {
            return invalid(format!(
                "{what}: event {found} stands where {expected} must"
            ));
        }
        expected = expected.next();
    }
    Ok(())
}

fn invalid(reason: String) -> Result<(), ProviderError> {
    Err(ProviderError::Invalid { reason })
}
