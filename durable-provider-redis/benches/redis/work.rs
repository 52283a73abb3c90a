//! The orchestrations that are measured.

use std::time::Duration;

use durable_provider_redis::RedisProvider;
use durable_runtime::{
    Activity, ActivityContext, EventName, Failure, Orchestration, OrchestrationContext, Registry,
    Runtime, RuntimeOptions,
};

/// This many activities, one after the other.
pub(crate) const SEQUENCE: Orchestration<u64, u64> = Orchestration::new("sequence");
/// One activity.
pub(crate) const ONE: Orchestration<u64, u64> = Orchestration::new("one");
/// One activity, then an event.
pub(crate) const GATED: Orchestration<u64, u64> = Orchestration::new("gated");
const GO: EventName<u64> = EventName::new("go");
const ADD: Activity<u64, u64> = Activity::new("add");

async fn sequence(ctx: OrchestrationContext, steps: u64) -> Result<u64, Failure> {
    let mut number = 0;
    for _ in 0..steps {
        number = ctx.activity(ADD, &number).await?;
    }
    Ok(number)
}

async fn one(ctx: OrchestrationContext, number: u64) -> Result<u64, Failure> {
    ctx.activity(ADD, &number).await
}

async fn gated(ctx: OrchestrationContext, number: u64) -> Result<u64, Failure> {
    let one = ctx.activity(ADD, &number).await?;
    let told: u64 = ctx.external_event(GO).await?;
    Ok(one + told)
}

async fn add(_: ActivityContext, number: u64) -> Result<u64, Failure> {
    Ok(number + 1)
}

/// Opens the store.
pub(crate) async fn open(url: &str) -> RedisProvider {
    RedisProvider::open(url).await.unwrap()
}

/// The code of a node process.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Code {
    /// All that is measured.
    Current,
    /// None of it: the node was deployed before.
    Old,
}

impl Code {
    const ALL: [Self; 2] = [Self::Current, Self::Old];

    /// What a node process is called that has it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Current => "node",
            Self::Old => "old-node",
        }
    }

    /// The code of a node process that is called so.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }

    fn registry(self) -> Registry {
        let builder = Registry::builder();
        let builder = match self {
            Self::Current => builder
                .activity(ADD, add)
                .orchestration(SEQUENCE, sequence)
                .orchestration(ONE, one)
                .orchestration(GATED, gated),
            Self::Old => builder
                .activity(Activity::new("subtract"), add)
                .orchestration(Orchestration::new("old"), one),
        };
        builder.build().unwrap()
    }
}

/// A node that runs them.
pub(crate) async fn node(provider: &RedisProvider) -> Runtime {
    node_with(provider, Code::Current).await
}

async fn node_with(provider: &RedisProvider, code: Code) -> Runtime {
    let options = RuntimeOptions::default()
        .session_timeout(Duration::from_secs(60))
        .max_turns(256)
        .max_activities(256);
    Runtime::builder(provider.clone(), code.registry())
        .options(options)
        .start()
        .await
        .unwrap()
}

/// A node process, until it is killed.
pub(crate) async fn run_node(url: &str, code: Code) {
    let _node = node_with(&open(url).await, code).await;
    std::future::pending::<()>().await;
}
