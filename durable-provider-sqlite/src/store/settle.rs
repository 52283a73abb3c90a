//! Work that comes back: with a result, to be tried again, because its session ended, or
//! because its instance no longer waits for it.

use durable_core::provider::{
    CancelledWork, Change, HeartbeatOutcome, SessionId, SettleOutcome, SourceEvent, WorkKey,
    WorkLease,
};
use durable_core::{EventId, ExecutionId, InstanceId, Payload};
use rusqlite::{OptionalExtension, params, params_from_iter};

use super::catalog::LaneNumber;
use super::work::RowKey;
use super::{Store, holder};
use crate::error::Step;
use crate::number::{int, uint};
use crate::sql;
use crate::turn::{FailedAttempt, PreparedSettlement, ResultMessage, Settling};

/// A row of work that a session holds.
struct HeldWork {
    key: RowKey,
    is_cancelled: bool,
    lane: LaneNumber,
    number: i64,
}

impl Store<'_, '_> {
    pub(crate) fn settle_work(&mut self, settlement: &PreparedSettlement) -> Step<SettleOutcome> {
        let Some(work) = self.held_work(&settlement.lease)? else {
            return Ok(SettleOutcome::LeaseLost);
        };
        let key = work.key;
        if work.is_cancelled {
            self.run(sql::WORK_DELETE, key.parameters())?;
            return Ok(SettleOutcome::Settled);
        }
        match &settlement.settling {
            Settling::Finished(message) => {
                self.run(sql::WORK_DELETE, key.parameters())?;
                self.put_result(key, message)?;
            }
            Settling::Poisoned(failure, message) => {
                self.run(sql::WORK_DELETE, key.parameters())?;
                let [instance, execution, event] = key.parameters();
                let kept = params![instance, execution, event, work.number, failure];
                self.run(sql::POISONED_KEEP, kept)?;
                self.put_result(key, message)?;
            }
            Settling::Freed {
                not_before_ms,
                failed,
            } => {
                if let Some(FailedAttempt(failure)) = failed {
                    let [instance, execution, event] = key.parameters();
                    let failed = params![instance, execution, event, failure];
                    self.run(sql::WORK_FAILED, failed)?;
                }
                let failures = i64::from(failed.is_some());
                self.free_row(key, work.lane, *not_before_ms, [failures, 0])?;
            }
        }
        Ok(SettleOutcome::Settled)
    }

    pub(crate) fn heartbeat_work(
        &mut self,
        lease: &WorkLease,
        details: &Payload,
    ) -> Step<HeartbeatOutcome> {
        let Some(work) = self.held_work(lease)? else {
            return Ok(HeartbeatOutcome::LeaseLost);
        };
        let [instance, execution, event] = work.key.parameters();
        let beat = params![instance, execution, event, details.as_str()];
        self.run(sql::WORK_BEAT, beat)?;
        Ok(HeartbeatOutcome::Kept)
    }

    /// The row of work that is held under this lease and was not cancelled.
    pub(super) fn emitting_work(&mut self, lease: &WorkLease) -> Step<Option<RowKey>> {
        let held = self.held_work(lease)?;
        Ok(held.filter(|work| !work.is_cancelled).map(|work| work.key))
    }

    /// The work that is held under this lease, in a row.
    fn held_work(&mut self, lease: &WorkLease) -> Step<Option<HeldWork>> {
        let Some(instance_key) = self.key_of(&lease.key.instance)? else {
            return Ok(None);
        };
        let key = RowKey::new(instance_key, lease.key.source());
        self.spill_stored_to_row(key)?;
        let mut statement = self.statement(sql::WORK_LOAD)?;
        let found = statement.query_row(key.parameters(), |row| {
            let (session, token): (i64, i64) = (row.get(0)?, row.get(1)?);
            let work = HeldWork {
                key,
                is_cancelled: row.get(2)?,
                lane: LaneNumber(row.get(3)?),
                number: row.get(4)?,
            };
            let is_held = session == holder(lease.session) && uint(token) == lease.token;
            Ok(is_held.then_some(work))
        });
        Ok(found.optional()?.flatten())
    }

    fn put_result(&mut self, key: RowKey, message: &ResultMessage) -> Step<()> {
        let Some(mut instance) = self.load(key.instance_key)? else {
            return Ok(());
        };
        if self.put_message(&mut instance, &message.message_id, &message.bytes)? {
            self.save_place(&instance)?;
        }
        Ok(())
    }

    /// Work is ready again from this time on.
    fn free_row(
        &mut self,
        key: RowKey,
        lane: LaneNumber,
        not_before_ms: u64,
        [failures, crashes]: [i64; 2],
    ) -> Step<()> {
        let since = self.ready_from(not_before_ms);
        let [instance, execution, event] = key.parameters();
        let (at_ms, number) = (int(since.at_ms), int(since.number));
        let free = [instance, execution, event, at_ms, number, failures, crashes];
        self.run(sql::WORK_FREE, free)?;
        self.note_free_work(lane)
    }

    /// Frees all work of a session that ended.
    pub(super) fn free_work_held_by(&mut self, session: SessionId, has_crashed: bool) -> Step<()> {
        let mut statement = self.statement(sql::WORK_HELD)?;
        let held = statement.query_map([holder(session)], |row| {
            let lane = LaneNumber(row.get(3)?);
            Ok((RowKey::from_row(row, 0)?, lane, row.get(4)?))
        })?;
        let held: Vec<(RowKey, LaneNumber, bool)> = held.collect::<Result<_, _>>()?;
        drop(statement);
        for (key, lane, is_cancelled) in held {
            if is_cancelled {
                self.run(sql::WORK_DELETE, key.parameters())?;
            } else {
                self.free_row(key, lane, 0, [0, i64::from(has_crashed)])?;
            }
        }
        Ok(())
    }

    pub(crate) fn cancelled_work(&mut self, session: SessionId) -> Step<CancelledWork> {
        self.live_session(session)?;
        let mut statement = self.statement(sql::WORK_CANCELLED)?;
        let cancelled = statement.query_map([holder(session)], |row| {
            let instance: String = row.get(0)?;
            let execution_id = ExecutionId::new(uint(row.get(1)?));
            let event_id = EventId::new(uint(row.get(2)?));
            let source = SourceEvent::new(execution_id, event_id);
            Ok(WorkKey::new(InstanceId::from(instance), source))
        })?;
        let mut answer = CancelledWork::default();
        answer.keys = cancelled.collect::<Result<_, _>>()?;
        answer.seen = self.state.seen();
        Ok(answer)
    }

    /// Removes work that no session holds; marks work that a session holds, and tells it.
    pub(super) fn cancel_work(&mut self, key: RowKey) -> Step<()> {
        if self.run(sql::WORK_DELETE_FREE, key.parameters())? == 0 {
            self.mark_cancelled(sql::WORK_CANCEL, &key.parameters())?;
        }
        Ok(())
    }

    pub(super) fn cancel_all_work_of(&mut self, instance_key: i64) -> Step<()> {
        self.run(sql::WORK_DELETE_ALL_FREE, [instance_key])?;
        self.mark_cancelled(sql::WORK_CANCEL_ALL, &[instance_key])
    }

    /// Marks work as cancelled, and tells the sessions that hold it.
    fn mark_cancelled(&mut self, statement: &'static str, work: &[i64]) -> Step<()> {
        let mut statement = self.statement(statement)?;
        let holders = statement.query_map(params_from_iter(work), |row| row.get(0))?;
        let holders: Vec<i64> = holders.collect::<Result<_, _>>()?;
        drop(statement);
        for session in holders {
            self.note(Change::Cancellations(SessionId(uint(session))));
        }
        Ok(())
    }
}
