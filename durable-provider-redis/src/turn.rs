//! A turn as `commit.lua` takes it: encoded here, so that the script checks only what only
//! the server knows.

use durable_core::provider::{
    CustomStatusUpdate, IdReuse, MessageBody, NewWork, OutgoingMessage, ProviderError, SourceEvent,
    StartInstance, TurnCommit,
};
use durable_core::{Attributes, Event, HistoryEntry, InstanceId, Name, Version};

use crate::attribute;
use crate::codec::{entry_bytes, failure_bytes, message_bytes, status_bytes, status_number};
use crate::group::PreparedTurn;
use crate::keys::{Partition, source_text};
use crate::receipt::RequestedReceipt;
use crate::script::{self, Args, Call};
use crate::store::Store;

/// How much work one commit claims at most: what a script can answer in one list.
const MAX_CLAIM: usize = 1_000;

/// The part of a call that a valid turn has, in the order in which `commit.lua` reads it.
pub(crate) fn prepare(
    store: &Store,
    partition: &Partition,
    turn: &TurnCommit,
) -> Result<PreparedTurn, ProviderError> {
    let mut call = Call::new(&script::COMMIT, partition);
    identify(&mut call, turn);
    events(&mut call, turn)?;
    removals(&mut call.args, turn);
    update(&mut call.args, turn)?;
    timers(&mut call.args, turn)?;
    messages(store, &mut call, turn)?;
    call.args.flag(turn.keep_lease);
    work(&mut call.args, turn)?;
    let Call { keys, args, .. } = call;
    Ok(PreparedTurn { keys, args })
}

fn identify(call: &mut Call<'_>, turn: &TurnCommit) {
    let id = &turn.lease.instance;
    let args = call.instance(id);
    args.number(turn.lease.session.0)
        .number(turn.lease.token)
        .push(turn.commit_id.to_string())
        .number(turn.execution_id.get())
        .number(turn.expected_last_event_id.get())
        .number(turn.last_recorded_ms().unwrap_or(0));
    let next = turn.next_execution.as_ref();
    let next = next.map_or(turn.execution_id, |next| next.execution_id);
    call.keys
        .push(call.partition.history(id, turn.execution_id));
    call.keys.push(call.partition.history(id, next));
    call.declare_session(turn.lease.session);
}

fn events(call: &mut Call<'_>, turn: &TurnCommit) -> Result<(), ProviderError> {
    append_entries(&mut call.args, &turn.events)?;
    match &turn.next_execution {
        Some(next) => {
            call.args
                .optional(Some(next.execution_id.get().to_string()));
            append_entries(&mut call.args, &next.events)
        }
        None => {
            call.args.optional(None::<&str>);
            Ok(())
        }
    }
}

fn append_entries(args: &mut Args, entries: &[HistoryEntry]) -> Result<(), ProviderError> {
    args.count(entries.len());
    for entry in entries {
        args.push(entry_bytes(entry)?);
    }
    Ok(())
}

/// Messages and work that go.
fn removals(args: &mut Args, turn: &TurnCommit) {
    args.count(turn.consumed.len());
    for seq in &turn.consumed {
        args.number(seq.0);
    }
    push_sources(args, &turn.finished_work);
    push_sources(args, &turn.cancelled_work);
}

fn push_sources(args: &mut Args, sources: &[SourceEvent]) {
    args.count(sources.len());
    for source in sources {
        args.push(source_text(*source));
    }
}

fn timers(args: &mut Args, turn: &TurnCommit) -> Result<(), ProviderError> {
    args.count(turn.new_timers.len());
    for timer in &turn.new_timers {
        let due_ms = turn.timer_due_ms(*timer);
        let due_ms = due_ms.ok_or_else(|| not_of_this_turn("a new timer", *timer))?;
        args.push(source_text(*timer)).number(due_ms);
    }
    push_sources(args, &turn.cancelled_timers);
    Ok(())
}

fn update(args: &mut Args, turn: &TurnCommit) -> Result<(), ProviderError> {
    let update = &turn.update;
    let running = update.running.as_ref();
    args.optional(running.map(|(name, _)| name.as_str()));
    args.optional(running.map(|(_, version)| version.as_str()));
    args.optional(
        update
            .status
            .as_ref()
            .map(|status| status_number(status.kind())),
    );
    if let Some(status) = &update.status {
        args.push(status_bytes(status)?);
    }
    match &update.custom_status {
        CustomStatusUpdate::Unchanged => args.push("="),
        CustomStatusUpdate::Set(status) => args.optional(Some(status.as_str())),
        CustomStatusUpdate::Cleared => args.optional(None::<&str>),
    };
    match &update.attributes {
        Some(attributes) => {
            args.optional(Some(attributes.to_json()?));
            push_members(args, attributes);
        }
        None => {
            args.optional(None::<&str>);
        }
    }
    args.optional(update.not_before_ms.map(|at_ms| at_ms.to_string()));
    args.optional(update.blocked.as_ref().map(failure_bytes).transpose()?);
    Ok(())
}

/// Messages to instances of this partition, then those to others.
fn messages(store: &Store, call: &mut Call<'_>, turn: &TurnCommit) -> Result<(), ProviderError> {
    let here = call.partition.number;
    let is_here = |outgoing: &&OutgoingMessage| store.partition(&outgoing.target).number == here;
    let (local, remote): (Vec<_>, Vec<_>) = turn.new_messages.iter().partition(is_here);
    let targets = local.iter().map(|outgoing| outgoing.target.as_str());
    let targets = targets.filter(|target| *target != turn.lease.instance.as_str());
    declare_targets(call, targets);
    call.args.count(local.len());
    for outgoing in local {
        let receipt = RequestedReceipt::of(&turn.lease.instance, outgoing);
        call.args.push(outgoing.target.as_str());
        push_message(&mut call.args, outgoing, receipt)?;
    }
    call.args.count(remote.len());
    for outgoing in remote {
        let partition = store.partition(&outgoing.target).number;
        call.args
            .count(partition)
            .push(outgoing.target.as_str())
            .push(outgoing.message.message_id.as_str())
            .push(message_bytes(&outgoing.message)?);
        let receipt = RequestedReceipt::of(&turn.lease.instance, outgoing);
        call.args.optional(receipt.map(RequestedReceipt::to_text));
        call.args.optional(reuse_text(outgoing.reuse));
    }
    Ok(())
}

/// Declares instances and names them, each once, after their number.
pub(crate) fn declare_targets<'t>(call: &mut Call<'_>, targets: impl IntoIterator<Item = &'t str>) {
    let mut distinct: Vec<&str> = targets.into_iter().collect();
    distinct.sort_unstable();
    distinct.dedup();
    call.args.count(distinct.len());
    for target in distinct {
        call.instance(target);
    }
}

/// A message's id and bytes, its sort, what it starts if it is a start, and its receipt if its
/// sender wants one.
pub(crate) fn push_message(
    args: &mut Args,
    outgoing: &OutgoingMessage,
    receipt: Option<RequestedReceipt<'_>>,
) -> Result<(), ProviderError> {
    let message = &outgoing.message;
    args.push(message.message_id.as_str())
        .push(message_bytes(message)?);
    let (sort, start) = match &message.body {
        MessageBody::Start(start) => (reuse_text(outgoing.reuse).unwrap_or("s"), Some(start)),
        MessageBody::Receipt { .. } => ("a", None),
        body if body.is_hard_stop() => ("t", None),
        body if body.ends_delay() => ("c", None),
        _ => ("-", None),
    };
    match receipt {
        Some(_) => args.push(format!("{sort}r")),
        None => args.push(sort),
    };
    if let Some(start) = start {
        push_start(args, start)?;
        push_messages_of(args, &outgoing.target, start)?;
    }
    receipt.map_or(Ok(()), |receipt| receipt.push(args))
}

/// What an instance that runs gets of a start, after its number.
pub(crate) fn push_messages_of(
    args: &mut Args,
    target: &InstanceId,
    start: &StartInstance,
) -> Result<(), ProviderError> {
    args.count(start.events.len());
    for message in start.messages() {
        push_message(args, &OutgoingMessage::new(target.clone(), message), None)?;
    }
    Ok(())
}

/// What a taken id means to a start of a turn, as scripts and outboxes have it; `None` refuses.
pub(crate) const fn reuse_text(reuse: IdReuse) -> Option<&'static str> {
    match reuse {
        IdReuse::Refuse => None,
        IdReuse::UseRunning => Some("u"),
        IdReuse::RestartEnded => Some("w"),
    }
}

pub(crate) fn push_start(args: &mut Args, start: &StartInstance) -> Result<(), ProviderError> {
    args.push(start.name.as_str());
    args.optional(start.version.as_ref().map(Version::as_str));
    args.optional(start.parent.as_ref().map(|parent| parent.instance.as_str()));
    if let Some(parent) = &start.parent {
        args.number(parent.execution_id.get())
            .number(parent.event_id.get());
    }
    args.push(start.attributes.to_json()?);
    push_members(args, &start.attributes);
    args.optional(start.begins_at_ms.map(|at_ms| at_ms.to_string()));
    args.optional(start.deadline_ms.map(|at_ms| at_ms.to_string()));
    Ok(())
}

/// Attributes as members of their index, after their number; the script adds the id.
fn push_members(args: &mut Args, attributes: &Attributes) {
    args.count(attributes.len());
    for (name, value) in attributes.iter() {
        args.push(attribute::member(name, value));
    }
}

/// The claim of the turn, and its new work.
fn work(args: &mut Args, turn: &TurnCommit) -> Result<(), ProviderError> {
    args.count(turn.claim.max.min(MAX_CLAIM));
    args.queues(&turn.claim.queues);
    args.count(turn.new_work.len());
    for work in &turn.new_work {
        let scheduled = ScheduledWork::of_turn(turn, *work)?;
        args.push(source_text(work.source))
            .number(work.number)
            .count(scheduled.entry)
            .optional(scheduled.queue.map(Name::as_str))
            .push(scheduled.activity.as_str());
    }
    Ok(())
}

/// New work: the place of its entry among those that the turn appends, from 1, and what that
/// says of it.
struct ScheduledWork<'a> {
    entry: usize,
    queue: Option<&'a Name>,
    activity: &'a Name,
}

impl<'a> ScheduledWork<'a> {
    fn of_turn(turn: &'a TurnCommit, work: NewWork) -> Result<Self, ProviderError> {
        let scheduled = turn.entry(work.source).map(|entry| &entry.event);
        let Some(Event::ActivityScheduled { name, options, .. }) = scheduled else {
            return Err(not_of_this_turn("new work", work.source));
        };
        let (before, first) = match work.source.execution_id == turn.execution_id {
            true => (0, turn.expected_last_event_id.get()),
            false => (turn.events.len(), 0),
        };
        let distance = work.source.event_id.get().saturating_sub(first);
        Ok(Self {
            entry: before + usize::try_from(distance).unwrap_or(usize::MAX),
            queue: options.queue.as_ref(),
            activity: name,
        })
    }
}

/// What [`TurnCommit::validate`] refuses.
fn not_of_this_turn(what: &str, source: SourceEvent) -> ProviderError {
    ProviderError::Invalid {
        reason: format!("{what} names {source}, which is no such event of this turn"),
    }
}
