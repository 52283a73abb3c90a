//! Promise 8, exhaustively: a typical life of an instance, with a crash between
//! any two of its calls. After each crash the store must hold exactly what was
//! acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use durable_core::filter::Filter;
use durable_core::provider::{
    ClaimedWork, InboxMessage, MessageBody, ReadyInstance, StatusKind, TurnCommit, WorkKey,
    WorkResult,
};
use durable_core::{ExecutionId, HistoryEntry, InstanceId};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckFailure, CheckResult, ensure_eq};
use super::super::node::{TestNode, work_keys};
use crate::message::{event_message, start_message};
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[check!(
    Durability,
    nothing_is_lost_by_a_crash_between_any_two_calls,
    needs OpenAgain
)];

/// The calls of a typical life, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ScenarioCall {
    Start,
    Raise,
    Fetch,
    FirstTurn,
    Settle,
    FireTimer,
    LastTurn,
    Purge,
    StartAgain,
}

const SCENARIO: [ScenarioCall; 9] = [
    ScenarioCall::Start,
    ScenarioCall::Raise,
    ScenarioCall::Fetch,
    ScenarioCall::FirstTurn,
    ScenarioCall::Settle,
    ScenarioCall::FireTimer,
    ScenarioCall::LastTurn,
    ScenarioCall::Purge,
    ScenarioCall::StartAgain,
];

/// What was acknowledged so far.
#[derive(Debug, Default, PartialEq, Eq)]
struct Facts {
    instances: BTreeMap<InstanceId, InstanceFacts>,
    work: BTreeSet<WorkKey>,
    timers: usize,
}

#[derive(Debug, PartialEq, Eq)]
struct InstanceFacts {
    status: StatusKind,
    execution_id: ExecutionId,
    history: Vec<HistoryEntry>,
    inbox: Vec<MessageBody>,
}

impl InstanceFacts {
    fn started(execution_id: u64) -> Self {
        Self {
            status: StatusKind::Pending,
            execution_id: ExecutionId::new(execution_id),
            history: Vec::new(),
            inbox: vec![start_message("").body],
        }
    }
}

async fn nothing_is_lost_by_a_crash_between_any_two_calls(env: Env) -> CheckResult {
    for calls in 0..=SCENARIO.len() {
        let env = env.fresh().await;
        let facts = live(&env, &SCENARIO[..calls]).await?;
        let env = env.crash().await;
        env.time.pass_short().await;
        let found = audit(&env, &facts).await?;
        let last = calls.checked_sub(1).map(|last| SCENARIO[last]);
        ensure_eq(
            format!("the store after a crash after {last:?}"),
            found,
            facts,
        )?;
    }
    Ok(())
}

/// Makes these calls and keeps what each acknowledged.
async fn live(env: &Env, calls: &[ScenarioCall]) -> CheckResult<Facts> {
    let mut life = Scenario {
        node: env.mortal_node().await?,
        facts: Facts::default(),
        given: Vec::new(),
        lease: None,
        turn: None,
        work: None,
    };
    for call in calls {
        life.make(*call).await?;
    }
    Ok(life.facts)
}

struct Scenario<'env> {
    node: TestNode<'env>,
    facts: Facts,
    /// The messages of the fetch: the start and the event.
    given: Vec<InboxMessage>,
    lease: Option<ReadyInstance>,
    turn: Option<TurnCommit>,
    work: Option<ClaimedWork>,
}

impl Scenario<'_> {
    async fn make(&mut self, call: ScenarioCall) -> CheckResult {
        let env = self.node.env;
        match call {
            ScenarioCall::Start => {
                env.start("a").await?;
                let started = InstanceFacts::started(1);
                self.facts.instances.insert("a".into(), started);
            }
            ScenarioCall::Raise => {
                env.raise("a", "m1").await?;
                self.a()?.inbox.push(event_message("m1").body);
            }
            ScenarioCall::Fetch => {
                let ready = self.node.take("a").await?;
                ensure_eq("messages of `a`", ready.messages.len(), 2)?;
                self.given = ready.messages.clone();
                self.lease = Some(ready);
            }
            ScenarioCall::FirstTurn => self.first_turn().await?,
            ScenarioCall::Settle => {
                let work = self
                    .work
                    .take()
                    .ok_or_else(|| missing("the claimed work"))?;
                let result = Ok("1".into());
                let done = WorkResult::Finished(result.clone());
                self.node.settle_held(&work, done).await?;
                self.facts.work.remove(&work.item.key);
                let finished = MessageBody::ActivityFinished {
                    execution_id: work.item.key.execution_id,
                    source_event_id: work.item.key.event_id,
                    result,
                };
                self.a()?.inbox.push(finished);
            }
            ScenarioCall::FireTimer => {
                env.fire_timers(9).await?;
                let fired = self.turn.as_ref().map(timers_fired).unwrap_or_default();
                self.facts.timers = 0;
                self.a()?.inbox.extend(fired);
            }
            ScenarioCall::LastTurn => self.last_turn().await?,
            ScenarioCall::Purge => {
                env.purge(9).await?;
                self.facts.instances.remove("a");
            }
            ScenarioCall::StartAgain => {
                env.start("a").await?;
                let started = InstanceFacts::started(2);
                self.facts.instances.insert("a".into(), started);
            }
        }
        Ok(())
    }

    async fn first_turn(&mut self) -> CheckResult {
        let env = self.node.env;
        let due_ms = env.past_ms();
        let ready = self.lease.take().ok_or_else(|| missing("the fetch"))?;
        let turn = self
            .node
            .turn(&ready)
            .consuming(&self.given[..1])
            .started()
            .activity("charge")
            .activity("ship")
            .timer(due_ms)
            .message("b", start_message("from-a"))
            .keeping_the_lease()
            .claiming(1)
            .build();
        let committed = self.node.commit_done(turn.clone()).await?;
        let a = self.a()?;
        a.inbox.remove(0);
        a.status = StatusKind::Running;
        a.history = turn.events.clone();
        self.facts.work = work_keys(&turn).into_iter().collect();
        self.facts.timers = 1;
        let started = InstanceFacts::started(1);
        self.facts.instances.insert("b".into(), started);
        self.work = committed.claimed.into_iter().next();
        self.turn = Some(turn);
        Ok(())
    }

    async fn last_turn(&mut self) -> CheckResult {
        let first = self.turn.take().ok_or_else(|| missing("the first turn"))?;
        let taken = self.node.take_all(&["a", "b"]).await?;
        let turn = TurnBuilder::after(&first, self.node.env.now_ms());
        let turn = turn
            .consuming(&self.given[1..])
            .consuming(&taken[0].messages)
            .completed("1")
            .build();
        self.node.commit_done(turn.clone()).await?;
        let a = self.a()?;
        a.inbox.clear();
        a.status = StatusKind::Completed;
        a.history.extend(turn.events);
        self.facts.work.clear();
        Ok(())
    }

    fn a(&mut self) -> CheckResult<&mut InstanceFacts> {
        let a = self.facts.instances.get_mut("a");
        a.ok_or_else(|| missing("instance `a`"))
    }
}

/// Reads everything back, as a new node finds it.
async fn audit(env: &Env, expected: &Facts) -> CheckResult<Facts> {
    let mut facts = Facts::default();
    for id in env.listed(&Filter::all(), 10).await? {
        let record = env.record(&id).await?;
        let found = InstanceFacts {
            status: record.status.kind(),
            execution_id: record.execution_id,
            history: env.history(&id, record.execution_id).await?,
            inbox: Vec::new(),
        };
        facts.instances.insert(id, found);
    }
    let with_messages: Vec<&str> = expected
        .instances
        .iter()
        .filter(|(_, instance)| !instance.inbox.is_empty())
        .map(|(id, _)| id.as_str())
        .collect();
    let node = env.node().await?;
    for ready in node.take_all(&with_messages).await? {
        if let Some(instance) = facts.instances.get_mut(&ready.lease.instance) {
            let messages = ready.messages.into_iter();
            instance.inbox = messages.map(|queued| queued.message.body).collect();
        }
    }
    let work = node.fetch_work().await?;
    facts.work = work.into_iter().map(|work| work.item.key).collect();
    facts.timers = env.fire_timers(9).await?.fired;
    Ok(facts)
}

/// What an instance is told of the timers that a turn set.
fn timers_fired(turn: &TurnCommit) -> Vec<MessageBody> {
    let timers = turn.new_timers.iter();
    timers
        .map(|timer| MessageBody::TimerFired {
            execution_id: timer.execution_id,
            source_event_id: timer.event_id,
            fire_at_ms: turn.timer_due_ms(*timer).unwrap_or_default(),
        })
        .collect()
}

fn missing(what: &str) -> CheckFailure {
    CheckFailure::new("the order of calls", what, "nothing")
}
