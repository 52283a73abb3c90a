//! Human approval with a timeout: the first one decides, the person or the timer.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::time::Duration;

use durable_examples::{ExampleNode, ExampleResult};
use durable_runtime::{EventName, Failure, Orchestration, OrchestrationContext, Registry};
use serde::{Deserialize, Serialize};

const DECISION: EventName<Decision> = EventName::new("decision");
const APPROVAL: Orchestration<Duration, String> = Orchestration::new("approval");

#[derive(Debug, Serialize, Deserialize)]
struct Decision {
    by: String,
    is_approved: bool,
}

async fn approval(ctx: OrchestrationContext, patience: Duration) -> Result<String, Failure> {
    // A timer of thirty days costs as little as this one: a row in the store.
    tokio::select! {
        decision = ctx.external_event(DECISION) => {
            let Decision { by, is_approved } = decision?;
            Ok(format!("{by} said {}", if is_approved { "yes" } else { "no" }))
        }
        waited = ctx.sleep(patience) => {
            waited?;
            Ok("no answer in time".into())
        }
    }
}

#[tokio::main]
async fn main() -> ExampleResult {
    let registry = Registry::builder()
        .orchestration(APPROVAL, approval)
        .build()?;
    let example = ExampleNode::start(registry).await?;
    let client = example.node.client();

    let day = Duration::from_secs(86_400);
    let answered = client.start(APPROVAL, "answered", &day).await?;
    let decision = Decision {
        by: "Grace".into(),
        is_approved: true,
    };
    // With an id of its own the event can be sent again and counts once.
    answered
        .raise_with_id("decision-of-grace", DECISION, &decision)
        .await?;
    println!("{}", answered.wait().await?);

    let moment = Duration::from_millis(50);
    let forgotten = client.start(APPROVAL, "forgotten", &moment).await?;
    println!("{}", forgotten.wait().await?);
    example.stop().await
}
