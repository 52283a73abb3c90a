//! An orchestration that does a bit of everything, for tests that disturb it.

use std::collections::BTreeMap;
use std::time::Duration;

use durable_core::provider::Provider;
use durable_core::{Event, ExecutionId};
use durable_runtime::{
    Activity, ActivityContext, Client, EventName, Failure, Orchestration, OrchestrationContext,
    Registry, RetryPolicy,
};

use crate::world::World;

const DOUBLE: Activity<u32, u32> = Activity::new("double");
const FLAKY: Activity<u32, u32> = Activity::new("flaky");
pub(crate) const JOURNEY: Orchestration<u32, u32> = Orchestration::new("journey");
const CHILD: Orchestration<u32, u32> = Orchestration::new("child");
const BONUS: EventName<u32> = EventName::new("bonus");

/// What a journey returns that is started with 0.
pub(crate) const RESULT: u32 = 152;

/// Fans out to activities, a flaky one, a child and a timer, joins them, runs a side
/// effect, waits for an event that another instance sends, and continues as new
/// once.
async fn journey(ctx: OrchestrationContext, round: u32) -> Result<u32, Failure> {
    let before: u32 = ctx.state("sum")?.unwrap_or(0);
    let doubles = (1..=3).map(|n| ctx.activity(DOUBLE, &n));
    let retry = RetryPolicy::attempts(100).first_backoff(Duration::from_secs(1));
    let (doubled, flaky, child, timer) = futures::join!(
        futures::future::try_join_all(doubles),
        ctx.activity(FLAKY, &10).retry(retry),
        ctx.sub_orchestration(CHILD, &20),
        ctx.sleep(Duration::from_secs(3)),
    );
    timer?;
    let effect = ctx.run("effect", async { Ok::<u32, Failure>(1) }).await?;
    let bonus = ctx.external_event(BONUS).await?;
    let parts = [before, doubled?.iter().sum(), flaky?, child?, effect, bonus];
    let sum: u32 = parts.iter().sum();
    ctx.set_state("sum", &sum)?;
    match round {
        0 => ctx.continue_as_new(&1).await,
        _ => Ok(sum),
    }
}

/// Tells its parent something before it answers.
async fn child(ctx: OrchestrationContext, n: u32) -> Result<u32, Failure> {
    let parent = ctx.instance_id();
    let parent = parent.split('/').next().unwrap();
    ctx.send_event(parent, BONUS, &33).detach()?;
    ctx.activity(DOUBLE, &0).await?;
    Ok(n)
}

pub(crate) fn registry() -> Registry {
    Registry::builder()
        .orchestration(JOURNEY, journey)
        .orchestration(CHILD, child)
        .activity(DOUBLE, |_: ActivityContext, n| async move {
            Ok::<_, Failure>(2 * n)
        })
        .activity(FLAKY, |ctx: ActivityContext, n| async move {
            match ctx.attempt() {
                1 => Err(Failure::application("flaky", "not yet")),
                _ => Ok(n),
            }
        })
        .build()
        .unwrap()
}

/// Starts a journey, however often the store has to be asked.
pub(crate) async fn start(client: &Client, id: &str) {
    while client
        .start(JOURNEY, id, &0)
        .message_id(format!("start {id}"))
        .await
        .is_err()
    {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The histories of a journey and of its children: everything but the times, and
/// what is concurrent sorted.
pub(crate) async fn trace(world: &World, id: &str) -> BTreeMap<String, Vec<String>> {
    let mut trace = BTreeMap::new();
    let snapshot = world.store.snapshot();
    let is_part = |instance: &str| instance == id || instance.starts_with(&format!("{id}/"));
    for instance in snapshot
        .instances
        .keys()
        .filter(|instance| is_part(instance))
    {
        for execution in world.store.executions(instance).await.unwrap() {
            let number = execution.execution_id.get();
            let history = world.history(instance, number).await;
            let mut lines: Vec<String> = history.iter().map(|entry| line(&entry.event)).collect();
            if instance == id {
                lines.sort();
            }
            trace.insert(format!("{instance}@{number}").replace(id, "j"), lines);
        }
    }
    trace
}

/// What an event says, without its place among concurrent ones.
pub(crate) fn line(event: &Event) -> String {
    let text = match event {
        Event::ActivityScheduled { name, input, .. } => format!("{name} {input}"),
        Event::ActivityCompleted { result, .. } => result.to_string(),
        Event::SubOrchestrationCompleted { result, .. } => result.to_string(),
        Event::ExternalEvent { data, .. } => data.to_string(),
        Event::OrchestrationCompleted { output, .. } => output.to_string(),
        Event::StateSet { value, .. } => value.to_string(),
        _ => String::new(),
    };
    format!("{} {text}", event.kind().name())
}

/// The trace of a journey that no fault disturbs.
pub(crate) async fn undisturbed() -> BTreeMap<String, Vec<String>> {
    let world = World::new();
    let node = world.node(&registry()).await;
    start(&world.client(), "j").await;
    let journey = world.client().instance(JOURNEY, "j");
    assert_eq!(journey.wait().await.unwrap(), RESULT);
    crate::world::stop(node).await;
    world.assert_done();
    let trace = trace(&world, "j").await;
    assert_eq!(
        trace.len(),
        4,
        "two executions and a child of each: {trace:#?}"
    );
    assert_eq!(ExecutionId::FIRST.get(), 1);
    trace
}
