//! One orchestration, many times at once, each time with another order of things.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use durable_core::provider::InstanceStatus;
use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry,
    RegistryBuilder, RuntimeOptions,
};
use serde::{Deserialize, Serialize};

use crate::dice::Dice;
use crate::world::{World, forgetful, options, settled, shown};

/// What an orchestration saw, in its order.
pub(crate) type Log = Vec<String>;

/// Takes its time, then says what it was told, or fails with it.
pub(crate) const WORK: Activity<Work, String> = Activity::new("work");
/// Works a little, in an instance of its own.
pub(crate) const CHILD: Orchestration<Work, String> = Orchestration::new("child");
const SCENARIO: Orchestration<u64, Log> = Orchestration::new("scenario");

/// How many instances of a scenario share a world.
const AT_ONCE: u64 = 63;
/// How many worlds a scenario runs in.
const WORLDS: u64 = 8;

/// What an activity or a child is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) tag: String,
    pub(crate) delay_ms: u64,
    pub(crate) fails: bool,
}

/// Something that succeeds, after a time of the dice's choice.
pub(crate) fn work(tag: impl fmt::Display, dice: &mut Dice) -> Work {
    Work {
        tag: tag.to_string(),
        delay_ms: dice.delay_ms(),
        fails: false,
    }
}

/// Something that may fail.
pub(crate) fn risky(tag: impl fmt::Display, dice: &mut Dice) -> Work {
    Work {
        fails: dice.below(3) == 0,
        ..work(tag, dice)
    }
}

/// A durable time to wait.
pub(crate) fn pause(dice: &mut Dice) -> Duration {
    Duration::from_millis(dice.delay_ms())
}

/// How something came out, as a word.
pub(crate) fn word<T: fmt::Display>(result: Result<T, Failure>) -> String {
    match result {
        Ok(value) => value.to_string(),
        Err(failure) => format!("!{}", failure.message),
    }
}

async fn do_work(_: ActivityContext, work: Work) -> Result<String, Failure> {
    tokio::time::sleep(Duration::from_millis(work.delay_ms)).await;
    if work.fails {
        return Err(Failure::application("refused", work.tag).not_retryable());
    }
    Ok(work.tag)
}

async fn child(ctx: OrchestrationContext, work: Work) -> Result<String, Failure> {
    ctx.sleep(Duration::from_millis(work.delay_ms)).await?;
    let done = ctx.activity(WORK, &work).await?;
    Ok(format!("child:{done}"))
}

/// The activities and children that scenarios use.
pub(crate) fn workers() -> RegistryBuilder {
    Registry::builder()
        .activity(WORK, do_work)
        .orchestration(CHILD, child)
}

/// Something that happens to an instance from outside.
#[derive(Debug, Clone)]
pub(crate) enum Outside {
    Raise(&'static str, u64),
    Cancel,
}

/// One orchestration, to be run many times.
pub(crate) struct Scenario {
    registry: Registry,
    outside: fn(u64) -> Vec<(u64, Outside)>,
}

impl Scenario {
    pub(crate) fn new<F, R>(code: F) -> Self
    where
        F: Fn(OrchestrationContext, u64) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Log, Failure>> + Send + 'static,
    {
        Self {
            registry: workers().orchestration(SCENARIO, code).build().unwrap(),
            outside: |_| Vec::new(),
        }
    }

    /// What happens from outside, and after how many milliseconds.
    pub(crate) fn outside(mut self, outside: fn(u64) -> Vec<(u64, Outside)>) -> Self {
        self.outside = outside;
        self
    }

    /// Runs it with many seeds, half of them on a node that replays every turn,
    /// and replays what was stored; what each of them logged.
    pub(crate) async fn run(self) -> Vec<Log> {
        let mut logs = Vec::new();
        for world in 0..WORLDS {
            let options = match world % 2 {
                0 => options(),
                _ => forgetful(),
            };
            logs.extend(self.run_with(world * AT_ONCE, options).await);
        }
        assert!(logs.len() > 500);
        logs
    }

    async fn run_with(&self, first_seed: u64, options: RuntimeOptions) -> Vec<Log> {
        let mut world = World::with(self.registry.clone(), options).await;
        let client = world.client();
        let mut instances = Vec::new();
        for seed in first_seed..first_seed + AT_ONCE {
            let start = client.start(SCENARIO, format!("s{seed}"), &seed);
            let instance = start.await.unwrap();
            for (delay_ms, outside) in (self.outside)(seed) {
                let instance = instance.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(delay_ms)).await;
                    // It may have ended already.
                    let _ = match outside {
                        Outside::Raise(name, value) => instance.raise(name, &value).await,
                        Outside::Cancel => instance.cancel("enough").await,
                    };
                });
            }
            instances.push(instance);
        }
        let mut logs = Vec::new();
        for instance in &instances {
            let record = settled(instance).await;
            match record.status {
                InstanceStatus::Completed { output } => {
                    logs.push(serde_json::from_str(&output).unwrap());
                }
                status => {
                    let history = world.history(instance.id(), 1).await;
                    panic!("{}: {status:?}\n{}", instance.id(), shown(&history));
                }
            }
        }
        world.stop().await;
        let replays = world.check_all().await;
        assert!(replays >= instances.len());
        for instance in instances.iter().take(2) {
            world.check_every_prefix(&world.history(instance.id(), 1).await);
        }
        logs
    }
}

/// How many of these differ from each other: proof that orders did vary.
pub(crate) fn distinct(logs: &[Log]) -> usize {
    let distinct: std::collections::BTreeSet<&Log> = logs.iter().collect();
    distinct.len()
}
