//! The smallest orchestration: one activity, on a SQLite file.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use durable_examples::{ExampleNode, ExampleResult};
use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry,
};

const GREET: Activity<String, String> = Activity::new("greet");
const HELLO: Orchestration<String, String> = Orchestration::new("hello");

async fn hello(ctx: OrchestrationContext, name: String) -> Result<String, Failure> {
    ctx.activity(GREET, &name).await
}

async fn greet(_: ActivityContext, name: String) -> Result<String, Failure> {
    Ok(format!("Hello, {name}!"))
}

#[tokio::main]
async fn main() -> ExampleResult {
    let registry = Registry::builder()
        .orchestration(HELLO, hello)
        .activity(GREET, greet)
        .build()?;
    let example = ExampleNode::start(registry).await?;
    let client = example.node.client();
    let hello = client.start(HELLO, "hello-1", &"Ada".into()).await?;
    println!("{}", hello.wait().await?);
    example.stop().await
}
