//! A node's view of the store: one session, and what it is handed.

use std::sync::Arc;

use durable_core::provider::{
    ClaimedWork, CommitOutcome, Committed, HeartbeatOutcome, Provider, ProviderError,
    ReadyInstance, ReadyInstances, Release, SessionId, SessionOptions, SettleOutcome, TurnCommit,
    WakeSeq, WakeTopic, WorkBatch, WorkItem, WorkKey, WorkResult, WorkSettlement,
};
use durable_core::{Failure, InstanceId, Name};

use super::env::Env;
use super::failure::{CheckFailure, CheckResult, ensure, ensure_eq};
use crate::turn::TurnBuilder;

/// More than any check has.
const MANY: usize = 1_000;

/// A session and the handle that it was opened on.
pub(super) struct TestNode<'env> {
    pub(super) env: &'env Env,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) session: SessionId,
    /// What the node said of itself.
    pub(super) options: SessionOptions,
}

impl TestNode<'_> {
    /// Takes what is ready now, with all messages of each instance.
    pub(super) async fn fetch(&self) -> CheckResult<Vec<ReadyInstance>> {
        Ok(self.fetch_and_see().await?.0)
    }

    /// Takes what is ready now, and says how far it has looked.
    async fn fetch_and_see(&self) -> CheckResult<(Vec<ReadyInstance>, WakeSeq)> {
        let mut taken: Vec<ReadyInstance> = Vec::new();
        let mut first_seen = None;
        loop {
            let batch = self.fetch_batch(MANY).await?;
            let seen = *first_seen.get_or_insert(batch.seen);
            let goes_on = batch.instances.iter().any(|ready| ready.has_more);
            let gives = batch
                .instances
                .iter()
                .any(|ready| !ready.messages.is_empty());
            let what = "an instance with more messages";
            ensure(!goes_on || gives, what, "some of them", &batch)?;
            for ready in batch.instances {
                match taken.iter_mut().find(|known| known.lease == ready.lease) {
                    Some(known) => known.messages.extend(ready.messages),
                    None => taken.push(ready),
                }
            }
            if !goes_on {
                return Ok((taken, seen));
            }
        }
    }

    pub(super) async fn fetch_batch(&self, max: usize) -> Result<ReadyInstances, ProviderError> {
        self.provider.fetch_instances(self.session, max).await
    }

    /// Takes this instance, which must be ready or become so, and no other.
    pub(super) async fn take(&self, id: &str) -> CheckResult<ReadyInstance> {
        let mut taken = self.take_all(&[id]).await?;
        Ok(taken.remove(0))
    }

    /// Takes these instances, which must be ready or become so, and no others;
    /// they are in the order of `ids`.
    pub(super) async fn take_all(&self, ids: &[&str]) -> CheckResult<Vec<ReadyInstance>> {
        let mut taken: Vec<ReadyInstance> = Vec::new();
        while taken.len() < ids.len() {
            let (fetched, seen) = self.fetch_and_see().await?;
            taken.extend(fetched);
            if taken.len() < ids.len() {
                let wait = self
                    .provider
                    .wait(Some(self.session), &WakeTopic::Instances, seen);
                let what = format!("instances {ids:?} to be handed out");
                self.env.within_timeout(&what, wait).await??;
            }
        }
        let mut in_order = Vec::new();
        for id in ids {
            let place = taken.iter().position(|ready| ready.lease.instance == *id);
            let place = place.ok_or_else(|| {
                CheckFailure::new(
                    "the instances that are handed out",
                    *id,
                    format!("{taken:?}"),
                )
            })?;
            in_order.push(taken.remove(place));
        }
        ensure(taken.is_empty(), "the instances besides", "none", taken)?;
        Ok(in_order)
    }

    /// Demands that nothing is ready for this node.
    pub(super) async fn finds_no_instance(&self, why: &str) -> CheckResult {
        let found = self.fetch().await?;
        ensure(found.is_empty(), why, "no instance is handed out", found)
    }

    /// An empty turn of an instance that this node was handed.
    pub(super) fn turn(&self, ready: &ReadyInstance) -> TurnBuilder {
        TurnBuilder::new(ready, self.provider.now_ms())
    }

    /// The first turn of an instance: it takes its messages and begins.
    pub(super) fn first_turn(&self, ready: &ReadyInstance) -> TurnBuilder {
        self.turn(ready).consuming(&ready.messages).started()
    }

    /// Commits one turn.
    pub(super) async fn commit(&self, turn: TurnCommit) -> Result<CommitOutcome, ProviderError> {
        self.provider.commit(Arc::new(turn)).await
    }

    /// Commits a turn that must be applied.
    pub(super) async fn commit_done(&self, turn: TurnCommit) -> CheckResult<Committed> {
        match self.commit(turn).await? {
            CommitOutcome::Done(committed) => Ok(committed),
            other => Err(CheckFailure::new(
                "a commit under a valid lease from the tail",
                "Done",
                format!("{other:?}"),
            )),
        }
    }

    /// Starts an instance and commits its first turn, made from the empty one.
    pub(super) async fn begin(
        &self,
        id: &str,
        turn: impl FnOnce(TurnBuilder) -> TurnBuilder,
    ) -> CheckResult<(TurnCommit, Committed)> {
        self.env.start(id).await?;
        let ready = self.take(id).await?;
        let turn = turn(self.first_turn(&ready)).build();
        let committed = self.commit_done(turn.clone()).await?;
        Ok((turn, committed))
    }

    pub(super) async fn fetch_work_from(
        &self,
        queues: &[Option<Name>],
        max: usize,
    ) -> CheckResult<WorkBatch> {
        Ok(self.provider.fetch_work(self.session, queues, max).await?)
    }

    /// Takes the ready work of the default queue.
    pub(super) async fn fetch_work(&self) -> CheckResult<Vec<ClaimedWork>> {
        Ok(self.fetch_work_from(&[None], MANY).await?.work)
    }

    /// Takes one work item of the default queue, which must be ready or become
    /// so, and no other.
    pub(super) async fn take_work(&self) -> CheckResult<ClaimedWork> {
        loop {
            let WorkBatch { mut work, seen, .. } = self.fetch_work_from(&[None], MANY).await?;
            if let Some(claimed) = work.pop() {
                ensure(work.is_empty(), "the work besides", "none", &work)?;
                return Ok(claimed);
            }
            let topic = WakeTopic::Work(vec![None]);
            let wait = self.provider.wait(Some(self.session), &topic, seen);
            self.env
                .within_timeout("work to be handed out", wait)
                .await??;
        }
    }

    /// Demands that no work of the default queue is ready.
    pub(super) async fn finds_no_work(&self, why: &str) -> CheckResult {
        let found = self.fetch_work().await?;
        ensure(found.is_empty(), why, "no work is handed out", found)
    }

    /// Settles one work item.
    async fn settle(&self, work: &ClaimedWork, result: WorkResult) -> CheckResult<SettleOutcome> {
        let settlement = WorkSettlement::new(work.lease.clone(), result);
        let settlement = settlement.after(work.earlier_attempts());
        Ok(self.provider.settle_work(settlement).await?)
    }

    /// Settles one work item that this node must hold.
    pub(super) async fn settle_held(&self, work: &ClaimedWork, result: WorkResult) -> CheckResult {
        let outcome = self.settle(work, result).await?;
        ensure_eq("settling held work", outcome, SettleOutcome::Settled)
    }

    /// Settles one work item whose lease must be lost, for the reason that `what` says.
    pub(super) async fn settle_lost(
        &self,
        what: impl Into<String>,
        work: &ClaimedWork,
        result: WorkResult,
    ) -> CheckResult {
        let outcome = self.settle(work, result).await?;
        ensure_eq(what, outcome, SettleOutcome::LeaseLost)
    }

    /// Sends a heartbeat of an attempt.
    pub(super) async fn heartbeat_work(
        &self,
        work: &ClaimedWork,
        details: &str,
    ) -> CheckResult<HeartbeatOutcome> {
        let beat = self.provider.heartbeat_work(&work.lease, details.into());
        Ok(beat.await?)
    }

    /// Keeps the session.
    pub(super) async fn heartbeat(&self) -> CheckResult {
        Ok(self.provider.heartbeat(self.session).await?)
    }

    /// The work of this session that is reported as cancelled.
    pub(super) async fn cancelled_work(&self) -> CheckResult<Vec<WorkKey>> {
        let report = self.provider.cancelled_work(self.session).await?;
        Ok(report.keys)
    }

    /// Gives an instance back.
    pub(super) async fn release(
        &self,
        ready: &ReadyInstance,
        not_before_ms: Option<u64>,
    ) -> CheckResult {
        let mut release = Release::new(ready.lease.clone());
        release.not_before_ms = not_before_ms;
        self.give_back(release).await
    }

    /// Gives an instance back, and says what kept this node from running it.
    pub(super) async fn give_back(&self, release: Release) -> CheckResult {
        Ok(self.provider.release(vec![release]).await?)
    }

    pub(super) async fn close(&self) -> CheckResult {
        Ok(self.provider.close_session(self.session).await?)
    }

    /// Demands that the session has ended.
    pub(super) async fn is_lost(&self) -> CheckResult {
        let answer = self.provider.heartbeat(self.session).await;
        let session = self.session;
        ensure_eq(
            "a heartbeat of a session that has ended",
            answer.err(),
            Some(ProviderError::SessionLost { session }),
        )
    }
}

/// The message ids of what was handed out, in order.
pub(super) fn message_ids(ready: &ReadyInstance) -> Vec<&str> {
    let messages = ready.messages.iter();
    messages
        .map(|queued| queued.message.message_id.as_str())
        .collect()
}

/// The instances that were handed out, in order.
pub(super) fn instance_ids(ready: &[ReadyInstance]) -> Vec<InstanceId> {
    let leases = ready.iter().map(|ready| &ready.lease);
    leases.map(|lease| lease.instance.clone()).collect()
}

/// An attempt that failed and is to be made again, not before this time.
pub(super) fn retry(not_before_ms: u64) -> WorkResult {
    WorkResult::Retry {
        not_before_ms,
        failure: Failure::application("unreachable", "the bank did not answer"),
    }
}

/// The work that a turn adds, as it must be handed out.
pub(super) fn work_items(turn: &TurnCommit) -> Vec<WorkItem> {
    let added = turn.new_work.iter();
    added.filter_map(|work| turn.work_item(*work)).collect()
}

/// The keys of the work that a turn adds.
pub(super) fn work_keys(turn: &TurnCommit) -> Vec<WorkKey> {
    let items = work_items(turn).into_iter();
    items.map(|item| item.key).collect()
}
