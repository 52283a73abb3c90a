//! From the words of a script to a turn for each side.

use durable_core::provider::{Claim, ReadyInstance, TurnCommit};
use durable_core::{
    ActivityOptions, AttributeValue, Attributes, EventId, Failure, FailureKind, Name,
};

use super::leases::{LeasedInstance, Pair};
use super::script::{
    ScriptActivity, ScriptDue, ScriptFlaw, ScriptMessage, ScriptQueue, ScriptStatus, ScriptTurn,
    ScriptTurnEnd,
};
use crate::conformance::StoreClock;
use crate::message::{event_message, start_message};
use crate::turn::TurnBuilder;

/// How far the entries of a turn may be ahead of the store's clock.
const AHEAD_MS: u64 = 40;

/// A time of a script.
pub(super) fn due_ms(due: ScriptDue, clock: StoreClock, now_ms: u64) -> u64 {
    match (due, clock) {
        (ScriptDue::Now, StoreClock::Virtual) => now_ms,
        (ScriptDue::In(ms), StoreClock::Virtual) => now_ms + u64::from(ms),
        // By a clock that the script does not set, only what was due long ago and
        // what is due long after are certain.
        (ScriptDue::Now, StoreClock::Wall { .. }) => 1,
        (ScriptDue::In(_), StoreClock::Wall { .. }) => now_ms + 3_600_000,
    }
}

pub(super) fn queue_name(queue: ScriptQueue) -> Option<Name> {
    match queue {
        ScriptQueue::Default => None,
        ScriptQueue::Named => Some("gpu".into()),
    }
}

fn activity_options(activity: ScriptActivity, clock: StoreClock) -> ActivityOptions {
    let mut options = ActivityOptions::default();
    options.queue = queue_name(activity.queue);
    options.total_timeout_ms = activity.timeout_ms.map(|timeout_ms| match clock {
        StoreClock::Virtual => u64::from(timeout_ms),
        StoreClock::Wall { .. } => 3_600_000,
    });
    options
}

/// The same turn for both sides, under the lease and with the messages of each.
pub(super) fn build(
    turn: &ScriptTurn,
    held: &LeasedInstance,
    clock: StoreClock,
    now_ms: u64,
) -> Pair<TurnCommit> {
    let model = for_model(turn, held, clock, now_ms);
    let mut provider = model.clone();
    provider.lease = held.lease.provider.clone();
    let consumed = held.messages.iter().take(usize::from(turn.consume));
    provider.consumed = consumed.map(|seq| seq.provider).collect();
    Pair { model, provider }
}

fn for_model(
    turn: &ScriptTurn,
    held: &LeasedInstance,
    clock: StoreClock,
    now_ms: u64,
) -> TurnCommit {
    let tail = match turn.from_wrong_tail {
        true => held.last_event_id.next(),
        false => held.last_event_id,
    };
    let mut ready = ReadyInstance::new(held.lease.model.clone(), held.execution_id);
    ready.last_event_id = tail;
    let recorded_ms = match turn.recorded_ahead {
        true => now_ms + AHEAD_MS,
        false => now_ms,
    };
    let mut builder = TurnBuilder::new(&ready, recorded_ms);
    if tail == EventId::UNASSIGNED {
        builder = builder.started();
    }
    for activity in &turn.activities {
        let name = match activity.queue {
            ScriptQueue::Default => "charge",
            ScriptQueue::Named => "ship",
        };
        builder = builder.activity_with(activity_options(*activity, clock), name, "{}");
    }
    for due in &turn.timers {
        builder = builder.timer(due_ms(*due, clock, now_ms));
    }
    if let Some(key) = around(&held.activities, turn.cancel_activity) {
        builder = builder.cancelling_work(key);
    }
    if let Some(key) = around(&held.activities, turn.finish_activity) {
        builder = builder.finishing_work(key, "1");
    }
    if let Some(event_id) = around(&held.timers, turn.cancel_timer) {
        builder = builder.cancelling_timer(*event_id);
    }
    if let Some((target, sent)) = turn.message {
        let target = target.id();
        builder = match sent {
            ScriptMessage::Start(id, reuse) => {
                builder.starting(target, start_message(id.to_string()), reuse)
            }
            ScriptMessage::Event(id) => builder.message(target, event_message(id.to_string())),
            ScriptMessage::EventWithReceipt(id, when) => {
                builder.message_with_receipt(target, event_message(id.to_string()), when)
            }
        };
    }
    builder = match turn.custom_status {
        None => builder,
        Some(ScriptStatus::Set) => builder.custom_status(format!("{now_ms}")),
        Some(ScriptStatus::Clear) => builder.custom_status_cleared(),
    };
    if let Some(count) = turn.attributes {
        builder = builder.attributes(attributes(count, now_ms));
    }
    let builder = end(builder, turn.ending, clock, now_ms);
    let mut commit = match turn.flaw {
        None => builder.build(),
        Some(ScriptFlaw::Invalid(flaw)) => flaw.spoil(builder),
        Some(ScriptFlaw::EmptyName) => builder.activity("").build(),
    };
    let consumed = held.messages.iter().take(usize::from(turn.consume));
    commit.consumed = consumed.map(|seq| seq.model).collect();
    if turn.claim {
        let queues = vec![None, queue_name(ScriptQueue::Named)];
        commit.claim = Claim::new(usize::from(u16::MAX), queues);
    }
    commit
}

/// So many attributes; one stays as it is, others are new.
fn attributes(count: u8, now_ms: u64) -> Attributes {
    let mut attributes = Attributes::new();
    for number in 0..count {
        match number {
            0 => attributes.set("customer", "c-17"),
            1 => attributes.set("changed-at", AttributeValue::Time(now_ms.cast_signed())),
            _ => attributes.set(format!("count-{number}"), i64::from(count)),
        };
    }
    attributes
}

fn end(builder: TurnBuilder, ending: ScriptTurnEnd, clock: StoreClock, now_ms: u64) -> TurnBuilder {
    match ending {
        ScriptTurnEnd::Kept => builder.keeping_the_lease(),
        ScriptTurnEnd::Free => builder,
        ScriptTurnEnd::Delayed(due) => builder.not_before(due_ms(due, clock, now_ms)),
        ScriptTurnEnd::Blocked(due) => builder
            .not_before(due_ms(due, clock, now_ms))
            .blocked(Failure::new(FailureKind::NotRegistered, "no version")),
        ScriptTurnEnd::Suspended => builder.suspended(Failure::new(
            FailureKind::DeterminismViolation,
            "by the turn",
        )),
        ScriptTurnEnd::ContinuedAsNew => builder.continued_as_new().keeping_the_lease(),
        ScriptTurnEnd::Completed => builder.completed("1"),
    }
}

/// The element with this number, counted around.
fn around<T>(elements: &[T], number: Option<u8>) -> Option<&T> {
    let place = usize::from(number?).checked_rem(elements.len())?;
    elements.get(place)
}
