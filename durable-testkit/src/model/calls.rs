//! The calls of a script, each made on both sides.

use durable_core::provider::{
    Claim, ClaimedWork, CommitOutcome, IdReuse, InstanceFilter, OutgoingMessage, Provider,
    ProviderError, PurgeRequest, ReadyInstance, Release, SessionId, SessionOptions, TurnCommit,
    WorkResult, WorkSettlement,
};
use durable_core::{Failure, FailureKind, InstanceId, Name};

use super::answer::Answer;
use super::hands::Pair;
use super::op::{Claimed, Instance, Node, Queue, Returned, Sent, Settlement, Turn};
use super::run::Play;
use super::turn::{self, queue_name};
use crate::conformance::Clock;
use crate::message::{event_message, start_message};

/// More than a script can make ready.
const MANY: usize = 1_000;

/// How long a session lives without a heartbeat. It is odd and every time is
/// even, so that nothing depends on what "late" means to the millisecond.
const HEARTBEAT_BOUND_MS: u64 = 1_001;

const NOTHING: Pair<Answer> = Pair {
    model: Answer::Nothing,
    provider: Answer::Nothing,
};

impl Play<'_> {
    /// Lets time pass, and both stores know it.
    pub(super) async fn pass(&mut self, ms: u16) -> Pair<Answer> {
        self.virtual_now_ms += u64::from(ms);
        self.fire_timers(0).await
    }

    pub(super) async fn open(&mut self, node: Node) -> Pair<Answer> {
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
            self.hands.sessions.insert(node, session);
        }
        Pair {
            model: Answer::of(model, |_| Answer::Done),
            provider: Answer::of(provider, |_| Answer::Done),
        }
    }

    pub(super) async fn heartbeat(&self, node: Node) -> Pair<Answer> {
        let Some(session) = self.hands.sessions.get(&node) else {
            return NOTHING;
        };
        let now_ms = self.now_ms();
        let model = self.sides.model.heartbeat(session.model, now_ms).await;
        let provider = self.sides.provider.heartbeat(session.provider, now_ms);
        let told = |report: durable_core::provider::SessionReport| {
            let mut cancelled = report.cancelled_work;
            cancelled.sort();
            Answer::CancelledWork(cancelled)
        };
        Pair {
            model: Answer::of(model, told),
            provider: Answer::of(provider.await, told),
        }
    }

    pub(super) async fn close(&self, node: Node) -> Pair<Answer> {
        let Some(session) = self.hands.sessions.get(&node) else {
            return NOTHING;
        };
        let now_ms = self.now_ms();
        let model = self.sides.model.close_session(session.model, now_ms).await;
        let provider = self.sides.provider.close_session(session.provider, now_ms);
        Pair {
            model: Answer::of(model, |()| Answer::Done),
            provider: Answer::of(provider.await, |()| Answer::Done),
        }
    }

    pub(super) async fn start(
        &self,
        instance: Instance,
        sent: Sent,
        reuse: IdReuse,
    ) -> Pair<Answer> {
        let (id, now_ms) = (instance.id(), self.now_ms());
        let start = async |side: &dyn Provider| {
            let message = start_message(sent.to_string());
            let answer = side.start(&id, message, reuse, now_ms).await;
            Answer::of(answer, Answer::started)
        };
        self.on_both(start).await
    }

    pub(super) async fn send(&self, instance: Instance, sent: Sent) -> Pair<Answer> {
        let now_ms = self.now_ms();
        let send = async |side: &dyn Provider| {
            let outgoing = OutgoingMessage {
                target: instance.id(),
                message: event_message(sent.to_string()),
            };
            Answer::of(side.send(vec![outgoing], now_ms).await, Answer::Sent)
        };
        self.on_both(send).await
    }

    pub(super) async fn fetch(&mut self, node: Node) -> Pair<Answer> {
        let Some(session) = self.hands.sessions.get(&node).copied() else {
            return NOTHING;
        };
        let now_ms = self.now_ms();
        let model = fetch_all(self.sides.model, session.model, now_ms).await;
        let provider = fetch_all(self.sides.provider, session.provider, now_ms).await;
        if let (Ok(model), Ok(provider)) = (&model, &provider) {
            if let Err(stale) = self.hands.check_leases(provider) {
                return Pair {
                    model: Answer::ready(model),
                    provider: stale,
                };
            }
            for (model, provider) in model.iter().zip(provider) {
                let id = &model.lease.instance;
                let known = Instance::ALL.into_iter().find(|known| known.id() == *id);
                if let Some(instance) = known {
                    self.hands.take(node, instance, model, provider);
                }
            }
        }
        Pair {
            model: Answer::of(model, |ready| Answer::ready(&ready)),
            provider: Answer::of(provider, |ready| Answer::ready(&ready)),
        }
    }

    pub(super) async fn commit(
        &mut self,
        node: Node,
        instance: Instance,
        turn: &Turn,
    ) -> Pair<Answer> {
        let now_ms = self.now_ms();
        let Some(held) = self.hands.instances.get_mut(&(node, instance)) else {
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

    pub(super) async fn commit_again(&mut self, node: Node, instance: Instance) -> Pair<Answer> {
        let held = self.hands.instances.get(&(node, instance));
        match held.and_then(|held| held.last_turn.clone()) {
            Some(turns) => self.commit_on_both(node, instance, turns).await,
            None => NOTHING,
        }
    }

    async fn commit_on_both(
        &mut self,
        node: Node,
        instance: Instance,
        turns: Pair<TurnCommit>,
    ) -> Pair<Answer> {
        let applied = turns.model.clone();
        let mut model = commit_one(self.sides.model, turns.model).await;
        let mut provider = commit_one(self.sides.provider, turns.provider).await;
        if let (Ok(CommitOutcome::Done(model)), Ok(CommitOutcome::Done(provider))) =
            (&mut model, &mut provider)
        {
            sort_work(&mut model.claimed);
            sort_work(&mut provider.claimed);
            if let Some(held) = self.hands.instances.get_mut(&(node, instance)) {
                held.applied(&applied);
            }
            self.hands
                .take_work(model.claimed.clone(), provider.claimed.clone());
        }
        for outcome in [&mut model, &mut provider] {
            if let Ok(CommitOutcome::AlreadyDone(committed)) = outcome {
                sort_work(&mut committed.claimed);
            }
        }
        Pair {
            model: Answer::of(model, |outcome| Answer::committed(&outcome)),
            provider: Answer::of(provider, |outcome| Answer::committed(&outcome)),
        }
    }

    pub(super) async fn release(
        &self,
        node: Node,
        instance: Instance,
        not_before_ms: Option<u64>,
        returned: Returned,
    ) -> Pair<Answer> {
        let Some(held) = self.hands.instances.get(&(node, instance)) else {
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
            model: Answer::of(model, |()| Answer::Done),
            provider: Answer::of(provider.await, |()| Answer::Done),
        }
    }

    pub(super) async fn fetch_work(&mut self, node: Node, queue: Queue) -> Pair<Answer> {
        let Some(session) = self.hands.sessions.get(&node).copied() else {
            return NOTHING;
        };
        let (queues, now_ms) = ([queue_name(queue)], self.now_ms());
        let model = claim_all(self.sides.model, session.model, &queues, now_ms).await;
        let provider = claim_all(self.sides.provider, session.provider, &queues, now_ms).await;
        if let (Ok(model), Ok(provider)) = (&model, &provider) {
            self.hands.take_work(model.clone(), provider.clone());
        }
        Pair {
            model: Answer::of(model, |work| Answer::claimed(&work)),
            provider: Answer::of(provider, |work| Answer::claimed(&work)),
        }
    }

    pub(super) async fn settle(&self, number: Claimed, how: Settlement) -> Pair<Answer> {
        let Some(work) = self.hands.claimed(number) else {
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
            model: Answer::of(model, Answer::Held),
            provider: Answer::of(provider.await, Answer::Held),
        }
    }

    fn work_result(&self, how: Settlement) -> WorkResult {
        match how {
            Settlement::Success => WorkResult::Finished(Ok("1".into())),
            Settlement::Failure => {
                WorkResult::Finished(Err(Failure::application("declined", "no")))
            }
            Settlement::Retry(due) => WorkResult::Retry {
                not_before_ms: self.due_ms(due),
            },
            Settlement::HandedBack(due) => WorkResult::HandedBack {
                not_before_ms: due.map(|due| self.due_ms(due)),
            },
            Settlement::Poisoned => {
                WorkResult::Poisoned(Failure::new(FailureKind::Poisoned, "too often"))
            }
        }
    }

    pub(super) async fn heartbeat_work(&self, number: Claimed) -> Pair<Answer> {
        let Some(work) = self.hands.claimed(number) else {
            return NOTHING;
        };
        let now_ms = self.now_ms();
        let details = format!("{now_ms}");
        let beat = async |side: &dyn Provider, claimed: &ClaimedWork| {
            let details = details.as_str().into();
            let answer = side.heartbeat_work(&claimed.lease, details, now_ms).await;
            Answer::of(answer, |held| Answer::Held(vec![held]))
        };
        Pair {
            model: beat(self.sides.model, &work.model).await,
            provider: beat(self.sides.provider, &work.provider).await,
        }
    }

    pub(super) async fn fire_timers(&self, max: usize) -> Pair<Answer> {
        let now_ms = self.now_ms();
        let fire = async |side: &dyn Provider| {
            Answer::of(side.fire_timers(max, now_ms).await, Answer::fired)
        };
        self.on_both(fire).await
    }

    pub(super) async fn suspend(&self, instance: Instance) -> Pair<Answer> {
        let (id, now_ms) = (instance.id(), self.now_ms());
        let suspend = async |side: &dyn Provider| {
            let reason = Failure::application("stop", "by hand");
            let answer = side.suspend(&id, reason, now_ms).await;
            Answer::of(answer, |outcome| Answer::Sent(vec![outcome]))
        };
        self.on_both(suspend).await
    }

    pub(super) async fn resume(&self, instance: Instance) -> Pair<Answer> {
        let (id, now_ms) = (instance.id(), self.now_ms());
        let resume = async |side: &dyn Provider| {
            let answer = side.resume(&id, now_ms).await;
            Answer::of(answer, |outcome| Answer::Sent(vec![outcome]))
        };
        self.on_both(resume).await
    }

    pub(super) async fn purge(&self, max: usize) -> Pair<Answer> {
        let now_ms = self.now_ms();
        let purge = PurgeRequest {
            filter: InstanceFilter::default(),
            max,
        };
        let purge = async |side: &dyn Provider| {
            Answer::of(side.purge(&purge, now_ms).await, Answer::Purged)
        };
        self.on_both(purge).await
    }

    async fn on_both(&self, call: impl AsyncFn(&dyn Provider) -> Answer) -> Pair<Answer> {
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
