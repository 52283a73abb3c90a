//! Plays a script on both sides and compares them after every call.

use std::fmt::Debug;

use durable_core::provider::{Provider, ProviderError};

use super::answer::ComparedAnswer;
use super::leases::{Leases, Pair};
use super::script::{ModelScript, ScriptCall, ScriptDue, ScriptInstance, ScriptNode, ScriptQueue};
use super::suite::Divergence;
use super::turn;
use super::visible::VisibleState;
use crate::conformance::{TestTime, told_apart};

/// A script that is being played.
pub(super) struct Play<'a> {
    pub(super) sides: Pair<&'a dyn Provider>,
    pub(super) time: TestTime,
    /// Whether commits may claim work.
    pub(super) claims: bool,
    pub(super) leases: Leases,
}

impl<'a> Play<'a> {
    pub(super) fn new(sides: Pair<&'a dyn Provider>, time: TestTime, claims: bool) -> Self {
        Self {
            sides,
            time,
            claims,
            leases: Leases::default(),
        }
    }

    pub(super) async fn play(mut self, script: &ModelScript) -> Result<(), Divergence> {
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

    async fn call(&mut self, op: &ScriptCall) -> Pair<ComparedAnswer> {
        self.time.manual.advance(2);
        match op {
            ScriptCall::Pass(ms) => self.pass(*ms).await,
            ScriptCall::Open(node) => self.open(*node).await,
            ScriptCall::Heartbeat(node) => self.heartbeat(*node).await,
            ScriptCall::CancelledWork(node) => self.cancelled_work(*node).await,
            ScriptCall::Close(node) => self.close(*node).await,
            ScriptCall::Start(instance, sent, reuse, brings) => {
                self.start(*instance, *sent, *reuse, *brings).await
            }
            ScriptCall::Send(instance, sent) => self.send(*instance, *sent).await,
            ScriptCall::Fetch(node) => self.fetch(*node).await,
            ScriptCall::Commit(node, instance, turn) => self.commit(*node, *instance, turn).await,
            ScriptCall::CommitAgain(node, instance) => self.commit_again(*node, *instance).await,
            ScriptCall::Release(node, instance, due, returned) => {
                let not_before_ms = due.map(|due| self.due_ms(due));
                self.release(*node, *instance, not_before_ms, *returned)
                    .await
            }
            ScriptCall::FetchWork(node, queue) => self.fetch_work(*node, *queue).await,
            ScriptCall::Settle(work, how) => self.settle(*work, *how).await,
            ScriptCall::HeartbeatWork(work) => self.heartbeat_work(*work).await,
            ScriptCall::FireTimers(max) => self.fire_timers(usize::from(*max)).await,
            ScriptCall::Suspend(instance) => self.suspend(*instance).await,
            ScriptCall::Resume(instance) => self.resume(*instance).await,
            ScriptCall::Purge(max) => self.purge(usize::from(*max)).await,
            ScriptCall::Prune(instance, prune) => self.prune(*instance, *prune).await,
        }
    }

    /// Takes what is there, ends all sessions, lets everything become due and takes again
    /// what is there, so that a script has looked at whatever it changed.
    async fn end(&mut self, step: usize) -> Result<(), Divergence> {
        let nodes: Vec<ScriptNode> = self.leases.sessions.keys().copied().collect();
        let mut calls = take_everything(ScriptNode(u8::MAX - 1));
        calls.extend(nodes.into_iter().map(ScriptCall::Close));
        calls.push(ScriptCall::Close(ScriptNode(u8::MAX - 1)));
        calls.push(ScriptCall::Pass(60_000));
        calls.extend(ScriptInstance::ALL.map(ScriptCall::Resume));
        calls.push(ScriptCall::FireTimers(u8::MAX));
        calls.extend(take_everything(ScriptNode(u8::MAX)));
        for op in calls {
            let answers = self.call(&op).await;
            compare(step, format!("at the end, {op}"), &answers)?;
        }
        Ok(())
    }

    async fn observe(&self) -> Pair<Result<VisibleState, ProviderError>> {
        Pair {
            model: VisibleState::read(self.sides.model, self.time.clock).await,
            provider: VisibleState::read(self.sides.provider, self.time.clock).await,
        }
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.sides.model.now_ms()
    }

    pub(super) fn due_ms(&self, due: ScriptDue) -> u64 {
        turn::due_ms(due, self.time.clock, self.now_ms())
    }
}

/// Opens a session and takes all that is ready.
fn take_everything(node: ScriptNode) -> Vec<ScriptCall> {
    vec![
        ScriptCall::Open(node),
        ScriptCall::Fetch(node),
        ScriptCall::FetchWork(node, ScriptQueue::Default),
        ScriptCall::FetchWork(node, ScriptQueue::Named),
    ]
}

fn compare<T: PartialEq + Debug>(
    step: usize,
    call: String,
    answers: &Pair<T>,
) -> Result<(), Divergence> {
    if answers.model == answers.provider {
        return Ok(());
    }
    let model = format!("{:#?}", answers.model);
    let provider = told_apart(&model, format!("{:#?}", answers.provider));
    Err(Divergence {
        step,
        call,
        model,
        provider,
    })
}
