//! Work: claiming it, taking it back, cancelling it.

use durable_core::provider::{
    CancelledWork, Change, ClaimedWork, HeartbeatOutcome, ProviderError, SessionId, SettleOutcome,
    WorkBatch, WorkItem, WorkKey, WorkLease, WorkResult, WorkSettlement,
};
use durable_core::{InstanceId, Name, Payload};

use super::queue::Wanted;
use super::state::MemoryState;

impl MemoryState {
    pub(super) fn fetch_work(
        &mut self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Result<WorkBatch, ProviderError> {
        self.live_session(session)?;
        let work = self.claim_work(session, queues, max);
        let mut batch = WorkBatch::default();
        batch.seen = self.wake.seen();
        batch.work = work;
        batch.next_due_ms = self.next_due_work_ms(session, queues);
        Ok(batch)
    }

    /// Claims the work of these queues that became ready first.
    pub(super) fn claim_work(
        &mut self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Vec<ClaimedWork> {
        let code = self.code_of(session);
        let code = code.as_deref();
        let ready = self.work.ready(Wanted { queues, code }, self.now_ms, max);
        ready
            .iter()
            .filter_map(|key| {
                let token = self.next_number();
                self.work.claim(key, session, token)
            })
            .collect()
    }

    pub(super) fn add_work(&mut self, item: WorkItem) {
        let ready_since = self.ready_from(0);
        self.wake.note(ready_change(&item));
        self.work.add(item, ready_since);
    }

    pub(super) fn settle_work(
        &mut self,
        settlement: WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        self.limits.check_work_result(&settlement.result)?;
        Ok(match self.settle(settlement) {
            true => SettleOutcome::Settled,
            false => SettleOutcome::LeaseLost,
        })
    }

    pub(super) fn heartbeat_work(
        &mut self,
        lease: &WorkLease,
        details: Payload,
    ) -> Result<HeartbeatOutcome, ProviderError> {
        self.limits.check_payload("heartbeat", &details)?;
        let Some(work) = self.work.held_under(lease) else {
            return Ok(HeartbeatOutcome::LeaseLost);
        };
        work.heartbeat = Some(details);
        Ok(HeartbeatOutcome::Kept)
    }

    pub(super) fn cancelled_work(
        &mut self,
        session: SessionId,
    ) -> Result<CancelledWork, ProviderError> {
        self.live_session(session)?;
        let held = self.work.held_by(session);
        let cancelled = held.filter(|work| work.is_cancelled);
        let mut answer = CancelledWork::default();
        answer.keys = cancelled.map(|work| work.item.key.clone()).collect();
        answer.seen = self.wake.seen();
        Ok(answer)
    }

    /// Removes work that no session holds; marks work that a session holds.
    pub(super) fn cancel_work(&mut self, key: &WorkKey) {
        let Some(work) = self.work.get_mut(key) else {
            return;
        };
        work.is_cancelled = true;
        match work.holder() {
            Some(session) => self.wake.note(Change::Cancellations(session)),
            None => drop(self.work.remove(key)),
        }
    }

    pub(super) fn cancel_all_work_of(&mut self, id: &InstanceId) {
        for key in self.work.of(id) {
            self.cancel_work(&key);
        }
    }

    /// Takes work out of its holder's hands: it is ready again from this time on,
    /// unless it was cancelled meanwhile.
    pub(super) fn free_work(&mut self, key: &WorkKey, not_before_ms: u64) {
        let ready_since = self.ready_from(not_before_ms);
        let Some(work) = self.work.get_mut(key) else {
            return;
        };
        if work.is_cancelled {
            self.work.remove(key);
            return;
        }
        self.wake.note(ready_change(&work.item));
        self.work.give_back(key, ready_since);
    }

    /// Applies a settlement; answers whether its lease was held.
    fn settle(&mut self, settlement: WorkSettlement) -> bool {
        let WorkSettlement {
            lease,
            result,
            earlier_attempts,
            ..
        } = settlement;
        let Some(work) = self.work.held_under(&lease) else {
            return false;
        };
        let key = lease.key;
        if work.is_cancelled {
            self.work.remove(&key);
            return true;
        }
        match result {
            WorkResult::Finished(result) => {
                self.work.remove(&key);
                let message = key.finished(result, earlier_attempts);
                self.put_message(&key.instance, message);
            }
            WorkResult::Poisoned(failure) => {
                if let Some(work) = self.work.remove(&key) {
                    let kept = (work.item, failure.clone());
                    self.poisoned.insert(key.clone(), kept);
                }
                let message = key.finished(Err(failure), earlier_attempts);
                self.put_message(&key.instance, message);
            }
            WorkResult::Retry {
                not_before_ms,
                failure,
            } => {
                work.failures += 1;
                work.last_failure = self.limits.retained_failure(&failure).cloned();
                self.free_work(&key, not_before_ms);
            }
            WorkResult::HandedBack { not_before_ms } => {
                self.free_work(&key, not_before_ms.unwrap_or(0));
            }
        }
        true
    }

    /// When time alone may make work of these queues ready for this session.
    fn next_due_work_ms(&self, session: SessionId, queues: &[Option<Name>]) -> Option<u64> {
        let code = self.code_of(session);
        let code = code.as_deref();
        let wanted = Wanted { queues, code };
        let others = self
            .work
            .holders(wanted)
            .filter(|holder| *holder != session);
        let late_at = others.filter_map(|other| Some(self.sessions.get(&other)?.late_at_ms()));
        late_at
            .filter(|at_ms| *at_ms > self.now_ms)
            .chain(self.work.next_ready_ms(wanted, self.now_ms))
            .min()
    }
}

fn ready_change(item: &WorkItem) -> Change {
    Change::Work {
        queue: item.options.queue.clone(),
        activity: item.name.clone(),
    }
}
