//! Invalid turns: one for each reason for which
//! [`TurnCommit::validate`](durable_core::provider::TurnCommit::validate) answers
//! `Invalid`. Names and payloads that break the limits are not here.

use durable_core::provider::{InstanceStatus, NewWork, ReceiptRequest, SourceEvent, TurnCommit};
use durable_core::{Event, EventId, ExecutionId, HistoryEntry};

use crate::message::event_message;
use crate::turn::TurnBuilder;

/// What is wrong with a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnFlaw {
    FirstEventIsMissing,
    EventIsMissing,
    EventStandsTwice,
    NextExecutionLeavesOneOut,
    NextExecutionIsThisOne,
    NextExecutionIsEmpty,
    NextExecutionBeginsLate,
    NextExecutionHasGap,
    WorkOfNoEvent,
    WorkOfAnotherKindOfEvent,
    WorkOfAnotherExecution,
    WorkStandsTwice,
    WorkIsOutOfOrder,
    TimerOfNoEvent,
    TimerOfAnotherKindOfEvent,
    DeadlineOfAnUntimedActivity,
    TimerStandsTwice,
    TimersAreOutOfOrder,
    FinishesItsOwnWork,
    FinishesWorkOfTheNextExecution,
    CancelsItsOwnWork,
    CancelsItsOwnTimer,
    ReceiptOfNoEvent,
    IsPending,
}

impl TurnFlaw {
    pub(crate) const ALL: &'static [Self] = &[
        Self::FirstEventIsMissing,
        Self::EventIsMissing,
        Self::EventStandsTwice,
        Self::NextExecutionLeavesOneOut,
        Self::NextExecutionIsThisOne,
        Self::NextExecutionIsEmpty,
        Self::NextExecutionBeginsLate,
        Self::NextExecutionHasGap,
        Self::WorkOfNoEvent,
        Self::WorkOfAnotherKindOfEvent,
        Self::WorkOfAnotherExecution,
        Self::WorkStandsTwice,
        Self::WorkIsOutOfOrder,
        Self::TimerOfNoEvent,
        Self::TimerOfAnotherKindOfEvent,
        Self::DeadlineOfAnUntimedActivity,
        Self::TimerStandsTwice,
        Self::TimersAreOutOfOrder,
        Self::FinishesItsOwnWork,
        Self::FinishesWorkOfTheNextExecution,
        Self::CancelsItsOwnWork,
        Self::CancelsItsOwnTimer,
        Self::ReceiptOfNoEvent,
        Self::IsPending,
    ];

    /// Makes a valid turn invalid in this way.
    pub(crate) fn spoil(self, turn: TurnBuilder) -> TurnCommit {
        match self {
            Self::FirstEventIsMissing | Self::EventIsMissing | Self::EventStandsTwice => {
                self.spoil_events(turn.custom_status("1").custom_status("2").build())
            }
            Self::NextExecutionLeavesOneOut
            | Self::NextExecutionIsThisOne
            | Self::NextExecutionIsEmpty
            | Self::NextExecutionBeginsLate
            | Self::NextExecutionHasGap => self.spoil_next(turn.continued_as_new().build()),
            Self::WorkOfNoEvent
            | Self::WorkOfAnotherKindOfEvent
            | Self::WorkOfAnotherExecution
            | Self::TimerOfNoEvent
            | Self::TimerOfAnotherKindOfEvent
            | Self::DeadlineOfAnUntimedActivity => self.spoil_sources(turn),
            Self::WorkStandsTwice
            | Self::WorkIsOutOfOrder
            | Self::TimerStandsTwice
            | Self::TimersAreOutOfOrder => {
                let turn = turn.activity("charge").activity("ship");
                self.spoil_order(turn.timer(1).timer(2).build())
            }
            Self::FinishesItsOwnWork | Self::CancelsItsOwnWork | Self::CancelsItsOwnTimer => {
                self.take_back(turn)
            }
            Self::FinishesWorkOfTheNextExecution => {
                finish_work_of_next(turn.continued_as_new().build())
            }
            Self::ReceiptOfNoEvent => {
                let event_id = turn.next_event_id();
                let mut turn = turn.message("b", event_message("m")).build();
                let source = SourceEvent::new(turn.execution_id, event_id);
                let sent = turn.new_messages.last_mut();
                let receipt = ReceiptRequest::always(source);
                sent.into_iter()
                    .for_each(|sent| sent.receipt = Some(receipt));
                turn
            }
            Self::IsPending => {
                let mut turn = turn.build();
                turn.update.status = Some(InstanceStatus::Pending);
                turn
            }
        }
    }

    /// The turn has two events at least.
    fn spoil_events(self, mut turn: TurnCommit) -> TurnCommit {
        match self {
            Self::FirstEventIsMissing => drop(turn.events.remove(0)),
            Self::EventIsMissing => drop(turn.events.remove(turn.events.len() - 2)),
            _ => turn.events.extend(turn.events.last().cloned()),
        }
        turn
    }

    /// The turn continues as new.
    fn spoil_next(self, mut turn: TurnCommit) -> TurnCommit {
        let execution_id = turn.execution_id;
        if let Some(next) = &mut turn.next_execution {
            match self {
                Self::NextExecutionLeavesOneOut => next.execution_id = next.execution_id.next(),
                Self::NextExecutionIsThisOne => next.execution_id = execution_id,
                Self::NextExecutionIsEmpty => next.events.clear(),
                Self::NextExecutionBeginsLate => next.events = vec![scheduled(execution_id, 2)],
                _ => next.events.push(scheduled(execution_id.next(), 3)),
            }
        }
        turn
    }

    fn spoil_sources(self, turn: TurnBuilder) -> TurnCommit {
        let event_id = turn.next_event_id();
        let mut turn = match self {
            Self::WorkOfAnotherKindOfEvent | Self::TimerOfAnotherKindOfEvent => {
                turn.custom_status("1").build()
            }
            Self::DeadlineOfAnUntimedActivity | Self::WorkOfAnotherExecution => {
                turn.activity("charge").build()
            }
            _ => turn.build(),
        };
        let source = SourceEvent::new(turn.execution_id, event_id);
        match self {
            Self::TimerOfNoEvent
            | Self::TimerOfAnotherKindOfEvent
            | Self::DeadlineOfAnUntimedActivity => turn.new_timers.push(source),
            Self::WorkOfAnotherExecution => {
                let elsewhere = ExecutionId::new(u64::from(u32::MAX));
                let source = SourceEvent::new(elsewhere, event_id);
                turn.new_work.push(NewWork::new(source, 0));
            }
            _ => turn.new_work.push(NewWork::new(source, 0)),
        }
        turn
    }

    /// The turn has two calls and two timers at least.
    fn spoil_order(self, mut turn: TurnCommit) -> TurnCommit {
        let (work, timers) = (&mut turn.new_work, &mut turn.new_timers);
        match self {
            Self::WorkStandsTwice => work.extend(work.last().copied()),
            Self::WorkIsOutOfOrder => work.reverse(),
            Self::TimerStandsTwice => timers.extend(timers.last().copied()),
            _ => timers.reverse(),
        }
        turn
    }

    /// The turn schedules something and removes it again.
    fn take_back(self, turn: TurnBuilder) -> TurnCommit {
        let event_id = turn.next_event_id();
        let mut turn = match self {
            Self::CancelsItsOwnTimer => turn.timer(1).build(),
            _ => turn.activity("charge").build(),
        };
        let source = SourceEvent::new(turn.execution_id, event_id);
        match self {
            Self::CancelsItsOwnTimer => turn.cancelled_timers.push(source),
            Self::CancelsItsOwnWork => turn.cancelled_work.push(source),
            _ => turn.finished_work.push(source),
        }
        turn
    }
}

/// The turn continues as new.
fn finish_work_of_next(mut turn: TurnCommit) -> TurnCommit {
    let execution_id = turn.execution_id.next();
    let source = SourceEvent::new(execution_id, EventId::new(2));
    if let Some(next) = &mut turn.next_execution {
        next.events.push(scheduled(execution_id, 2));
    }
    turn.new_work.push(NewWork::new(source, 0));
    turn.finished_work.push(source);
    turn
}

fn scheduled(execution_id: ExecutionId, event_id: u64) -> HistoryEntry {
    HistoryEntry::new(
        1,
        Event::ActivityScheduled {
            event_id: EventId::new(event_id),
            execution_id,
            name: "charge".into(),
            input: "{}".into(),
            options: Default::default(),
        },
    )
}

#[cfg(test)]
mod tests {
    use durable_core::Limits;
    use durable_core::provider::{Lease, ProviderError, ReadyInstance, SessionId};

    use super::*;

    fn turn() -> TurnBuilder {
        let lease = Lease {
            instance: "a".into(),
            session: SessionId(1),
            token: 1,
        };
        let mut ready = ReadyInstance::new(lease, ExecutionId::FIRST);
        ready.last_event_id = EventId::new(4);
        TurnBuilder::new(&ready, 1_000)
    }

    fn rich_turn() -> TurnBuilder {
        turn().activity("charge").timer(7).continued_as_new()
    }

    #[test]
    fn every_flaw_is_refused_as_invalid() {
        for turn in [turn, rich_turn] {
            assert_eq!(turn().build().validate(&Limits::default()), Ok(()));
            for flaw in TurnFlaw::ALL {
                let refused = flaw.spoil(turn()).validate(&Limits::default());
                let is_invalid = matches!(refused, Err(ProviderError::Invalid { .. }));
                assert!(is_invalid, "{flaw:?}: {refused:?}");
            }
        }
    }

    /// A turn is spoilt in one way only: without the flaw it would be accepted.
    #[test]
    fn what_a_flaw_adds_is_valid_but_for_the_flaw() {
        let valid = |turn: TurnCommit| turn.validate(&Limits::default()) == Ok(());
        let mut taken_back = TurnFlaw::FinishesWorkOfTheNextExecution.spoil(turn());
        taken_back.finished_work.clear();
        assert!(valid(taken_back));
        for flaw in [
            TurnFlaw::FinishesItsOwnWork,
            TurnFlaw::CancelsItsOwnWork,
            TurnFlaw::CancelsItsOwnTimer,
        ] {
            let mut turn = flaw.spoil(turn());
            turn.finished_work.clear();
            turn.cancelled_work.clear();
            turn.cancelled_timers.clear();
            assert!(valid(turn), "{flaw:?}");
        }
    }
}
