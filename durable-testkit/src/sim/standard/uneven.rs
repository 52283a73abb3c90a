//! Code that only runs because nodes differ: releases that lack a version or an
//! activity, queues that only some nodes serve, work that takes its worker down, and
//! a release that does not work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use durable_core::InstanceId;
use durable_core::provider::WorkKey;
use durable_runtime::{
    Activity, ActivityContext, Failure, FailureKind, Orchestration, OrchestrationContext, Registry,
    RegistryBuilder, RegistryError,
};
use futures::future::join_all;

use super::code::{ITEM, RETRY, Task, WORK};
use crate::sim::node_start::KillSwitch;
use crate::sim::workload::Effects;

/// The queue that only some nodes serve.
pub(super) const SPECIAL: &str = "special";
/// The queue of work that takes its worker down.
pub(super) const HAZARD: &str = "hazard";

pub(super) const UPGRADED: Orchestration<(u64, u64), u64> = Orchestration::new("upgraded");
pub(super) const NEW_VERSION: &str = "2.0.0";
pub(super) const MENDED: Orchestration<Task, u64> = Orchestration::new("mended");
pub(super) const SPECIALIST: Orchestration<Vec<Task>, u64> = Orchestration::new("specialist");
pub(super) const HAZARDOUS: Orchestration<u32, String> = Orchestration::new("hazardous");

/// In the newer release only.
const AUDIT: Activity<u64, u64> = Activity::new("audit");
const BLAST: Activity<u32, ()> = Activity::new("blast");

/// Which code a node has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeRelease {
    /// It lacks a version and an activity, and gets stuck in one orchestration.
    Old,
    New,
}

/// The instances that the old release runs by now: its defect was mended for them.
#[derive(Debug, Clone, Default)]
pub(super) struct Mended {
    instances: Arc<Mutex<BTreeSet<InstanceId>>>,
}

impl Mended {
    pub(super) fn add(&self, instance: &InstanceId) {
        self.lock().insert(instance.clone());
    }

    fn has(&self, instance: &InstanceId) -> bool {
        self.lock().contains(instance)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<InstanceId>> {
        self.instances
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often each work item took its worker down.
#[derive(Debug, Clone, Default)]
pub(super) struct Blasts {
    counts: Arc<Mutex<BTreeMap<WorkKey, u32>>>,
}

impl Blasts {
    /// Counts one more, unless there were this many.
    fn is_due(&self, key: &WorkKey, most: u32) -> bool {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(key.clone()).or_insert(0);
        let is_due = *count < most;
        *count += u32::from(is_due);
        is_due
    }
}

/// What both releases have, and what only the newer one has.
pub(super) fn registry(
    effects: &Effects,
    mended_instances: &Mended,
    release: CodeRelease,
) -> Result<Registry, RegistryError> {
    let mended_instances = mended_instances.clone();
    let registry = Registry::builder()
        .orchestration(UPGRADED, upgraded)
        .orchestration(SPECIALIST, specialist)
        .orchestration(HAZARDOUS, hazardous)
        .orchestration(MENDED, move |ctx: OrchestrationContext, task| {
            let is_stuck = release == CodeRelease::Old && !mended_instances.has(&ctx.instance_id());
            mended(ctx, task, is_stuck)
        });
    match release {
        CodeRelease::Old => registry.build(),
        CodeRelease::New => newer(registry, effects).build(),
    }
}

fn newer(registry: RegistryBuilder, effects: &Effects) -> RegistryBuilder {
    let effects = effects.clone();
    registry
        .orchestration(UPGRADED.at(NEW_VERSION), audited)
        .activity(AUDIT, move |ctx: ActivityContext, value| {
            effects.note(&ctx);
            std::future::ready(Ok::<_, Failure>(value))
        })
}

/// The worker of [`HAZARD`], which it takes down with it.
pub(super) fn hazards(
    effects: &Effects,
    blasts: &Blasts,
    kill: &KillSwitch,
) -> Result<Registry, RegistryError> {
    let (effects, blasts, kill) = (effects.clone(), blasts.clone(), kill.clone());
    Registry::builder()
        .activity(BLAST, move |ctx: ActivityContext, most: u32| {
            let (effects, blasts, kill) = (effects.clone(), blasts.clone(), kill.clone());
            async move {
                if blasts.is_due(ctx.key(), most) {
                    kill.pull().await;
                }
                effects.note(&ctx);
                Ok::<(), Failure>(())
            }
        })
        .build()
}

/// One event in each execution, which goes on with the newest version that its node
/// has.
async fn upgraded(ctx: OrchestrationContext, state: (u64, u64)) -> Result<u64, Failure> {
    let (left, sum) = state;
    if left == 0 {
        return Ok(sum);
    }
    let item = ctx.external_event(ITEM).await?;
    ctx.continue_as_new(&(left - 1, sum + item)).await
}

/// The same, with an activity that older nodes lack.
async fn audited(ctx: OrchestrationContext, state: (u64, u64)) -> Result<u64, Failure> {
    let (left, sum) = state;
    if left == 0 {
        return Ok(sum);
    }
    let item = ctx.external_event(ITEM).await?;
    let item = ctx.activity(AUDIT, &item).await?;
    ctx.continue_as_new(&(left - 1, sum + item)).await
}

/// In the old release it gets stuck half way: the client has to resume it where it does
/// not.
async fn mended(ctx: OrchestrationContext, task: Task, is_stuck: bool) -> Result<u64, Failure> {
    let first = ctx.activity(WORK, &task).retry(RETRY).await?;
    if is_stuck {
        std::future::pending::<()>().await;
    }
    ctx.sleep(Duration::from_millis(100)).await?;
    let second = ctx.activity(WORK, &task).retry(RETRY).await?;
    Ok(first + second)
}

/// Every other task on nodes that serve [`SPECIAL`].
async fn specialist(ctx: OrchestrationContext, tasks: Vec<Task>) -> Result<u64, Failure> {
    let calls = tasks.iter().enumerate().map(|(number, task)| {
        let call = ctx.activity(WORK, task).retry(RETRY);
        if number % 2 == 0 {
            call.queue(SPECIAL)
        } else {
            call
        }
    });
    join_all(calls).await.into_iter().sum()
}

async fn hazardous(ctx: OrchestrationContext, blasts: u32) -> Result<String, Failure> {
    match ctx.activity(BLAST, &blasts).queue(HAZARD).await {
        Ok(()) => Ok("survived".into()),
        Err(failure) if failure.kind == FailureKind::Poisoned => Ok("set aside".into()),
        Err(failure) => Err(failure),
    }
}
