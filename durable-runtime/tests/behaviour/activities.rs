//! Calling activities.

use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry,
};

use crate::world::{World, stop};

const GREET: Activity<String, String> = Activity::new("greet");
const HELLO: Orchestration<String, String> = Orchestration::new("hello");

async fn hello(ctx: OrchestrationContext, name: String) -> Result<String, Failure> {
    let first = ctx.activity(GREET, &name).await?;
    ctx.activity(GREET, &first).await
}

async fn greet(_: ActivityContext, name: String) -> Result<String, Failure> {
    Ok(format!("Hello, {name}!"))
}

fn registry() -> Registry {
    Registry::builder()
        .orchestration(HELLO, hello)
        .activity(GREET, greet)
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn results_come_back_in_order_and_the_history_tells_it_all() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let instance = node
        .client()
        .start(HELLO, "hello-1", &"Ada".to_string())
        .await
        .unwrap();
    assert_eq!(instance.wait().await.unwrap(), "Hello, Hello, Ada!!");
    stop(node).await;
    assert_eq!(
        world.kinds("hello-1", 1).await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityCompleted",
            "ActivityScheduled",
            "ActivityCompleted",
            "OrchestrationCompleted",
        ]
    );
}
