//! The calls of a script, each made on both sides.

use durable_core::provider::{
    Claim, ClaimedWork, CommitOutcome, IdReuse, InstanceFilter, OutgoingMessage, Provider,
    ProviderError, PurgeRequest, ReadyInstance, Release, SessionId, SessionOptions, TurnCommit,
    WorkResult, WorkSettlement,
};
use durable_core::{Failure, FailureKind, InstanceId, Name};

use super::answer::ComparedAnswer;
use super::leases::Pair;
use super::run::Play;
use super::script::{
    ScriptInstance, ScriptMessageId, ScriptNode, ScriptQueue, ScriptRelease, ScriptSettlement,
    ScriptTurn, ScriptWork,
};
use super::turn::{self, queue_name};
use crate::conformance::Clock;
use crate::message::{event_message, start_message};

/// More than a script can make ready.
const MANY: usize = 1_000;

/// How long a session lives without a heartbeat. It is odd and every time is
/// even, so that nothing depends on what "late" means to the millisecond.
const HEARTBEAT_BOUND_MS: u64 = 1_001;

const NOTHING: Pair<ComparedAnswer> = Pair {
    model: ComparedAnswer::Nothing,
    provider: ComparedAnswer::Nothing,
};

impl Play<'_> {
    /// Lets time pass, and both stores know it.
    pub(super) async fn pass(&mut self, ms: u16) -> Pair<ComparedAnswer> {
        self.virtual_now_ms += u64::from(ms);
        self.fire_timers(0).await
    }

    pub(super) async fn open(&mut self, node: ScriptNode) -> Pair<ComparedAnswer> {
        let options = || SessionOptions {
            node: node.to_string(),
            session_timeout_ms: match self.clock {
                Clock::Virtual => HEARTBEAT_BOUND_MS,
                Clock::Wall { .. } => 3_600_000,
            },
        };
        let now_ms = self.now_ms();
        let model = self.sides.model.open_session(options(), now_ms).await;
        let provider = self.sides.provider.open_session(options(), now_ms).await;
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
        let now_ms = self.now_ms();
        let model = self.sides.model.heartbeat(session.model, now_ms).await;
        let provider = self.sides.provider.heartbeat(session.provider, now_ms);
        let told = |report: durable_core::provider::SessionReport| {
            let mut cancelled = report.cancelled_work;
            cancelled.sort();
            ComparedAnswer::CancelledWork(cancelled)
        };
        Pair {
            model: ComparedAnswer::of(model, told),
            provider: ComparedAnswer::of(provider.await, told),
        }
    }

    pub(super) async fn close(&self, node: ScriptNode) -> Pair<ComparedAnswer> {
        let Some(session) = self.leases.sessions.get(&node) else {
            return NOTHING;
        };
        let now_ms = self.now_ms();
        let model = self.sides.model.close_session(session.model, now_ms).await;
        let provider = self.sides.provider.close_session(session.provider, now_ms);
        Pair {
            model: ComparedAnswer::of(model, |()| ComparedAnswer::Done),
            provider: ComparedAnswer::of(provider.await, |()| ComparedAnswer::Done),
        }
    }

    pub(super) async fn start(
        &self,
        instance: ScriptInstance,
        sent: ScriptMessageId,
        reuse: IdReuse,
    ) -> Pair<ComparedAnswer> {
        let (id, now_ms) = (instance.id(), self.now_ms());
        let start = async |side: &dyn Provider| {
            let message = start_message(sent.to_string());
            let answer = side.start(&id, message, reuse, now_ms).await;
            ComparedAnswer::of(answer, ComparedAnswer::started)
        };
        self.on_both(start).await
    }

    pub(super) async fn send(
        &self,
        instance: ScriptInstance,
        sent: ScriptMessageId,
    ) -> Pair<ComparedAnswer> {
        let now_ms = self.now_ms();
        let send = async |side: &dyn Provider| {
            let outgoing = OutgoingMessage {
                target: instance.id(),
                message: event_message(sent.to_string()),
            };
            ComparedAnswer::of(
                side.send(vec![outgoing], now_ms).await,
                ComparedAnswer::Sent,
            )
        };
        self.on_both(send).await
    }

    pub(super) async fn fetch(&mut self, node: ScriptNode) -> Pair<ComparedAnswer> {
        let Some(session) = self.leases.sessions.get(&node).copied() else {
            return NOTHING;
        };
        let now_ms = self.now_ms();
        let model = fetch_all(self.sides.model, session.model, now_ms).await;
        let provider = fetch_all(self.sides.provider, session.provider, now_ms).await;
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
        let mut turns = turn::build(turn, held, self.clock, now_ms);
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
        let mut model = commit_one(self.sides.model, turns.model).await;
        let mut provider = commit_one(self.sides.provider, turns.provider).await;
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
        let (lease, now_ms) = (held.lease.clone(), self.now_ms());
        let release = |lease| {
            vec![Release {
                lease,
                not_before_ms,
                blocked: returned.blocked(),
            }]
        };
        let model = self.sides.model;
        let model = model.release(release(lease.model), now_ms).await;
        let provider = self.sides.provider;
        let provider = provider.release(release(lease.provider), now_ms);
        Pair {
            model: ComparedAnswer::of(model, |()| ComparedAnswer::Done),
            provider: ComparedAnswer::of(provider.await, |()| ComparedAnswer::Done),
        }
    }

    pub(super) async fn fetch_work(
        &mut self,
        node: ScriptNode,
        queue: ScriptQueue,
    ) -> Pair<ComparedAnswer> {
        let Some(session) = self.leases.sessions.get(&node).copied() else {
            return NOTHING;
        };
        let (queues, now_ms) = ([queue_name(queue)], self.now_ms());
        let model = claim_all(self.sides.model, session.model, &queues, now_ms).await;
        let provider = claim_all(self.sides.provider, session.provider, &queues, now_ms).await;
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
        let settlements = |claimed: &ClaimedWork| {
            let lease = claimed.lease.clone();
            let result = self.work_result(how);
            vec![WorkSettlement { lease, result }]
        };
        let now_ms = self.now_ms();
        let model = self
            .sides
            .model
            .settle_work(settlements(&work.model), now_ms);
        let model = model.await;
        let provider = self.sides.provider;
        let provider = provider.settle_work(settlements(&work.provider), now_ms);
        Pair {
            model: ComparedAnswer::of(model, ComparedAnswer::Held),
            provider: ComparedAnswer::of(provider.await, ComparedAnswer::Held),
        }
    }

    fn work_result(&self, how: ScriptSettlement) -> WorkResult {
        match how {
            ScriptSettlement::Success => WorkResult::Finished(Ok("1".into())),
            ScriptSettlement::Failure => {
                WorkResult::Finished(Err(Failure::application("declined", "no")))
            }
            ScriptSettlement::Retry(due) => WorkResult::Retry {
                not_before_ms: self.due_ms(due),
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
        let now_ms = self.now_ms();
        let details = format!("{now_ms}");
        let beat = async |side: &dyn Provider, claimed: &ClaimedWork| {
            let details = details.as_str().into();
            let answer = side.heartbeat_work(&claimed.lease, details, now_ms).await;
            ComparedAnswer::of(answer, |held| ComparedAnswer::Held(vec![held]))
        };
        Pair {
            model: beat(self.sides.model, &work.model).await,
            provider: beat(self.sides.provider, &work.provider).await,
        }
    }

    pub(super) async fn fire_timers(&self, max: usize) -> Pair<ComparedAnswer> {
        let now_ms = self.now_ms();
        let fire = async |side: &dyn Provider| {
            ComparedAnswer::of(side.fire_timers(max, now_ms).await, ComparedAnswer::fired)
        };
        self.on_both(fire).await
    }

    pub(super) async fn suspend(&self, instance: ScriptInstance) -> Pair<ComparedAnswer> {
        let (id, now_ms) = (instance.id(), self.now_ms());
        let suspend = async |side: &dyn Provider| {
            let reason = Failure::application("stop", "by hand");
            let answer = side.suspend(&id, reason, now_ms).await;
            ComparedAnswer::of(answer, |outcome| ComparedAnswer::Sent(vec![outcome]))
        };
        self.on_both(suspend).await
    }

    pub(super) async fn resume(&self, instance: ScriptInstance) -> Pair<ComparedAnswer> {
        let (id, now_ms) = (instance.id(), self.now_ms());
        let resume = async |side: &dyn Provider| {
            let answer = side.resume(&id, now_ms).await;
            ComparedAnswer::of(answer, |outcome| ComparedAnswer::Sent(vec![outcome]))
        };
        self.on_both(resume).await
    }

    pub(super) async fn purge(&self, max: usize) -> Pair<ComparedAnswer> {
        let now_ms = self.now_ms();
        let purge = PurgeRequest {
            filter: InstanceFilter::default(),
            max,
        };
        let purge = async |side: &dyn Provider| {
            ComparedAnswer::of(side.purge(&purge, now_ms).await, ComparedAnswer::Purged)
        };
        self.on_both(purge).await
    }

    async fn on_both(
        &self,
        call: impl AsyncFn(&dyn Provider) -> ComparedAnswer,
    ) -> Pair<ComparedAnswer> {
        Pair {
            model: call(self.sides.model).await,
            provider: call(self.sides.provider).await,
        }
    }
}

/// Takes everything that is ready, with all messages, by instance.
async fn fetch_all(
    side: &dyn Provider,
    session: SessionId,
    now_ms: u64,
) -> Result<Vec<ReadyInstance>, ProviderError> {
    let mut taken: Vec<ReadyInstance> = Vec::new();
    for _ in 0..MANY {
        let batch = side.fetch_instances(session, MANY, now_ms).await?.instances;
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
    now_ms: u64,
) -> Result<Vec<ClaimedWork>, ProviderError> {
    let mut work = side.fetch_work(session, queues, MANY, now_ms).await?.work;
    sort_work(&mut work);
    Ok(work)
}

fn sort_work(work: &mut [ClaimedWork]) {
    work.sort_by(|one, other| one.item.key.cmp(&other.item.key));
}

async fn commit_one(side: &dyn Provider, turn: TurnCommit) -> Result<CommitOutcome, ProviderError> {
    let mut answers = side.commit(vec![turn]).await;
    answers.pop().unwrap_or_else(|| {
        Err(ProviderError::Unknown {
            reason: "a commit of one turn has no answer".into(),
        })
    })
}
