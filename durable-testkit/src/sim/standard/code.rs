//! The orchestrations and the activity of the standard workload.
//!
//! What they return follows from their input and the events they are sent, so
//! that a lost or doubled one is seen in the result.

use std::time::Duration;

use durable_core::PromiseToken;
use durable_runtime::{
    Activity, ActivityContext, EventName, Failure, FailureKind, Orchestration,
    OrchestrationContext, Registry, RegistryError, RetryPolicy,
};
use futures::future::{Either, join_all, select};
use serde::{Deserialize, Serialize};

use crate::sim::workload::Effects;

pub(super) const WORK: Activity<Task, u64> = Activity::new("work");
pub(super) const ITEM: EventName<u64> = EventName::new("item");
pub(super) const CONFIRM: EventName<bool> = EventName::new("confirm");
pub(super) const FAN_OUT: Orchestration<Vec<Task>, u64> = Orchestration::new("fan-out");
pub(super) const SLEEPER: Orchestration<Vec<u64>, u64> = Orchestration::new("sleeper");
pub(super) const RACER: Orchestration<(Task, u64), u64> = Orchestration::new("racer");
pub(super) const TIMED: Orchestration<(Task, u64, bool), u64> = Orchestration::new("timed");
pub(super) const COLLECTOR: Orchestration<u64, u64> = Orchestration::new("collector");
pub(super) const LOOPER: Orchestration<(u64, u64), u64> = Orchestration::new("looper");
pub(super) const PARENT: Orchestration<Vec<Vec<Task>>, u64> = Orchestration::new("parent");
pub(super) const SAGA: Orchestration<Vec<Task>, String> = Orchestration::new("saga");
pub(super) const RUNNER: Orchestration<u64, u64> = Orchestration::new("runner");
pub(super) const DETACHER: Orchestration<(String, Vec<Task>), u64> = Orchestration::new("detacher");
pub(super) const PROMISER: Orchestration<String, u64> = Orchestration::new("promiser");
pub(super) const COURIER: Orchestration<u64, u64> = Orchestration::new("courier");
const RESOLVER: Orchestration<PromiseToken, u64> = Orchestration::new("resolver");

/// What the activity is to do.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) value: u64,
    /// How long it takes.
    pub(super) millis: u64,
    /// How often it fails first.
    pub(super) failures: u32,
}

pub(super) const RETRY: RetryPolicy = RetryPolicy::attempts(10);

pub(super) fn registry(effects: &Effects) -> Result<Registry, RegistryError> {
    let effects = effects.clone();
    Registry::builder()
        .activity(WORK, move |ctx, task| work(ctx, task, effects.clone()))
        .orchestration(FAN_OUT, fan_out)
        .orchestration(SLEEPER, sleeper)
        .orchestration(RACER, racer)
        .orchestration(TIMED, timed)
        .orchestration(COLLECTOR, collector)
        .orchestration(LOOPER, looper)
        .orchestration(PARENT, parent)
        .orchestration(SAGA, saga)
        .orchestration(RUNNER, runner)
        .orchestration(DETACHER, detacher)
        .orchestration(PROMISER, promiser)
        .orchestration(RESOLVER, resolver)
        .orchestration(COURIER, courier)
        .build()
}

/// Takes its time, with a heartbeat now and then, fails as often as it is told, and
/// returns its value.
async fn work(ctx: ActivityContext, task: Task, effects: Effects) -> Result<u64, Failure> {
    let mut left = Duration::from_millis(task.millis);
    while !left.is_zero() {
        let part = left.min(Duration::from_secs(7));
        tokio::time::sleep(part).await;
        left -= part;
        if !left.is_zero() {
            // A heartbeat that is lost is not worth failing for.
            let _ = ctx.heartbeat(&left.as_millis()).await;
        }
    }
    if ctx.attempt() <= task.failures {
        return Err(Failure::application("flaky", "it fails first"));
    }
    effects.note(&ctx);
    Ok(task.value)
}

async fn fan_out(ctx: OrchestrationContext, tasks: Vec<Task>) -> Result<u64, Failure> {
    let calls = tasks
        .iter()
        .map(|task| ctx.activity(WORK, task).retry(RETRY));
    let values = join_all(calls).await;
    values.into_iter().sum()
}

async fn sleeper(ctx: OrchestrationContext, waits_ms: Vec<u64>) -> Result<u64, Failure> {
    let mut slept = 0;
    for wait_ms in waits_ms {
        let wait = Duration::from_millis(wait_ms);
        let until = ctx.now() + wait;
        ctx.sleep(wait).await?;
        if ctx.now() < until {
            return Err(Failure::application("early", "the timer fired early"));
        }
        slept += wait_ms;
    }
    Ok(slept)
}

/// The value, or 0 if the timer was first.
async fn racer(ctx: OrchestrationContext, race: (Task, u64)) -> Result<u64, Failure> {
    let (task, limit_ms) = race;
    let work = ctx.activity(WORK, &task).retry(RETRY);
    let limit = ctx.sleep(Duration::from_millis(limit_ms));
    let first = match select(work, limit).await {
        Either::Left((value, _)) => value?,
        Either::Right(_) => 0,
    };
    // The branch that lost is gone: one more step shows that it does not come back.
    ctx.sleep(Duration::from_millis(limit_ms)).await?;
    Ok(first)
}

/// The value, or 0 if the total timeout passed first. A queue that no node serves keeps
/// the activity from ever beginning.
async fn timed(ctx: OrchestrationContext, call: (Task, u64, bool)) -> Result<u64, Failure> {
    let (task, limit_ms, is_served) = call;
    let limit = Duration::from_millis(limit_ms);
    let work = ctx.activity(WORK, &task).retry(RETRY).timeout(limit);
    let work = match is_served {
        true => work,
        false => work.queue("unserved"),
    };
    let value = match work.await {
        Err(failure) if failure.kind == FailureKind::Timeout => 0,
        result => result?,
    };
    // The attempt that was too late is gone: one more step shows that it does not come back.
    ctx.sleep(limit).await?;
    Ok(value)
}

async fn collector(ctx: OrchestrationContext, count: u64) -> Result<u64, Failure> {
    let mut sum = 0;
    for number in 0..count {
        sum += ctx.external_event(ITEM).await?;
        ctx.set_custom_status(&number)?;
    }
    Ok(sum)
}

/// Reads a few events in each execution.
async fn looper(ctx: OrchestrationContext, state: (u64, u64)) -> Result<u64, Failure> {
    let (mut left, mut sum) = state;
    for _ in 0..3 {
        if left == 0 {
            return Ok(sum);
        }
        sum += ctx.external_event(ITEM).await?;
        left -= 1;
    }
    ctx.continue_as_new(&(left, sum)).await
}

async fn parent(ctx: OrchestrationContext, children: Vec<Vec<Task>>) -> Result<u64, Failure> {
    let children = children
        .iter()
        .map(|tasks| ctx.sub_orchestration(FAN_OUT, tasks));
    let values = join_all(children).await;
    values.into_iter().sum()
}

/// Reserves, waits to be confirmed, and undoes what it did if it is cancelled.
async fn saga(ctx: OrchestrationContext, tasks: Vec<Task>) -> Result<String, Failure> {
    let mut done = Vec::new();
    let outcome = async {
        for task in tasks {
            done.push(ctx.activity(WORK, &task).retry(RETRY).await?);
            ctx.set_state("done", &done)?;
        }
        ctx.external_event(CONFIRM).await
    }
    .await;
    match outcome {
        Ok(true) => Ok("confirmed".into()),
        Ok(false) => compensate(&ctx, done).await,
        Err(failure) if failure.is_cancelled() => compensate(&ctx, done).await,
        Err(failure) => Err(failure),
    }
}

async fn compensate(ctx: &OrchestrationContext, done: Vec<u64>) -> Result<String, Failure> {
    for value in done.into_iter().rev() {
        let undo = Task {
            value,
            millis: 10,
            failures: 0,
        };
        ctx.activity(WORK, &undo).retry(RETRY).await?;
    }
    Ok("compensated".into())
}

async fn runner(ctx: OrchestrationContext, count: u64) -> Result<u64, Failure> {
    let mut sum = 0;
    for number in 0..count {
        sum += ctx
            .run("draw", async move {
                tokio::time::sleep(Duration::from_millis(number)).await;
                Ok::<_, Failure>(number)
            })
            .await?;
        ctx.sleep(Duration::from_millis(50)).await?;
    }
    Ok(sum)
}

async fn detacher(ctx: OrchestrationContext, leaf: (String, Vec<Task>)) -> Result<u64, Failure> {
    let (id, tasks) = leaf;
    ctx.start_detached(FAN_OUT, id.as_str(), &tasks)?;
    ctx.sleep(Duration::from_millis(10)).await?;
    Ok(1)
}

async fn promiser(ctx: OrchestrationContext, resolver: String) -> Result<u64, Failure> {
    let promise = ctx.promise::<u64>("answer")?;
    ctx.start_detached(RESOLVER, resolver.as_str(), promise.token())?;
    promise.await
}

async fn resolver(ctx: OrchestrationContext, token: PromiseToken) -> Result<u64, Failure> {
    ctx.sleep(Duration::from_millis(500)).await?;
    ctx.resolve_promise(token, &42u64)?;
    Ok(42)
}

/// Sends an event to an instance that runs, to one that has ended and to one that never was;
/// returns what it sent to itself.
async fn courier(ctx: OrchestrationContext, value: u64) -> Result<u64, Failure> {
    ctx.send_event(ctx.instance_id(), ITEM, &value).await?;
    let child = format!("{}/ended", ctx.instance_id());
    ctx.sub_orchestration(SLEEPER, &vec![10])
        .id(child.as_str())
        .await?;
    let ended = ctx.send_event(child.as_str(), ITEM, &value).await;
    let unknown = ctx
        .send_event(format!("{child}/unknown"), ITEM, &value)
        .await;
    for (told, expected) in [
        (ended, FailureKind::InstanceEnded),
        (unknown, FailureKind::UnknownInstance),
    ] {
        if told.as_ref().err().map(|failure| &failure.kind) != Some(&expected) {
            let message = format!("told {told:?} instead of {expected}");
            return Err(Failure::application("receipt", message));
        }
    }
    ctx.external_event(ITEM).await
}
