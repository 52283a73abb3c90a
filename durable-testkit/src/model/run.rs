//! Plays a script on both sides and compares them after every call.

use std::fmt::Debug;
use std::time::{SystemTime, UNIX_EPOCH};

use durable_core::provider::{Provider, ProviderError};

use super::answer::Answer;
use super::hands::{Hands, Pair};
use super::observe::Observed;
use super::op::{Due, Instance, Node, Op, Queue, Script};
use super::suite::Divergence;
use super::turn;
use crate::conformance::Clock;

/// A script that is being played.
pub(super) struct Play<'a> {
    pub(super) sides: Pair<&'a dyn Provider>,
    pub(super) clock: Clock,
    /// Whether commits may claim work.
    pub(super) claims: bool,
    pub(super) virtual_now_ms: u64,
    pub(super) hands: Hands,
}

impl<'a> Play<'a> {
    pub(super) fn new(sides: Pair<&'a dyn Provider>, clock: Clock, claims: bool) -> Self {
        Self {
            sides,
            clock,
            claims,
            virtual_now_ms: 1_700_000_000_000,
            hands: Hands::default(),
        }
    }

    pub(super) async fn play(mut self, script: &Script) -> Result<(), Divergence> {
        for (step, op) in script.0.iter().enumerate() {
            let answers = self.call(op).await;
            compare(step, op.to_string(), &answers)?;
            let observed = self.observe().await;
            compare(
                step,
                format!("{op}, and then reading everything"),
                &observed,
            )?;
        }
        self.end(script.0.len()).await
    }

    async fn call(&mut self, op: &Op) -> Pair<Answer> {
        self.virtual_now_ms += 2;
        match op {
            Op::Pass(ms) => self.pass(*ms).await,
            Op::Open(node) => self.open(*node).await,
            Op::Heartbeat(node) => self.heartbeat(*node).await,
            Op::Close(node) => self.close(*node).await,
            Op::Start(instance, sent, reuse) => self.start(*instance, *sent, *reuse).await,
            Op::Send(instance, sent) => self.send(*instance, *sent).await,
            Op::Fetch(node) => self.fetch(*node).await,
            Op::Commit(node, instance, turn) => self.commit(*node, *instance, turn).await,
            Op::CommitAgain(node, instance) => self.commit_again(*node, *instance).await,
            Op::Release(node, instance, due, returned) => {
                let not_before_ms = due.map(|due| self.due_ms(due));
                self.release(*node, *instance, not_before_ms, *returned)
                    .await
            }
            Op::FetchWork(node, queue) => self.fetch_work(*node, *queue).await,
            Op::Settle(work, how) => self.settle(*work, *how).await,
            Op::HeartbeatWork(work) => self.heartbeat_work(*work).await,
            Op::FireTimers(max) => self.fire_timers(usize::from(*max)).await,
            Op::Suspend(instance) => self.suspend(*instance).await,
            Op::Resume(instance) => self.resume(*instance).await,
            Op::Purge(max) => self.purge(usize::from(*max)).await,
        }
    }

    /// Ends all sessions, lets everything become due and takes what is there, so
    /// that a script has looked at whatever it changed.
    async fn end(&mut self, step: usize) -> Result<(), Divergence> {
        let last = Node(u8::MAX);
        let nodes: Vec<Node> = self.hands.sessions.keys().copied().collect();
        let mut calls: Vec<Op> = nodes.into_iter().map(Op::Close).collect();
        calls.push(Op::Pass(60_000));
        calls.extend(Instance::ALL.map(Op::Resume));
        calls.extend([Op::FireTimers(u8::MAX), Op::Open(last), Op::Fetch(last)]);
        calls.extend([Queue::Default, Queue::Named].map(|queue| Op::FetchWork(last, queue)));
        for op in calls {
            let answers = self.call(&op).await;
            compare(step, format!("at the end, {op}"), &answers)?;
        }
        Ok(())
    }

    async fn observe(&self) -> Pair<Result<Observed, ProviderError>> {
        Pair {
            model: Observed::read(self.sides.model, self.clock).await,
            provider: Observed::read(self.sides.provider, self.clock).await,
        }
    }

    pub(super) fn now_ms(&self) -> u64 {
        match self.clock {
            Clock::Virtual => self.virtual_now_ms,
            Clock::Wall { .. } => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH);
                u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
            }
        }
    }

    pub(super) fn due_ms(&self, due: Due) -> u64 {
        turn::due_ms(due, self.clock, self.now_ms())
    }
}

fn compare<T: PartialEq + Debug>(
    step: usize,
    call: String,
    answers: &Pair<T>,
) -> Result<(), Divergence> {
    if answers.model == answers.provider {
        return Ok(());
    }
    Err(Divergence {
        step,
        call,
        model: format!("{:#?}", answers.model),
        provider: format!("{:#?}", answers.provider),
    })
}
