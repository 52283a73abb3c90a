//! The whole state as plain data, to compare and to print.
//!
//! It leaves out what only counts (fencing tokens, places in inboxes): two stores
//! that were led the same way by different numbers are equal.

use std::collections::BTreeMap;

use durable_core::provider::{
    CommitId, InboxSeq, InstanceRecord, Message, SessionId, SessionOptions, SourceEvent,
    StreamItem, ViewRecord, WorkItem, WorkKey,
};
use durable_core::{ExecutionId, Failure, HistoryEntry, InstanceId, Name, Payload};

use super::queue::Work;
use super::state::{MemoryState, StoredInstance};

/// Everything that a [`MemoryProvider`](crate::MemoryProvider) holds.
///
/// ```
/// use durable_core::provider::{IdReuse, Provider};
/// use durable_testkit::{MemoryProvider, start_message};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let store = MemoryProvider::new();
/// let message = start_message("start-1");
/// let _ = store.start(&"order-7".into(), message, IdReuse::Refuse).await?;
/// let snapshot = store.snapshot();
/// assert_eq!(snapshot.instances["order-7"].inbox.len(), 1);
/// assert!(snapshot.work.is_empty() && snapshot.timers.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// The store's time.
    pub now_ms: u64,
    /// The sessions that live.
    pub sessions: BTreeMap<SessionId, SessionSnapshot>,
    /// The instances.
    pub instances: BTreeMap<InstanceId, InstanceSnapshot>,
    /// The highest execution of every instance id, also of purged ones.
    pub highest_execution: BTreeMap<InstanceId, ExecutionId>,
    /// The histories that are stored.
    pub histories: BTreeMap<(InstanceId, ExecutionId), Vec<HistoryEntry>>,
    /// The timers that have not fired, by due time and then in the order in
    /// which they were set.
    pub timers: Vec<TimerSnapshot>,
    /// The work that is queued or held by a session.
    pub work: BTreeMap<WorkKey, WorkSnapshot>,
    /// The dead letters, and why they are.
    pub poisoned: BTreeMap<WorkKey, (WorkItem, Failure)>,
}

/// A timer in a [`Snapshot`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimerSnapshot {
    /// The instance that set it.
    pub instance: InstanceId,
    /// Its `TimerCreated`.
    pub source: SourceEvent,
    /// When it is due.
    pub due_ms: u64,
}

/// A session in a [`Snapshot`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSnapshot {
    /// What the node says of itself.
    pub options: SessionOptions,
    /// Its last sign of life.
    pub last_heartbeat_ms: u64,
}

/// An instance in a [`Snapshot`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceSnapshot {
    /// What is known of it.
    pub record: InstanceRecord,
    /// Its views, by name.
    pub views: Vec<ViewRecord>,
    /// The items of its streams that are stored, by name.
    pub streams: BTreeMap<Name, Vec<StreamItem>>,
    /// Its messages, in order.
    pub inbox: Vec<Message>,
    /// The session that holds it.
    pub holder: Option<SessionId>,
    /// How many of its messages its holder was not given; without a holder, all.
    pub messages_to_give: usize,
    /// Whether it is to run without a message too, until its next commit.
    pub must_run: bool,
    /// Whether it was sent a `Terminate` since its start.
    pub is_to_end: bool,
    /// No session may claim the instance before this time.
    pub not_before_ms: u64,
    /// How many sessions died holding it since its last commit.
    pub crashes: u32,
    /// The last commit that was applied to it.
    pub last_commit_id: Option<CommitId>,
}

/// A work item in a [`Snapshot`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkSnapshot {
    /// What is to be done.
    pub item: WorkItem,
    /// When it is or was ready.
    pub ready_at_ms: u64,
    /// The session that holds it.
    pub holder: Option<SessionId>,
    /// How many failures were reported.
    pub failures: u32,
    /// How many sessions died holding it.
    pub crashes: u32,
    /// What its last heartbeat left behind.
    pub heartbeat: Option<Payload>,
    /// Whether a commit cancelled it.
    pub is_cancelled: bool,
}

impl MemoryState {
    pub(super) fn snapshot(&self) -> Snapshot {
        let sessions = self.sessions.iter().map(|(id, session)| {
            let snapshot = SessionSnapshot {
                options: session.options.clone(),
                last_heartbeat_ms: session.last_heartbeat_ms,
            };
            (*id, snapshot)
        });
        let instances = self.instances.iter();
        let work = self.work.iter();
        let mut timers: Vec<_> = self.timers.iter().collect();
        timers.sort_by_key(|(_, timer)| (timer.due_ms, timer.number));
        Snapshot {
            now_ms: self.now_ms,
            sessions: sessions.collect(),
            instances: instances
                .map(|(id, instance)| (id.clone(), instance.snapshot()))
                .collect(),
            highest_execution: self.highest_execution.clone(),
            histories: self.histories.clone(),
            timers: timers
                .into_iter()
                .map(|((instance, source), timer)| TimerSnapshot {
                    instance: instance.clone(),
                    source: *source,
                    due_ms: timer.due_ms,
                })
                .collect(),
            work: work
                .map(|(key, work)| (key.clone(), work.snapshot()))
                .collect(),
            poisoned: self.poisoned.clone(),
        }
    }
}

impl StoredInstance {
    fn snapshot(&self) -> InstanceSnapshot {
        let given = self.holder.as_ref().map(|holder| holder.given_up_to);
        let streams = self.streams.iter();
        InstanceSnapshot {
            record: self.record.clone(),
            views: self.views.values().cloned().collect(),
            streams: streams
                .map(|(name, stream)| (name.clone(), stream.items.iter().cloned().collect()))
                .collect(),
            inbox: self.inbox.messages().cloned().collect(),
            holder: self.holder.as_ref().map(|holder| holder.lease.session),
            messages_to_give: self.inbox.after(given.unwrap_or(InboxSeq(0))).count(),
            must_run: self.must_run,
            is_to_end: self.is_to_end,
            not_before_ms: self.not_before_ms,
            crashes: self.crashes,
            last_commit_id: self.last_commit.as_ref().map(|(id, _)| *id),
        }
    }
}

impl Work {
    fn snapshot(&self) -> WorkSnapshot {
        WorkSnapshot {
            item: self.item.clone(),
            ready_at_ms: self.ready_at_ms(),
            holder: self.holder(),
            failures: self.failures,
            crashes: self.crashes,
            heartbeat: self.heartbeat.clone(),
            is_cancelled: self.is_cancelled,
        }
    }
}
