//! Work: adding it and claiming it.
//!
//! A row of work names the event that scheduled it, and the item is read from there when
//! the work is claimed. Work that is claimed by the turn that adds it is made from the turn.

use durable_core::provider::{
    ClaimedWork, ProviderError, SessionId, SourceEvent, TurnCommit, WorkBatch, WorkItem, WorkLease,
};
use durable_core::{EventId, ExecutionId, InstanceId, Name, Payload};
use rusqlite::{OptionalExtension, Row, params};

use super::catalog::{Lane, LaneNumber};
use super::instance::{Instance, ReadySince};
use super::{Store, holder};
use crate::answer::Claimed;
use crate::codec::work_item_of;
use crate::error::{Fault, Step};
use crate::number::{count, int, limit, uint};
use crate::sql;

/// In the place of the holder of work whose event is damaged: no session can claim it.
const UNCLAIMABLE: i64 = -1;

/// The key of a row of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowKey {
    pub(super) instance_key: i64,
    pub(super) source: SourceEvent,
}

impl RowKey {
    pub(super) const fn new(instance_key: i64, source: SourceEvent) -> Self {
        Self {
            instance_key,
            source,
        }
    }

    /// The key in three columns from this one on.
    pub(super) fn from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        let execution_id = ExecutionId::new(uint(row.get(first + 1)?));
        let event_id = EventId::new(uint(row.get(first + 2)?));
        let source = SourceEvent::new(execution_id, event_id);
        Ok(Self::new(row.get(first)?, source))
    }

    pub(super) fn parameters(self) -> [i64; 3] {
        let (execution_id, event_id) = (self.source.execution_id, self.source.event_id);
        [
            self.instance_key,
            int(execution_id.get()),
            int(event_id.get()),
        ]
    }
}

/// A row of work that is to be inserted.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewRow {
    pub(super) key: RowKey,
    pub(super) number: u64,
    pub(super) lane: LaneNumber,
    /// 0 if there is none.
    pub(super) holder: i64,
    pub(super) token: u64,
    pub(super) since: ReadySince,
}

/// Work that is free.
struct FreeWork {
    since: ReadySince,
    key: RowKey,
    failures: u32,
    crashes: u32,
    heartbeat: Option<String>,
    item: Result<WorkItem, ProviderError>,
}

impl FreeWork {
    /// The columns of `work_ready.sql`.
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let key = RowKey::from_row(row, 2)?;
        let number = uint(row.get(5)?);
        let id = InstanceId::from(row.get_ref(9)?.as_str()?);
        let entry = row.get_ref(10)?.as_blob_or_null()?;
        Ok(Self {
            since: ReadySince {
                at_ms: uint(row.get(0)?),
                number: uint(row.get(1)?),
            },
            key,
            failures: count(row.get(6)?),
            crashes: count(row.get(7)?),
            heartbeat: row.get(8)?,
            item: work_item_of(&id, key.source, number, entry),
        })
    }
}

/// The work that was claimed, and how the answer is remembered.
#[derive(Debug, Default)]
pub(super) struct Claims {
    pub(super) work: Vec<ClaimedWork>,
    pub(super) kept: Vec<Claimed>,
}

impl Claims {
    fn push(&mut self, instance_key: i64, work: ClaimedWork) {
        self.kept.push(Claimed::new(instance_key, &work));
        self.work.push(work);
    }
}

impl Store<'_, '_> {
    pub(crate) fn fetch_work(
        &mut self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Step<WorkBatch> {
        self.live_session(session)?;
        let claims = self.claim_work(session, queues, max, None)?;
        let mut batch = WorkBatch::default();
        batch.seen = self.state.seen();
        batch.work = claims.work;
        batch.next_due_ms = self.next_due_work_ms(session, queues)?;
        Ok(batch)
    }

    /// Claims the work of these queues that became ready first. `own` is the instance whose
    /// turn claims it: its row is not up to date.
    fn claim_work(
        &mut self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
        mut own: Option<&mut Instance>,
    ) -> Step<Claims> {
        let mut free = Vec::new();
        if max > 0 {
            let lanes = self.claimable_lanes(session, queues)?;
            for lane in &lanes {
                free.extend(self.free_work(*lane, max)?);
            }
            if lanes.len() > 1 {
                free.sort_by_key(|work| work.since);
                free.truncate(max);
            }
        }
        let mut claims = Claims::default();
        for work in free {
            let key = work.key;
            match self.claim(session, work) {
                Ok(claimed) => claims.push(key.instance_key, claimed),
                Err(Fault::Refused(ProviderError::Damaged { reason })) => {
                    self.make_unclaimable(key, reason, own.as_deref_mut())?;
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(claims)
    }

    /// The lanes of these queues that this session has the code for and that may have free
    /// work.
    fn claimable_lanes(
        &mut self,
        session: SessionId,
        queues: &[Option<Name>],
    ) -> Step<Vec<LaneNumber>> {
        let code = self.state.code_of(session);
        let busy = self.catalog()?.lanes.busy();
        let claimable = busy.filter(|(_, lane)| {
            lane.is_some_and(|lane| lane.is_claimable(queues, code.as_deref()))
        });
        Ok(claimable.map(|(number, _)| LaneNumber(number)).collect())
    }

    fn free_work(&mut self, lane: LaneNumber, max: usize) -> Step<Vec<FreeWork>> {
        let mut statement = self.statement(sql::WORK_READY)?;
        let ready = params![lane.0, int(self.state.now_ms), limit(max)];
        let free = statement.query_map(ready, FreeWork::from_row)?;
        let free: Vec<FreeWork> = free.collect::<Result<_, _>>()?;
        drop(statement);
        let later = [lane.0, int(self.state.now_ms)];
        if free.is_empty() && !self.finds(sql::WORK_NEXT_DUE, later)? {
            self.catalog()?.lanes.mark_idle(lane.0);
        }
        Ok(free)
    }

    /// Claims work for a session, unless its event is damaged.
    fn claim(&mut self, session: SessionId, work: FreeWork) -> Step<ClaimedWork> {
        let item = work.item?;
        let token = self.state.next_number();
        self.hold_work(work.key, holder(session), token)?;
        let mut claimed = ClaimedWork::new(item, session, token);
        claimed.attempt = work.failures.saturating_add(1);
        claimed.crashes = work.crashes;
        claimed.heartbeat = work.heartbeat.map(Payload::from);
        Ok(claimed)
    }

    fn hold_work(&self, key: RowKey, holder: i64, token: u64) -> Step<()> {
        let [instance, execution, event] = key.parameters();
        let held = [instance, execution, event, holder, int(token)];
        self.run(sql::WORK_CLAIM, held)?;
        Ok(())
    }

    /// Work whose event is damaged is never claimed again, and its instance is suspended.
    fn make_unclaimable(
        &mut self,
        key: RowKey,
        reason: String,
        own: Option<&mut Instance>,
    ) -> Step<()> {
        self.hold_work(key, UNCLAIMABLE, 0)?;
        let id = self.id_of(key.instance_key)?;
        if let Some(own) = own.filter(|own| own.key == key.instance_key) {
            // Its turn ends the lease and stores what is left to store.
            return match own.status.is_ended() {
                true => Ok(()),
                false => self.mark_damaged(&id, own, reason),
            };
        }
        match self.load(key.instance_key)? {
            Some(instance) if !instance.status.is_ended() => {
                self.suspend_damaged(&id, instance, reason)
            }
            _ => Ok(()),
        }
    }

    /// Adds the work of a turn and claims what is ready, oldest first: what was there
    /// before, then what is new. New work that is claimed at once is in no queue and wakes
    /// no node. An ended instance leaves no work behind.
    pub(super) fn add_and_claim_work(
        &mut self,
        instance: &mut Instance,
        turn: &TurnCommit,
    ) -> Step<Claims> {
        let (session, claim) = (turn.lease.session, &turn.claim);
        let code = self.state.code_of(session);
        let mut claims = self.claim_work(session, &claim.queues, claim.max, Some(instance))?;
        if instance.status.is_ended() {
            return Ok(claims);
        }
        for item in turn.new_work.iter().filter_map(|new| turn.work_item(*new)) {
            let is_claimable = Lane::of(&item).is_claimable(&claim.queues, code.as_deref());
            let lane = self.lane_number(&item)?;
            if claims.work.len() >= claim.max || !is_claimable {
                self.add_work(instance.key, &item, lane, None)?;
                self.note_free_work(lane)?;
                continue;
            }
            let claimed = ClaimedWork::new(item, session, self.state.next_number());
            let is_current = claimed.item.key.execution_id == instance.execution_id;
            if is_current && turn.keep_lease && instance.inline.has_room() {
                instance.inline.push(&claimed, lane);
            } else {
                let lease = Some(&claimed.lease);
                self.add_work(instance.key, &claimed.item, lane, lease)?;
            }
            claims.push(instance.key, claimed);
        }
        Ok(claims)
    }

    /// Gives new work a row, in its queue or held under a lease.
    fn add_work(
        &mut self,
        instance_key: i64,
        item: &WorkItem,
        lane: LaneNumber,
        lease: Option<&WorkLease>,
    ) -> Step<()> {
        let since = self.ready_from(0);
        self.insert_work(&NewRow {
            key: RowKey::new(instance_key, item.key.source()),
            number: item.number,
            lane,
            holder: lease.map_or(0, |lease| holder(lease.session)),
            token: lease.map_or(0, |lease| lease.token),
            since,
        })
    }

    pub(super) fn insert_work(&self, row: &NewRow) -> Step<()> {
        let [instance, execution, event] = row.key.parameters();
        self.run(
            sql::WORK_INSERT,
            params![
                instance,
                execution,
                event,
                int(row.number),
                row.lane.0,
                row.holder,
                int(row.token),
                int(row.since.at_ms),
                int(row.since.number),
            ],
        )?;
        Ok(())
    }

    /// The item of work that was claimed, as the event that scheduled it says; `None` if
    /// its instance was removed since.
    pub(super) fn recorded_item(&self, key: RowKey, number: u64) -> Step<Option<WorkItem>> {
        let mut statement = self.statement(sql::ID_OF_KEY)?;
        let id: Option<String> = statement
            .query_row([key.instance_key], |row| row.get(0))
            .optional()?;
        let Some(id) = id.map(InstanceId::from) else {
            return Ok(None);
        };
        let mut statement = self.statement(sql::HISTORY_ENTRY)?;
        let entry: Option<Vec<u8>> = statement
            .query_row(key.parameters(), |row| row.get(0))
            .optional()?;
        let item = work_item_of(&id, key.source, number, entry.as_deref())?;
        Ok(Some(item))
    }

    /// When time alone may make work of these queues ready for this session.
    fn next_due_work_ms(
        &mut self,
        session: SessionId,
        queues: &[Option<Name>],
    ) -> Step<Option<u64>> {
        let mut due_ms: Option<u64> = None;
        let mut at = |ms: u64| due_ms = Some(due_ms.map_or(ms, |due| due.min(ms)));
        for lane in self.claimable_lanes(session, queues)? {
            let next = [lane.0, int(self.state.now_ms)];
            if let Some(delayed_ms) = self.number(sql::WORK_NEXT_DUE, next)? {
                at(uint(delayed_ms));
            }
        }
        let code = self.state.code_of(session);
        let all = self.catalog()?.lanes.all();
        let wanted = all.filter(|(_, lane)| lane.is_claimable(queues, code.as_deref()));
        let wanted: Vec<LaneNumber> = wanted.map(|(number, _)| LaneNumber(number)).collect();
        for (other, live) in &self.state.sessions {
            if *other != session && self.holds_work(*other, &wanted)? {
                at(live.late_at_ms());
            }
        }
        Ok(due_ms)
    }

    /// Whether a session holds work of one of these lanes.
    fn holds_work(&self, session: SessionId, lanes: &[LaneNumber]) -> Step<bool> {
        for lane in lanes {
            if self.finds(sql::WORK_IS_HELD, [holder(session), lane.0])? {
                return Ok(true);
            }
        }
        self.has_inline_work(session, lanes)
    }
}
