//! The calls of a script, each made on both sides.

use std::sync::Arc;

use durable_core::provider::{
    CancelledWork, Claim, ClaimedWork, CommitOutcome, IdReuse, InstanceFilter, Lease, MessageBody,
    OutgoingMessage, Provider, ProviderError, PruneRequest, PurgeRequest, ReadyInstance, Release,
    ServedCode, SessionId, SessionOptions, StartInstance, TurnCommit, WorkResult, WorkSettlement,
};
use durable_core::{Failure, FailureKind, InstanceId, Name, UnreadEvent};

use super::answer::ComparedAnswer;
use super::leases::Pair;
use super::run::Play;
use super::script::{
    ScriptInstance, ScriptMessageId, ScriptNode, ScriptPrune, ScriptQueue, ScriptRelease,
    ScriptSettlement, ScriptStart, ScriptTurn, ScriptWork,
};
use super::turn::{self, queue_name};
use crate::conformance::StoreClock;
use crate::message::{event_message, start_message};

/// More than a script can make ready.
const MANY: usize = 1_000;

/// How long a session lives without a heartbeat. It is odd and every time is
/// even, so that nothing depends on what "late" means to the millisecond.
const SESSION_TIMEOUT_MS: u64 = 1_001;

const NOTHING: Pair<ComparedAnswer> = Pair {
    model: ComparedAnswer::Nothing,
    provider: ComparedAnswer::Nothing,
};

impl Play<'_> {
    /// Lets time pass, and both stores know it.
    pub(super) async fn pass(&mut self, ms: u16) -> Pair<ComparedAnswer> {
        self.time.manual.advance(u64::from(ms));
        self.fire_timers(0).await
    }

    pub(super) async fn open(&mut self, node: ScriptNode) -> Pair<ComparedAnswer> {
        let timeout_ms = match self.time.clock {
            StoreClock::Virtual => SESSION_TIMEOUT_MS,
            StoreClock::Wall { .. } => 3_600_000,
        };
        let options = || {
            let mut options = SessionOptions::new(node.to_string()).session_timeout_ms(timeout_ms);
            options.code = code_of(node);
            options
        };
        let model = self.sides.model.open_session(options()).await;
        let provider = self.sides.provider.open_session(options()).await;
        if let (Ok(model), Ok(provider)) = (&model, &provider) {
            let session = Pair {
                model: *model,
                provider: *provider,
            };
            self.leases.sessions.insert(node, session);
        }
        Pair {
            model: ComparedAnswer::of(model, |_| ComparedAnswer::Done),
            provider: ComparedAnswer::of(provider, |_| ComparedAnswer::Done),
        }
    }

    pub(super) async fn heartbeat(&self, node: ScriptNode) -> Pair<ComparedAnswer> {
        let Some(session) = self.leases.sessions.get(&node) else {
            return NOTHING;
        };
        let beat = async |side: &dyn Provider, session: SessionId| {
            ComparedAnswer::of(side.heartbeat(session).await, |()| ComparedAnswer::Done)
        };
        self.on_each(*session, beat).await
    }

    pub(super) async fn cancelled_work(&self, node: ScriptNode) -> Pair<ComparedAnswer> {
        let Some(session) = self.leases.sessions.get(&node) else {
            return NOTHING;
        };
        let told = |report: CancelledWork| {
            let mut keys = report.keys;
            keys.sort();
            ComparedAnswer::CancelledWork(keys)
        };
        let ask = async |side: &dyn Provider, session: SessionId| {
            ComparedAnswer::of(side.cancelled_work(session).await, told)
        };
        self.on_each(*session, ask).await
    }

    pub(super) async fn close(&self, node: ScriptNode) -> Pair<ComparedAnswer> {
        let Some(session) = self.leases.sessions.get(&node) else {
            return NOTHING;
        };
        let close = async |side: &dyn Provider, session: SessionId| {
            ComparedAnswer::of(side.close_session(session).await, |()| ComparedAnswer::Done)
        };
        self.on_each(*session, close).await
    }

    pub(super) async fn start(
        &self,
        instance: ScriptInstance,
        sent: ScriptMessageId,
        reuse: IdReuse,
        brings: ScriptStart,
    ) -> Pair<ComparedAnswer> {
        let id = instance.id();
        let mut message = start_message(sent.to_string());
        if let MessageBody::Start(start) = &mut message.body {
            self.bring(start, brings);
        }
        let start = async |side: &dyn Provider| {
            let message = message.clone();
            let answer = side.start(&id, message, reuse).await;
            ComparedAnswer::of(answer, ComparedAnswer::started)
        };
        self.on_both(start).await
    }

    fn bring(&self, start: &mut StartInstance, brings: ScriptStart) {
        let due = |due| self.due_ms(due);
        if brings.has_event {
            let event = UnreadEvent::new("news".into(), "1".into(), "with-start".into());
            start.events.push(event);
        }
        start.begins_at_ms = brings.begins.map(due);
        start.deadline_ms = brings.deadline.map(due);
    }

    pub(super) async fn send(
        &self,
        instance: ScriptInstance,
        sent: ScriptMessageId,
    ) -> Pair<ComparedAnswer> {
        let send = async |side: &dyn Provider| {
            let message = event_message(sent.to_string());
            let outgoing = OutgoingMessage::new(instance.id(), message);
            ComparedAnswer::of(side.send(outgoing).await, ComparedAnswer::Sent)
        };
        self.on_both(send).await
    }

    pub(super) async fn fetch(&mut self, node: ScriptNode) -> Pair<ComparedAnswer> {
        let Some(session) = self.leases.sessions.get(&node).copied() else {
            return NOTHING;
        };
        let model = fetch_all(self.sides.model, session.model).await;
        let provider = fetch_all(self.sides.provider, session.provider).await;
        if let (Ok(model), Ok(provider)) = (&model, &provider) {
            if let Err(stale) = self.leases.check_leases(provider) {
                return Pair {
                    model: ComparedAnswer::ready(model),
                    provider: stale,
                };
            }
            for (model, provider) in model.iter().zip(provider) {
                let id = &model.lease.instance;
                let known = ScriptInstance::ALL
                    .into_iter()
                    .find(|known| known.id() == *id);
                if let Some(instance) = known {
                    self.leases.take(node, instance, model, provider);
                }
            }
        }
        Pair {
            model: ComparedAnswer::of(model, |ready| ComparedAnswer::ready(&ready)),
            provider: ComparedAnswer::of(provider, |ready| ComparedAnswer::ready(&ready)),
        }
    }

    pub(super) async fn commit(
        &mut self,
        node: ScriptNode,
        instance: ScriptInstance,
        turn: &ScriptTurn,
    ) -> Pair<ComparedAnswer> {
        let now_ms = self.now_ms();
        let Some(held) = self.leases.instances.get_mut(&(node, instance)) else {
            return NOTHING;
        };
        let mut turns = turn::build(turn, held, self.time.clock, now_ms);
        if !self.claims {
            turns.model.claim = Claim::default();
            turns.provider.claim = Claim::default();
        }
        held.last_turn = Some(turns.clone());
        self.commit_on_both(node, instance, turns).await
    }

    pub(super) async fn commit_again(
        &mut self,
        node: ScriptNode,
        instance: ScriptInstance,
    ) -> Pair<ComparedAnswer> {
        let held = self.leases.instances.get(&(node, instance));
        match held.and_then(|held| held.last_turn.clone()) {
            Some(turns) => self.commit_on_both(node, instance, turns).await,
            None => NOTHING,
        }
    }

    async fn commit_on_both(
        &mut self,
        node: ScriptNode,
        instance: ScriptInstance,
        turns: Pair<TurnCommit>,
    ) -> Pair<ComparedAnswer> {
        let applied = turns.model.clone();
        let mut model = self.sides.model.commit(Arc::new(turns.model)).await;
        let mut provider = self.sides.provider.commit(Arc::new(turns.provider)).await;
        if let (Ok(CommitOutcome::Done(model)), Ok(CommitOutcome::Done(provider))) =
            (&mut model, &mut provider)
        {
            sort_work(&mut model.claimed);
            sort_work(&mut provider.claimed);
            if let Some(held) = self.leases.instances.get_mut(&(node, instance)) {
                held.applied(&applied);
            }
            self.leases
                .take_work(model.claimed.clone(), provider.claimed.clone());
        }
        for outcome in [&mut model, &mut provider] {
            if let Ok(CommitOutcome::AlreadyDone(committed)) = outcome {
                sort_work(&mut committed.claimed);
            }
        }
        Pair {
            model: ComparedAnswer::of(model, |outcome| ComparedAnswer::committed(&outcome)),
            provider: ComparedAnswer::of(provider, |outcome| ComparedAnswer::committed(&outcome)),
        }
    }

    pub(super) async fn release(
        &self,
        node: ScriptNode,
        instance: ScriptInstance,
        not_before_ms: Option<u64>,
        returned: ScriptRelease,
    ) -> Pair<ComparedAnswer> {
        let Some(held) = self.leases.instances.get(&(node, instance)) else {
            return NOTHING;
        };
        let release = async |side: &dyn Provider, lease: Lease| {
            let mut release = Release::new(lease);
            release.not_before_ms = not_before_ms;
            release.blocked = returned.blocked();
            let answer = side.release(vec![release]).await;
            ComparedAnswer::of(answer, |()| ComparedAnswer::Done)
        };
        self.on_each(held.lease.clone(), release).await
    }

    pub(super) async fn fetch_work(
        &mut self,
        node: ScriptNode,
        queue: ScriptQueue,
    ) -> Pair<ComparedAnswer> {
        let Some(session) = self.leases.sessions.get(&node).copied() else {
            return NOTHING;
        };
        let queues = [queue_name(queue)];
        let model = claim_all(self.sides.model, session.model, &queues).await;
        let provider = claim_all(self.sides.provider, session.provider, &queues).await;
        if let (Ok(model), Ok(provider)) = (&model, &provider) {
            self.leases.take_work(model.clone(), provider.clone());
        }
        Pair {
            model: ComparedAnswer::of(model, |work| ComparedAnswer::claimed(&work)),
            provider: ComparedAnswer::of(provider, |work| ComparedAnswer::claimed(&work)),
        }
    }

    pub(super) async fn settle(
        &self,
        number: ScriptWork,
        how: ScriptSettlement,
    ) -> Pair<ComparedAnswer> {
        let Some(work) = self.leases.claimed(number) else {
            return NOTHING;
        };
        let result = self.work_result(how);
        let settle = async |side: &dyn Provider, work: ClaimedWork| {
            let settlement = WorkSettlement::new(work.lease, result.clone());
            let answer = side.settle_work(settlement).await;
            ComparedAnswer::of(answer, ComparedAnswer::Settled)
        };
        self.on_each(work.clone(), settle).await
    }

    fn work_result(&self, how: ScriptSettlement) -> WorkResult {
        match how {
            ScriptSettlement::Success => WorkResult::Finished(Ok("1".into())),
            ScriptSettlement::Failure => {
                WorkResult::Finished(Err(Failure::application("declined", "no")))
            }
            ScriptSettlement::Retry(due) => WorkResult::Retry {
                not_before_ms: self.due_ms(due),
                failure: Failure::application("busy", "later"),
            },
            ScriptSettlement::HandedBack(due) => WorkResult::HandedBack {
                not_before_ms: due.map(|due| self.due_ms(due)),
            },
            ScriptSettlement::Poisoned => {
                WorkResult::Poisoned(Failure::new(FailureKind::Poisoned, "too often"))
            }
        }
    }

    pub(super) async fn heartbeat_work(&self, number: ScriptWork) -> Pair<ComparedAnswer> {
        let Some(work) = self.leases.claimed(number) else {
            return NOTHING;
        };
        let details = self.now_ms().to_string();
        let beat = async |side: &dyn Provider, work: ClaimedWork| {
            let answer = side.heartbeat_work(&work.lease, details.as_str().into());
            ComparedAnswer::of(answer.await, ComparedAnswer::Heartbeat)
        };
        self.on_each(work.clone(), beat).await
    }

    pub(super) async fn fire_timers(&self, max: usize) -> Pair<ComparedAnswer> {
        let fire = async |side: &dyn Provider| {
            ComparedAnswer::of(side.fire_timers(max).await, ComparedAnswer::fired)
        };
        self.on_both(fire).await
    }

    pub(super) async fn suspend(&self, instance: ScriptInstance) -> Pair<ComparedAnswer> {
        let id = instance.id();
        let suspend = async |side: &dyn Provider| {
            let reason = Failure::application("stop", "by hand");
            ComparedAnswer::of(side.suspend(&id, reason).await, ComparedAnswer::Sent)
        };
        self.on_both(suspend).await
    }

    pub(super) async fn resume(&self, instance: ScriptInstance) -> Pair<ComparedAnswer> {
        let id = instance.id();
        let resume = async |side: &dyn Provider| {
            ComparedAnswer::of(side.resume(&id).await, ComparedAnswer::Sent)
        };
        self.on_both(resume).await
    }

    pub(super) async fn purge(&self, max: usize) -> Pair<ComparedAnswer> {
        let all = PurgeRequest::new(InstanceFilter::all(), max);
        let purge = async |side: &dyn Provider| {
            ComparedAnswer::of(side.purge(&all).await, ComparedAnswer::Purged)
        };
        self.on_both(purge).await
    }

    pub(super) async fn prune(
        &self,
        instance: ScriptInstance,
        prune: ScriptPrune,
    ) -> Pair<ComparedAnswer> {
        let only = InstanceFilter::all().id_prefix(instance.to_string());
        let mut request =
            PruneRequest::new(only, usize::from(prune.max)).keep(usize::from(prune.keep));
        let older_than_ms = prune.older_than_ms.map(u64::from);
        request.ended_before_ms = older_than_ms.map(|ms| self.now_ms().saturating_sub(ms));
        let prune = async |side: &dyn Provider| {
            ComparedAnswer::of(side.prune(&request).await, ComparedAnswer::Pruned)
        };
        self.on_both(prune).await
    }

    /// Makes the same call on both sides.
    async fn on_both(
        &self,
        call: impl AsyncFn(&dyn Provider) -> ComparedAnswer,
    ) -> Pair<ComparedAnswer> {
        Pair {
            model: call(self.sides.model).await,
            provider: call(self.sides.provider).await,
        }
    }

    /// Makes a call on both sides, on each with what that side knows the thing by.
    async fn on_each<T>(
        &self,
        known: Pair<T>,
        call: impl AsyncFn(&dyn Provider, T) -> ComparedAnswer,
    ) -> Pair<ComparedAnswer> {
        Pair {
            model: call(self.sides.model, known.model).await,
            provider: call(self.sides.provider, known.provider).await,
        }
    }
}

/// Takes everything that is ready, with all messages, by instance.
async fn fetch_all(
    side: &dyn Provider,
    session: SessionId,
) -> Result<Vec<ReadyInstance>, ProviderError> {
    let mut taken: Vec<ReadyInstance> = Vec::new();
    for _ in 0..MANY {
        let batch = side.fetch_instances(session, MANY).await?.instances;
        let goes_on = batch.iter().any(|ready| ready.has_more);
        for ready in batch {
            match taken.iter_mut().find(|known| known.lease == ready.lease) {
                Some(known) => known.messages.extend(ready.messages),
                None => taken.push(ready),
            }
        }
        if !goes_on {
            break;
        }
    }
    let id = |ready: &ReadyInstance| -> InstanceId { ready.lease.instance.clone() };
    taken.sort_by_key(id);
    Ok(taken)
}

/// Claims everything that is ready, by key.
async fn claim_all(
    side: &dyn Provider,
    session: SessionId,
    queues: &[Option<Name>],
) -> Result<Vec<ClaimedWork>, ProviderError> {
    let mut work = side.fetch_work(session, queues, MANY).await?.work;
    sort_work(&mut work);
    Ok(work)
}

fn sort_work(work: &mut [ClaimedWork]) {
    work.sort_by(|one, other| one.item.key.cmp(&other.item.key));
}

/// The code of a node: one of them lacks the activity `ship`.
fn code_of(node: ScriptNode) -> Option<ServedCode> {
    match node.0 {
        1 => Some(
            ServedCode::new()
                .orchestration("fulfil", "1.0.0")
                .activity("charge"),
        ),
        _ => None,
    }
}
