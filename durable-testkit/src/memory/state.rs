//! What is stored, and the few steps that several methods of the contract share.
//!
//! - Every number that must only rise (tokens, places in inboxes, the order in
//!   which things became ready) comes from one counter, so none is ever used
//!   again, not even after a purge.
//! - The store's time is the highest that the clock of any handle ever showed.
//! - No session holds a suspended instance.

use std::collections::BTreeMap;
use std::sync::Arc;

use durable_core::provider::{
    Change, CommitId, Committed, InboxSeq, InstanceRecord, Lease, Message, RequiredCode,
    ServedCode, SessionId, SessionOptions, SourceEvent, StatusKind, WakeRegistry, WorkItem,
    WorkKey,
};
use durable_core::{EventId, ExecutionId, Failure, HistoryEntry, InstanceId, Limits, MessageId};

use super::inbox::Inbox;
use super::queue::WorkQueue;

/// The whole store.
#[derive(Debug, Default)]
pub(super) struct MemoryState {
    pub(super) limits: Limits,
    pub(super) messages_per_fetch: usize,
    pub(super) now_ms: u64,
    last_number: u64,
    pub(super) sessions: BTreeMap<SessionId, StoredSession>,
    pub(super) instances: BTreeMap<InstanceId, StoredInstance>,
    /// The highest execution of every instance id there ever was.
    pub(super) highest_execution: BTreeMap<InstanceId, ExecutionId>,
    pub(super) histories: BTreeMap<(InstanceId, ExecutionId), Vec<HistoryEntry>>,
    pub(super) timers: BTreeMap<TimerKey, PendingTimer>,
    pub(super) work: WorkQueue,
    /// Work that was set aside, and why.
    pub(super) poisoned: BTreeMap<WorkKey, (WorkItem, Failure)>,
    pub(super) wake: WakeRegistry,
}

/// A node's life.
#[derive(Debug)]
pub(super) struct StoredSession {
    pub(super) options: SessionOptions,
    /// The code in the options, shared with the tasks that wait for it.
    pub(super) code: Option<Arc<ServedCode>>,
    pub(super) last_heartbeat_ms: u64,
}

/// An instance and everything that is handed out or thrown away with it.
#[derive(Debug)]
pub(super) struct StoredInstance {
    pub(super) record: InstanceRecord,
    pub(super) inbox: Inbox,
    pub(super) holder: Option<LeaseHolder>,
    /// It is to run without a message too, until its next commit: it was resumed,
    /// or the session that held it ended without closing.
    pub(super) must_run: bool,
    /// It was sent a `Terminate` since its start: it needs no code any more.
    pub(super) is_to_end: bool,
    /// When it became ready, while it is; see [`StoredInstance::is_ready`].
    pub(super) ready_since: Option<ReadySince>,
    /// A free instance is not handed out before.
    pub(super) not_before_ms: u64,
    pub(super) crashes: u32,
    pub(super) last_commit: Option<(CommitId, Committed)>,
    /// The messages that began an execution of it.
    pub(super) starts: BTreeMap<MessageId, ExecutionId>,
}

/// Who may commit turns of an instance.
#[derive(Debug)]
pub(super) struct LeaseHolder {
    pub(super) lease: Lease,
    /// Messages up to here were given under this lease.
    pub(super) given_up_to: InboxSeq,
}

/// The place of something among all that is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReadySince {
    pub(super) at_ms: u64,
    pub(super) number: u64,
}

/// A timer by its `TimerCreated`.
pub(super) type TimerKey = (InstanceId, SourceEvent);

/// A timer that has not fired.
#[derive(Debug)]
pub(super) struct PendingTimer {
    pub(super) due_ms: u64,
    /// Rises in the order in which timers were set.
    pub(super) number: u64,
}

impl MemoryState {
    pub(super) fn new(limits: Limits, messages_per_fetch: usize) -> Self {
        Self {
            limits,
            messages_per_fetch,
            ..Self::default()
        }
    }

    /// Moves the store's clock, never backwards, and ends the sessions whose
    /// heartbeat is late by it.
    pub(super) fn advance_to(&mut self, now_ms: u64) {
        self.now_ms = self.now_ms.max(now_ms);
        self.end_late_sessions();
    }

    /// A number above every one that was given before.
    pub(super) fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// The place of something that becomes ready now, or at a later time.
    pub(super) fn ready_from(&mut self, not_before_ms: u64) -> ReadySince {
        ReadySince {
            at_ms: self.now_ms.max(not_before_ms),
            number: self.next_number(),
        }
    }

    /// Puts a message into the inbox of an instance, unless one with its id is
    /// there, or there is no such instance.
    pub(super) fn put_message(&mut self, id: &InstanceId, message: Message) {
        let seq = InboxSeq(self.next_number());
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        if !instance.has_message(&message.message_id) {
            instance.is_to_end |= message.body.is_hard_stop();
            if message.body.ends_delay() && instance.is_delayed(self.now_ms) {
                instance.not_before_ms = 0;
                instance.ready_since = None;
            }
            instance.inbox.put(seq, message);
            self.update_readiness(id);
        }
    }

    /// Takes an instance out of its holder's hands: with messages it is ready.
    pub(super) fn free_instance(&mut self, id: &InstanceId) {
        if let Some(instance) = self.instances.get_mut(id) {
            instance.holder = None;
            instance.ready_since = None;
            self.update_readiness(id);
        }
    }

    /// Gives an instance that became ready its place, takes it from one that no
    /// longer is, and tells those who may want it.
    pub(super) fn update_readiness(&mut self, id: &InstanceId) {
        let place = self.ready_from(0);
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        if !instance.is_ready() {
            instance.ready_since = None;
            return;
        }
        instance.ready_since.get_or_insert(place);
        self.wake.note(match &instance.holder {
            Some(holder) => Change::Session(holder.lease.session),
            None => Change::FreeInstance(instance.required_code()),
        });
    }
}

impl StoredInstance {
    pub(super) fn is_suspended(&self) -> bool {
        self.record.status.kind() == StatusKind::Suspended
    }

    pub(super) fn is_ended(&self) -> bool {
        self.record.status.kind().is_ended()
    }

    pub(super) fn has_message(&self, id: &MessageId) -> bool {
        self.inbox.has(id)
    }

    /// Whether its start is delayed, or that of a node that could not run it.
    fn is_delayed(&self, now_ms: u64) -> bool {
        let has_begun = self.record.last_event_id != EventId::UNASSIGNED;
        !has_begun && self.holder.is_none() && self.not_before_ms > now_ms
    }

    /// The code that a session needs to be given it.
    pub(super) fn required_code(&self) -> RequiredCode {
        match self.is_to_end {
            true => RequiredCode::None,
            false => RequiredCode::of(&self.record),
        }
    }

    /// Notes that the record changed at this time. What it says about that never goes back:
    /// the entries of a turn may be ahead of the store's clock.
    pub(super) fn changed_at(&mut self, time_ms: u64) {
        self.record.updated_at_ms = self.record.updated_at_ms.max(time_ms);
    }

    /// Whether it is to be handed out: a held one to its holder, a free one to
    /// anybody, when its delay has passed.
    fn is_ready(&self) -> bool {
        let must_run = self.must_run && self.holder.is_none() && !self.is_ended();
        !self.is_suspended() && (must_run || self.has_messages_to_give())
    }

    /// Whether the inbox has messages that its holder was not given; without a
    /// holder, whether it has any.
    pub(super) fn has_messages_to_give(&self) -> bool {
        let given = self.holder.as_ref().map(|holder| holder.given_up_to);
        self.inbox
            .newest()
            .is_some_and(|newest| given.is_none_or(|given| newest > given))
    }

    pub(super) fn is_held_under(&self, lease: &Lease) -> bool {
        self.holder
            .as_ref()
            .is_some_and(|holder| holder.lease == *lease)
    }
}
