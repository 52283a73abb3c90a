//! The work items, and which of them are free and in which order.
//!
//! Invariant: an item is in `free` or in `held`, never in both.

use std::collections::{BTreeMap, BTreeSet};

use durable_core::provider::{
    ClaimedWork, OpenActivity, ServedCode, SessionId, WorkItem, WorkKey, WorkLease, WorkState,
};
use durable_core::{EventId, ExecutionId, Failure, InstanceId, Name, Payload};

use super::state::ReadySince;

/// All work that is queued or held by a session.
#[derive(Debug, Default)]
pub(super) struct WorkQueue {
    items: BTreeMap<WorkKey, Work>,
    free: BTreeMap<Lane, BTreeMap<ReadySince, WorkKey>>,
    held: BTreeSet<WorkKey>,
}

/// The work of one activity in one queue; `None` is the default queue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Lane {
    queue: Option<Name>,
    activity: Name,
}

impl Lane {
    fn of(item: &WorkItem) -> Self {
        Self {
            queue: item.options.queue.clone(),
            activity: item.name.clone(),
        }
    }
}

/// Which work a session may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) queues: &'a [Option<Name>],
    /// The code of the session's node; `None` is any.
    pub(super) code: Option<&'a ServedCode>,
}

impl Wanted<'_> {
    fn has(&self, queue: &Option<Name>, activity: &Name) -> bool {
        let has_code = self.code.is_none_or(|code| code.has_activity(activity));
        has_code && self.queues.contains(queue)
    }
}

/// A work item in its queue or held by a session.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) item: WorkItem,
    ready_since: ReadySince,
    holder: Option<WorkLease>,
    pub(super) failures: u32,
    pub(super) crashes: u32,
    pub(super) heartbeat: Option<Payload>,
    pub(super) last_failure: Option<Failure>,
    /// How many items the attempt under this token has emitted.
    pub(super) emitted: Option<(u64, u64)>,
    /// Only of work that a session holds: other cancelled work is removed.
    pub(super) is_cancelled: bool,
}

impl WorkQueue {
    /// Queues an item, unless it is there already.
    pub(super) fn add(&mut self, item: WorkItem, ready_since: ReadySince) {
        let key = item.key.clone();
        if self.items.contains_key(&key) {
            return;
        }
        self.free_of(Lane::of(&item))
            .insert(ready_since, key.clone());
        let work = Work {
            item,
            ready_since,
            holder: None,
            failures: 0,
            crashes: 0,
            heartbeat: None,
            last_failure: None,
            emitted: None,
            is_cancelled: false,
        };
        self.items.insert(key, work);
    }

    pub(super) fn remove(&mut self, key: &WorkKey) -> Option<Work> {
        let work = self.items.remove(key)?;
        self.held.remove(key);
        self.free_of(Lane::of(&work.item)).remove(&work.ready_since);
        Some(work)
    }

    pub(super) fn get_mut(&mut self, key: &WorkKey) -> Option<&mut Work> {
        self.items.get_mut(key)
    }

    /// The item that is held under this lease.
    pub(super) fn held_under(&mut self, lease: &WorkLease) -> Option<&mut Work> {
        self.get_mut(&lease.key)
            .filter(|work| work.holder.as_ref() == Some(lease))
    }

    /// The free items that are wanted and whose time has come, in order.
    pub(super) fn ready(&self, wanted: Wanted<'_>, now_ms: u64, max: usize) -> Vec<WorkKey> {
        let mut ready: Vec<(&ReadySince, &WorkKey)> = self
            .free_in(wanted)
            .flat_map(|free| free.iter().take(max))
            .filter(|(since, _)| since.at_ms <= now_ms)
            .collect();
        ready.sort();
        let keys = ready.into_iter().map(|(_, key)| key.clone());
        keys.take(max).collect()
    }

    /// When the first free item that is wanted is ready whose time has not come.
    pub(super) fn next_ready_ms(&self, wanted: Wanted<'_>, now_ms: u64) -> Option<u64> {
        self.free_in(wanted)
            .filter_map(|free| free.keys().find(|since| since.at_ms > now_ms))
            .map(|since| since.at_ms)
            .min()
    }

    /// The sessions that hold items that are wanted.
    pub(super) fn holders(&self, wanted: Wanted<'_>) -> impl Iterator<Item = SessionId> {
        self.held()
            .filter(move |work| wanted.has(&work.item.options.queue, &work.item.name))
            .filter_map(Work::holder)
    }

    /// The items that this session holds.
    pub(super) fn held_by(&self, session: SessionId) -> impl Iterator<Item = &Work> {
        self.held()
            .filter(move |work| work.holder() == Some(session))
    }

    fn held(&self) -> impl Iterator<Item = &Work> {
        self.held.iter().filter_map(|key| self.items.get(key))
    }

    /// The items of an instance.
    pub(super) fn of(&self, instance: &InstanceId) -> Vec<WorkKey> {
        let first = WorkKey {
            instance: instance.clone(),
            execution_id: ExecutionId::FIRST,
            event_id: EventId::UNASSIGNED,
        };
        let keys = self.items.range(first..).map(|(key, _)| key);
        keys.take_while(|key| key.instance == *instance)
            .cloned()
            .collect()
    }

    /// The items of an instance as they are.
    pub(super) fn open_of(&self, instance: &InstanceId) -> Vec<OpenActivity> {
        let keys = self.of(instance);
        let work = keys.iter().filter_map(|key| self.items.get(key));
        work.map(Work::open).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&WorkKey, &Work)> {
        self.items.iter()
    }

    /// Hands an item to a session.
    pub(super) fn claim(
        &mut self,
        key: &WorkKey,
        session: SessionId,
        token: u64,
    ) -> Option<ClaimedWork> {
        let work = self.items.get_mut(key)?;
        let claimed = work.claim(session, token);
        let (lane, since) = (Lane::of(&work.item), work.ready_since);
        self.free_of(lane).remove(&since);
        self.held.insert(key.clone());
        Some(claimed)
    }

    /// Takes an item out of its holder's hands.
    pub(super) fn give_back(&mut self, key: &WorkKey, ready_since: ReadySince) {
        let Some(work) = self.items.get_mut(key) else {
            return;
        };
        work.holder = None;
        work.ready_since = ready_since;
        let lane = Lane::of(&work.item);
        self.held.remove(key);
        self.free_of(lane).insert(ready_since, key.clone());
    }

    fn free_of(&mut self, lane: Lane) -> &mut BTreeMap<ReadySince, WorkKey> {
        self.free.entry(lane).or_default()
    }

    fn free_in(&self, wanted: Wanted<'_>) -> impl Iterator<Item = &BTreeMap<ReadySince, WorkKey>> {
        let is_wanted = move |lane: &Lane| wanted.has(&lane.queue, &lane.activity);
        let free = self.free.iter().filter(move |(lane, _)| is_wanted(lane));
        free.map(|(_, free)| free)
    }
}

impl Work {
    pub(super) fn holder(&self) -> Option<SessionId> {
        self.holder.as_ref().map(|lease| lease.session)
    }

    /// When it is or was ready.
    pub(super) fn ready_at_ms(&self) -> u64 {
        self.ready_since.at_ms
    }

    fn open(&self) -> OpenActivity {
        let state = match self.holder() {
            Some(session) => WorkState::Held { session },
            None => WorkState::Queued {
                ready_at_ms: self.ready_at_ms(),
            },
        };
        let mut open = OpenActivity::new(self.item.clone(), state);
        open.attempt = self.failures + 1;
        open.crashes = self.crashes;
        open.heartbeat.clone_from(&self.heartbeat);
        open.last_failure.clone_from(&self.last_failure);
        open.is_cancelled = self.is_cancelled;
        open
    }

    fn claim(&mut self, session: SessionId, token: u64) -> ClaimedWork {
        let mut claimed = ClaimedWork::new(self.item.clone(), session, token);
        claimed.attempt = self.failures + 1;
        claimed.crashes = self.crashes;
        claimed.heartbeat.clone_from(&self.heartbeat);
        self.holder = Some(claimed.lease.clone());
        claimed
    }
}
