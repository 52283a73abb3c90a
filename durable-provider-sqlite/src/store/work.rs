//! Work: claiming it, settling it, cancelling it.

use durable_core::provider::{
    ClaimedWork, Message, MessageBody, ProviderError, SessionId, TurnCommit, WorkBatch, WorkItem,
    WorkKey, WorkLease, WorkResult,
};
use durable_core::{EventId, ExecutionId, MessageId, Name, Payload};
use rusqlite::{OptionalExtension, params};

use super::instance::{Instance, ReadySince};
use super::{Store, holder};
use crate::answer::Claimed;
use crate::codec::{item_of, message_bytes};
use crate::error::Step;
use crate::number::{count, int, limit, uint};
use crate::sql;
use crate::turn::{NewWork, Settlement};
use crate::wake::Topic;

/// In the place of the holder of work that does not decode: no session can claim it.
const UNCLAIMABLE: i64 = -1;

/// The key of a work item's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowKey {
    pub(super) instance_key: i64,
    pub(super) execution_id: ExecutionId,
    pub(super) event_id: EventId,
}

impl RowKey {
    pub(super) fn new(instance_key: i64, key: &WorkKey) -> Self {
        Self {
            instance_key,
            execution_id: key.execution_id,
            event_id: key.event_id,
        }
    }

    pub(super) fn parameters(self) -> [i64; 3] {
        let (execution_id, event_id) = (self.execution_id.get(), self.event_id.get());
        [self.instance_key, int(execution_id), int(event_id)]
    }
}

/// A work item that is free.
struct FreeWork {
    since: ReadySince,
    key: RowKey,
    failures: u32,
    crashes: u32,
    heartbeat: Option<String>,
    item: Vec<u8>,
}

/// A work item's row.
struct WorkRow {
    session: i64,
    token: u64,
    is_cancelled: bool,
    queue: String,
    item: Vec<u8>,
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
        let claims = self.claim_work(session, queues, max)?;
        Ok(WorkBatch {
            now_ms: self.state.now_ms,
            seen: self.state.seen(),
            work: claims.work,
            next_due_ms: self.next_due_work_ms(session, queues)?,
        })
    }

    /// Claims the work of these queues that became ready first.
    pub(super) fn claim_work(
        &mut self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Step<Claims> {
        let mut free = Vec::new();
        if max > 0 {
            for queue in queues {
                if !self.state.is_known_empty(queue) {
                    free.extend(self.free_work(queue, max)?);
                }
            }
        }
        if queues.len() > 1 {
            free.sort_by_key(|work| work.since);
            free.dedup_by_key(|work| work.key);
            free.truncate(max);
        }
        let mut claims = Claims::default();
        for work in free {
            let key = work.key;
            if let Some(claimed) = self.claim(session, work)? {
                claims.push(key.instance_key, claimed);
            }
        }
        Ok(claims)
    }

    fn free_work(&mut self, queue: &Option<Name>, max: usize) -> Step<Vec<FreeWork>> {
        let text = queue_text(queue.as_ref());
        let mut statement = self.statement(sql::WORK_READY)?;
        let ready = params![text, int(self.state.now_ms), limit(max)];
        let free = statement.query_map(ready, |row| {
            Ok(FreeWork {
                since: ReadySince {
                    at_ms: uint(row.get(0)?),
                    number: uint(row.get(1)?),
                },
                key: RowKey {
                    instance_key: row.get(2)?,
                    execution_id: ExecutionId::new(uint(row.get(3)?)),
                    event_id: EventId::new(uint(row.get(4)?)),
                },
                failures: count(row.get(5)?),
                crashes: count(row.get(6)?),
                heartbeat: row.get(7)?,
                item: row.get(8)?,
            })
        })?;
        let free: Vec<FreeWork> = free.collect::<Result<_, _>>()?;
        drop(statement);
        let later = params![text, int(self.state.now_ms)];
        if free.is_empty() && !self.finds(sql::WORK_NEXT_DUE, later)? {
            self.state.remember_empty(queue);
        }
        Ok(free)
    }

    /// Claims an item for a session. One that does not decode is never claimed again, and
    /// its instance is suspended.
    fn claim(&mut self, session: SessionId, work: FreeWork) -> Step<Option<ClaimedWork>> {
        let FreeWork { key, .. } = work;
        let what = format_args!("work {}/{}", key.execution_id, key.event_id);
        let item = match item_of(what, &work.item) {
            Ok(item) => item,
            Err(ProviderError::Damaged { reason }) => {
                self.make_unclaimable(key, &reason)?;
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let token = self.state.next_number();
        self.hold_work(key, holder(session), token)?;
        Ok(Some(ClaimedWork {
            lease: WorkLease {
                key: item.key.clone(),
                session,
                token,
            },
            item,
            attempt: work.failures.saturating_add(1),
            crashes: work.crashes,
            heartbeat: work.heartbeat.map(Payload::from),
        }))
    }

    fn hold_work(&self, key: RowKey, holder: i64, token: u64) -> Step<()> {
        let [instance, execution, event] = key.parameters();
        let held = [instance, execution, event, holder, int(token)];
        self.run(sql::WORK_CLAIM, held)?;
        Ok(())
    }

    fn make_unclaimable(&mut self, key: RowKey, reason: &str) -> Step<()> {
        self.hold_work(key, UNCLAIMABLE, 0)?;
        let id = self.id_of(key.instance_key)?;
        let reason = format!("`{id}`: {reason}");
        match self.load(key.instance_key)? {
            Some(instance) if !instance.status.is_ended() => {
                self.suspend_damaged(&id, instance, reason)
            }
            _ => Ok(()),
        }
    }

    /// Adds the work of a turn and claims what is ready, oldest first: what was there
    /// before, then what is new. New work that is claimed at once is in no queue and wakes
    /// no node.
    pub(super) fn add_and_claim_work(
        &mut self,
        instance: &mut Instance,
        new_work: &[NewWork],
        turn: &TurnCommit,
    ) -> Step<Claims> {
        let (session, claim) = (turn.lease.session, &turn.claim);
        let mut claims = self.claim_work(session, &claim.queues, claim.max)?;
        for new in new_work {
            let queue = &new.item.options.queue;
            let is_claimed = claims.work.len() < claim.max && claim.queues.contains(queue);
            if !is_claimed {
                if self.add_work(instance.key, new, None)? {
                    self.note(Topic::Work(queue.clone()));
                }
                continue;
            }
            let claimed = self.claimed_at_once(session, &new.item);
            if new.is_recorded && turn.keep_lease && instance.inline.has_room() {
                instance.inline.push(&claimed);
            } else if !self.add_work(instance.key, new, Some(&claimed.lease))? {
                continue;
            }
            claims.push(instance.key, claimed);
        }
        Ok(claims)
    }

    fn claimed_at_once(&mut self, session: SessionId, item: &WorkItem) -> ClaimedWork {
        ClaimedWork {
            lease: WorkLease {
                key: item.key.clone(),
                session,
                token: self.state.next_number(),
            },
            item: item.clone(),
            attempt: 1,
            crashes: 0,
            heartbeat: None,
        }
    }

    /// Gives new work a row; answers whether it had none.
    fn add_work(
        &mut self,
        instance_key: i64,
        new: &NewWork,
        held: Option<&WorkLease>,
    ) -> Step<bool> {
        let since = self.ready_from(0);
        let [key, execution, event] = RowKey::new(instance_key, &new.item.key).parameters();
        let added = self.run(
            sql::WORK_INSERT,
            params![
                key,
                execution,
                event,
                queue_text(new.item.options.queue.as_ref()),
                held.map_or(0, |lease| holder(lease.session)),
                held.map_or(0, |lease| int(lease.token)),
                int(since.at_ms),
                int(since.number),
                new.bytes,
            ],
        )?;
        Ok(added > 0)
    }

    /// Answers in order whether each lease was held.
    pub(crate) fn settle_work(&mut self, settlements: &[Settlement]) -> Step<Vec<bool>> {
        settlements
            .iter()
            .map(|settlement| self.settle(settlement))
            .collect()
    }

    fn settle(&mut self, settlement: &Settlement) -> Step<bool> {
        let Some((key, work)) = self.held_work(&settlement.lease)? else {
            return Ok(false);
        };
        if work.is_cancelled {
            self.run(sql::WORK_DELETE, key.parameters())?;
            return Ok(true);
        }
        match &settlement.result {
            WorkResult::Finished(_) => {
                self.run(sql::WORK_DELETE, key.parameters())?;
                self.put_result(key, &settlement.message)?;
            }
            WorkResult::Poisoned(_) => {
                self.run(sql::WORK_DELETE, key.parameters())?;
                let [instance, execution, event] = key.parameters();
                let kept = params![instance, execution, event, work.item, settlement.failure];
                self.run(sql::POISONED_KEEP, kept)?;
                self.put_result(key, &settlement.message)?;
            }
            WorkResult::Retry { not_before_ms } => self.free_one(key, &work, *not_before_ms, 1)?,
            WorkResult::HandedBack { not_before_ms } => {
                self.free_one(key, &work, not_before_ms.unwrap_or(0), 0)?;
            }
        }
        Ok(true)
    }

    pub(crate) fn heartbeat_work(&mut self, lease: &WorkLease, details: &Payload) -> Step<bool> {
        let Some((key, _)) = self.held_work(lease)? else {
            return Ok(false);
        };
        let [instance, execution, event] = key.parameters();
        let beat = params![instance, execution, event, details.as_str()];
        self.run(sql::WORK_BEAT, beat)?;
        Ok(true)
    }

    fn held_work(&mut self, lease: &WorkLease) -> Step<Option<(RowKey, WorkRow)>> {
        let Some(instance_key) = self.key_of(&lease.key.instance)? else {
            return Ok(None);
        };
        let key = RowKey::new(instance_key, &lease.key);
        self.spill_stored_to_row(key)?;
        let row = self.work_row(key)?;
        let is_held =
            |row: &WorkRow| row.session == holder(lease.session) && row.token == lease.token;
        Ok(row.filter(is_held).map(|row| (key, row)))
    }

    fn work_row(&self, key: RowKey) -> Step<Option<WorkRow>> {
        let mut statement = self.statement(sql::WORK_LOAD)?;
        let row = statement.query_row(key.parameters(), |row| {
            Ok(WorkRow {
                session: row.get(0)?,
                token: uint(row.get(1)?),
                is_cancelled: row.get(2)?,
                queue: row.get(3)?,
                item: row.get(5)?,
            })
        });
        Ok(row.optional()?)
    }

    /// The item of a row that is still there.
    pub(super) fn stored_item(&self, key: RowKey) -> Step<Option<WorkItem>> {
        let Some(row) = self.work_row(key)? else {
            return Ok(None);
        };
        let what = format_args!("work {}/{}", key.execution_id, key.event_id);
        Ok(Some(item_of(what, &row.item)?))
    }

    fn free_one(
        &mut self,
        key: RowKey,
        work: &WorkRow,
        not_before_ms: u64,
        failed: i64,
    ) -> Step<()> {
        self.free_row(key, &work.queue, not_before_ms, [failed, 0])
    }

    /// Work is ready again from this time on.
    fn free_row(
        &mut self,
        key: RowKey,
        queue: &str,
        not_before_ms: u64,
        [failures, crashes]: [i64; 2],
    ) -> Step<()> {
        let since = self.ready_from(not_before_ms);
        let [instance, execution, event] = key.parameters();
        let (at_ms, number) = (int(since.at_ms), int(since.number));
        let free = [instance, execution, event, at_ms, number, failures, crashes];
        self.run(sql::WORK_FREE, free)?;
        self.note(Topic::Work(queue_name(queue)));
        Ok(())
    }

    /// Frees all work of a session that ended.
    pub(super) fn free_work_held_by(&mut self, session: SessionId, has_crashed: bool) -> Step<()> {
        let mut statement = self.statement(sql::WORK_HELD)?;
        let held = statement.query_map([holder(session)], |row| {
            let key = RowKey {
                instance_key: row.get(0)?,
                execution_id: ExecutionId::new(uint(row.get(1)?)),
                event_id: EventId::new(uint(row.get(2)?)),
            };
            Ok((key, row.get(3)?, row.get(4)?))
        })?;
        let held: Vec<(RowKey, String, bool)> = held.collect::<Result<_, _>>()?;
        drop(statement);
        for (key, queue, is_cancelled) in held {
            if is_cancelled {
                self.run(sql::WORK_DELETE, key.parameters())?;
            } else {
                self.free_row(key, &queue, 0, [0, i64::from(has_crashed)])?;
            }
        }
        Ok(())
    }

    /// Removes work that no session holds; marks work that a session holds.
    pub(super) fn cancel_work(&self, key: RowKey) -> Step<()> {
        if self.run(sql::WORK_DELETE_FREE, key.parameters())? == 0 {
            self.run(sql::WORK_CANCEL, key.parameters())?;
        }
        Ok(())
    }

    pub(super) fn cancel_all_work_of(&self, instance_key: i64) -> Step<()> {
        self.run(sql::WORK_DELETE_ALL_FREE, [instance_key])?;
        self.run(sql::WORK_CANCEL_ALL, [instance_key])?;
        Ok(())
    }

    fn put_result(&mut self, key: RowKey, message: &Option<Message>) -> Step<()> {
        let (Some(message), Some(mut instance)) = (message, self.load(key.instance_key)?) else {
            return Ok(());
        };
        let bytes = message_bytes(message)?;
        if self.put_message(&mut instance, &message.message_id, &bytes)? {
            self.save_place(&instance)?;
        }
        Ok(())
    }

    /// When time alone may make work of these queues ready for this session.
    fn next_due_work_ms(&self, session: SessionId, queues: &[Option<Name>]) -> Step<Option<u64>> {
        let mut due_ms: Option<u64> = None;
        let mut at = |ms: u64| due_ms = Some(due_ms.map_or(ms, |due| due.min(ms)));
        for queue in queues {
            let queue = queue_text(queue.as_ref());
            let next = params![queue, int(self.state.now_ms)];
            if let Some(delayed_ms) = self.number(sql::WORK_NEXT_DUE, next)? {
                at(uint(delayed_ms));
            }
            for (other, life) in &self.state.sessions {
                let held = params![holder(*other), queue];
                if *other != session
                    && (self.finds(sql::WORK_IS_HELD, held)?
                        || self.has_inline_work(*other, queue)?)
                {
                    at(life.late_at_ms());
                }
            }
        }
        Ok(due_ms)
    }
}

/// The message that carries the result of work, if it has one. Its id follows from
/// the key, so that it can be in the inbox only once.
pub(crate) fn result_message(key: &WorkKey, result: &WorkResult) -> Option<Message> {
    let result = match result {
        WorkResult::Finished(result) => result.clone(),
        WorkResult::Poisoned(failure) => Err(failure.clone()),
        WorkResult::Retry { .. } | WorkResult::HandedBack { .. } => return None,
    };
    let (execution_id, source_event_id) = (key.execution_id, key.event_id);
    Some(Message {
        message_id: MessageId::from(format!("activity/{execution_id}/{source_event_id}")),
        body: MessageBody::ActivityFinished {
            execution_id,
            source_event_id,
            result,
        },
    })
}

/// The default queue has no name.
pub(super) fn queue_text(queue: Option<&Name>) -> &str {
    queue.map_or("", Name::as_str)
}

fn queue_name(text: &str) -> Option<Name> {
    (!text.is_empty()).then(|| Name::from(text))
}
