//! The way from a node or a client to the store: a provider through which every
//! call may go wrong.
//!
//! It keeps nothing of its own: what it says of the store the store said.

use std::sync::Arc;

use async_trait::async_trait;
use durable_core::provider::{
    CommitOutcome, ExecutionRecord, FiredTimers, HistoryPage, IdReuse, InboxPage, InboxSeq,
    InstanceFilter, InstancePage, InstanceRecord, Lease, Message, OutgoingMessage, PoisonedPage,
    Provider, ProviderError, PurgeReport, PurgeRequest, ReadyInstances, Release, SendOutcome,
    SessionId, SessionOptions, SessionReport, StartOutcome, TurnCommit, WakeSeq, WakeTopic,
    WorkBatch, WorkKey, WorkLease, WorkSettlement,
};
use durable_core::{EventId, ExecutionId, Failure, InstanceId, Name, Payload};
use durable_runtime::Clock;

use super::call::SimCall;
use super::clock::SimClock;
use super::describe;
use super::node_life::{LifeKind, NodeLife};
use super::observed::Observed;
use super::plan::SimFault;
use super::world::{SimPhase, World};

/// The way of one life to the store.
pub(crate) struct FaultyProvider {
    pub(crate) world: Arc<World>,
    pub(crate) life: Arc<NodeLife>,
    pub(crate) clock: SimClock,
}

impl FaultyProvider {
    /// The time of a request: a client's own clock is not in the simulation.
    fn at(&self, now_ms: u64) -> u64 {
        match self.life.kind {
            LifeKind::Node { .. } => now_ms,
            LifeKind::Client => self.clock.now_ms(),
        }
    }

    fn rename(&self, message: &mut Message) {
        if self.life.kind == LifeKind::Client {
            message.message_id = self.world.message_id(&message.message_id);
        }
    }
}

/// Makes a call whose arguments are cloned for every request.
macro_rules! call {
    ($name:ident($($argument:ident),*), |$store:ident| $send:expr) => {
        SimCall::new(stringify!($name), move |$store| {
            $( let $argument = $argument.clone(); )*
            Box::pin(async move { $send.await })
        })
    };
}

#[async_trait]
impl Provider for FaultyProvider {
    async fn open_session(
        &self,
        options: SessionOptions,
        now_ms: u64,
    ) -> Result<SessionId, ProviderError> {
        let now_ms = self.at(now_ms);
        let call = call!(open_session(options), |store| store
            .open_session(options, now_ms));
        self.call(call.described(ToString::to_string)).await
    }

    async fn heartbeat(
        &self,
        session: SessionId,
        now_ms: u64,
    ) -> Result<SessionReport, ProviderError> {
        if self.life.is_mute() && self.world.phase() == SimPhase::Faults {
            let (fault, outcome) = (SimFault::SwallowedHeartbeat, session.to_string());
            self.world.count(fault);
            self.world.note(
                &self.life.who,
                "heartbeat",
                Vec::new(),
                Some(fault),
                outcome,
            );
            return Ok(SessionReport {
                now_ms,
                cancelled_work: Vec::new(),
            });
        }
        let call = call!(heartbeat(), |store| store.heartbeat(session, now_ms));
        self.call(call.repeatable().described(move |_| session.to_string()))
            .await
    }

    async fn close_session(&self, session: SessionId, now_ms: u64) -> Result<(), ProviderError> {
        let call = call!(close_session(), |store| store
            .close_session(session, now_ms));
        let call = call
            .repeatable()
            .shown(move |world, ()| world.saw(&Observed::Closed { session }));
        self.call(call.described(move |()| session.to_string()))
            .await
    }

    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError> {
        let call = call!(fetch_instances(), |store| store
            .fetch_instances(session, max, now_ms));
        let call = call.shown(|world, batch: &ReadyInstances| {
            for ready in &batch.instances {
                let now_ms = batch.now_ms;
                world.saw(&Observed::HandedOut { now_ms, ready });
            }
        });
        self.call(call.described(describe::handed_out)).await
    }

    async fn commit(&self, turns: Vec<TurnCommit>) -> Vec<Result<CommitOutcome, ProviderError>> {
        let count = turns.len();
        let shown = turns.clone();
        let described = turns.clone();
        let about: Vec<InstanceId> = turns
            .iter()
            .map(|turn| turn.lease.instance.clone())
            .collect();
        let call = SimCall::new("commit", move |store| {
            let turns = turns.clone();
            Box::pin(async move { Ok(store.commit(turns).await) })
        });
        let call = call
            .about(about)
            .repeatable()
            .shown(move |world, answers: &Vec<_>| show_commits(world, &shown, answers))
            .described(move |answers| describe::committed(&described, answers));
        match self.call(call).await {
            Ok(answers) => answers,
            Err(error) => vec![Err(error); count],
        }
    }

    async fn release(&self, releases: Vec<Release>, now_ms: u64) -> Result<(), ProviderError> {
        let leases: Vec<Lease> = releases
            .iter()
            .map(|release| release.lease.clone())
            .collect();
        let (about, shown) = (leases.clone(), leases.clone());
        let described = describe::leases(&leases);
        let call = call!(release(releases), |store| store.release(releases, now_ms));
        let call = call
            .about(about.into_iter().map(|lease| lease.instance))
            .repeatable()
            .shown(move |world, ()| world.saw(&Observed::Released { leases: &shown }))
            .described(move |()| described.clone());
        self.call(call).await
    }

    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
        now_ms: u64,
    ) -> Result<WorkBatch, ProviderError> {
        let queues = queues.to_vec();
        let call = call!(fetch_work(queues), |store| store
            .fetch_work(session, &queues, max, now_ms));
        let call = call.shown(|world, batch: &WorkBatch| {
            for work in &batch.work {
                world.saw(&Observed::Claimed { work });
            }
        });
        self.call(call.described(|batch| describe::work(&batch.work)))
            .await
    }

    async fn settle_work(
        &self,
        settlements: Vec<WorkSettlement>,
        now_ms: u64,
    ) -> Result<Vec<bool>, ProviderError> {
        let about: Vec<InstanceId> = settlements
            .iter()
            .map(|settlement| settlement.lease.key.instance.clone())
            .collect();
        let described = describe::settlements(&settlements);
        let call = call!(settle_work(settlements), |store| store
            .settle_work(settlements, now_ms));
        let call = call
            .about(about)
            .repeatable()
            .described(move |held| format!("{described} -> {held:?}"));
        self.call(call).await
    }

    async fn heartbeat_work(
        &self,
        lease: &WorkLease,
        details: Payload,
        now_ms: u64,
    ) -> Result<bool, ProviderError> {
        let lease = lease.clone();
        let about = lease.key.instance.clone();
        let call = call!(heartbeat_work(lease, details), |store| store
            .heartbeat_work(&lease, details, now_ms));
        let call = call.about([about]).repeatable();
        self.call(call.described(|held| format!("held: {held}")))
            .await
    }

    async fn fire_timers(&self, max: usize, now_ms: u64) -> Result<FiredTimers, ProviderError> {
        let call = call!(fire_timers(), |store| store.fire_timers(max, now_ms));
        let call = call.repeatable();
        self.call(call.described(|fired| format!("{} fired", fired.fired)))
            .await
    }

    async fn start(
        &self,
        instance: &InstanceId,
        mut message: Message,
        reuse: IdReuse,
        now_ms: u64,
    ) -> Result<StartOutcome, ProviderError> {
        self.rename(&mut message);
        let (now_ms, instance) = (self.at(now_ms), instance.clone());
        let (about, shown) = (instance.clone(), (instance.clone(), message.clone()));
        let described = instance.clone();
        let call = call!(start(instance, message), |store| store
            .start(&instance, message, reuse, now_ms));
        let call = call
            .about([about])
            .repeatable()
            .shown(move |world, outcome| {
                let (instance, message) = (&shown.0, &shown.1);
                world.saw(&Observed::Started {
                    instance,
                    message,
                    outcome,
                });
            })
            .described(move |outcome| format!("{described}: {outcome:?}"));
        self.call(call).await
    }

    async fn send(
        &self,
        mut messages: Vec<OutgoingMessage>,
        now_ms: u64,
    ) -> Result<Vec<SendOutcome>, ProviderError> {
        for outgoing in &mut messages {
            self.rename(&mut outgoing.message);
        }
        let now_ms = self.at(now_ms);
        let about: Vec<InstanceId> = messages.iter().map(|sent| sent.target.clone()).collect();
        let (shown, described) = (messages.clone(), messages.clone());
        let call = call!(send(messages), |store| store.send(messages, now_ms));
        let call = call
            .about(about)
            .repeatable()
            .shown(move |world, outcomes: &Vec<_>| {
                for (message, outcome) in shown.iter().zip(outcomes) {
                    world.saw(&Observed::Sent { message, outcome });
                }
            })
            .described(move |outcomes| describe::sent(&described, outcomes));
        self.call(call).await
    }

    async fn suspend(
        &self,
        instance: &InstanceId,
        reason: Failure,
        now_ms: u64,
    ) -> Result<SendOutcome, ProviderError> {
        let (now_ms, instance) = (self.at(now_ms), instance.clone());
        let (about, shown) = (instance.clone(), instance.clone());
        let described = reason.to_string();
        let call = call!(suspend(instance, reason), |store| store
            .suspend(&instance, reason, now_ms));
        let call = call
            .about([about])
            .shown(move |world, _| world.saw(&Observed::Switched { instance: &shown }))
            .described(move |outcome| format!("{outcome:?}: {described}"));
        self.call(call).await
    }

    async fn resume(
        &self,
        instance: &InstanceId,
        now_ms: u64,
    ) -> Result<SendOutcome, ProviderError> {
        let (now_ms, instance) = (self.at(now_ms), instance.clone());
        let (about, shown) = (instance.clone(), instance.clone());
        let call = call!(resume(instance), |store| store.resume(&instance, now_ms));
        let call = call
            .about([about])
            .shown(move |world, _| world.saw(&Observed::Switched { instance: &shown }))
            .described(|outcome| format!("{outcome:?}"));
        self.call(call).await
    }

    async fn instance(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<InstanceRecord>, ProviderError> {
        let instance = instance.clone();
        let about = instance.clone();
        let call = call!(instance(instance), |store| store.instance(&instance));
        self.call(call.about([about])).await
    }

    async fn instances(
        &self,
        filter: &InstanceFilter,
        after: Option<&InstanceId>,
        max: usize,
    ) -> Result<InstancePage, ProviderError> {
        let (filter, after) = (filter.clone(), after.cloned());
        let call = call!(instances(filter, after), |store| store.instances(
            &filter,
            after.as_ref(),
            max
        ));
        self.call(call).await
    }

    async fn executions(
        &self,
        instance: &InstanceId,
    ) -> Result<Vec<ExecutionRecord>, ProviderError> {
        let instance = instance.clone();
        let call = call!(executions(instance), |store| store.executions(&instance));
        self.call(call).await
    }

    async fn history(
        &self,
        instance: &InstanceId,
        execution_id: ExecutionId,
        after: EventId,
        max: usize,
    ) -> Result<HistoryPage, ProviderError> {
        let instance = instance.clone();
        let about = instance.clone();
        let described = format!("{instance}/{execution_id} after {after}");
        let call = call!(history(instance), |store| store.history(
            &instance,
            execution_id,
            after,
            max
        ));
        let call = call.about([about]);
        self.call(
            call.described(move |page| format!("{described}: {} entries", page.entries.len())),
        )
        .await
    }

    async fn inbox(
        &self,
        instance: &InstanceId,
        after: InboxSeq,
        max: usize,
    ) -> Result<InboxPage, ProviderError> {
        let instance = instance.clone();
        let about = instance.clone();
        let described = format!("{instance} after {}", after.0);
        let call = call!(inbox(instance), |store| store.inbox(&instance, after, max));
        let call = call.about([about]);
        self.call(
            call.described(move |page| format!("{described}: {} messages", page.messages.len())),
        )
        .await
    }

    async fn poisoned(
        &self,
        after: Option<&WorkKey>,
        max: usize,
    ) -> Result<PoisonedPage, ProviderError> {
        let after = after.cloned();
        let call = call!(poisoned(after), |store| store.poisoned(after.as_ref(), max));
        self.call(call.described(|page| format!("{} items", page.work.len())))
            .await
    }

    async fn purge(&self, purge: &PurgeRequest, now_ms: u64) -> Result<PurgeReport, ProviderError> {
        let (now_ms, purge) = (self.at(now_ms), purge.clone());
        let shown = purge.clone();
        let call = call!(purge(purge), |store| store.purge(&purge, now_ms));
        let call = call
            .shown(move |world, _| world.saw(&Observed::Purged { purge: &shown }))
            .described(|report| format!("{} instances", report.instances));
        self.call(call).await
    }

    /// Passes on; the wait of a dead node never ends.
    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        let news = self.world.store.wait(session, topic, seen).await;
        let fate = self.life.fate(&self.world, false, false);
        self.life.pass(&self.world, fate.before).await;
        let is_client = self.life.kind == LifeKind::Client;
        match fate.fault {
            Some(SimFault::Unavailable | SimFault::LostAnswer) if !is_client => {
                Err(ProviderError::Unavailable {
                    reason: "simulated".to_owned(),
                })
            }
            _ => news,
        }
    }
}

fn show_commits(
    world: &World,
    turns: &[TurnCommit],
    answers: &[Result<CommitOutcome, ProviderError>],
) {
    for (turn, answer) in turns.iter().zip(answers) {
        let Ok(outcome) = answer else {
            continue;
        };
        world.saw(&Observed::Committed { turn, outcome });
        if let CommitOutcome::Done(committed) = outcome {
            for work in &committed.claimed {
                world.saw(&Observed::Claimed { work });
            }
        }
    }
}
