//! Polling with continue-as-new: an endless loop whose history stays short. Each round
//! is an execution of its own; the state goes along.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use durable_examples::{ExampleNode, ExampleResult};
use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry,
};

const PROGRESS: Activity<String, u64> = Activity::new("progress");
const WATCH: Orchestration<String, u64> = Orchestration::new("watch");

async fn watch(ctx: OrchestrationContext, job: String) -> Result<u64, Failure> {
    let rounds: u64 = ctx.state("rounds")?.unwrap_or(0) + 1;
    ctx.set_state("rounds", &rounds)?;
    let percent = ctx.activity(PROGRESS, &job).await?;
    ctx.set_custom_status(&format!("{percent} %"))?;
    if percent >= 100 {
        return Ok(rounds);
    }
    ctx.sleep(Duration::from_millis(20)).await?;
    ctx.continue_as_new(&job).await
}

#[tokio::main]
async fn main() -> ExampleResult {
    // The job outside, a quarter further at every look.
    let percent = Arc::new(AtomicU64::new(0));
    let progress = move |_: ActivityContext, _job: String| {
        let percent = Arc::clone(&percent);
        async move { Ok::<_, Failure>(percent.fetch_add(25, Ordering::Relaxed) + 25) }
    };
    let registry = Registry::builder()
        .orchestration(WATCH, watch)
        .activity(PROGRESS, progress)
        .build()?;
    let example = ExampleNode::start(registry).await?;
    let client = example.node.client();
    let watch = client.start(WATCH, "watch-1", &"backup".into()).await?;
    let rounds = watch.wait().await?;
    let said: Option<String> = watch.custom_status().await?;
    println!("{rounds} rounds, last seen at {}", said.unwrap_or_default());
    for execution in watch.executions().await? {
        let number = execution.execution_id;
        println!("execution {number}: {} events", execution.last_event_id);
    }
    example.stop().await
}
