//! What is made ready before the server is bothered: requests are checked, measured and
//! encoded here, so that a script only checks what only the server knows.

use durable_core::provider::{
    InstanceStatus, Message, MessageBody, OutgoingMessage, ProviderError, StartInstance, TurnCommit,
};
use durable_core::{EventId, HistoryEntry, Payload, Version};

use crate::codec::{
    entry_bytes, failure_bytes, item_bytes, message_bytes, status_bytes, status_number,
};
use crate::group::PreparedTurn;
use crate::keys::{Partition, call_text, queue_topic};
use crate::script::{self, Args, Call};
use crate::store::Store;

type Prepared<T> = Result<T, ProviderError>;

/// How much work one commit hands out at most: what a script can answer in one list.
const MAX_CLAIM: usize = 1_000;

/// A turn's part of a call, in the order in which `commit.lua` reads it.
pub(crate) fn prepare(
    store: &Store,
    partition: &Partition,
    turn: &TurnCommit,
) -> Prepared<PreparedTurn> {
    check_request(turn)?;
    store.options.limits.check_turn(turn)?;
    let mut call = Call::new(&script::COMMIT, partition);
    identify(&mut call, turn);
    events(&mut call, turn)?;
    removals(&mut call.args, turn);
    timers(&mut call.args, turn);
    update(&mut call.args, turn)?;
    messages(store, &mut call, turn)?;
    call.args.flag(turn.keep_lease);
    work(&mut call, turn)?;
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
        .number(turn.expected_last_event_id.get());
    let next = turn.next_execution.as_ref();
    let next = next.map_or(turn.execution_id, |next| next.execution_id);
    call.keys
        .push(call.partition.history(id, turn.execution_id));
    call.keys.push(call.partition.history(id, next));
}

fn events(call: &mut Call<'_>, turn: &TurnCommit) -> Prepared<()> {
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

fn append_entries(args: &mut Args, entries: &[HistoryEntry]) -> Prepared<()> {
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
    for keys in [&turn.finished_work, &turn.cancelled_work] {
        args.count(keys.len());
        for key in keys {
            args.push(call_text(key.execution_id, key.event_id));
        }
    }
}

fn timers(args: &mut Args, turn: &TurnCommit) {
    args.count(turn.new_timers.len());
    for timer in &turn.new_timers {
        args.push(call_text(timer.execution_id, timer.event_id))
            .number(timer.fire_at_ms);
    }
    args.count(turn.cancelled_timers.len());
    for (execution_id, event_id) in &turn.cancelled_timers {
        args.push(call_text(*execution_id, *event_id));
    }
}

fn update(args: &mut Args, turn: &TurnCommit) -> Prepared<()> {
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
    args.optional(update.custom_status.as_ref().map(Payload::as_str));
    args.optional(update.not_before_ms.map(|at_ms| at_ms.to_string()));
    args.optional(update.blocked.as_ref().map(failure_bytes).transpose()?);
    Ok(())
}

/// Messages to instances of this partition, then those to others.
fn messages(store: &Store, call: &mut Call<'_>, turn: &TurnCommit) -> Prepared<()> {
    let here = call.partition.number;
    let is_here = |outgoing: &&OutgoingMessage| store.partition(&outgoing.target).number == here;
    let (local, remote): (Vec<_>, Vec<_>) = turn.new_messages.iter().partition(is_here);
    let targets = local.iter().map(|outgoing| outgoing.target.as_str());
    let targets = targets.filter(|target| *target != turn.lease.instance.as_str());
    declare_targets(call, targets);
    call.args.count(local.len());
    for outgoing in local {
        call.args.push(outgoing.target.as_str());
        push_message(&mut call.args, &outgoing.message)?;
    }
    call.args.count(remote.len());
    for outgoing in remote {
        let partition = store.partition(&outgoing.target).number;
        call.args
            .count(partition)
            .push(outgoing.target.as_str())
            .push(outgoing.message.message_id.as_str())
            .push(message_bytes(&outgoing.message)?);
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

/// A message's id and bytes, and what it starts if it is a start.
pub(crate) fn push_message(args: &mut Args, message: &Message) -> Prepared<()> {
    args.push(message.message_id.as_str())
        .push(message_bytes(message)?);
    match &message.body {
        MessageBody::Start(start) => {
            args.flag(true);
            push_start(args, start);
        }
        _ => {
            args.flag(false);
        }
    }
    Ok(())
}

pub(crate) fn push_start(args: &mut Args, start: &StartInstance) {
    args.push(start.name.as_str());
    args.optional(start.version.as_ref().map(Version::as_str));
    args.optional(start.parent.as_ref().map(|parent| parent.instance.as_str()));
    if let Some(parent) = &start.parent {
        args.number(parent.execution_id.get())
            .number(parent.event_id.get());
    }
}

/// The queues that the turn names, its claim, and its new work.
fn work(call: &mut Call<'_>, turn: &TurnCommit) -> Prepared<()> {
    let kept: Vec<_> = turn
        .new_work
        .iter()
        .filter(|item| {
            !turn.finished_work.contains(&item.key) && !turn.cancelled_work.contains(&item.key)
        })
        .collect();
    let claims = match turn.claim.max {
        0 => &[],
        _ => turn.claim.queues.as_slice(),
    };
    let claimed: Vec<String> = distinct(claims.iter().map(|queue| queue_topic(queue.as_ref())));
    let topics = kept
        .iter()
        .map(|item| queue_topic(item.options.queue.as_ref()));
    let topics: Vec<String> = distinct(claimed.iter().cloned().chain(topics));
    call.queues(&topics);
    call.args.count(turn.claim.max.min(MAX_CLAIM));
    call.args.count(claimed.len());
    for number in 1..=claimed.len() {
        call.args.count(number);
    }
    call.args.count(kept.len());
    for item in kept {
        let topic = queue_topic(item.options.queue.as_ref());
        let place = topics.iter().position(|known| *known == topic);
        call.args
            .push(call_text(item.key.execution_id, item.key.event_id))
            .count(place.map_or(0, |place| place + 1))
            .push(item_bytes(item)?);
    }
    Ok(())
}

/// Each once, in the order of the first.
pub(crate) fn distinct(topics: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for topic in topics {
        if !found.contains(&topic) {
            found.push(topic);
        }
    }
    found
}

/// The call that puts these messages of clients into the inboxes of a partition.
pub(crate) fn prepare_send<'a>(
    partition: &'a Partition,
    messages: &[(usize, OutgoingMessage)],
) -> Prepared<Call<'a>> {
    let mut call = Call::new(&script::SEND, partition);
    let targets = messages
        .iter()
        .map(|(_, outgoing)| outgoing.target.as_str());
    declare_targets(&mut call, targets);
    call.args.count(messages.len());
    for (_, outgoing) in messages {
        call.args
            .push(outgoing.target.as_str())
            .push(outgoing.message.message_id.as_str())
            .push(message_bytes(&outgoing.message)?);
    }
    Ok(call)
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
        && turn.new_timers.iter().all(|timer| timer.instance == *id)
        && turn.finished_work.iter().all(|key| key.instance == *id)
        && turn.cancelled_work.iter().all(|key| key.instance == *id);
    if !is_own {
        return invalid(format!(
            "work or a timer of another instance than `{id}` is created or removed"
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

pub(crate) fn invalid<T>(reason: String) -> Prepared<T> {
    Err(ProviderError::Invalid { reason })
}
