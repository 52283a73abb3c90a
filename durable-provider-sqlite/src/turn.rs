//! What the caller's task makes ready before the writer is bothered: requests are
//! checked, measured and encoded here, so the writer only writes.

use durable_core::provider::{
    InstanceStatus, Lease, Message, MessageBody, OutgoingMessage, ProviderError, Release,
    StartInstance, TurnCommit, WorkItem, WorkKey, WorkLease, WorkResult, WorkSettlement,
};
use durable_core::{Event, EventId, ExecutionId, HistoryEntry, InstanceId, Limits, MessageId};

use crate::codec::{Entries, failure_bytes, item_bytes, message_bytes, status_bytes};
use crate::store::result_message;

type Prepared<T> = Result<T, ProviderError>;

/// A turn that does not contradict itself, encoded.
#[derive(Debug)]
pub(crate) struct PreparedTurn {
    pub(crate) turn: TurnCommit,
    pub(crate) events: Entries,
    pub(crate) next_execution: Option<(ExecutionId, Entries)>,
    pub(crate) work: Vec<NewWork>,
    pub(crate) messages: Vec<Outgoing>,
    pub(crate) status: Option<Vec<u8>>,
    pub(crate) blocked: Option<Vec<u8>>,
}

/// A work item and its bytes.
#[derive(Debug)]
pub(crate) struct NewWork {
    pub(crate) item: WorkItem,
    pub(crate) bytes: Vec<u8>,
    /// Whether an event of the turn says all that the item does.
    pub(crate) is_recorded: bool,
}

/// A message on its way.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) target: InstanceId,
    pub(crate) message_id: MessageId,
    pub(crate) bytes: Vec<u8>,
    /// If it creates its target when there is none.
    pub(crate) start: Option<StartRequest>,
}

/// A start and its bytes.
#[derive(Debug)]
pub(crate) struct StartRequest {
    pub(crate) message_id: MessageId,
    pub(crate) start: StartInstance,
    pub(crate) bytes: Vec<u8>,
}

/// A lease on its way back.
#[derive(Debug)]
pub(crate) struct Returned {
    pub(crate) lease: Lease,
    pub(crate) not_before_ms: u64,
    /// What kept its holder from running the instance.
    pub(crate) blocked: Option<Vec<u8>>,
}

/// Work on its way back.
#[derive(Debug)]
pub(crate) struct Settlement {
    pub(crate) lease: WorkLease,
    pub(crate) result: WorkResult,
    /// What the instance is told.
    pub(crate) message: Option<Message>,
    /// Why the item is kept for inspection.
    pub(crate) failure: Option<Vec<u8>>,
}

impl PreparedTurn {
    pub(crate) fn new(mut turn: TurnCommit, limits: Limits) -> Prepared<Self> {
        check_request(&turn)?;
        limits.check_turn(&turn)?;
        let events = Entries::encode(&turn.events)?;
        let next_execution = match &turn.next_execution {
            Some(next) => Some((next.execution_id, Entries::encode(&next.events)?)),
            None => None,
        };
        let work = std::mem::take(&mut turn.new_work)
            .into_iter()
            .filter(|item| !is_dropped(&turn, item))
            .map(|item| {
                Ok(NewWork {
                    bytes: item_bytes(&item)?,
                    is_recorded: is_recorded(&turn, &item),
                    item,
                })
            })
            .collect::<Prepared<_>>()?;
        let messages = std::mem::take(&mut turn.new_messages)
            .into_iter()
            .map(Outgoing::new)
            .collect::<Prepared<_>>()?;
        let status = turn.update.status.as_ref().map(status_bytes).transpose()?;
        let blocked = turn.update.blocked.as_ref();
        let blocked = blocked.map(failure_bytes).transpose()?;
        Ok(Self {
            turn,
            events,
            next_execution,
            work,
            messages,
            status,
            blocked,
        })
    }
}

/// Whether an item is finished or cancelled by the very turn that asks for it.
fn is_dropped(turn: &TurnCommit, item: &WorkItem) -> bool {
    turn.finished_work.contains(&item.key) || turn.cancelled_work.contains(&item.key)
}

/// Whether an event of the execution that the turn goes on with says all that the item
/// does, so that it can be found again in the history.
fn is_recorded(turn: &TurnCommit, item: &WorkItem) -> bool {
    let WorkKey {
        execution_id,
        event_id,
        ..
    } = item.key;
    let is_current = turn.next_execution.is_none() && execution_id == turn.execution_id;
    let entry = (event_id.get())
        .checked_sub(turn.expected_last_event_id.next().get())
        .and_then(|at| turn.events.get(usize::try_from(at).ok()?));
    is_current
        && entry.is_some_and(|entry| match &entry.event {
            Event::ActivityScheduled {
                name,
                input,
                options,
                ..
            } => {
                *name == item.name
                    && *input == item.input
                    && *options == item.options
                    && entry.recorded_at_ms == item.scheduled_at_ms
            }
            _ => false,
        })
}

impl Outgoing {
    fn new(outgoing: OutgoingMessage) -> Prepared<Self> {
        let OutgoingMessage { target, message } = outgoing;
        let bytes = message_bytes(&message)?;
        let start = match message.body {
            MessageBody::Start(start) => Some(StartRequest {
                message_id: message.message_id.clone(),
                start,
                bytes: bytes.clone(),
            }),
            _ => None,
        };
        Ok(Self {
            target,
            message_id: message.message_id,
            bytes,
            start,
        })
    }

    /// Messages that a client sends.
    pub(crate) fn from_client(
        messages: Vec<OutgoingMessage>,
        limits: Limits,
    ) -> Prepared<Vec<Self>> {
        for outgoing in &messages {
            limits.check_message(&outgoing.target, &outgoing.message)?;
            if matches!(outgoing.message.body, MessageBody::Start(_)) {
                return invalid(format!(
                    "a start for `{}` is sent as a message",
                    outgoing.target
                ));
            }
        }
        messages.into_iter().map(Self::new).collect()
    }
}

impl StartRequest {
    pub(crate) fn new(id: &InstanceId, message: Message, limits: Limits) -> Prepared<Self> {
        limits.check_message(id, &message)?;
        let bytes = message_bytes(&message)?;
        let MessageBody::Start(start) = message.body else {
            return invalid(format!("the message that starts `{id}` is no start"));
        };
        Ok(Self {
            message_id: message.message_id,
            start,
            bytes,
        })
    }
}

impl Returned {
    pub(crate) fn prepare(releases: Vec<Release>, limits: Limits) -> Prepared<Vec<Self>> {
        for release in &releases {
            limits.check_release(release)?;
        }
        releases.into_iter().map(Self::new).collect()
    }

    fn new(release: Release) -> Prepared<Self> {
        Ok(Self {
            lease: release.lease,
            not_before_ms: release.not_before_ms.unwrap_or(0),
            blocked: release.blocked.as_ref().map(failure_bytes).transpose()?,
        })
    }
}

impl Settlement {
    pub(crate) fn prepare(settlements: Vec<WorkSettlement>, limits: Limits) -> Prepared<Vec<Self>> {
        for settlement in &settlements {
            limits.check_work_result(&settlement.result)?;
        }
        settlements.into_iter().map(Self::new).collect()
    }

    fn new(settlement: WorkSettlement) -> Prepared<Self> {
        let WorkSettlement { lease, result } = settlement;
        let failure = match &result {
            WorkResult::Poisoned(failure) => Some(failure_bytes(failure)?),
            _ => None,
        };
        Ok(Self {
            message: result_message(&lease.key, &result),
            lease,
            result,
            failure,
        })
    }
}

/// Refuses a turn that contradicts itself.
fn check_request(turn: &TurnCommit) -> Prepared<()> {
    check_contiguous("events", turn.expected_last_event_id, &turn.events)?;
    if let Some(next) = &turn.next_execution {
        if next.execution_id != turn.execution_id.next() {
            return invalid(format!(
                "the next execution is {}, after execution {}",
                next.execution_id, turn.execution_id
            ));
        }
        if next.events.is_empty() {
            return invalid("the next execution has no events".into());
        }
        check_contiguous("next execution", EventId::UNASSIGNED, &next.events)?;
    }
    let id = &turn.lease.instance;
    let is_own = turn.new_work.iter().all(|item| item.key.instance == *id)
        && turn.new_timers.iter().all(|timer| timer.instance == *id);
    if !is_own {
        return invalid(format!(
            "work or a timer of another instance than `{id}` is created"
        ));
    }
    if turn.update.status == Some(InstanceStatus::Pending) {
        return invalid("an instance with a committed turn is not pending".into());
    }
    Ok(())
}

fn check_contiguous(what: &str, tail: EventId, entries: &[HistoryEntry]) -> Prepared<()> {
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

fn invalid<T>(reason: String) -> Prepared<T> {
    Err(ProviderError::Invalid { reason })
}
